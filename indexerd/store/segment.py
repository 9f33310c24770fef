"""Segments: the value, its bytes, and the merge of several.

Owns: the one place from which the rest of the program imports them.
Knows nothing of: files, generations.
Invariants: those of the modules named below.
Purity: pure.
See: segment_value.py, segment_codec.py, segment_postings.py, segment_merge.py, docs/on-disk-format.md.
"""

from indexerd.store.segment_codec import (
    SEGMENT_FORMAT,
    decode_segment,
    encode_segment,
    open_segment,
    sections_of,
    segment_hash,
    stored_hash,
)
from indexerd.store.segment_merge import merge_segments, with_tombstones
from indexerd.store.segment_value import Segment

__all__ = [
    "SEGMENT_FORMAT",
    "Segment",
    "decode_segment",
    "encode_segment",
    "merge_segments",
    "open_segment",
    "sections_of",
    "segment_hash",
    "stored_hash",
    "with_tombstones",
]
