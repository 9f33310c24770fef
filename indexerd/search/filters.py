"""The filters of one request, applied to a view.

Owns: what `paths`, `tags`, `where`, `since`, `until`, `must`, `phrase` and `exclude` mean.
Knows nothing of: rights, scores, proof.
Invariants: 1. filters narrow, never widen. 2. they act before any statistic, so scores are those of the filtered
    collection.
Purity: pure.
See: docs/search.md (filters).
"""

import re
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from indexerd.access.globs import chooser
from indexerd.access.rights import AccessRules
from indexerd.analysis import NO_STEMMING, QueryWord, locate_each
from indexerd.model import SourcePath
from indexerd.search.bm25 import tables_of
from indexerd.search.catalogue import catalogue_of, tag_key, value_key
from indexerd.search.excerpt import Match
from indexerd.search.recent import Recent, recent_of
from indexerd.search.request import SearchRequest
from indexerd.search.view import Mask, SegmentView, View, segment_view
from indexerd.search.words import QueryWords, chunks_as_written, filter_words, word_list

if TYPE_CHECKING:
    from indexerd.store.segment import Segment

# Of each file when it was modified, None where that is not known; asked of many files at once.
ModifiedNs = Callable[[Sequence[SourcePath]], Sequence[int | None]]

# What globs and phrases admit is found by looking at every path, or at many texts, and the same ones are asked for
# again and again. Of a segment, between one and two times this many bytes of masks are kept.
_KEPT_MASK_BYTES: Final = 1 << 20
# A phrase of common words is looked for in a good part of all texts: not in all of them at once.
_TEXTS_TOGETHER: Final = 256
# Of what a caller may see of one generation, as many passages as bytes of masks, at 6 bytes each.
_VIEWS: "weakref.WeakKeyDictionary[View, Recent[Hashable, View]]" = weakref.WeakKeyDictionary()
_MASKS: "weakref.WeakKeyDictionary[Segment, Recent[Hashable, Mask]]" = weakref.WeakKeyDictionary()


def _known(segment: "Segment", key: Hashable, make: Callable[[], Mask]) -> Mask:
    """Return a mask that depends on the segment alone, as remembered or as made now; not to be changed."""
    known = recent_of(_MASKS, segment, _KEPT_MASK_BYTES)
    mask = known.get(key)
    return mask if mask is not None else known.keep(key, make(), segment.chunk_count)


def filtered(
    view: View, request: SearchRequest, languages: tuple[str, ...], modified: ModifiedNs, rules: AccessRules
) -> View:
    """Return the part of a view that a request's filters admit."""
    if not request.is_filtered:
        return view
    if request.since_ns is not None or request.until_ns is not None:
        # Files are touched without a new generation: what is chosen by time is chosen anew.
        return _filtered(view, request, languages, modified, rules)
    asked = (request.paths, request.tags, request.where, request.must, request.phrase, request.exclude, languages)
    known = recent_of(_VIEWS, view, _KEPT_MASK_BYTES)
    found = known.get(asked) or _filtered(view, request, languages, modified, rules)
    return known.keep(asked, found, sum(one.segment.chunk_count for one in view.segments))


def _filtered(
    view: View, request: SearchRequest, languages: tuple[str, ...], modified: ModifiedNs, rules: AccessRules
) -> View:
    must = [filter_words(text, languages) for text in request.must]
    phrases = [filter_words(text, languages) for text in request.phrase]
    excluded = [filter_words(text, languages) for text in request.exclude]
    views = []
    for segment in view.segments:
        documents = _document_mask(segment, request, modified, rules)
        for words in excluded:
            documents &= ~_holding(segment.segment, words)
        passages = _passage_mask(segment.segment, must, phrases)
        views.append(_narrowed(segment, documents, passages))
    return View(views)


def chooses_none(view: View, request: SearchRequest, modified: ModifiedNs, rules: AccessRules) -> bool:
    """Tell whether the paths, tags, metadata and times of a request leave no document, given or withheld."""
    documents = request._replace(must=(), phrase=(), exclude=())
    if not documents.is_filtered:
        return False
    left = filtered(view, documents, (), modified, rules)
    withheld = [mask for one in left.segments for mask in (one.unsafe, one.superseded) if mask is not None]
    return not left.n and not any(mask.any() for mask in withheld)


def _narrowed(view: SegmentView, documents: Mask, passages: Mask | None) -> SegmentView:
    chosen = documents[np.asarray(view.segment.document_of_chunk)]
    if passages is not None:
        chosen &= passages
    return segment_view(
        view.live,
        view.eligible & chosen,
        boosts=view.boosts,
        unsafe=None if view.unsafe is None else view.unsafe & chosen,
        superseded=None if view.superseded is None else view.superseded & chosen,
    )


def _document_mask(view: SegmentView, request: SearchRequest, modified: ModifiedNs, rules: AccessRules) -> Mask:
    segment = view.segment
    mask = view.live.live.copy()
    if request.paths:
        mask &= _known(segment, request.paths, lambda: _matching(segment, request.paths))
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
    indexes = np.flatnonzero(mask)
    paths = [SourcePath(str(path, "utf-8")) for path in segment.path_table.table.slices(indexes)]
    mask[indexes] = [moment is not None and since <= moment < until for moment in modified(paths)]


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
    """Return which chunks hold every word of `must` and every phrase; None if there are none."""
    if not (must or phrases):
        return None
    mask = _holding_all(segment, [word for words in must for word in _outermost(words.searched)])
    for phrase in phrases:
        mask &= _known(segment, phrase, lambda phrase=phrase: _phrase_mask(segment, phrase))  # type: ignore[misc]
    return mask


def _holding_all(segment: "Segment", words: Iterable[QueryWord]) -> Mask:
    mask = np.ones(segment.chunk_count, dtype=np.bool_)
    for word in words:
        found = word_list(segment, tables_of(segment), word, "")
        held = np.zeros(segment.chunk_count, dtype=np.bool_)
        if found is not None:
            held[found.chunks] = True
        mask &= held
    return mask


def _phrase_mask(segment: "Segment", phrase: QueryWords) -> Mask:
    """Return the chunks in which the phrase's words stand side by side, or in their document's title or aliases."""
    mask = _holding_all(segment, _outermost(phrase.searched))
    wanted = [word._replace(stems=(word.surface,)) for word in _outermost(phrase.asked)]
    chunks = np.flatnonzero(mask).tolist()
    standing = (
        stands
        for first in range(0, len(chunks), _TEXTS_TOGETHER)
        for stands in _side_by_side(
            [segment.chunk_text(chunk) or "" for chunk in chunks[first : first + _TEXTS_TOGETHER]], wanted
        )
    )
    named: dict[int, bool] = {}
    for chunk, stands in zip(chunks, standing, strict=True):
        number = segment.document_of_chunk.item(chunk)
        if not stands and number not in named:
            document = segment.document(number)
            named[number] = any(_side_by_side([document.title, *document.aliases], wanted))
        mask[chunk] = stands or named[number]
    return mask


def _side_by_side(texts: Sequence[str], words: Sequence[QueryWord]) -> list[bool]:
    """Tell of each text whether the words stand in it in their order with nothing but marks and spaces between."""
    places = locate_each(texts, words, (NO_STEMMING,))
    return [_stand_together(text, found, words) for text, found in zip(texts, places, strict=True)]


def _stand_together(text: str, found: Sequence[Match], words: Sequence[QueryWord]) -> bool:
    if not words:
        return True
    places: dict[int, list[tuple[int, int]]] = {}
    for start, end, word in found:
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
    verdicts: npt.NDArray[np.bool_] = np.fromiter(
        map(chooser(globs), segment.path_table), dtype=np.bool_, count=segment.document_count
    )
    return verdicts
