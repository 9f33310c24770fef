"""Posting lists in memory, and their merge."""

import numpy as np
import pytest

from indexerd.analysis.inversion import Unit, invert
from indexerd.postings import Field, merge_postings


def postings_of(*texts):
    return invert([Unit(number, Field.TEXT, text) for number, text in enumerate(texts)], len(texts), "english")


def test_find_and_prefix():
    """A term is found by its string, terms by what they begin with, and a missing one is -1."""
    postings = postings_of("alpha alpine beta")
    assert postings.term(postings.find("alpine")) == "alpine"
    assert postings.find("alp") == -1
    assert [postings.term(number) for number in postings.terms_with_prefix("alp")] == ["alpha", "alpin", "alpine"]
    assert list(postings.terms_with_prefix("zz")) == []


def test_a_merge_interleaves_chunks_and_drops_those_left_out():
    """Chunks take their new ordinals, dead ones and terms that only they hold are gone, lengths follow."""
    first, second = postings_of("apple pear", "gone", "fig"), postings_of("pear pear", "apple")
    merged = merge_postings([(first, np.array([1, -1, 3], np.int32)), (second, np.array([0, 2], np.int32))], 4)
    wanted = postings_of("pear pear", "apple pear", "apple", "fig")
    assert merged.terms == wanted.terms
    for name in ("starts", "chunks", "codes", "frequencies", "lengths"):
        assert getattr(merged, name).tolist() == getattr(wanted, name).tolist()


@pytest.mark.parametrize("every", [1, 2, 7, 40, 1000])
def test_a_merge_keeps_what_is_left_of_a_part_however_little_that_is(every):
    """Of much or of little of a part, the result is what its remaining texts alone would give."""
    texts = [f"apple pear w{number} v{number % 3}" for number in range(100)]
    left = list(range(0, 100, every))
    places = np.full(100, -1, np.int32)
    places[left] = np.arange(len(left))
    later = np.array([len(left)], np.int32)
    merged = merge_postings([(postings_of(*texts), places), (postings_of("fig v1"), later)], len(left) + 1)
    wanted = postings_of(*(texts[number] for number in left), "fig v1")
    assert merged.terms == wanted.terms
    for name in ("starts", "chunks", "codes", "frequencies", "lengths"):
        assert getattr(merged, name).tolist() == getattr(wanted, name).tolist()


def test_a_merge_of_nothing_is_empty():
    """No live chunk gives no terms and no rows."""
    merged = merge_postings([(postings_of("a b"), np.array([-1], np.int32))], 0)
    assert (merged.term_count, merged.frequencies.shape, len(merged.lengths)) == (0, (0, 10), 0)
