"""Which profile a command means, before anything else is known.

Owns: profile names and their choice.
Knows nothing of: the settings of a profile, running daemons.
Invariants: 1. the same roots always choose the same profile, whatever the current directory.
Purity: pure.
See: docs/operations.md.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from indexerd.config.places import default_profile, make_roots, written_root
from indexerd.model import Root

PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
NAME_RULE = "must be letters, digits, '.', '_' or '-', at most 64, and begin with a letter or digit"


class Given(NamedTuple):
    """What the command line says.

    Attributes:
        roots: As typed, `PATH` or `LABEL=PATH`.
        profile: `--profile`.
        socket: `--socket`.
        state_dir: `--state-dir`.
        settings: Keys of `[profile.NAME]` given as flags.
        cwd: Current directory, absolute.
        stored_roots: Roots that the profile's state directory remembers, for commands that name none.
    """

    cwd: str
    roots: tuple[str, ...] = ()
    profile: str | None = None
    socket: str | None = None
    state_dir: str | None = None
    settings: Mapping[str, object] = MappingProxyType({})
    stored_roots: tuple[Root, ...] = ()


def profiles_of(table: Mapping[str, object], home: str) -> dict[str, tuple[Root, ...]]:
    """Return the profiles that the file defines, with those of their roots that can be used."""
    tables = table.get("profile", {})
    if not isinstance(tables, Mapping):
        return {}
    found = {}
    for name, profile in tables.items():
        roots = profile.get("roots", []) if isinstance(profile, Mapping) else []
        texts = [written_root(text, home) for text in roots if isinstance(text, str)] if isinstance(roots, list) else []
        found[str(name)] = make_roots(tuple(text for text in texts if text is not None), "/")
    return found


def choose_profile(table: Mapping[str, object], given: Given, home: str = "/") -> str:
    """Return the profile's name: as named, else the one with these roots in the file, else made from the first root."""
    if given.profile is not None:
        return given.profile
    roots = make_roots(given.roots, given.cwd) or given.stored_roots
    defined = profiles_of(table, home)
    paths = {root.path for root in roots}
    for name, own in defined.items():
        if paths and paths == {root.path for root in own}:
            return name
    if roots:
        return default_profile(roots[0].path)
    return next(iter(defined)) if len(defined) == 1 else "default"
