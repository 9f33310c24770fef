"""Patterns as git reads them, compiled to expressions that run in linear time.

Owns: the grammar of one ignore file: comments, negation, anchors, `*`, `**`, `?`, brackets, escapes, trailing spaces.
Knows nothing of: folders, precedence between files, what is hidden.
Invariants: 1. bytes are matched, as git matches them. 2. a pattern matches an entry itself, never what lies below it:
    the walk decides about folders first. 3. no pattern backtracks beyond depth x length of a name, however hostile.
Purity: pure.
See: docs/operations.md (what is ignored).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_STAR = b"*"
_DOUBLE = b"**"
_NEVER = b"(?!)"
_ANY_FOLDERS = b"(?:[^/]*/)*"

# The bytes of each class in the C locale, which is what git uses whatever the user's is.
_CLASSES = {
    b"alnum": rb"[0-9A-Za-z]",
    b"alpha": rb"[A-Za-z]",
    b"blank": rb"[ \t]",
    b"cntrl": rb"[\x00-\x1f\x7f]",
    b"digit": rb"[0-9]",
    b"graph": rb"[!-~]",
    b"lower": rb"[a-z]",
    b"print": rb"[ -~]",
    b"punct": rb"[!-/:-@\[-`{-~]",
    b"space": rb"[ \t-\r]",
    b"upper": rb"[A-Z]",
    b"xdigit": rb"[0-9A-Fa-f]",
}
_CLASS_BYTES = {
    name: frozenset(byte for byte in range(256) if re.fullmatch(expression, bytes((byte,))))
    for name, expression in _CLASSES.items()
}


class Pattern(NamedTuple):
    """One line of an ignore file.

    Attributes:
        ignores: False for a negated line (`!`), which takes an entry back in.
        folders_only: The line ended with `/`.
        by_name: The line has no other `/`: it is matched against the last component.
        expression: What the name, or the path below the ignore file's folder, must match in full.
        tail: The literal end of whatever matches, in lower case; empty if the pattern ends with a wildcard.
    """

    ignores: bool
    folders_only: bool
    by_name: bool
    expression: bytes
    tail: bytes


class PatternSet:
    """The patterns of one ignore file, last one first in force."""

    __slots__ = ("_any", "_patterns", "has_paths")

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = tuple(reversed(patterns))
        self.has_paths = any(not pattern.by_name for pattern in patterns)
        # One expression each for files and folders, for names and paths: most entries match nothing, and learn it here.
        self._any = {
            (is_folder, by_name): _join(
                pattern
                for pattern in patterns
                if pattern.by_name == by_name and (is_folder or not pattern.folders_only)
            )
            for is_folder in (False, True)
            for by_name in (False, True)
        }

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def may_ignore(self, endings: tuple[bytes, ...]) -> bool:
        """Whether any line could ignore a file with one of these endings (lower case).

        Most lines of most ignore files speak of folders and of files that are never indexed: one question for a folder
        then saves one for each of its files.
        """
        return any(
            pattern.ignores
            and not pattern.folders_only
            and any(pattern.tail.endswith(ending) or ending.endswith(pattern.tail) for ending in endings)
            for pattern in self._patterns
        )

    def verdict(self, name: bytes, path: bytes, *, is_folder: bool) -> bool | None:
        """Return True if the entry is ignored, False if it is taken back in, None if no line speaks of it.

        Args:
            name: Last component.
            path: Relative to the folder of the ignore file; may be empty where `has_paths` is False.
            is_folder: Whether the entry is a folder (a link to one is none).
        """
        names, paths = self._any[is_folder, True], self._any[is_folder, False]
        if (names is None or names.fullmatch(name) is None) and (paths is None or paths.fullmatch(path) is None):
            return None
        for pattern in self._patterns:
            if pattern.folders_only and not is_folder:
                continue
            if _compile(pattern.expression).fullmatch(name if pattern.by_name else path):
                return pattern.ignores
        return None


def _compile(expression: bytes) -> re.Pattern[bytes]:
    return re.compile(expression, re.DOTALL)


def _join(patterns: Iterator[Pattern]) -> re.Pattern[bytes] | None:
    expressions = list(dict.fromkeys(pattern.expression for pattern in patterns))
    return _compile(b"|".join(b"(?:%s)" % expression for expression in expressions)) if expressions else None


def parse_patterns(data: bytes) -> PatternSet:
    """Read the text of an ignore file. Nothing in it is an error: what git cannot match, matches nothing here."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    patterns = (_parse_line(line.removesuffix(b"\r")) for line in lines)
    return PatternSet([pattern for pattern in patterns if pattern is not None])


def _parse_line(line: bytes) -> Pattern | None:
    if line.startswith(b"#"):
        return None
    glob = _without_trailing_spaces(line.partition(b"\0")[0])
    ignores = not glob.startswith(b"!")
    glob = glob if ignores else glob[1:]
    folders_only = glob.endswith(b"/")
    glob = glob[:-1] if folders_only else glob
    by_name = b"/" not in glob
    atoms = _atoms(glob.removeprefix(b"/"), by_name=by_name)
    if not glob or atoms is None:
        return None
    return Pattern(ignores, folders_only, by_name, _assemble(atoms), _tail(atoms))


def _without_trailing_spaces(line: bytes) -> bytes:
    """Drop spaces at the end, but none that a backslash protects."""
    kept = line.rstrip(b" ")
    backslashes = len(kept) - len(kept.rstrip(b"\\"))
    return kept + b" " if backslashes % 2 and len(kept) < len(line) else kept


def _atoms(glob: bytes, *, by_name: bool) -> list[bytes] | None:
    """Return the expressions of single bytes, and the wildcards between them; None if the glob can match nothing."""
    atoms: list[bytes] = []
    at = 0
    while at < len(glob):
        match glob[at : at + 1]:
            case b"*":
                stars, at = _stars(glob, at, by_name=by_name)
                atoms += stars
            case b"?":
                atoms.append(b"[^/]")
                at += 1
            case b"[":
                bracket = _bracket(glob, at + 1)
                if bracket is None:
                    return None
                atoms.append(bracket[0])
                at = bracket[1]
            case b"\\":
                if at + 1 == len(glob):
                    return None
                atoms.append(re.escape(glob[at + 1 : at + 2]))
                at += 2
            case literal:
                atoms.append(re.escape(literal))
                at += 1
    return atoms


def _stars(glob: bytes, at: int, *, by_name: bool) -> tuple[list[bytes], int]:
    """Read a run of stars; return what it stands for and the offset behind it."""
    end = len(glob) - len(glob[at:].lstrip(b"*"))
    if by_name or not _is_double(glob, at, end):
        return [_STAR], end
    if glob.startswith(b"\\", end):  # git lets `**/` match no folder at all, but not `**\/`
        return [_STAR, b"/", _DOUBLE, b"/"], end + 2
    return [_DOUBLE], end


def _is_double(glob: bytes, start: int, end: int) -> bool:
    """Whether two or more stars stand alone between slashes, and so cross folders.

    git compares the literal beginning of a pattern first and hands on the rest, so stars after a wholly literal
    beginning count as standing at the start: `foo**/bar` matches `foobar` and `foo1/2/bar`.
    """
    if end - start < 2:
        return False
    before, after = glob[:start], glob[end:]
    opens = before[-1:] in (b"", b"/") or not any(special in before for special in b"*?[\\")
    return opens and (not after or after.startswith((b"/", b"\\/")))


def _bracket(glob: bytes, at: int) -> tuple[bytes, int] | None:
    """Read a bracket whose `[` stands before `at`; return its class and the offset behind, None if it never closes."""
    negated = glob[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    previous = 0
    first = True
    while first or glob[at : at + 1] != b"]":
        first = False
        step = _bracket_member(glob, at, previous)
        if step is None:
            return None
        found, previous, at = step
        members |= found
    wanted = (frozenset(range(256)) - members if negated else members) - {ord("/")}
    return _class_of(wanted), at + 1


def _bracket_member(glob: bytes, at: int, previous: int) -> tuple[frozenset[int], int, int] | None:
    """Read one member: a byte, a range from `previous`, an escape, or a class. None if the pattern ends first."""
    here, following = glob[at : at + 1], glob[at + 1 : at + 2]
    if not here:
        return None
    if here == b"\\":
        return (frozenset(following), following[0], at + 2) if following else None
    if here == b"-" and previous and following not in (b"", b"]"):
        at += 1 + (following == b"\\")
        last = glob[at : at + 1]
        return (frozenset(range(previous, last[0] + 1)), 0, at + 1) if last else None
    if here == b"[" and following == b":":
        close = glob.find(b"]", at + 2)
        if close < 0:
            return None
        if close > at + 2 and glob[close - 1 : close] == b":":
            members = _CLASS_BYTES.get(glob[at + 2 : close - 1])
            return None if members is None else (members, 0, close + 1)
    return frozenset(here), here[0], at + 1


def _class_of(members: frozenset[int] | set[int]) -> bytes:
    if not members:
        return _NEVER
    return b"[" + b"".join(b"\\x%02x" % byte for byte in sorted(members)) + b"]"


def _assemble(atoms: list[bytes]) -> bytes:
    """Join atoms so that each wildcard but the last of its kind settles for its first fit.

    A later wildcard can absorb whatever an earlier one leaves, so the first fit is never worse, and an atomic group may
    forget the others. Without this, `*a*a*a*a*b` takes time exponential in its stars on a name of many `a`.
    """
    first, *rest = _split(atoms, _DOUBLE)
    parts = [_within_folder(first)]
    for number, group in enumerate(rest, start=1):
        if not group:  # `**` at the very end matches everything
            parts.append(b".*")
        elif number == len(rest):
            parts.append(_ANY_FOLDERS + _within_folder(group[1:]))
        else:
            parts.append(b"(?>" + _ANY_FOLDERS + b"?" + _within_folder(group[1:]) + b")")
    return b"".join(parts)


def _tail(atoms: list[bytes]) -> bytes:
    literals: list[bytes] = []
    for atom in reversed(atoms):
        # A literal is one byte, escaped or not; wildcards, brackets and `?` are longer.
        if atom in (_STAR, _DOUBLE) or len(atom) > 2:
            break
        literals.append(atom[-1:])
    return b"".join(reversed(literals)).lower()


def _within_folder(atoms: list[bytes]) -> bytes:
    first, *rest = (b"".join(piece) for piece in _split(atoms, _STAR))
    if not rest:
        return first
    middle = b"".join(b"(?>[^/]*?" + piece + b")" for piece in rest[:-1])
    return first + middle + b"[^/]*" + rest[-1]


def _split(atoms: list[bytes], separator: bytes) -> list[list[bytes]]:
    pieces: list[list[bytes]] = [[]]
    for atom in atoms:
        if atom == separator:
            pieces.append([])
        else:
            pieces[-1].append(atom)
    return pieces
