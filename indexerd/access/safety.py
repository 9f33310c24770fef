"""The safety gate: lines that try to instruct a model.

Owns: how a text is searched for such lines.
Knows nothing of: the phrases, path rules, what is done with a finding.
Invariants: 1. a text without any cue costs a few substring searches; one full of cues, linear time. 2. findings are in
    line order, one for a line and kind.
Purity: pure.
See: docs/threat-model.md (safety gate) for recall and false alarms; benchmarks/bench_safety.py measures them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate

from indexerd.access.cues import CueFilter
from indexerd.access.disguise import encoded_in, reveal, suspects
from indexerd.access.phrases import Pattern, compile_phrases, compiled
from indexerd.access.phrases_english import PHRASES as ENGLISH
from indexerd.access.phrases_english import WORDS as ENGLISH_WORDS
from indexerd.access.phrases_other import PHRASES as OTHER
from indexerd.access.phrases_other import WORDS as OTHER_WORDS
from indexerd.model import UnsafeFinding

SAFETY_VERSION = 2

# No phrase reaches further from its cue: the longest gaps of one phrase add up to less.
_REACH = 260
_NEAR = 100
_MAX_FINDINGS = 100
# No phrase reaches over these, save at its very ends.
_MARKS = (".", "!", "?", ";")
_MARK = re.compile(r"[.!?;]")

_Reading = tuple[int, str]

# Texts are filtered together up to this size: a call of numpy costs more than a small text.
_BATCH_CHARS = 1 << 19


@cache
def patterns_by_cue() -> Mapping[str, tuple[Pattern, ...]]:
    """Return every phrase under the cue that leads to it. Made with the first scan: a start need not wait for it."""
    return compile_phrases((*ENGLISH, *OTHER), {**ENGLISH_WORDS, **OTHER_WORDS})


@cache
def _filter() -> CueFilter:
    return CueFilter(patterns_by_cue())


def scan_text(text: str) -> tuple[UnsafeFinding, ...]:
    """Return the lines of a text that try to instruct a model, with the kind of attempt; at most 100.

    Args:
        text: The decoded source. Lines are counted at LF.
    """
    return scan_texts((text,))[0]


def scan_texts(texts: Sequence[str]) -> list[tuple[UnsafeFinding, ...]]:
    """Return what `scan_text` returns for each text. Many small texts cost far less together than apart."""
    results: list[tuple[UnsafeFinding, ...]] = [()] * len(texts)
    batch: list[int] = []
    pending = 0
    for index, text in enumerate(texts):
        batch.append(index)
        pending += len(text)
        if pending >= _BATCH_CHARS:
            _scan_batch(_readings(texts, batch, results), results)
            batch, pending = [], 0
    _scan_batch(_readings(texts, batch, results), results)
    return results


def _readings(texts: Sequence[str], batch: Sequence[int], results: list[tuple[UnsafeFinding, ...]]) -> list[_Reading]:
    """Return what a batch says, in every way it can be read; note in `results` where text is hidden."""
    readings: dict[int, tuple[str, ...]] = {}
    for place in suspects([texts[index] for index in batch]):
        index = batch[place]
        revealed = reveal(texts[index])
        readings[index] = revealed.texts
        if revealed.hidden_at >= 0:
            line = texts[index].count("\n", 0, revealed.hidden_at) + 1
            results[index] = (UnsafeFinding(line, "hidden_text"),)
    return [(index, reading) for index in batch for reading in readings.get(index, (texts[index],))]


def _scan_batch(readings: Sequence[_Reading], results: list[tuple[UnsafeFinding, ...]]) -> None:
    """Add to `results` what the readings of a batch contain."""
    encoded = [reading.encode(errors="replace") for _, reading in readings]
    # A zero byte between texts is in no cue.
    starts = list(accumulate((len(part) + 1 for part in encoded), initial=0))
    joined = b"\0".join(encoded)
    cues: dict[int, set[str]] = {}
    for at, cue in _filter().find(joined):
        cues.setdefault(bisect_right(starts, at) - 1, set()).add(cue)
    for place, found in cues.items():
        index, reading = readings[place]
        findings = {*results[index], *_scan(reading.lower(), sorted(found))}
        results[index] = tuple(sorted(findings)[:_MAX_FINDINGS])
    _add_encoded(joined, starts, readings, results)


def _add_encoded(
    joined: bytes, starts: Sequence[int], readings: Sequence[_Reading], results: list[tuple[UnsafeFinding, ...]]
) -> None:
    """Add what stands in base64, under the line where it stands."""
    for at, text in encoded_in(joined):
        place = bisect_right(starts, at) - 1
        line = joined.count(b"\n", starts[place], at) + 1
        cues = {cue for _, cue in _filter().find(text.encode())}
        found = {finding._replace(line=line) for finding in _scan(text.lower(), sorted(cues))}
        index = readings[place][0]
        results[index] = tuple(sorted({*results[index], *found})[:_MAX_FINDINGS])


def _scan(reading: str, cues: Sequence[str]) -> Iterator[UnsafeFinding]:
    for cue in cues:
        yield from _search(reading, cue, patterns_by_cue()[cue])


def _search(reading: str, cue: str, patterns: Sequence[Pattern]) -> Iterator[UnsafeFinding]:
    """Search around every place of a cue. The stretches do not overlap, so no character is searched twice."""
    line, counted = 1, 0
    for start, end in _stretches(reading, cue):
        # Counted forward only: a text full of matches must not be counted from its beginning for each.
        line += reading.count("\n", counted, start)
        counted = start
        stretch = reading[start:end]
        for pattern in patterns:
            if pattern.may_match(stretch):
                for match in compiled(pattern.expression).finditer(reading, start, end):
                    yield UnsafeFinding(line + reading.count("\n", start, _first_word(match)), pattern.kind)


def _stretches(reading: str, cue: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences that hold a cue, with the mark before and what follows the mark behind."""
    at, limit = reading.find(cue), 0
    while at >= 0:
        floor = max(at - _REACH, limit)
        start = max(floor, *[reading.rfind(mark, floor, at) for mark in _MARKS])
        limit = _sentence_end(reading, at, cue)
        # Cues near each other share a stretch: it costs less than two, and phrases do not reach over marks anyway.
        while at < (last := reading.rfind(cue, at, limit + _NEAR)):
            at = last
            limit = _sentence_end(reading, at, cue)
        yield start, limit + 2
        at = reading.find(cue, limit)


def _sentence_end(reading: str, at: int, cue: str) -> int:
    """Return the place of the first mark behind a cue, or as far as a phrase can reach."""
    behind = at + len(cue)
    mark = _MARK.search(reading, behind, behind + _REACH)
    return mark.start() if mark is not None else min(behind + _REACH, len(reading))


def _first_word(match: re.Match[str]) -> int:
    """Return where the words of a match begin: it may start with the line end before them."""
    text = match[0]
    return match.start() + len(text) - len(text.lstrip(" \t\r\n.!?:;,\"'>*_-([|"))
