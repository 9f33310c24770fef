"""What a look at the disk found: the value that the walk makes and the plan reads.

Owns: the words for what was seen, what was passed over, and what could not be looked at.
Knows nothing of: the disk, the index.
Invariants: 1. a look speaks only of what lies within its scope. 2. what is held may exist: its absence proves nothing.
Purity: pure.
See: docs/consistency.md (looking).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from indexerd.model import SourcePath
from indexerd.ports import SourceStat

RootState = Literal["ok", "missing", "unreadable", "not_a_directory", "unmounted", "device_changed", "bad_settings"]

UNKNOWN_DEVICE = -1


class Place(NamedTuple):
    """Where a root, or a mount point below one, stood when it was last looked at.

    Attributes:
        dev: Its device; `UNKNOWN_DEVICE` when only the fact of the mount was kept over a restart.
        mount: Whether something was mounted there.
    """

    dev: int
    mount: bool


class Skipped(NamedTuple):
    """A file with an indexed ending that is not indexed, and why: `symlink`, `not_regular`, `too_large`."""

    source_path: SourcePath
    reason: str


class Held(NamedTuple):
    """A file, folder or root that could not be looked at, and why. It speaks for all that lies beneath it."""

    source_path: SourcePath
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen.

    Attributes:
        scope: All at or beneath these paths was looked at; the empty path stands for everything.
        files: Every regular file to be indexed within the scope, with its stat.
        skipped: Files that a user would expect to find and does not.
        held: What could not be looked at within the scope.
        roots: The state of each root that was looked at as a whole, or was found not to be as it should, by label.
        places: The roots, and the mount points below them, as they stand now.
        linked: Of the files that were named one by one, those that have other names too (hard links).
    """

    scope: tuple[SourcePath, ...]
    files: Mapping[SourcePath, SourceStat]
    skipped: tuple[Skipped, ...] = ()
    held: tuple[Held, ...] = ()
    roots: Mapping[str, RootState]
    places: Mapping[SourcePath, Place]
    linked: frozenset[SourcePath] = frozenset()


def merge_looks(looks: Iterable[Look]) -> Look:
    """Return one look that says what all say. Where two saw one file, the later counts."""
    several = tuple(looks)
    if len(several) == 1:
        return several[0]
    return Look(
        scope=tuple(dict.fromkeys(path for look in several for path in look.scope)),
        files={path: stat for look in several for path, stat in look.files.items()},
        skipped=tuple(skip for look in several for skip in look.skipped),
        held=tuple(held for look in several for held in look.held),
        roots={label: state for look in several for label, state in look.roots.items()},
        places={path: place for look in several for path, place in look.places.items()},
        linked=frozenset().union(*(look.linked for look in several)),
    )


def nearest_above(path: str, folders: Mapping[SourcePath, str] | frozenset[SourcePath]) -> SourcePath | None:
    """Return the deepest of `folders` that `path` equals or lies beneath; None if there is none."""
    at = path
    while at not in folders:
        if not at:
            return None
        at = at.rpartition("/")[0]
    return SourcePath(at)
