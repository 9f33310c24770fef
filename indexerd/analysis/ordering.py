"""Strings in order, as array code finds it.

Owns: the order of strings.
Knows nothing of: what they mean.
Invariants: 1. strings in UTF-8 ascend by byte, which is by code point, as Python sorts them.
Purity: pure.
See: docs/on-disk-format.md (postings).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_PREFIX_BYTES = 8
# Below this Python's own sort wins.
_FEW = 256

Prefixes = npt.NDArray[np.uint64]
NO_PREFIXES: Prefixes = np.zeros((0, 2), np.uint64)


def prefixes(texts: Sequence[bytes]) -> Prefixes:
    """Return the first 16 bytes of each text as two big-endian numbers, zeros behind its end."""
    heads = b"".join([text[: 2 * _PREFIX_BYTES].ljust(2 * _PREFIX_BYTES, b"\0") for text in texts])
    return np.frombuffer(heads, ">u8").astype(np.uint64).reshape(-1, 2)


def order_of_texts(numbers: npt.NDArray[np.int64], known: Prefixes, texts: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """Return the numbers of some distinct texts in the order of the texts.

    Args:
        numbers: None twice.
        known: What `prefixes` says of `texts`.
        texts: All texts there are.
    """
    if len(numbers) < _FEW:
        return np.array(sorted(numbers.tolist(), key=texts.__getitem__), np.int64)
    high, low = known[numbers, 0], known[numbers, 1]
    order = np.argsort(high)
    # Most have eight bytes of their own. The others are sorted by the next eight, then put back where theirs are.
    groups = np.cumsum(np.concatenate(([True], high[order[1:]] != high[order[:-1]])))
    shared = np.flatnonzero(np.bincount(groups)[groups] > 1)
    by_low = shared[np.argsort(low[order[shared]])]
    # All numbers differ, so any sort will do.
    keys = np.sort(groups[by_low] * len(order) + np.arange(len(by_low)))
    order[shared] = order[by_low[keys % len(order)]]
    tied = (high[order[1:]] == high[order[:-1]]) & (low[order[1:]] == low[order[:-1]])
    ranked: npt.NDArray[np.int64] = numbers[order]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], tied, [False])).astype(np.int8))).tolist()
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        ranked[first : last + 1] = sorted(ranked[first : last + 1].tolist(), key=texts.__getitem__)
    return ranked
