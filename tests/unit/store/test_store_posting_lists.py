"""The bytes of posting lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexerd.postings import Column, Postings
from indexerd.store import posting_lists as forms
from indexerd.store.posting_lists import pack_lists, unpack_lists
from indexerd.store.segment_postings import pack_postings

gaps = st.one_of(st.integers(1, 10), st.integers(250, 260), st.integers(65530, 70_000), st.just(10_000_000))
codes = st.one_of(st.integers(0, 3), st.integers(13, 17), st.integers(250, 260), st.integers(65530, 65540))
lists = st.lists(st.lists(st.tuples(gaps, codes), min_size=1, max_size=25), max_size=8)


def arrays(found):
    starts = np.concatenate(([0], np.cumsum([len(one) for one in found]))).astype(np.int64)
    chunks = [chunk for one in found for chunk in np.cumsum([gap for gap, _ in one])]
    return starts, np.array(chunks, np.int32), np.array([code for one in found for _, code in one], np.uint32)


@given(lists)
def test_lists_come_back(found):
    """Any lists are read back as they were, all at once."""
    starts, chunks, ranks = arrays(found)
    shapes, sizes, blob = pack_lists(starts, chunks, ranks)
    begins = np.cumsum(sizes) - sizes
    firsts, data = chunks[starts[:-1]].astype(np.int64), np.frombuffer(blob, np.uint8)
    back = unpack_lists(np.diff(starts), firsts, shapes, begins, data)
    assert back[0].tolist() == chunks.tolist()
    assert back[1].tolist() == ranks.tolist()


@given(lists)
def test_lists_come_back_one_by_one(found):
    """A single list is decoded to the same chunks and codes."""
    starts, chunks, codes_ = arrays(found)
    rows = np.arange((int(codes_.max()) + 1 if len(codes_) else 0) * len(Column), dtype=np.uint32)
    plain = Postings(
        terms=tuple(f"{number:03d}" for number in range(len(found))),
        starts=starts,
        chunks=chunks,
        codes=codes_,
        frequencies=rows.reshape(-1, len(Column)),
        lengths=np.zeros(0, np.uint32),
    )
    packed = pack_postings(plain)
    for number in range(len(found)):
        assert packed.count(number) == plain.count(number)
        assert packed.chunks_of(number).tolist() == plain.chunks_of(number).tolist()
        assert packed.codes_of(number).tolist() == plain.codes_of(number).tolist()
    assert packed.plain().codes.tolist() == codes_.tolist()


@pytest.mark.parametrize(
    ("steps", "ranks", "shape", "size"),
    [
        ([5], [0], (forms.NO_GAPS, forms.ONE_0), 0),
        ([5], [3], (forms.NO_GAPS, forms.ONE_1), 1),
        ([5, 1, 1], [0, 0, 0], (forms.BYTE_GAPS, forms.ONE_0), 2),
        ([5] + [1] * 9 + [300], [0] * 11, (forms.ESCAPED_GAPS_2, forms.ONE_0), 12),
        ([5, 300, 300], [0] * 3, (forms.WIDE_GAPS_2, forms.ONE_0), 4),
        ([5, 1, 1, 1], [0, 14, 1, 2], (forms.BYTE_GAPS, forms.HALF_1), 5),
        ([5, 1, 1, 1], [0, 300, 1, 2], (forms.BYTE_GAPS, forms.HALF_2), 7),
        ([5, 1], [20, 30], (forms.BYTE_GAPS, forms.EACH_1), 3),
    ],
)
def test_a_list_takes_the_shortest_form(steps, ranks, shape, size):
    """A byte a gap and half a byte a code, long ones behind, unless another form is shorter."""
    packed = pack_lists(*arrays([list(zip(steps, ranks, strict=True))]))
    assert (int(packed.shapes[0]) & 15, int(packed.shapes[0]) >> 4) == shape
    assert len(packed.blob) == size
