"""Pieces of text as one stream of code points that each fold to one code point.

Owns: joining pieces into a stream, and the rewriting of awkward clusters on the way.
Knows nothing of: words, terms, chunks.
Invariants: 1. every piece stands between line feeds, so nothing that the analyzer looks at reaches from one piece
    into another. 2. two line feeds close the stream, so a look at two code points ahead stays inside.
Purity: pure.
See: docs/search.md (analysis).
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.analysis.characters import AWKWARD, BREAK, FLAGS, folded_codes, rewrite

_FEED = "\n"
_ASCII = 128

CodePoints = npt.NDArray[np.uint32]
Positions = npt.NDArray[np.int64]


class Stream(NamedTuple):
    """Pieces of text, ready for the analyzer.

    Attributes:
        codes: Folded code points: `uint8` if all are ASCII, else `uint32`.
        flags: `uint8`, what each code point is (see `characters`), taken before folding.
        breaks: Positions where a part ends although both neighbours are word characters; ascending.
        starts: `int64`, position of each piece's first code point.
    """

    codes: CodePoints | npt.NDArray[np.uint8]
    flags: npt.NDArray[np.uint8]
    breaks: Positions
    starts: Positions

    def text(self) -> str:
        """Return the folded text."""
        return self.codes.tobytes().decode("ascii" if self.codes.itemsize == 1 else "utf-32-le")

    def encoded(self) -> tuple[bytes, Positions | None]:
        """Return the folded text in UTF-8, and where each code point begins in it; None if each is one byte."""
        if self.codes.itemsize == 1:
            return self.codes.tobytes(), None
        more = (self.codes > 0x7F).view(np.uint8) + (self.codes > 0x7FF) + (self.codes > 0xFFFF)
        offsets = np.zeros(len(more) + 1, np.int64)
        np.cumsum(more.astype(np.int64) + 1, out=offsets[1:])
        return self.text().encode(), offsets


def read_stream(pieces: Sequence[str]) -> Stream:
    """Return the stream of some pieces."""
    lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
    text = f"{_FEED}{_FEED.join(pieces)}{_FEED}{_FEED}"
    if text.isascii():
        data = text.encode()
        flags = np.frombuffer(data.translate(_ascii_flags()), np.uint8)
        return Stream(np.frombuffer(data.lower(), np.uint8), flags, np.zeros(0, np.int64), _starts(lengths))
    codes = code_points(text)
    folded, flags = _looked_up(codes)
    breaks: list[int] = []
    awkward = np.flatnonzero(flags >= AWKWARD)
    if len(awkward):
        pieces, lengths, breaks = _rewrite_pieces(pieces, lengths, awkward)
        folded, flags = _looked_up(code_points(_FEED + _FEED.join(pieces) + _FEED + _FEED))
        flags &= np.uint8(AWKWARD - 1)
    return Stream(folded, flags, np.array(breaks, np.int64), _starts(lengths))


def _starts(lengths: Positions) -> Positions:
    """Return where pieces of these lengths start in a stream."""
    return np.cumsum(lengths + 1) - lengths


def _looked_up(codes: CodePoints) -> tuple[CodePoints, npt.NDArray[np.uint8]]:
    """Return what each code point folds to, and its flags."""
    # A look-up makes such numbers of others: once for both.
    places = codes.astype(np.intp)
    return folded_codes(places), FLAGS.take(places)


@cache
def _ascii_flags() -> bytes:
    """Return the flags of each ASCII character; for none is more to do than to make it small."""
    codes = np.arange(_ASCII, dtype=np.intp)
    folded_codes(codes)
    return FLAGS[codes].tobytes() + bytes(_ASCII)


def code_points(text: str) -> CodePoints:
    """Return the code points of a text, lone surrogates included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _rewrite_pieces(
    pieces: Sequence[str], lengths: npt.NDArray[np.int64], awkward: npt.NDArray[np.int64]
) -> tuple[list[str], npt.NDArray[np.int64], list[int]]:
    """Rewrite the pieces that hold awkward characters; return pieces, their lengths, and the breaks in the stream."""
    starts = _starts(lengths)
    owners = np.searchsorted(starts, awkward, "right") - 1
    first = np.flatnonzero(np.diff(owners, prepend=-1)).tolist()
    places = (awkward - starts[owners]).tolist()
    plain, plain_lengths, found = list(pieces), lengths.copy(), []
    for begin, end in zip(first, [*first[1:], len(places)], strict=True):
        owner = int(owners[begin])
        plain[owner], breaks = rewrite_piece(pieces[owner], places[begin:end])
        plain_lengths[owner] = len(plain[owner])
        found.append((owner, breaks))
    new_starts = _starts(plain_lengths)
    return plain, plain_lengths, [int(new_starts[owner]) + at for owner, breaks in found for at in breaks]


def origins(piece: str) -> tuple[Sequence[int], Sequence[int]]:
    """Return, for each code point of the rewritten piece, where its source begins and ends in the piece."""
    codes = code_points(piece)
    folded_codes(codes)
    awkward = np.flatnonzero(FLAGS[codes] >= AWKWARD).tolist()
    if not awkward:
        return range(len(piece)), range(1, len(piece) + 1)
    begins: list[int] = []
    finishes: list[int] = []
    for begin, end, is_cluster in clusters(awkward, len(piece)):
        if is_cluster:
            first, last = _sources(piece[begin:end])
            begins += [begin + at for at in first]
            finishes += [begin + at for at in last]
        else:
            begins += range(begin, end)
            finishes += range(begin + 1, end + 1)
    return begins, finishes


# Longer clusters come from nobody's keyboard: all of their characters are said to come from the whole.
_LONG_CLUSTER = 32


@lru_cache(maxsize=4096)
def _sources(cluster: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return, for each code point of a rewritten cluster, where its source begins and ends in the cluster.

    A code point comes from the character that first brings it about, and from those behind it that bring about nothing
    more (marks that compose with it or are dropped).
    """
    if len(cluster) > _LONG_CLUSTER:
        count = len(rewrite(cluster).replace(BREAK, ""))
        return (0,) * count, (len(cluster),) * count
    lengths = [len(rewrite(cluster[:end]).replace(BREAK, "")) for end in range(1, len(cluster) + 1)]
    grown = [max(lengths[: at + 1]) for at in range(len(lengths))]
    begins = [bisect_right(grown, number) for number in range(lengths[-1])]
    ends = [next((begin for begin in begins if begin > first), len(cluster)) for first in begins]
    return tuple(begins), tuple(ends)


def rewrite_piece(piece: str, awkward: Sequence[int]) -> tuple[str, list[int]]:
    """Return the piece with its awkward clusters rewritten, and the positions of breaks in the result.

    Args:
        piece: Any text.
        awkward: Positions of its awkward characters, ascending, at least one.
    """
    cuts = clusters(awkward, len(piece))
    text = "".join(rewrite(piece[begin:end]) if is_cluster else piece[begin:end] for begin, end, is_cluster in cuts)
    if BREAK not in text:
        return text, []
    parts = text.split(BREAK)
    lengths = np.cumsum([len(part) for part in parts[:-1]])
    return "".join(parts), lengths.tolist()


def clusters(awkward: Sequence[int], length: int) -> list[tuple[int, int, bool]]:
    """Cut `0..length` into plain stretches and clusters: awkward neighbours with the plain character before them."""
    cuts: list[tuple[int, int, bool]] = []
    done = 0
    for at in awkward:
        if cuts and cuts[-1][2] and cuts[-1][1] == at:
            cuts[-1] = (cuts[-1][0], at + 1, True)
        else:
            begin = max(at - 1, done)
            if begin > done:
                cuts.append((done, begin, False))
            cuts.append((begin, at + 1, True))
        done = at + 1
    if done < length:
        cuts.append((done, length, False))
    return cuts
