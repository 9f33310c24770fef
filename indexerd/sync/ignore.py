"""Which files and folders are not looked at, and why.

Owns: the built-in rules, the ignore files and the order in which they speak. The walk hands in what it found on disk.
Knows nothing of: the disk, events, the index.
Invariants: 1. one verdict for an entry, whether a scan or a single path asks. 2. a folder that is ignored hides all
    below it, whatever speaks for what is inside. 3. version control's own folders and the daemon's own files are never
    indexed.
Purity: pure.
See: docs/operations.md (what is ignored), docs/adr/0008.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from indexerd.model import Settings
from indexerd.sync.patterns import PatternSet, parse_patterns

# Weakest first: a tool's own file overrides the general one, which overrides git's.
IGNORE_FILES = (b".gitignore", b".ignore", b".indexerdignore")
CACHE_TAG = b"CACHEDIR.TAG"
# https://bford.info/cachedir/: the file's first 43 bytes.
CACHE_TAG_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
# Entries whose coming or going changes what is ignored beside and below them.
_CONFIGURED = len(IGNORE_FILES)
RULE_FILES = frozenset({*IGNORE_FILES, CACHE_TAG, b".git"})
# What git keeps for one repository beside its `.gitignore` files, as seen from the repository's top.
EXCLUDE_FILE = b".git/info/exclude"
# The name under which the text is handed in that the user has git ignore in all repositories: a file of no folder here.
EVERYWHERE = b"git/ignore"
# The same for the root's own repository, whose settings may name another file.
EVERYWHERE_HERE = b"git/ignore here"

_VCS_FOLDERS = frozenset({b".git", b".hg", b".svn", b".bzr", b".jj", b".pijul", b".sl", b"CVS", b"_darcs", b"_FOSSIL_"})
# Emacs locks, Office locks, AppleDouble, and what sync tools write before they rename it: names that keep an indexed
# ending. Swap files, backups and temporary files have endings of their own and are never indexed. What an editor
# renames onto the real name is seen under the real name.
_EDITOR_FILE = re.compile(rb"\.#|~\$|\._|~syncthing~|\.syncthing\.")

Reason = Literal["version_control", "own_files", "excluded", "ignored", "hidden", "node_modules", "editor_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreOptions:
    """What the configuration says about one root.

    Attributes:
        formats: File endings that are indexed, lower case, with the dot.
        hidden: Index hidden files and folders too.
        node_modules: Index `node_modules` too.
        tagged_caches: Index folders with a CACHEDIR.TAG too.
        ignore_files: Honour `.gitignore`, `.ignore` and `.indexerdignore`.
        patterns: Lines in the form of an ignore file at the root; they override all ignore files, and a negated one
            also takes in what a built-in rule leaves out.
        is_broken: What the root says of itself cannot be read: all of it is held.
    """

    formats: tuple[str, ...] = field(default_factory=lambda: Settings().formats)
    hidden: bool = False
    node_modules: bool = False
    tagged_caches: bool = False
    ignore_files: bool = True
    patterns: tuple[str, ...] = ()
    is_broken: bool = False


class Layer(NamedTuple):
    """The patterns of one file, and where that file stands in relation to the root.

    Attributes:
        patterns: What it says.
        rank: Its kind's place in `IGNORE_FILES`, or one more for the configuration: the higher overrides.
        skip: Bytes to drop from a root-relative path to have it relative to the file's folder.
        above: For a file above the root: the root's path below that folder, with a slash at the end.
    """

    patterns: PatternSet
    rank: int
    skip: int = 0
    above: bytes = b""

    @property
    def is_gits(self) -> bool:
        """Whether git reads it too. Such a file takes nothing back from the built-in rules.

        `!.env` there says that git should keep it, not that anybody wants to search it.
        """
        return self.rank == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRules:
    """The rules for the entries of one folder.

    Attributes:
        options: The root's options.
        path: The folder, relative to the root; empty for the root.
        own_files: Root-relative paths of the daemon's own files and folders, and of roots nested in this one.
        layers: All patterns in force, strongest first.
        everywhere: What the user has git ignore in all repositories; weakest in each.
    """

    options: IgnoreOptions
    path: bytes = b""
    own_files: frozenset[bytes] = frozenset()
    layers: tuple[Layer, ...] = ()
    everywhere: PatternSet = field(default_factory=lambda: PatternSet(()))

    def enter(self, name: bytes, files: Mapping[bytes, bytes], *, is_repository: bool) -> "FolderRules":
        """Return the rules for the entries of a folder inside this one.

        Args:
            name: The folder's name.
            files: The texts of the ignore files found directly in it, by name, and of `EXCLUDE_FILE`.
            is_repository: Whether it holds a `.git`: git then knows no rules from outside.
        """
        path = self._path_of(name)
        layers = self.layers
        if is_repository:
            layers = tuple(layer for layer in layers if not layer.is_gits)
            layers = _insert(layers, Layer(self.everywhere, 0, len(path) + 1))
        if files and self.options.ignore_files:
            layers = _with_files(layers, files, skip=len(path) + 1)
        own_files = frozenset(own for own in self.own_files if own.startswith(path + b"/"))
        return FolderRules(
            options=self.options, path=path, own_files=own_files, layers=layers, everywhere=self.everywhere
        )

    def ignores(self, name: bytes, *, is_folder: bool) -> Reason | None:
        """Return why the entry `name` of this folder is not looked at; None if it is."""
        if name in _VCS_FOLDERS:
            return "version_control"
        path = self._path_of(name) if self.own_files or self.layers else name
        if path in self.own_files:
            return "own_files"
        for layer in self.layers:
            below = layer.above + path[layer.skip :] if layer.patterns.has_paths else b""
            verdict = layer.patterns.verdict(name, below, is_folder=is_folder)
            if verdict:
                return "excluded" if layer.rank == _CONFIGURED else "ignored"
            if verdict is False:
                return self._built_in(name, is_folder=is_folder) if layer.is_gits else None
        return self._built_in(name, is_folder=is_folder)

    def may_ignore_files(self) -> bool:
        """Whether an ordinary file with an indexed ending needs to be asked about at all; hidden files always do."""
        if self.own_files:
            return True
        endings = _endings(self.options.formats)
        return any(layer.patterns.may_ignore(endings) for layer in self.layers)

    def is_wanted(self, name: bytes) -> bool:
        """Whether a file of this name has an ending that is indexed."""
        at = name.rfind(b".")
        return at > 0 and name[at:].lower() in _endings(self.options.formats)

    def _path_of(self, name: bytes) -> bytes:
        return self.path + b"/" + name if self.path else name

    def _built_in(self, name: bytes, *, is_folder: bool) -> Reason | None:
        first = name[0]
        if first == 46 and not self.options.hidden:  # "."
            return "hidden"
        if is_folder:
            return "node_modules" if name == b"node_modules" and not self.options.node_modules else None
        return "editor_file" if _EDITOR_FILE.match(name) else None


@lru_cache(maxsize=64)
def _endings(formats: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(ending.lower().encode() for ending in formats)


def root_rules(
    options: IgnoreOptions,
    *,
    files: Mapping[bytes, bytes],
    above: Sequence[tuple[bytes, bytes]] = (),
    own_files: frozenset[bytes] = frozenset(),
    is_repository: bool = False,
) -> FolderRules:
    """Return the rules for the entries of a root.

    Args:
        options: What the configuration says.
        files: The texts of the ignore files directly in the root, by name, of `EXCLUDE_FILE`,
            `EVERYWHERE` and `EVERYWHERE_HERE`.
        above: `(path of the root below it, text)` of each `.gitignore` between the repository's top and the root's
            parent, top first, and before them what speaks for the whole repository. If they ignore the root itself
            they do not count: the user asked for it, and what git thinks of its inside is then "nothing".
        own_files: See `FolderRules.own_files`.
        is_repository: Whether the root is itself a repository's top, so that nothing above it counts.
    """
    layers: tuple[Layer, ...] = ()
    known = parse_patterns(files.get(EVERYWHERE, b""))
    if is_repository:
        layers = _insert(layers, Layer(parse_patterns(files.get(EVERYWHERE_HERE, b"")), 0))
    if options.ignore_files:
        outside = () if is_repository else tuple((below, parse_patterns(text)) for below, text in above)
        for below, patterns in () if _ignore_root(outside) else outside:
            layers = _insert(layers, Layer(patterns, 0, above=below + b"/"))
        layers = _with_files(layers, files, skip=0)
    configured = "\n".join(options.patterns).encode("utf-8", "surrogateescape")
    layers = _insert(layers, Layer(parse_patterns(configured), _CONFIGURED))
    return FolderRules(options=options, own_files=own_files, layers=layers, everywhere=known)


def _ignore_root(above: Sequence[tuple[bytes, PatternSet]]) -> bool:
    """Whether the files above a root ignore it, or a folder on the way to it."""
    components = above[0][0].split(b"/") if above else []
    starts = [(len(components) - below.count(b"/") - 1, patterns) for below, patterns in reversed(above)]
    for depth in range(1, len(components) + 1):
        name = components[depth - 1]
        for start, patterns in starts:
            path = b"/".join(components[start:depth])
            verdict = patterns.verdict(name, path, is_folder=True) if start < depth else None
            if verdict:
                return True
            if verdict is False:
                break
    return False


def _with_files(layers: tuple[Layer, ...], files: Mapping[bytes, bytes], *, skip: int) -> tuple[Layer, ...]:
    if EXCLUDE_FILE in files:
        layers = _insert(layers, Layer(parse_patterns(files[EXCLUDE_FILE]), 0, skip))
    for rank, name in enumerate(IGNORE_FILES):
        if name in files:
            layers = _insert(layers, Layer(parse_patterns(files[name]), rank, skip))
    return layers


def _insert(layers: tuple[Layer, ...], new: Layer) -> tuple[Layer, ...]:
    """Put a layer before all of its kind: of two files of one kind the deeper speaks first."""
    if not new.patterns:
        return layers
    at = next((number for number, layer in enumerate(layers) if layer.rank <= new.rank), len(layers))
    return (*layers[:at], new, *layers[at:])
