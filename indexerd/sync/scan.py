"""Looking at the roots: all of them, or the paths that events and people name.

Owns: which root a path belongs to, the rules that hold at each root, folding of overlapping paths.
Knows nothing of: the index, why anybody looks.
Invariants: 1. a look at a path gives for it what a scan of everything would give. 2. a root inside another belongs to
    itself alone, so that no file is two documents. 3. a changed rule file is a look at its folder.
Purity: shell (file system, read only).
See: docs/consistency.md (looking), docs/operations.md (what is ignored).
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from indexerd.model import Root, SourcePath
from indexerd.sources import DEFAULT_MAX_FILE_BYTES, error_name, raise_shortage
from indexerd.sync.ignore import (
    EVERYWHERE,
    EVERYWHERE_HERE,
    EXCLUDE_FILE,
    IGNORE_FILES,
    RULE_FILES,
    FolderRules,
    IgnoreOptions,
    root_rules,
)
from indexerd.sync.look import Look, Place, merge_looks
from indexerd.sync.standing import Standing
from indexerd.sync.surroundings import (
    GitUser,
    exclude_file_of,
    folders_above,
    is_repository,
    read_exclude_file,
    read_rule_files,
    rule_files_above,
    rules_everywhere,
    up_to_repository,
)
from indexerd.sync.walk import Entering, Walk

_NOTHING: Mapping[SourcePath, Place] = {}


class Scanner:
    """Looks at a fixed set of roots; may be used from any thread.

    Between two looks it holds nothing but which folders below a root have rules elsewhere, see `ruled_elsewhere`.
    """

    def __init__(
        self,
        roots: Sequence[Root],
        options: IgnoreOptions | Mapping[str, IgnoreOptions],
        *,
        max_file_bytes: int = DEFAULT_MAX_FILE_BYTES,
        own_paths: Sequence[str | bytes] = (),
        git_user: GitUser | None = None,
    ) -> None:
        """Make a scanner.

        Args:
            roots: The roots, labels unique.
            options: What is ignored, for all roots or by label.
            max_file_bytes: Larger files are skipped.
            own_paths: Absolute paths of the state directory and sockets, which are never indexed.
            git_user: Whose rules for all repositories count; None for nobody's.
        """
        self._roots = tuple(roots)
        shared = options if isinstance(options, IgnoreOptions) else None
        self._options = {root.label: shared or _of_label(options, root.label) for root in self._roots}
        self._max_file_bytes = max_file_bytes
        self._own_paths = tuple(os.fsencode(path) for path in own_paths)
        self._git_user = git_user
        # Replaced, never changed: read by other threads.
        self._ruled_elsewhere: dict[Root, frozenset[bytes]] = {}

    def scan(
        self,
        known: Mapping[SourcePath, Place] = _NOTHING,
        entering: Entering | None = None,
        roots: Iterable[Root] | None = None,
    ) -> Look:
        """Look at everything below the roots.

        Args:
            known: Where roots and mounts stood before, see `plan.next_places`; what is not there any more is held.
            entering: Called with root and relative path before a folder's rules are read and it is listed, and again
                from time to time while a large one is gone through; not for ignored ones.
            roots: Only these.
        """
        looks = []
        for root in self._roots if roots is None else roots:
            with self._opened(root, known, entering) as (walk, rules):
                walk.whole(rules)
                looks.append(walk.result())
        return merge_looks(looks)

    def ruled_elsewhere(self, root: Root) -> frozenset[bytes]:
        """Return the tops of repositories below a root, as met so far, for which git keeps rules in another place."""
        return self._ruled_elsewhere.get(root, frozenset())

    def look(
        self,
        paths: Iterable[tuple[Root, bytes]],
        known: Mapping[SourcePath, Place] = _NOTHING,
        entering: Entering | None = None,
    ) -> Look:
        """Look at named files and folders, and at all beneath them. The path need not exist.

        Args:
            paths: Root and relative path of each; `b""` is the root itself. A rule file stands for its folder.
            known: As in `scan`.
            entering: As in `scan`; called for the root and the folders listed, not for those passed on the way.
        """
        looks = []
        for root, wanted in _fold(paths).items():
            with self._opened(root, known, entering) as (walk, rules):
                for relative in wanted:
                    if relative:
                        walk.only(relative, rules)
                    else:
                        walk.whole(rules)
                looks.append(walk.result())
        return merge_looks(looks)

    def locate(self, absolute: bytes) -> tuple[Root, bytes] | None:
        """Return the innermost root that an absolute, normal path lies in, and the path below it; None if none does.

        Paths are compared in the spelling of the root, then with all links resolved on the root's side.
        """
        for spelled in (os.fsencode, _real):
            below = ((root, _below(absolute, spelled(root.path))) for root in self._roots)
            found = [(root, relative) for root, relative in below if relative is not None]
            if found:
                return min(found, key=lambda place: len(place[1]))
        return None

    def outside_rule_files(self, root: Root) -> frozenset[bytes]:
        """Return the files that speak for a root and no event in it tells of, whether they exist or not.

        A `.git` that comes or goes at the root or above changes which files those are.

        Raises:
            OSError: For want of descriptors or memory.
        """
        if not self._options[root.label].ignore_files:
            return frozenset()
        real = _real(root.path)
        above = folders_above(real)
        top = (*above, real)[0]
        files = {_in(folder, IGNORE_FILES[0]) for folder in above} | {exclude_file_of(top)}
        files.update(_in(folder, b".git") for folder in up_to_repository(real))
        for inner in (_in(real, relative) for relative in self.ruled_elsewhere(root)):
            files |= {_in(inner, b".git"), exclude_file_of(inner)}
        return frozenset(files.union(self._git_user.ignore_files(top) if self._git_user is not None else ()))

    @contextmanager
    def _opened(
        self, root: Root, known: Mapping[SourcePath, Place], entering: Entering | None
    ) -> Iterator[tuple[Walk, FolderRules | None]]:
        """Begin a walk; the rules are None if nothing in the root can be looked at."""
        standing = Standing(root, known)
        try:
            is_open = standing.open()
            if is_open and entering is not None:
                # Its rules are read now: what comes to them later is to make an event.
                entering(root, b"")
            walk = Walk(standing, self._max_file_bytes, self._note_ruled_elsewhere, entering)
            yield walk, self._rules(standing) if is_open else None
        finally:
            standing.close()

    def _note_ruled_elsewhere(self, root: Root, relative: bytes) -> None:
        self._ruled_elsewhere[root] = self.ruled_elsewhere(root) | {relative}

    def _rules(self, standing: Standing) -> FolderRules | None:
        options = self._options[standing.root.label]
        if options.is_broken:
            standing.hold_root("bad_settings")
            return None
        real = _real(standing.root.path)
        own_files = self._own_files(standing.root, real)
        if not options.ignore_files:
            return root_rules(options, files={}, own_files=own_files)
        here = rules_everywhere(self._git_user, (*folders_above(real), real)[0])
        users = {EVERYWHERE: rules_everywhere(self._git_user), EVERYWHERE_HERE: here}
        try:
            return root_rules(
                options,
                files=read_rule_files(standing.fd) | read_exclude_file(standing.fd) | users,
                above=rule_files_above(real, here),
                own_files=own_files,
                is_repository=is_repository(standing.fd),
            )
        except OSError as error:
            raise_shortage(error)
            standing.hold_root(error_name(error))
            return None

    def _own_files(self, root: Root, real: bytes) -> frozenset[bytes]:
        """Return what lies below this root but is not its: the daemon's own files, and other roots."""
        others = tuple(os.fsencode(other.path) for other in self._roots if other is not root)
        spelled = os.fsencode(root.path)
        found = set()
        for path in (*self._own_paths, *others):
            found.add(_below(path, spelled))
            found.add(_below(os.path.realpath(path), real))
        return frozenset(relative for relative in found if relative)


def _of_label(options: IgnoreOptions | Mapping[str, IgnoreOptions], label: str) -> IgnoreOptions:
    return options if isinstance(options, IgnoreOptions) else options[label]


def _real(path: str) -> bytes:
    return os.fsencode(os.path.realpath(path))


def _in(folder: bytes, name: bytes) -> bytes:
    return folder.rstrip(b"/") + b"/" + name


def _below(path: bytes, folder: bytes) -> bytes | None:
    """Return `path` relative to `folder` (empty for the folder itself); None if it does not lie there."""
    folder = folder.rstrip(b"/")
    if path == folder or path.rstrip(b"/") == folder:
        return b""
    return path[len(folder) + 1 :].rstrip(b"/") if path.startswith(folder + b"/") else None


def ruled_by(relative: bytes) -> bytes | None:
    """Return the folder for which a path below the root has rules; None if it is no rule file."""
    folder, _, name = relative.rpartition(b"/")
    if name in RULE_FILES:
        return folder
    files = (EXCLUDE_FILE, EXCLUDE_FILE.rpartition(b"/")[0])
    spoken = next((file for file in files if (b"/" + relative).endswith(b"/" + file)), None)
    return relative[: -len(spoken)].rstrip(b"/") if spoken is not None else None


def _fold(paths: Iterable[tuple[Root, bytes]]) -> dict[Root, list[bytes]]:
    """Group paths by root, widen rule files to their folder, and drop what lies beneath another path."""
    by_root: dict[Root, set[bytes]] = {}
    for root, relative in paths:
        folder = ruled_by(relative)
        by_root.setdefault(root, set()).add(relative if folder is None else folder)
    return {root: _outermost(wanted) for root, wanted in by_root.items()}


def _outermost(wanted: set[bytes]) -> list[bytes]:
    if b"" in wanted:
        return [b""]
    return sorted(path for path in wanted if not any(above in wanted for above in _folders_of(path)))


def _folders_of(path: bytes) -> Iterator[bytes]:
    while path := path.rpartition(b"/")[0]:
        yield path
