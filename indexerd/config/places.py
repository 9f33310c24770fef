"""Where things live: configuration, state and socket, from the environment as the XDG base directory rules say.

Owns: the directory rules, profile names, and the spelling of roots given on the command line.
Knows nothing of: whether any of these places exists; the process environment (it is handed in).
Invariants: 1. a relative XDG value counts as unset. 2. equal root paths give equal profile names, others differ.
Purity: pure.
See: docs/operations.md.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from indexerd.model import Root

# sun_path holds 108 bytes with the closing NUL.
MAX_SOCKET_PATH_BYTES = 107
_LABELLED = re.compile(r"(?P<label>[^/=\x00-\x1f\x7f]+)=(?P<path>.+)", re.DOTALL)
_NOT_NAME = re.compile(r"[^a-z0-9]+")


class Places(NamedTuple):
    """The directories of one user.

    Attributes:
        config_file: `config.toml`.
        state_home: Parent of every profile's state directory.
        runtime_dir: Parent of every profile's socket.
        runtime_is_fallback: `XDG_RUNTIME_DIR` is unset: the directory lies in `/tmp` and its owner must be checked.
        home: What `~` in settings means.
    """

    config_file: str
    state_home: str
    runtime_dir: str
    runtime_is_fallback: bool = False
    home: str = "/"

    def state_dir(self, profile: str) -> str:
        """Return the state directory of a profile."""
        return posixpath.join(self.state_home, profile)

    def socket(self, profile: str) -> str:
        """Return the socket path of a profile."""
        return posixpath.join(self.runtime_dir, f"{profile}.sock")


def find_places(environ: Mapping[str, str], uid: int) -> Places:
    """Return the user's directories. `environ` is the process environment, `uid` the user's number."""
    home = environ.get("HOME", "")
    home = home if home.startswith("/") else "/"
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    is_fallback = not runtime.startswith("/")
    return Places(
        config_file=_xdg(environ, "XDG_CONFIG_HOME", f"{home}/.config") + "/config.toml",
        state_home=_xdg(environ, "XDG_STATE_HOME", f"{home}/.local/state"),
        runtime_dir=f"/tmp/indexerd-{uid}" if is_fallback else posixpath.join(runtime, "indexerd"),  # noqa: S108 - owner and mode are checked by the daemon
        runtime_is_fallback=is_fallback,
        home=home,
    )


def _xdg(environ: Mapping[str, str], name: str, default: str) -> str:
    value = environ.get(name, "")
    return posixpath.join(posixpath.normpath(value if value.startswith("/") else default), "indexerd")


def absolute(path: str, cwd: str) -> str:
    """Return a path made absolute and tidy, links untouched: the user's own spelling."""
    joined = posixpath.normpath(posixpath.join(cwd, path))
    return joined[1:] if joined.startswith("//") else joined


def written_path(path: str, home: str) -> str | None:
    """Return a path of the settings file, made absolute with `~` as the user's home; None if it is relative.

    A relative one would mean another place in each directory a command is called from.
    """
    if path == "~" or path.startswith("~/"):
        path = posixpath.join(home, path[2:])
    return absolute(path, "/") if path.startswith("/") else None


def written_root(text: str, home: str) -> str | None:
    """Return a root of the settings file, `PATH` or `LABEL=PATH`, with its path as `written_path` gives it."""
    label, path = split_label(text)
    place = written_path(path, home)
    return place if place is None or label is None else f"{label}={place}"


def holds(root: str, path: str) -> bool:
    """Tell whether an absolute path is a root or lies beneath it, by spelling."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def default_profile(root: str) -> str:
    """Return the profile name of a watch set whose first root is at this absolute path: short, and unique to it."""
    name = _NOT_NAME.sub("-", posixpath.basename(root).lower()).strip("-")[:24] or "root"
    return f"{name}-{hashlib.sha256(root.encode('utf-8', 'surrogateescape')).hexdigest()[:4]}"


def split_label(text: str) -> tuple[str | None, str]:
    """Split `LABEL=PATH`; a path that itself contains `=` is written with a `/` before it (`./a=b`)."""
    match = _LABELLED.fullmatch(text)
    return (match["label"], match["path"]) if match else (None, text)


def make_roots(texts: tuple[str, ...], cwd: str) -> tuple[Root, ...]:
    """Turn roots as given (`PATH` or `LABEL=PATH`) into roots; the same path counts once.

    A root without a label has its folder's name, with a number behind where that is taken: `docs`, `docs-2`. Labels
    that are given stay as they are; `doubled_labels` names those that two roots were given.
    """
    named = {absolute(path, cwd): label for label, path in map(split_label, reversed(texts))}
    taken = {label for label in named.values() if label is not None}
    roots: dict[str, Root] = {}
    for text in texts:
        place = absolute(split_label(text)[1], cwd)
        if place not in roots:
            label = named[place]
            name = label or _unique(_plain_label(place), taken)
            taken.add(name)
            roots[place] = Root(label=name, path=place, prefixed=len(named) > 1 or label is not None)
    return tuple(roots.values())


def doubled_labels(roots: Sequence[Root]) -> Iterator[str]:
    """Yield what is wrong with labels that two roots have."""
    for number, root in enumerate(roots):
        for other in roots[:number]:
            if other.label == root.label:
                yield f"label {root.label!r} is given to {other.path} and to {root.path}: name each in its own way"


def _plain_label(path: str) -> str:
    """Return the folder's name where it is printable, since labels begin source paths; else a plain form of it."""
    name = posixpath.basename(path)
    return name if name.isprintable() and name.isascii() and "%" not in name and name else default_profile(path)


def _unique(label: str, taken: set[str]) -> str:
    number, candidate = 2, label
    while candidate in taken:
        candidate, number = f"{label}-{number}", number + 1
    return candidate
