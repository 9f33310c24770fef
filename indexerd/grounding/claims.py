"""An answer in plain text or Markdown, parted into claims with the marks that cite for them.

Owns: what of an answer is a claim and what is not; marks such as `[S1]`, `[1]`, `[S1, S3]`; links.
Knows nothing of: evidence, support.
Invariants: 1. offsets are those of the answer's text. 2. a mark belongs to one statement at most, and to none in code.
Purity: pure.
See: docs/grounding.md (claims).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from indexerd.grounding.sentences import PRONOUN, Span, sentences
from indexerd.grounding.values import dates, exacts, quantities


class Mark(NamedTuple):
    """One label in brackets, where it stands."""

    label: str
    start: int
    end: int


class Statement(NamedTuple):
    """One sentence, item, row or block of an answer.

    Attributes:
        text: What it says, without marks and Markdown's own characters at its edges.
        start: Where it begins in the answer.
        end: Where it ends, its marks included.
        labels: The labels that cite for it, in order, repetitions kept.
        is_claim: Whether it states something that can be held to a source.
    """

    text: str
    start: int
    end: int
    labels: tuple[str, ...]
    is_claim: bool


class Link(NamedTuple):
    """A link or image target, or a bare address."""

    target: str
    start: int
    end: int


_MARKS: Final = re.compile(
    r"\[\s*(?P<labels>S?\d{1,3}(?:\s*[,;，、]\s*S?\d{1,3})*)\s*\](?!\(|: *https?:)", re.IGNORECASE
)
_ONE_MARK: Final = re.compile(r"S?(\d{1,3})", re.IGNORECASE)
# Bounded and possessive: each of many brackets that nothing closes would read to the end of the line, again and again.
_LINK: Final = re.compile(
    r"!?\[[^\]\n]{0,500}\]\(\s*+<?(?P<target>[^\s)>]{1,2000}+)[^)\n]{0,500}+\)|(?P<bare>\bhttps?://[^\s<>()\[\]\"'，。；]+)"
)
_CODE: Final = re.compile(r"(?<!`)(?P<ticks>`++)[^\n]{0,4000}?(?<!`)(?P=ticks)(?!`)")
_FENCED: Final = re.compile(r" {0,3}(?:```|~~~)")
_EDGES: Final = re.compile(r"^(?:\s*(?:[-*+•>]|\(?\d{1,3}[.)]|#{1,6})\s+)+|^\s*\||\|\s*$|^[*_]{1,3}|[*_]{1,3}$")
# Of a longer run of marks at an edge the rest stays: each round reads the whole text.
_MOST_ROUNDS: Final = 16
_RULE: Final = re.compile(r"[\s|:*_=-]*")
# The verbs of most sentences that give a value.
_STATES: Final = re.compile(
    r"\b(?:is|are|was|were|has|equals?|costs?|takes?|uses|runs|lasts|listens|must be|can be|will be)\b|[是为达]"
)
# And of a heading that states: seldom a noun, and not of a clause that only tells which thing is meant.
_HEADING_STATES: Final = re.compile(
    r"(?!.*\b(?:that|which|who|whose|what|how|why|when|where|whether|if)\b)[\w'’`\"(-].*\s"
    r"(?:is|are|was|were|isn['’]t|aren['’]t|cannot|(?:does|do|has|have) not|ha(?:s|ve) been)\s+(?!to\b)\w"
    r"|(?!.*(?:什么|怎|如何|哪|何|吗|谁)).*\w是(?!否)\w",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(r"\s*(?:how|what|why|when|where|which|who|is|are|does|do)\b", re.IGNORECASE)
# What opens a sentence that then says something: a greeting up to its comma, a line's lead up to its colon.
_OPENING: Final = re.compile(
    r"(?:(?:sure|certainly|of course|great question|you(?:'|’)re welcome|okay|ok|absolutely|yes|no"
    r"|(?:hi|hello|hey|thanks?)(?: \w+){0,3}+)|(?:您好|你好|谢谢)\w{0,2}|当然|好的|不客气|没问题)\s*[,.:!，。：！]\s*"
    r"|(?:here(?:'|’)?s?|here (?:is|are)|below (?:is|are))\b[^:.]*:\s*|(?:以下|下面)[^。：:]*[：:]\s*",
    re.IGNORECASE,
)
_BUT: Final = re.compile(r"\b(?:but|however|yet)\b,?\s*|(?:但是?|然而|不过|可是)，?\s*", re.IGNORECASE)
# What a greeting goes on with, and says nothing of the subject either.
_POLITE: Final = re.compile(
    r"(?:happy|glad|pleased|my pleasure|nice to|good (?:morning|day|evening)|no problem|let(?: me|['’]s)"
    r"|see|you can (?:ask|contact)|i(?:['’]m| am) (?:happy|glad|here|sorry)|i(?:['’]ll| will| can| could|['’]d| would) "
    r"(?:be|help|answer|try|explain|look|like|check|summari[sz]e))\b"
    r"|我(?:来|会|可以|将|很|明白|理解|帮|们来)|很(?:高兴|乐意)|请(?:看|参考|见|问|告诉|提供|稍)|祝|欢迎|感谢|[您你]?可以?(?:参考|参阅|联系|咨询|查)",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(r"[\u3400-\u9fff]{2}|[^\W\u3400-\u9fff]+")
# So few words, or pairs of characters, say nothing: "Yes, it does."
_FEWEST_WORDS: Final = 3
# A courtesy before a statement, up to its comma or colon.
_LEAD: Final = re.compile(r"[^,.:!，。：！]*[,.:!，。：！]\s*")
_QUESTION: Final = re.compile(r"[?？][\"'”’)\]]*$")
# Courtesies, and remarks about the answer itself: nothing in them is a statement about the subject.
_REMARK: Final = re.compile(
    r"(?:hi|hello|hey|sure|certainly|of course|great question|thanks?(?: you)?|you(?:'|’)re welcome|okay|ok|absolutely"
    r"|yes|no)\b[^.]{0,40}[.!,:]?$"
    r"|(?:i hope|hope) (?:this|that)\b|let me know\b|feel free\b|please (?:let me know|note that i|ask|feel)\b"
    r"|(?:here(?:'|’)?s?|here (?:is|are)|below (?:is|are))\b[^.]*[:.]?$|in (?:summary|short|conclusion)[,:]?$"
    r"|(?:based on|according to) (?:the|these|this|your) (?:provided |given |available |retrieved )?"
    r"(?:evidence|sources?|passages?|documents?|context)[,:]?$"
    r"|(?:您好|你好|当然|好的|谢谢|不客气|没问题)[^。]{0,10}[。！，]?$|希望[^。]{0,12}(?:帮助|有用)|如有[^。]{0,12}(?:问题|疑问)"
    r"|(?:以下|下面)[^。]{0,20}[：:]?$|(?:根据|基于)(?:以上|上述|提供的|所给的|这些)?(?:证据|资料|来源|文档|段落|信息)[，：:]?$|(?:总之|综上)[，：:]?$",
    re.IGNORECASE,
)
_ABSTAINS: Final = re.compile(
    r"\b(?:evidence|sources?|passages?|documents?|context|excerpts?)\b"
    r"[^.]{0,40}\b(?:do(?:es)? not|don['’]t|doesn['’]t|cannot|can['’]t|lacks?|insufficient|never)\b"
    r"|\bno (?:selected |relevant |available )?(?:evidence|source|passage|document)\b"
    r"|\bi (?:cannot|can['’]t|could not|couldn['’]t|am unable to|do not|don['’]t) (?:answer|find|know|determine|say)\b"
    r"|(?:证据|资料|来源|文档|段落|文中)[^。]{0,12}(?:没有|未|不足|无法|并未)|无法(?:回答|确定|得知|从)|没有(?:找到|任何|足够)[^。]{0,8}(?:证据|资料|信息|来源)",
    re.IGNORECASE,
)


def statements(answer: str) -> tuple[Statement, ...]:
    """Part an answer into statements.

    Marks behind a full stop belong to the sentence before it; marks alone on a line to what stands above. A fenced
    block is cited by the line that leads to it.
    """
    found: list[Statement] = []
    for span in sentences(answer):
        leading, statement = _read(answer, span)
        if found:
            own = 0 if not found[-1].labels or not statement.text else len(leading)
            behind = [mark for mark in leading[: len(leading) - own] if "\n" not in answer[found[-1].end : mark.start]]
            behind = behind if statement.text else list(leading)
            found[-1], leading = _cited(found[-1], behind), leading[len(behind) :]
        start = leading[0].start if leading else statement.start
        if statement.text:
            labels = (*(mark.label for mark in leading), *statement.labels)
            found.append(statement._replace(start=start, labels=labels))
    return tuple(_with_lead(found, answer))


def _read(answer: str, span: Span) -> tuple[tuple[Mark, ...], Statement]:
    """Read one sentence: the marks that it begins with, and the rest."""
    piece = answer[span.start : span.end]
    if _FENCED.match(piece):
        return (), Statement(piece, span.start, span.end, (), is_claim=True)
    marks = [mark for match in _marks(answer, span.start, span.end) for mark in _labels(match)]
    leading = tuple(_leading(answer, span.start, marks))
    start = leading[-1].end if leading else span.start
    start += len(answer[start : span.end]) - len(answer[start : span.end].lstrip())
    text = _bare(_unmarked(answer, span))
    labels = tuple(mark.label for mark in marks[len(leading) :])
    return leading, Statement(text, start, span.end, labels, _is_claim(piece, text))


def _marks(answer: str, start: int, end: int) -> Iterator["re.Match[str]"]:
    """Yield the marks between two places, save those in code and in links."""
    if _FENCED.match(answer, start):
        return
    closed = sorted(one.span() for found in (_CODE, _LINK) for one in found.finditer(answer, start, end))
    at, reach = 0, start
    for match in _MARKS.finditer(answer, start, end):
        while at < len(closed) and closed[at][0] < match.start():
            at, reach = at + 1, max(reach, closed[at][1])
        if match.end() >= reach:
            yield match


def _unmarked(answer: str, span: Span) -> str:
    pieces, at = [], span.start
    for match in _marks(answer, span.start, span.end):
        pieces.append(answer[at : match.start()])
        at = match.end()
    return "".join([*pieces, answer[at : span.end]])


def _labels(match: "re.Match[str]") -> Iterator[Mark]:
    for one in _ONE_MARK.finditer(match["labels"]):
        yield Mark(f"S{int(one[1])}", match.start(), match.end())


def _leading(answer: str, at: int, marks: Iterable[Mark]) -> Iterator[Mark]:
    for mark in marks:
        if mark.start > at and answer[at : mark.start].strip():
            return
        yield mark
        at = mark.end


def _bare(text: str) -> str:
    """Strip Markdown's characters from the edges, and the blank that a mark left before a full stop."""
    stripped = text.strip()
    for _ in range(_MOST_ROUNDS):
        shorter = _EDGES.sub("", stripped).strip()
        if shorter == stripped:
            break
        stripped = shorter
    return re.sub(r"\s+([.,;:!?。，；：！？])", r"\1", re.sub(r"[ \t]{2,}", " ", stripped)).strip()


def _is_claim(piece: str, text: str) -> bool:
    if _RULE.fullmatch(text) or _QUESTION.search(text) or text.endswith((":", "：")) or abstains(text):
        return False
    if piece.lstrip().startswith("#"):
        return _gives_value(text) or bool(_HEADING_STATES.match(text) and not _ASKS.match(text))
    return not _REMARK.match(text) or bool(_beyond(text)) or _gives_value(_LEAD.sub("", text, count=1))


def _beyond(text: str) -> str:
    """Return what a sentence says behind a courtesy, or behind a "but" where the sources do not say; else nothing."""
    opening, declining = _OPENING.match(text), _ABSTAINS.search(text)
    if declining is not None:
        opening = _BUT.search(text, declining.start())
    if opening is None or _has_value(text[: opening.end()]):
        return ""
    said = text[opening.end() :]
    is_polite = _POLITE.match(said) or _REMARK.match(said) or _ABSTAINS.search(said) or _QUESTION.search(said)
    words = len(_WORDS.findall(said)) - bool(PRONOUN.match(said))
    return "" if is_polite or words < _FEWEST_WORDS else said


def _gives_value(text: str) -> bool:
    """Whether a heading, or what follows a courtesy, is a sentence that gives a value: that can be right or wrong."""
    states = text.endswith((".", "。", "!", "！")) or _STATES.search(text)
    return bool(states and not _ASKS.match(text) and _has_value(text))


def _has_value(text: str) -> bool:
    return bool(quantities(text) or dates(text) or exacts(text))


def abstains(text: str) -> bool:
    """Whether a sentence says that the sources do not answer."""
    return bool(_ABSTAINS.search(text)) and not quantities(text) and not _beyond(text)


def _cited(statement: Statement, marks: Sequence[Mark]) -> Statement:
    if not marks:
        return statement
    return statement._replace(labels=(*statement.labels, *(mark.label for mark in marks)), end=marks[-1].end)


def _with_lead(found: Iterable[Statement], answer: str) -> Iterator[Statement]:
    """Give fenced blocks the marks of the line that leads to them; table headings are no claims."""
    before: Statement | None = None
    ordered = list(found)
    for at, one in enumerate(ordered):
        statement = one
        if _FENCED.match(one.text) and not one.labels and before is not None and before.text.endswith((":", "：")):
            statement = one._replace(labels=before.labels)
        if _is_row(answer, one) and at + 1 < len(ordered) and _RULE.fullmatch(ordered[at + 1].text):
            statement = one._replace(is_claim=False)
        before = statement
        if statement.text:
            yield statement


def _is_row(answer: str, statement: Statement) -> bool:
    return answer.startswith("|", statement.start)


def mark_spans(answer: str, start: int, end: int) -> tuple[Span, ...]:
    """Return where the marks of one statement stand, brackets included."""
    return tuple(Span(match.start(), match.end()) for match in _marks(answer, start, end))


def links(answer: str) -> tuple[Link, ...]:
    """Return the targets of an answer's links and images, and its bare addresses, code included."""
    return tuple(
        Link((match["target"] or match["bare"]).rstrip(".,;:!?"), match.start(), match.end())
        for match in _LINK.finditer(answer)
    )


def spoken(claim: str) -> str:
    """Return what a claim says, without a courtesy before it: links and images by their words, without any address."""
    said = _LINK.sub(
        lambda match: "" if match["bare"] else match[0][match[0].index("[") + 1 : match[0].index("]")], claim
    )
    return (_beyond(said) or said) if said.strip() else claim
