"""What a document is called: title, aliases, tags, and the words of its path.

Owns: which key or line gives a name, inline `#tags`.
Knows nothing of: YAML, chunks, bytes.
Invariants: 1. tags inside fences and code spans are no tags. 2. linear time.
Purity: pure.
See: docs/search.md (fields).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from indexerd.documents.outline import Block, Outline
from indexerd.model import MetadataValue
from indexerd.naming import decode_name

# A tag stands at a word's start and holds a character that is no digit (`#12` is an issue).
# The look-behind comes second: a pattern that begins with a literal is searched at memory speed.
_TAG = re.compile(r"#(?<![^\s(（\[，。、；：,;]#)(?=[\w/-]*[^\W\d_])(\w[\w/-]*+)")
_CODE_MARKS = re.compile(r"`+")
_INDENTED = ("    ", "\t")


def values_of(metadata: Mapping[str, MetadataValue], keys: Sequence[str]) -> Iterator[str]:
    """Yield the non-empty values under any of `keys`, in order; keys are compared without case."""
    if not metadata:
        return
    folded = {key.casefold() for key in keys}
    for key, value in metadata.items():
        if key.casefold() in folded:
            yield from (part for part in ((value,) if isinstance(value, str) else value) if part.strip())


def front_matter_tags(metadata: Mapping[str, MetadataValue], keys: Sequence[str]) -> list[str]:
    """Return the tags of the front matter; one string may hold several, separated by commas."""
    parts = (part.strip().lstrip("#") for value in values_of(metadata, keys) for part in value.split(","))
    return [part for part in parts if part]


def inline_tags(text: str, blocks: Sequence[Block]) -> list[str]:
    """Return the `#tags` of a text, without those in fences, indented code and code spans."""
    tags: list[str] = []
    line_end, spans = -1, []
    for match in _TAG.finditer(text):
        position = match.start()
        if position > line_end:
            line_start = text.rfind("\n", 0, position) + 1
            line_end = text.find("\n", position)
            line_end = len(text) if line_end < 0 else line_end
            code = text.startswith(_INDENTED, line_start) or _in_fence(blocks, position)
            spans = [(line_start, line_end)] if code else _code_spans(text, line_start, line_end)
        index = bisect_right(spans, (position, len(text))) - 1
        if index < 0 or position >= spans[index][1]:
            tags.append(match[1].rstrip("/-"))
    return tags


def _in_fence(blocks: Sequence[Block], position: int) -> bool:
    index = bisect_right(blocks, (position, position, position)) - 1
    return index >= 0 and not blocks[index].header_end and position < blocks[index].end


def _code_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the code spans of one line: a run of backticks to the next run of the same length."""
    marks = [match.span() for match in _CODE_MARKS.finditer(text, start, end)]
    if not marks:
        return []
    following: dict[int, int] = {}
    partner = [-1] * len(marks)
    for index in range(len(marks) - 1, -1, -1):
        length = marks[index][1] - marks[index][0]
        partner[index] = following.get(length, -1)
        following[length] = index
    spans, index = [], 0
    while index < len(marks):
        if partner[index] < 0:
            index += 1
            continue
        spans.append((marks[index][0], marks[partner[index]][1]))
        index = partner[index] + 1
    return spans


def title_of(front_matter: Iterable[str], outline: Outline, file_name: str) -> str:
    """Return the title: front matter, else what the format declares, else the only level-1 heading, else the name."""
    given = next(iter(front_matter), "").strip() or outline.title
    if given:
        return " ".join(given.split())
    first = ""
    for heading in outline.headings:
        if heading.level == 1 and heading.depth == 0:
            if first:
                return file_name
            first = heading.title or file_name
    return first or file_name


def path_words(source_path: str) -> tuple[str, str]:
    """Return (file name without its ending, folders), decoded for reading and searching."""
    plain = _decoded(source_path) if "%" in source_path else source_path
    folders, _, name = plain.rpartition("/")
    stem, dot, _ = name.rpartition(".")
    return (stem if dot and stem else name), folders


def _decoded(source_path: str) -> str:
    try:
        return decode_name(source_path).decode(errors="replace")
    except ValueError:
        # Not a spelling of ours: its own words are the best there are.
        return source_path
