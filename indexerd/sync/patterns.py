"""The lines of one ignore file, and what they say of an entry.

Owns: the grammar of a line: comments, negation, a slash at the end, spaces at the end; which line of a file decides.
Knows nothing of: folders, precedence between files, what is hidden.
Invariants: 1. the last line that speaks of an entry decides. 2. a line speaks of an entry itself, never of what lies
    below it: the walk decides about folders first.
Purity: pure.
See: docs/operations.md (what is ignored).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indexerd.sync.wildmatch import translate


class Pattern(NamedTuple):
    """One line of an ignore file.

    Attributes:
        ignores: False for a negated line (`!`), which takes an entry back in.
        folders_only: The line ended with `/`.
        by_name: The line has no other `/`: it is matched against the last component.
        expression: What the name, or the path below the ignore file's folder, must match in full.
        tail: A literal end of whatever matches, in lower case; empty if the pattern ends with a wildcard.
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
    glob = glob.removeprefix(b"/")
    expression = translate(glob, by_name=by_name) if glob else None
    if expression is None:
        return None
    # What follows the last special byte is literal, also where that byte only escapes it.
    tail = re.split(rb"[*?\]/\\]", glob)[-1].lower()
    return Pattern(ignores, folders_only, by_name, expression, tail)


def _without_trailing_spaces(line: bytes) -> bytes:
    """Drop spaces at the end, but none that a backslash protects."""
    kept = line.rstrip(b" ")
    backslashes = len(kept) - len(kept.rstrip(b"\\"))
    return kept + b" " if backslashes % 2 and len(kept) < len(line) else kept
