"""Removing what nothing names.

Owns: which files are garbage, and what becomes of damaged ones.
Knows nothing of: why a generation is kept.
Invariants: 1. the directory is listed before the live set is taken, so that a file written meanwhile is never garbage.
    2. a name that is not ours is left alone. 3. quarantine holds at most `QUARANTINE_FILES` files and
    `QUARANTINE_BYTES` bytes.
Purity: shell (the state directory, through the port).
See: docs/consistency.md (collection).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from indexerd.ports import StoreFilesystem
from indexerd.store.layout import FileName, parse_name
from indexerd.store.staging import remove_quietly

QUARANTINE_FILES = 3
QUARANTINE_BYTES = 64 << 20


def collect_garbage(fs: StoreFilesystem, live: Callable[[], frozenset[str]], damaged: frozenset[str]) -> int:
    """Remove every file of ours that is not live; keep a few damaged ones for a look.

    Args:
        fs: The state directory.
        live: Returns the names that must stay; asked after the directory was listed.
        damaged: Names found damaged at opening.

    Returns:
        How many files were removed. One that cannot be removed stays for the next time.

    Raises:
        OSError: The directory cannot be listed. Try again later.
    """
    names = fs.names()
    staying = live()
    garbage = [name for name in names if _is_garbage(name, staying)]
    for name in garbage:
        if name in damaged:
            _quarantine(fs, name)
    removed = sum(remove_quietly(fs, name) for name in garbage if name not in damaged)
    return removed + _trim_quarantine(fs)


def remove_traces(fs: StoreFilesystem, live: Callable[[], frozenset[str]]) -> None:
    """Remove every file of ours that is not live, those kept for a look as well, and make that outlive a power cut.

    Args:
        fs: The state directory.
        live: Returns the names that must stay; asked after the directory was listed.

    Raises:
        OSError: One of them is still there, or its name may come back. Try again.
    """
    names = fs.names()
    staying = live()
    for name in names:
        if isinstance(parse_name(name), FileName) and name not in staying:
            with suppress(FileNotFoundError):
                fs.remove(name)
    fs.flush_directory()


def _is_garbage(name: str, staying: frozenset[str]) -> bool:
    parsed = parse_name(name)
    return isinstance(parsed, FileName) and not parsed.damaged and name not in staying


def _quarantine(fs: StoreFilesystem, name: str) -> None:
    parsed = parse_name(name)
    assert isinstance(parsed, FileName)
    try:
        fs.replace(name, str(parsed._replace(damaged=True)))
    except OSError:
        # It stays where it is: nothing names it, and the next collection tries again.
        return


def _trim_quarantine(fs: StoreFilesystem) -> int:
    held = [name for name in fs.names() if isinstance(parsed := parse_name(name), FileName) and parsed.damaged]
    if not held:
        return 0
    return sum(remove_quietly(fs, name) for name in _beyond_limits(fs, held))


def _beyond_limits(fs: StoreFilesystem, held: Sequence[str]) -> list[str]:
    beyond, count, total = [], 0, 0
    for name in reversed(held):
        size = _size(fs, name)
        if count >= QUARANTINE_FILES or total + size > QUARANTINE_BYTES:
            beyond.append(name)
        else:
            count, total = count + 1, total + size
    return beyond


def _size(fs: StoreFilesystem, name: str) -> int:
    try:
        return fs.open(name).size
    except OSError:
        return 0
