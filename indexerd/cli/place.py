"""Where a command runs and which watch set its flags mean; and the settings files read from there.

Owns: the reading of the environment and of settings files for every command.
Knows nothing of: daemons, what a command does.
Invariants: 1. the current directory is the user's own spelling where `$PWD` proves to be it.
Purity: shell (environment, settings files).
See: docs/operations.md (configuration).
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from indexerd.config import PROJECT_FILE, Config, Given, Places, find_places, parse_config
from indexerd.errors import ConfigError
from indexerd.model import Root

# A settings file is written by hand; what is larger is something else.
_MAX_SETTINGS_BYTES = 1 << 20


class Selection(NamedTuple):
    """Which watch set a command means, as flags say. Empty means not given."""

    socket: str = ""
    profile: str = ""
    state_dir: str = ""


class Place(NamedTuple):
    """What surrounds a command."""

    environ: Mapping[str, str]
    cwd: str
    uid: int
    places: Places

    def load(
        self,
        selection: Selection,
        *,
        roots: tuple[str, ...] = (),
        settings: Mapping[str, object] | None = None,
        stored_roots: tuple[Root, ...] = (),
    ) -> Config:
        """Return the configuration of a profile, from the user's file, the roots' own files and these flags.

        Raises:
            ConfigError: With every problem found, in whichever file.
        """
        given = Given(
            cwd=self.cwd,
            roots=roots,
            profile=selection.profile or None,
            socket=selection.socket or None,
            state_dir=selection.state_dir or None,
            settings=settings or {},
            stored_roots=stored_roots,
        )
        return parse_config(
            self.settings_text(),
            given=given,
            places=self.places,
            read_project=lambda root: _read_settings(f"{root}/{PROJECT_FILE}"),
        )

    def settings_text(self) -> str:
        """Return the text of the user's `config.toml`, empty where there is none.

        Raises:
            ConfigError: The file is there and cannot be read.
        """
        return _read_settings(self.places.config_file) or ""


def here() -> Place:
    """Return where this process runs."""
    cwd = os.getcwd()
    spelled = os.environ.get("PWD", "")
    if spelled.startswith("/") and os.path.realpath(spelled) == cwd:
        cwd = os.path.normpath(spelled)
    uid = os.getuid()
    return Place(environ=os.environ, cwd=cwd, uid=uid, places=find_places(os.environ, uid))


def _read_settings(path: str) -> str | None:
    # Non-blocking: a pipe under this name must not hang every command.
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read ({error.strerror})"]) from error
    try:
        with open(handle, "rb") as file:
            return file.read(_MAX_SETTINGS_BYTES).decode("utf-8")
    except OSError as error:
        # What is no file is refused when it is opened, and then keeps its descriptor.
        with suppress(OSError):
            os.close(handle)
        raise ConfigError([f"{path}: cannot be read ({error.strerror})"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: cannot be read as UTF-8 text ({error})"]) from error
