"""What stands in an answer beside its words: marks that cite, links and addresses, quotations.

Owns: their forms in Markdown: `[S1]`, `[1]`, `[S1, S3]`, `[unsupported]`; links, references, definitions, footnotes.
Knows nothing of: claims, evidence, support.
Invariants: 1. offsets are those of the text. 2. what is in code, a link or a definition is no mark.
Purity: pure.
See: docs/grounding.md (claims).
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from indexerd.grounding.sentences import Span, fences

UNSUPPORTED: Final = "[unsupported]"


class Mark(NamedTuple):
    """One label in brackets, where it stands; no label is that of `[unsupported]` and of a footnote's number."""

    label: str
    start: int
    end: int
    is_note: bool = False


class Link(NamedTuple):
    """A link or image target, or a bare address."""

    target: str
    start: int
    end: int


_MARKS: Final = re.compile(
    r"\[\s*(?P<labels>S?\d{1,3}(?:\s*[,;，、]\s*S?\d{1,3})*)\s*\](?!\()|\[(?:unsupported|(?P<note>\^[\w-]{1,40}))\](?!\()",
    re.IGNORECASE,
)
_ONE_MARK: Final = re.compile(r"S?(\d{1,3})", re.IGNORECASE)
# Bounded and possessive, and no bracket twice: what nothing closes is read once. The words of a link may be another.
_LINK: Final = re.compile(
    r"(?:!?\[(?P<words>[^\[\]\n]{0,500}+))?\]\(\s*+<?(?P<target>[^\s()>]{1,2000}+)[^)\n]{0,500}+\)"
    r"|(?P<bare>(?<![a-z0-9])(?:(?:https?|ftp)://|www\.)[!#-&*-;=?-Z\\^-~]+)"
    r"|(?P<mail>(?<![\w.+-])[\w.+-]{1,64}+@(?:[\w-]{1,63}+\.){1,8}[a-z]{2,24}(?![\w-]))",
    re.IGNORECASE | re.ASCII,
)
_DEFINITION: Final = re.compile(
    r"^ {0,3}\[(?!\^)(?P<label>[^\[\]\n]{1,100})\]:[ \t]*<?(?P<target>[^\s<>]{0,2000}[./#:@][^\s<>]{0,2000})>?"
    r"(?:[ \t]+(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'|\([^()\n]{0,500}\)))?[ \t]*$",
    re.MULTILINE,
)
_REFERENCE: Final = re.compile(r"\[(?P<words>[^\[\]\n]{1,500}+)\]\[(?P<label>[^\[\]\n]{1,100}+)\]")
_CODE: Final = re.compile(r"(?<!`)(?P<ticks>`++)[^\n]{0,4000}?(?<!`)(?P=ticks)(?!`)")
_QUOTATION: Final = re.compile(
    r"“((?:(?!\n\s*\n)[^“”]){1,4000})”|「((?:(?!\n\s*\n)[^「」]){1,4000})」"
    r"|(?<![\w\"])\"(?=\S)((?:(?!\n\s*\n)[^\"]){1,4000})(?<=\S)\"(?!\w)"
)
_LEFT_OUT: Final = re.compile(r"\[\s*(?:\.{3}|…)\s*\]|\.{3,}|…+")
_QUOTE_EDGES: Final = " \t\r\n.,;:!?。，；：！？、"


def marks(answer: str) -> Iterator[Mark]:
    """Yield the marks of an answer in order, one for each label."""
    definitions = tuple(_definitions(answer))
    defined = {match["label"].lower() for match in definitions}
    references = (
        match
        for match in _REFERENCE.finditer(answer)
        if match["label"].lower() in defined and not _MARKS.fullmatch(f"[{match['words']}]")
    )
    closed = chain(definitions, references, _CODE.finditer(answer), _LINK.finditer(answer))
    for match in _outside(_MARKS.finditer(answer), (*fences(answer), *(one.span() for one in closed))):
        yield from _labels(match)


def _outside(found: Iterable["re.Match[str]"], closed: Iterable[tuple[int, int]]) -> Iterator["re.Match[str]"]:
    """Yield what does not begin in what is closed."""
    ordered, at, reach = sorted(closed), 0, 0
    for match in found:
        while at < len(ordered) and ordered[at][0] <= match.start():
            at, reach = at + 1, max(reach, ordered[at][1])
        if match.start() >= reach:
            yield match


def _labels(match: "re.Match[str]") -> Iterator[Mark]:
    if not match["labels"]:
        yield Mark("", *match.span(), is_note=match["note"] is not None)
    for one in _ONE_MARK.finditer(match["labels"] or ""):
        yield Mark(f"S{int(one[1])}", *match.span())


def _definitions(answer: str) -> Iterator["re.Match[str]"]:
    """Yield the lines that say where the references of an answer lead, save those in fenced blocks."""
    return _outside(_DEFINITION.finditer(answer), fences(answer))


def is_definition(line: str) -> bool:
    """Whether a line says where a reference leads, and nothing else."""
    return bool(_DEFINITION.fullmatch(line))


def links(answer: str) -> tuple[Link, ...]:
    """Return the targets of an answer's links and images, and its bare addresses, code included."""
    found = [(match["target"] or match["bare"] or match["mail"], match) for match in _LINK.finditer(answer)]
    found += [(match["target"], match) for match in _definitions(answer)]
    return tuple(Link(target.rstrip(".,;:!?").removeprefix("mailto:"), *match.span()) for target, match in found)


def is_in(target: str, text: str) -> bool:
    """Whether a text has an address, and not just one that begins or ends alike; one below it counts."""
    return bool(re.search(rf"(?<![\w.@-]){re.escape(target)}(?![\w@-]|\.\w)", text, re.ASCII))


def without_addresses(text: str) -> str:
    """Return what a text says: links and images by their words, bare addresses left out."""
    said = _LINK.sub(lambda match: match["mail"] or match["words"] or "", text)
    return _REFERENCE.sub(lambda match: match["words"], said)


def quotations(text: str) -> Iterator[Span]:
    """Yield what stands in quotation marks, without them; in code there is none."""
    closed = (*fences(text), *(match.span() for match in _CODE.finditer(text)))
    for match in _outside(_QUOTATION.finditer(text), closed):
        yield Span(*match.span(match.lastindex or 0))


def quotes(quote: str, text: str) -> bool:
    """Whether a text has the words of a quotation; it may leave out what dots stand for, and end in another mark."""
    spaced, at = folded(text), 0
    for part in _LEFT_OUT.split(quote):
        words = folded(part).strip(_QUOTE_EDGES)
        at = spaced.find(words, at)
        if at < 0:
            return False
        at += len(words)
    return True


def folded(text: str) -> str:
    """Return a text with single blanks for all white space."""
    return re.sub(r"\s+", " ", text).strip()
