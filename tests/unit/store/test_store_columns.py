"""Columns of numbers in few bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexerd.store.columns import narrow, widen


@pytest.mark.parametrize(
    ("values", "size"),
    [
        ([], 1),
        ([0, 0, 0], 1),
        ([1, 255], 3),
        ([300, 400], 5),
        ([70_000] * 2, 7),
        ([1 << 30] * 2, 9),
        ([1 << 50] * 2, 15),
        ([3] * 50 + [500], 56),
        ([255] * 9, 10),
    ],
)
def test_a_column_takes_the_shortest_form(values, size):
    """The width is that of the largest number, or one byte where few are large; one more byte names the form."""
    data = narrow(np.array(values, np.uint64))
    assert len(data) == size
    assert widen(memoryview(data), len(values), np.uint64).tolist() == values


@given(st.lists(st.one_of(st.integers(0, 300), st.integers(0, (1 << 32) - 1)), max_size=40))
def test_a_column_comes_back(values):
    """Any numbers are read back as they were."""
    assert widen(memoryview(narrow(np.array(values, np.uint32))), len(values), np.uint32).tolist() == values


def test_bytes_that_are_no_column_are_refused():
    """Too few or too many bytes for the count are an error, not other numbers."""
    data = memoryview(narrow(np.array([300, 400], np.uint32)))
    for count in (0, 1, 3):
        with pytest.raises(ValueError, match="do not hold"):
            widen(data, count, np.uint32)
