"""Which segments are merged, and what a merge holds."""

import random
import tracemalloc

import numpy as np

from indexerd.digests import fast_digest
from indexerd.indexing import build_segment
from indexerd.model import Settings, SourcePath
from indexerd.store.merging import GROWTH, MAX_STORED, PartSize, plan_merge
from indexerd.store.parts import MAX_PARTS, SMALL_CHUNKS, join_from
from indexerd.store.segment import encode_segment, merge_segments


def test_nothing_is_due_for_a_few_small_parts():
    """A large part and two small ones are left alone."""
    assert plan_merge([PartSize(1, 10**6, 0), PartSize(5, 300, 0), PartSize(1, 3, 0)]) is None


def test_many_stored_segments_are_written_as_one():
    """What a query sees as one but lies in many files is written as one file."""
    assert plan_merge([PartSize(1, 10**6, 0), PartSize(MAX_STORED + 1, 60, 0)]) == range(1, 2)


def test_a_joined_part_that_grew_large_is_written():
    """A part too large to be joined again is written once."""
    assert plan_merge([PartSize(1, 10**6, 0), PartSize(2, SMALL_CHUNKS + 1, 0)]) == range(1, 2)


def test_a_part_that_is_mostly_dead_is_rewritten():
    """More than half dead chunks make a rewrite worth it."""
    assert plan_merge([PartSize(1, 10_000, 5_001)]) == range(1)
    assert plan_merge([PartSize(1, 10_000, 5_000)]) is None


def test_the_largest_part_is_spared_while_it_is_much_larger():
    """The newest large parts are merged; an older one joins in once it is not much larger."""
    new, middle = PartSize(1, 3_000, 0), PartSize(1, 9_000, 0)
    assert plan_merge([PartSize(1, GROWTH * 12_000 + 1, 0), middle, new]) == range(1, 3)
    assert plan_merge([PartSize(1, GROWTH * 12_000, 0), middle, new]) == range(3)


def test_a_bulk_load_is_not_slowed_by_merging():
    """While large segments keep coming a few more are let stand."""
    sizes = [PartSize(1, 20_000, 0)] * 5
    assert plan_merge(sizes, loading=True) is None
    assert plan_merge(sizes) is not None


def test_joining_takes_only_small_parts_at_the_end():
    """The run to be joined never reaches into a large part."""
    rng = random.Random(5)
    for _ in range(2000):
        sizes = [rng.choice([1, 10, 200, 2000, 3000, 10**6]) for _ in range(rng.randint(1, 8))]
        start = join_from(sizes)
        assert start == len(sizes) - 1 or all(size <= SMALL_CHUNKS for size in sizes[start:])


def test_ten_thousand_edits_keep_four_parts_and_rewrite_little():
    """A query never sees more than four parts, and what is rewritten stays a small multiple of what was edited."""
    parts = [PartSize(1, 100_000, 0)]
    rewritten = most = 0
    for _ in range(10_000):
        parts.append(PartSize(1, 3, 0))
        start = join_from([part.chunks for part in parts])
        joined = parts[start:]
        parts[start:] = [PartSize(sum(p.stored for p in joined), sum(p.chunks for p in joined), 0)]
        most = max(most, len(parts))
        while (plan := plan_merge(parts)) is not None:
            chunks = sum(parts[index].chunks for index in plan)
            rewritten += chunks
            parts[plan.start : plan.stop] = [PartSize(1, chunks, 0)]
    assert most <= MAX_PARTS
    assert rewritten / 30_000 < 30


def peak_of_a_merge(*, packed):
    """Return the memory that it takes from the parts to the bytes of the new file, and the bytes of the texts."""
    line = b"oneword" * 4 + b"\n"
    parts = [
        build_segment([(SourcePath(f"{part}{name}.md"), line * 3_000) for name in range(100)], Settings())
        for part in "ab"
    ]
    tracemalloc.start()
    merged = merge_segments([(part, np.ones(100, np.bool_)) for part in parts], packed=packed)
    for piece in encode_segment(merged):
        fast_digest(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, 200 * 3_000 * len(line)


def test_a_merge_holds_its_texts_once():
    """It takes little more memory than the texts, most of it, are."""
    peak, texts = peak_of_a_merge(packed=False)
    assert peak < 1.8 * texts


def test_a_merge_to_be_written_holds_one_text_after_the_other():
    """It takes as much as the largest few texts, however many there are."""
    peak, texts = peak_of_a_merge(packed=True)
    assert peak < 0.5 * texts
