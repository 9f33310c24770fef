"""An answer in plain text or Markdown, parted into claims with the marks that cite for them.

Owns: what of an answer is a claim and what is not; which marks cite for it.
Knows nothing of: evidence, support.
Invariants: 1. offsets are those of the answer's text. 2. a mark belongs to one statement at most, and to none in code.
Purity: pure.
See: docs/grounding.md (claims).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from indexerd.grounding.marks import Mark, is_definition, marks, quotations, without_addresses
from indexerd.grounding.numbers import quantities
from indexerd.grounding.sentences import PRONOUN, Span, is_fenced, is_headed, is_quoted, sentences, unquoted
from indexerd.grounding.values import all_values


class Statement(NamedTuple):
    """One sentence, item, row or block of an answer.

    Attributes:
        text: What it says, without marks and Markdown's own characters at its edges.
        start: Where it begins in the answer.
        end: Where it ends, its marks included.
        labels: The labels that cite for it, in order, repetitions kept.
        is_claim: Whether it states something that can be held to a source.
        marks: The marks that stand with it; those of another line may cite for it too.
        quotes: What it says in the words of its source.
    """

    text: str
    start: int
    end: int
    labels: tuple[str, ...]
    is_claim: bool
    marks: tuple[Mark, ...] = ()
    quotes: tuple[str, ...] = ()


_EDGES: Final = re.compile(
    r"^(?:\s*(?:(?:[-*+•>]|\(?\d{1,3}[.)]|#{1,6})\s+|\d{1,3}、|（\d{1,3}）|[\u2460-\u2473]))+"
    r"|^\s*\||\|\s*$|^[*_]{1,3}|[*_]{1,3}$|^:\s"
)
# A line of nothing else in bold heads what follows; so does one with a line below it.
_BOLD: Final = re.compile(
    r"[ \t]*\*\*[^*\n]{1,200}(?<![.。!！?？])\*\*(?:[ \t]*\[[^\[\]\n]{0,40}\])*[ \t]*$", re.MULTILINE
)
_UNDERLINE: Final = re.compile(r"[ \t]*\n[ \t]*(?:=+|-{2,})")
_ENDS: Final = (".", "。", "!", "！")
# Who is quoted, below a block quote; and a line that only names a source.
_NAMED: Final = re.compile(r"[—–]")
_SOURCE: Final = re.compile(
    r"(?:(?:sources?|references?|来源|参考)\s*[:：]\s*)?\S*(?:#L\d+(?:-L\d+)?\S*|\.(?:md|markdown|txt|rst|html?|pdf))",
    re.IGNORECASE,
)
# Of a longer run of marks at an edge the rest stays: each round reads the whole text.
_MOST_ROUNDS: Final = 16
_RULE: Final = re.compile(r"[\s|:*_=-]*")
# The verbs of most sentences that give a value.
_STATES: Final = re.compile(
    r"\b(?:is|are|was|were|has|equals?|costs?|takes?|uses|runs|lasts|listens|must be|can be|will be)\b|是"
    r"|(?<=[^\W行因作认以人])(?:为|达到?)(?:约|大约)?\s*[-+\d零一二两三四五六七八九十百千万]"
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
# Marks with no more between them, `[1]. [1]`, have no words between.
_BESIDE: Final = 2
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
    block or a block quote without marks is cited by the line that leads to it.
    """
    found: list[Statement] = []
    every, said = list(marks(answer)), list(quotations(answer))
    starts, opens, closes = [one.start for one in every], [one.start for one in said], [one.end for one in said]
    for span in sentences(answer):
        own = every[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
        quoted = said[bisect_right(closes, span.start) : bisect_left(opens, span.end)]
        leading, statement = _read(answer, span, own, quoted)
        if found and leading:
            before = found[-1]
            is_next = bool(before.marks) or not before.is_claim
            behind = [mark for mark in leading if not is_next and "\n" not in answer[before.end : mark.start]]
            behind = behind if statement.text else list(leading)
            found[-1], leading = _cited(before, behind), leading[len(behind) :]
        if statement.text:
            found.append(_cited(statement, leading))
    return tuple(_without_heads(tuple(_with_lead(found, answer)), answer))


def _read(answer: str, span: Span, own: Sequence[Mark], quoted: Iterable[Span]) -> tuple[tuple[Mark, ...], Statement]:
    """Read one sentence: the marks that it begins with, and the rest."""
    piece = answer[span.start : span.end]
    if is_fenced(answer, span.start):
        return (), Statement(piece, span.start, span.end, (), is_claim=True)
    text = _said(answer, span, own)
    leading = tuple(_leading(answer, span.start, own)) if text else tuple(own)
    start = leading[-1].end if leading else span.start
    start += len(answer[start : span.end]) - len(answer[start : span.end].lstrip())
    is_claim = not is_definition(piece) and _is_claim(
        text, is_head=is_headed(answer, span.start) or bool(_BOLD.match(answer, answer.rfind("\n", 0, span.start) + 1))
    )
    quotes = [_said(answer, Span(max(one.start, span.start), min(one.end, span.end)), own) for one in quoted]
    if is_quoted(answer, span.start):
        is_claim, quotes = is_claim and not _NAMED.match(text), [text]
    statement = Statement(text, start, span.end, (), is_claim, quotes=tuple(filter(None, quotes)))
    return leading, _cited(statement, own[len(leading) :])


def _said(answer: str, span: Span, own: Iterable[Mark]) -> str:
    """Return the words of a part of an answer: no marks, and no Markdown at the edges."""
    pieces, at = [], span.start
    for mark in own:
        if at <= mark.start < span.end:
            beside = answer[mark.start - 1 : mark.start] + answer[mark.end : mark.end + 1]
            is_inside_a_word = len(beside) == len("ab") and beside.isascii() and beside.isalnum()
            pieces += [answer[at : mark.start], " " if is_inside_a_word else ""]
            at = mark.end
    said = "".join([*pieces, answer[at : span.end]])
    return _bare(unquoted(said) if is_quoted(answer, span.start) else said)


def _leading(answer: str, at: int, found: Iterable[Mark]) -> Iterator[Mark]:
    for mark in found:
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


def _is_claim(text: str, *, is_head: bool) -> bool:
    if _RULE.fullmatch(text) or _QUESTION.search(text) or text.endswith((":", "：")) or abstains(text):
        return False
    if is_head:
        return _heading_states(text)
    if _SOURCE.fullmatch(text):
        return False
    return not _REMARK.match(text) or bool(_beyond(text)) or _gives_value(_LEAD.sub("", text, count=1))


def _beyond(text: str) -> str:
    """Return what a sentence says behind a courtesy, or behind a "but" where the sources do not say; else nothing."""
    opening, declining = _OPENING.match(text), _ABSTAINS.search(text)
    if declining is not None:
        opening = _BUT.search(text, declining.start())
    if opening is None or all_values(text[: opening.end()]):
        return ""
    said = text[opening.end() :]
    is_polite = _POLITE.match(said) or _REMARK.match(said) or _ABSTAINS.search(said) or _QUESTION.search(said)
    words = len(_WORDS.findall(said)) - bool(PRONOUN.match(said))
    return "" if is_polite or words < _FEWEST_WORDS else said


def _heading_states(text: str) -> bool:
    return _gives_value(text) or bool(_HEADING_STATES.match(text) and not _ASKS.match(text))


def _gives_value(text: str) -> bool:
    """Whether a heading, or what follows a courtesy, is a sentence that gives a value: that can be right or wrong."""
    is_ended = text.endswith(_ENDS) and len(_WORDS.findall(text)) >= _FEWEST_WORDS
    return bool((is_ended or _STATES.search(text)) and not _ASKS.match(text) and all_values(text))


def abstains(text: str) -> bool:
    """Whether a sentence says that the sources do not answer."""
    return bool(_ABSTAINS.search(text)) and not quantities(text) and not _beyond(text)


def _cited(statement: Statement, more: Sequence[Mark]) -> Statement:
    """Return a statement with further marks, before or behind it; footnotes cite nothing."""
    if not more:
        return statement
    found = sorted((*statement.marks, *(mark for mark in more if not mark.is_note)), key=lambda mark: mark.start)
    start, end = min(statement.start, more[0].start), max(statement.end, more[-1].end)
    return statement._replace(start=start, end=end, labels=tuple(_labels(found)), marks=tuple(found))


def _labels(found: Iterable[Mark]) -> Iterator[str]:
    """Yield the labels of marks; one that is there again behind further words cites once."""
    known, beside, end = set[str](), set[str](), 0
    for mark in found:
        beside = beside if mark.start <= end + _BESIDE else set()
        if mark.label and (mark.label not in known or mark.label in beside):
            yield mark.label
        known.add(mark.label)
        beside.add(mark.label)
        end = mark.end


def _with_lead(found: Iterable[Statement], answer: str) -> Iterator[Statement]:
    """Give fenced blocks and block quotes the marks of the line that leads to them."""
    lead: tuple[str, ...] = ()
    for one in found:
        is_in_quote = is_quoted(answer, one.start)
        is_led = one.is_claim and not one.marks and (is_in_quote or is_fenced(answer, one.start))
        yield one._replace(labels=lead) if is_led else one
        if not is_in_quote:
            lead = one.labels if one.text.endswith((":", "：")) else ()


def _without_heads(found: Sequence[Statement], answer: str) -> Iterator[Statement]:
    """Tell headings of tables, and those with a line below, from claims."""
    for one, below in zip_longest(found, found[1:]):
        is_ruled = below is not None and _RULE.fullmatch(below.text)
        if is_ruled and answer.startswith("|", one.start):
            yield one._replace(is_claim=False)
        elif is_ruled and _UNDERLINE.fullmatch(answer, one.end, below.end) and not one.text.endswith(_ENDS):
            yield one._replace(is_claim=one.is_claim and _heading_states(one.text))
        else:
            yield one


def spoken(claim: str) -> str:
    """Return what a claim says, without a courtesy before it: links and images by their words, without any address."""
    said = without_addresses(claim)
    return (_beyond(said) or said) if said.strip() else claim
