"""The walk below one root: every folder that is not ignored, every file that is to be indexed.

Owns: opening and listing folders, the stat of each file, telling "not there" from "cannot look".
Knows nothing of: the index, events, other roots.
Invariants: 1. links below the root are not followed, whatever is swapped during the walk. 2. a folder that cannot be
    listed, or whose mount is gone, is held and never taken for empty. 3. a folder is announced before it is listed, so
    that a watch set in between misses nothing. 4. a single path gets the verdict that the whole walk would give it.
Purity: shell (file system, read only).
See: docs/consistency.md (looking).
"""

import os
import stat as stat_bits
import sys
from collections.abc import Callable
from typing import NamedTuple

from indexerd.model import Root, SourcePath
from indexerd.naming import encode_name, is_printable, source_path
from indexerd.ports import SourceStat
from indexerd.sources import error_name, open_folder_beneath, raise_shortage, stat_of
from indexerd.sync.ignore import CACHE_TAG, EXCLUDE_FILE, IGNORE_FILES, FolderRules
from indexerd.sync.look import Held, Look, Skipped
from indexerd.sync.standing import GONE, Standing
from indexerd.sync.surroundings import (
    is_repository,
    is_tagged_cache,
    keeps_rules_elsewhere,
    place_of,
    read_exclude_file,
    read_rule_files,
)

Entering = Callable[[Root, bytes], None]

# Names come decoded from the listing. Where the locale's encoding is not UTF-8 they are turned back into bytes first.
_NAMES_ARE_UTF8 = sys.getfilesystemencoding().lower() in ("utf-8", "utf8")
# First characters of names that a built-in rule may speak of; all others need the rules only where there are patterns.
_ODD_FIRST = frozenset(".#~")
_TYPE_BITS, _REGULAR = 0o170000, stat_bits.S_IFREG
_new_stat = tuple.__new__
# A folder is announced again after so many entries, a few milliseconds of work: who is told may have more to do.
_PORTION = 500


class Folder(NamedTuple):
    """A folder that was entered: the rules for its entries, and its device."""

    relative: bytes
    rules: FolderRules
    dev: int


class _Inner(NamedTuple):
    """A folder to be entered: its path, and the folder that holds it."""

    relative: bytes
    name: bytes
    above: Folder


class Walk:
    """One pass over parts of one root; collects what it sees and gives it as a `Look`."""

    def __init__(
        self, standing: Standing, max_file_bytes: int, ruled_elsewhere: Entering, entering: Entering | None = None
    ) -> None:
        """Make a walk.

        Args:
            standing: The root.
            max_file_bytes: Larger files are skipped.
            ruled_elsewhere: Called with root and relative path of a repository's top whose `.git` is no folder, before
                the rules are read that git keeps for it elsewhere.
            entering: See `Scanner.scan`.
        """
        self._standing = standing
        self._root = standing.root
        self._held = standing.held
        self._max_file_bytes = max_file_bytes
        self._ruled_elsewhere, self._entering = ruled_elsewhere, entering
        self._scope: list[SourcePath] = []
        self._files: dict[SourcePath, SourceStat] = {}
        self._skipped: list[Skipped] = []
        self._linked: set[SourcePath] = set()
        self._climbed: dict[bytes, Folder | None] = {}

    def whole(self, rules: FolderRules | None) -> None:
        """Look at everything below the root; None where it could not be opened."""
        self._scope.append(source_path(self._root, b""))
        if rules is not None:
            self._descend(self._enter_root(rules))

    def only(self, relative: bytes, rules: FolderRules | None) -> None:
        """Look at one file or folder below the root and all beneath it; rules None where it could not be opened."""
        self._scope.append(source_path(self._root, relative))
        if rules is None:
            return
        self._climbed.setdefault(b"", Folder(b"", rules, self._standing.dev))
        parent, _, name = relative.rpartition(b"/")
        above = self.climb(parent)
        if above is not None:
            self._visit(above, name, relative)

    def result(self) -> Look:
        """Return what was seen. To be called while the root is open."""
        self._standing.conclude(self._scope)
        return Look(
            scope=tuple(self._scope),
            files=self._files,
            skipped=tuple(self._skipped),
            held=tuple(Held(path, reason) for path, reason in self._held.items()),
            # That a part of it can be looked at does not make a lost root whole again.
            roots={self._root.label: self._standing.state} if self._tells_of_root() else {},
            places=self._standing.places,
            linked=frozenset(self._linked),
        )

    def _tells_of_root(self) -> bool:
        return self._standing.state != "ok" or source_path(self._root, b"") in self._scope

    def climb(self, relative: bytes) -> Folder | None:
        """Return the folder at `relative` with its rules; None if it is ignored, gone, or cannot be looked into."""
        if relative in self._climbed:
            return self._climbed[relative]
        at: Folder | None = self._climbed[b""]
        path = b""
        for name in relative.split(b"/"):
            path = path + b"/" + name if path else name
            if path not in self._climbed:
                self._climbed[path] = None if at is None else self._step(at, name, path)
            at = self._climbed[path]
        return at

    def _step(self, above: Folder, name: bytes, relative: bytes) -> Folder | None:
        if above.rules.ignores(name, is_folder=True):
            return None
        fd = self._open_folder(relative)
        if fd is None:
            return None
        try:
            return self._enter(fd, _Inner(relative, name, above), None)
        except OSError as error:
            self._hold(relative, error)
            return None
        finally:
            os.close(fd)

    def _visit(self, above: Folder, name: bytes, relative: bytes) -> None:
        fd = self._open_folder(above.relative)
        if fd is None:
            return
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._hold(relative, error)
            return
        finally:
            os.close(fd)
        if stat_bits.S_ISDIR(found.st_mode):
            if not above.rules.ignores(name, is_folder=True):
                self._descend(self._list(_Inner(relative, name, above)))
        elif above.rules.is_wanted(name) and not above.rules.ignores(name, is_folder=False):
            path = source_path(self._root, relative)
            self._add(path, found)
            if found.st_nlink > 1 and path in self._files:
                self._linked.add(path)

    def _enter_root(self, rules: FolderRules) -> list[_Inner]:
        root = Folder(b"", rules, self._standing.dev)
        fd = self._open_folder(b"")
        if fd is None:
            return []
        try:
            return self._take(root, _entries(fd))
        except OSError as error:
            self._hold(b"", error)
            return []
        finally:
            os.close(fd)

    def _descend(self, inner: list[_Inner]) -> None:
        while inner:
            inner.extend(self._list(inner.pop()))

    def _list(self, inner: _Inner) -> list[_Inner]:
        """List one folder and return those in it that are to be listed."""
        fd = self._open_folder(inner.relative)
        if fd is None:
            return []
        try:
            self._announce(inner.relative)
            entries = _entries(fd)
            folder = self._enter(fd, inner, {entry.name for entry in entries})
            return [] if folder is None else self._take(folder, entries)
        except OSError as error:
            self._hold(inner.relative, error)
            return []
        finally:
            os.close(fd)

    def _enter(self, fd: int, inner: _Inner, names: set[str] | None) -> Folder | None:
        """Return the open folder with its rules; None if it is not in its place, or a cache.

        Args:
            fd: The open folder.
            inner: What is known of it.
            names: What is in it, where that is known: saves asking for each rule file.
        """
        place = place_of(fd, inner.above.dev)
        if not self._standing.is_in_place(source_path(self._root, inner.relative), place):
            return None
        above = inner.above.rules
        if not above.options.tagged_caches and _may_hold(names, CACHE_TAG) and is_tagged_cache(fd):
            return None
        wanted = tuple(name for name in IGNORE_FILES if _may_hold(names, name))
        files = read_rule_files(fd, wanted) if above.options.ignore_files else {}
        is_top = _may_hold(names, b".git") and is_repository(fd)
        if is_top and above.options.ignore_files:
            # Of the folder for git's rules, which may not be there, and of the one that it would be made in.
            for folder in (b"/.git", b"/" + EXCLUDE_FILE.rpartition(b"/")[0]):
                self._announce(inner.relative + folder)
            if keeps_rules_elsewhere(fd):
                self._ruled_elsewhere(self._root, inner.relative)
            files |= read_exclude_file(fd)
        rules = above.enter(inner.name, files, is_repository=is_top)
        return Folder(inner.relative, rules, place.dev)

    def _take(self, folder: Folder, entries: list["os.DirEntry[str]"]) -> list[_Inner]:
        """Add the files of a listed folder and return the folders in it. The descriptor must still be open.

        This is the loop that runs for every file: what is not an ordinary file with an ordinary name leaves it.
        """
        rules = folder.rules
        endings = rules.options.formats
        has_patterns = rules.may_ignore_files()
        prefix = _prefix(source_path(self._root, folder.relative))
        is_odd = not _NAMES_ARE_UTF8 or not is_printable("/".join([entry.name for entry in entries]))
        files, limit = self._files, self._max_file_bytes
        others: list[os.DirEntry[str]] = []
        for number, entry in enumerate(entries, 1):
            name = entry.name
            if not number % _PORTION:
                self._announce(folder.relative)
            if is_odd or not name.lower().endswith(endings) or name[0] in _ODD_FIRST:
                others.append(entry)
                continue
            if has_patterns and rules.ignores(os.fsencode(name), is_folder=False):
                others.append(entry)
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                others.append(entry)
                continue
            if found.st_mode & _TYPE_BITS != _REGULAR or found.st_size > limit:
                others.append(entry)
                continue
            files[SourcePath(prefix + name)] = _new_stat(
                SourceStat, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
            )
        return [inner for entry in others if (inner := self._take_other(folder, entry, prefix)) is not None]

    def _take_other(self, folder: Folder, entry: "os.DirEntry[str]", prefix: str) -> _Inner | None:
        """Add one entry of any kind, or return it if it is a folder to be entered."""
        raw = os.fsencode(entry.name)
        if entry.is_dir(follow_symlinks=False):
            if folder.rules.ignores(raw, is_folder=True):
                return None
            return _Inner(folder.relative + b"/" + raw if folder.relative else raw, raw, folder)
        if folder.rules.is_wanted(raw) and not folder.rules.ignores(raw, is_folder=False):
            path = SourcePath(prefix + encode_name(raw))
            try:
                self._add(path, entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                return None
            except OSError as error:
                self._held[path] = error_name(error)
        return None

    def _add(self, path: SourcePath, found: os.stat_result) -> None:
        if not stat_bits.S_ISREG(found.st_mode):
            self._skipped.append(Skipped(path, "symlink" if stat_bits.S_ISLNK(found.st_mode) else "not_regular"))
        elif found.st_size > self._max_file_bytes:
            self._skipped.append(Skipped(path, "too_large"))
        else:
            self._files[path] = stat_of(found)

    def _open_folder(self, relative: bytes) -> int | None:
        """Open a folder for listing; None if it is gone or cannot be listed, which is then held."""
        try:
            return open_folder_beneath(self._standing.fd, relative)
        except OSError as error:
            if error.errno not in GONE:
                self._hold(relative, error)
            return None

    def _hold(self, relative: bytes, error: OSError) -> None:
        raise_shortage(error)
        self._held[source_path(self._root, relative)] = error_name(error)

    def _announce(self, relative: bytes) -> None:
        if self._entering is not None:
            self._entering(self._root, relative)


def _entries(fd: int) -> list["os.DirEntry[str]"]:
    with os.scandir(fd) as entries:
        return list(entries)


def _prefix(folder: SourcePath) -> str:
    return f"{folder}/" if folder else ""


def _may_hold(names: set[str] | None, name: bytes) -> bool:
    return names is None or name.decode() in names
