"""The filters of one request, applied to a view.

Owns: what `paths`, `tags`, `where`, `since`, `until`, `must`, `phrase` and `exclude` mean.
Knows nothing of: rights, scores, proof.
Invariants: 1. filters narrow, never widen. 2. they act before any statistic, so scores are those of the filtered
    collection.
Purity: pure.
See: docs/search.md (filters).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from indexerd.access.globs import matches
from indexerd.access.rights import AccessRules
from indexerd.analysis import NO_STEMMING, QueryWord, locate
from indexerd.model import SourcePath
from indexerd.search.catalogue import catalogue_of, tag_key, value_key
from indexerd.search.request import SearchRequest
from indexerd.search.view import Mask, SegmentView, View, segment_view
from indexerd.search.words import QueryWords, chunks_as_written, query_words, word_list

if TYPE_CHECKING:
    from indexerd.store.segment import Segment

ModifiedNs = Callable[[SourcePath], int | None]


def filtered(
    view: View, request: SearchRequest, languages: tuple[str, ...], modified: ModifiedNs, rules: AccessRules
) -> View:
    """Return the part of a view that a request's filters admit."""
    if not request.is_filtered:
        return view
    must = [query_words(text, languages) for text in request.must]
    phrases = [query_words(text, languages) for text in request.phrase]
    excluded = [query_words(text, languages) for text in request.exclude]
    views = []
    for segment in view.segments:
        documents = _document_mask(segment, request, modified, rules)
        for words in excluded:
            documents &= ~_holding(segment.segment, words)
        passages = _passage_mask(segment.segment, must, phrases)
        views.append(_narrowed(segment, documents, passages, phrases))
    return View(views)


def _narrowed(
    view: SegmentView,
    documents: Mask,
    passages: Mask | None,
    phrases: Sequence[QueryWords],
) -> SegmentView:
    chosen = documents[np.asarray(view.segment.document_of_chunk)]
    if passages is not None:
        chosen &= passages
    eligible = view.eligible & chosen
    for phrase in phrases:
        _keep_phrase(view.segment, eligible, phrase)
    return segment_view(
        view.live,
        eligible,
        boosts=view.boosts,
        unsafe=None if view.unsafe is None else view.unsafe & chosen,
        superseded=None if view.superseded is None else view.superseded & chosen,
    )


def _document_mask(view: SegmentView, request: SearchRequest, modified: ModifiedNs, rules: AccessRules) -> Mask:
    segment = view.segment
    mask = view.live.live.copy()
    if request.paths:
        mask &= _matching(segment, request.paths)
    mask &= carrying(segment, request.tags, request.where, rules)
    if request.since_ns is not None or request.until_ns is not None:
        _keep_modified(segment, mask, request, modified)
    return mask


def carrying(segment: "Segment", tags: Sequence[str], where: Sequence[tuple[str, str]], rules: AccessRules) -> Mask:
    """Return which documents of a segment, dead ones too, carry some tags and front-matter values.

    Args:
        segment: The segment.
        tags: Each must be there, or one below it.
        where: Pairs of key and value; of several values of one key any will do.
        rules: Give values to documents that have none.
    """
    mask = np.ones(segment.document_count, dtype=np.bool_)
    if not (tags or where):
        return mask
    catalogue = catalogue_of(segment, rules)
    wanted: dict[str, list[tuple[str, str]]] = {}
    for name, value in where:
        key = value_key(name, value)
        wanted.setdefault(key[0], []).append(key)
    for tag in tags:
        mask &= _listed(segment, [catalogue.tags.get(tag_key(tag), [])])
    for values in wanted.values():
        mask &= _listed(segment, [catalogue.values.get(value, []) for value in values])
    return mask


def _listed(segment: "Segment", lists: Iterable[Sequence[int]]) -> Mask:
    mask = np.zeros(segment.document_count, dtype=np.bool_)
    for indexes in lists:
        mask[list(indexes)] = True
    return mask


def _keep_modified(segment: "Segment", mask: Mask, request: SearchRequest, modified: ModifiedNs) -> None:
    since = request.since_ns if request.since_ns is not None else -(2**63)
    until = request.until_ns if request.until_ns is not None else 2**63
    for index in np.flatnonzero(mask):
        moment = modified(segment.paths[int(index)])
        mask[index] = moment is not None and since <= moment < until


def _holding(segment: "Segment", words: QueryWords) -> Mask:
    """Return which documents hold any of the words as written."""
    mask = np.zeros(segment.document_count, dtype=np.bool_)
    for word in _outermost(words.searched):
        mask[np.asarray(segment.document_of_chunk)[chunks_as_written(segment, word)]] = True
    return mask


def _outermost(words: Sequence[QueryWord]) -> list[QueryWord]:
    """Return words without the parts of identifiers that are there whole, and without characters that pairs hold."""
    longer = [word for word in words if word.kind in ("identifier", "cjk2")]
    return [
        word
        for word in words
        if not any(other.start <= word.start and word.end <= other.end and other is not word for other in longer)
    ]


def _passage_mask(segment: "Segment", must: Sequence[QueryWords], phrases: Sequence[QueryWords]) -> Mask | None:
    """Return which chunks hold every word of `must` and `phrases`; None if there are none."""
    wanted = [word for words in (*must, *phrases) for word in _outermost(words.searched)]
    if not (must or phrases):
        return None
    mask = np.ones(segment.chunk_count, dtype=np.bool_)
    for word in wanted:
        found = word_list(segment, word, "")
        held = np.zeros(segment.chunk_count, dtype=np.bool_)
        if found is not None:
            held[found.chunks] = True
        mask &= held
    return mask


def _keep_phrase(segment: "Segment", eligible: Mask, phrase: QueryWords) -> None:
    """Drop the chunks in which the phrase's words do not stand side by side."""
    wanted = [word._replace(stems=(word.surface,)) for word in _outermost(phrase.asked)]
    for chunk in np.flatnonzero(eligible):
        document = segment.document(int(segment.document_of_chunk[chunk]))
        texts = (segment.chunk_text(int(chunk)), document.title, *document.aliases)
        eligible[chunk] = any(_side_by_side(text, wanted) for text in texts)


def _side_by_side(text: str, words: Sequence[QueryWord]) -> bool:
    """Whether the words stand in a text in their order with nothing but marks and spaces between."""
    if not words:
        return True
    places: dict[int, list[tuple[int, int]]] = {}
    for start, end, word in locate(text, words, (NO_STEMMING,)):
        places.setdefault(word, []).append((start, end))
    ends = {end for _, end in places.get(_index(words, 0), [])}
    for at in range(1, len(words)):
        overlap = words[at].kind == "cjk2" and words[at - 1].kind == "cjk2" and words[at].start < words[at - 1].end
        follows = {
            end for start, end in places.get(_index(words, at), []) if _joined(text, ends, start, overlap=overlap)
        }
        if not follows:
            return False
        ends = follows
    return bool(ends)


def _index(words: Sequence[QueryWord], at: int) -> int:
    """Return the first place of a word's surface: a repeated word is located under its first index."""
    return next(i for i, word in enumerate(words) if word.surface == words[at].surface)


def _joined(text: str, ends: set[int], start: int, *, overlap: bool) -> bool:
    if overlap:
        return start + 1 in ends
    return any(end <= start and start - end <= 40 and not re.search(r"\w", text[end:start]) for end in ends)


def _matching(segment: "Segment", globs: Sequence[str]) -> Mask:
    wanted = [glob for glob in globs if not glob.startswith("!")]
    unwanted = [glob[1:] for glob in globs if glob.startswith("!")]
    verdicts: npt.NDArray[np.bool_] = np.fromiter(
        (
            (not wanted or any(matches(glob, path) for glob in wanted))
            and not any(matches(glob, path) for glob in unwanted)
            for path in segment.path_table
        ),
        dtype=np.bool_,
        count=segment.document_count,
    )
    return verdicts
