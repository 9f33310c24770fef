"""Manifests and slots as values: they come back, and what breaks an invariant is refused."""

import pytest

from indexerd.errors import CorruptionError
from indexerd.store.codec import pack, seal
from indexerd.store.manifest import FORMAT_VERSION as MANIFEST_VERSION
from indexerd.store.manifest import MAGIC as MANIFEST_MAGIC
from indexerd.store.manifest import FileRef, Manifest, SegmentRef, decode_manifest, encode_manifest
from indexerd.store.slots import FORMAT_VERSION as SLOT_VERSION
from indexerd.store.slots import MAGIC as SLOT_MAGIC
from indexerd.store.slots import Change, KeptGeneration, KnownRoot, Slot, decode_slot, encode_slot


def ref(serial: int) -> FileRef:
    return FileRef(serial, bytes([serial % 256]) * 16, 1000 + serial)


def make_manifest(**fields) -> Manifest:
    defaults = {"generation": 7, "settings": "s", "segments": (SegmentRef(ref(3), 5), SegmentRef(ref(4), 7))}
    return Manifest(**{**defaults, "documents": 2, "chunks": 5, "text_bytes": 90, **fields})


def make_slot(**fields) -> Slot:
    kept = tuple(KeptGeneration(number, ref(number), number * 10, Change(1, 2, 3), 0) for number in (5, 7))
    defaults = {"store_id": "st_1", "revision": 9, "ceiling": 20, "next_serial": 30, "closed": False}
    return Slot(**{**defaults, "roots": (KnownRoot("/do\udcffcs", "do\udcffcs", False),), "kept": kept, **fields})


def test_a_manifest_comes_back():
    """Decoding gives the value that was encoded, and equal values give equal bytes."""
    assert decode_manifest(encode_manifest(make_manifest()), "m") == make_manifest()
    assert encode_manifest(make_manifest()) == encode_manifest(make_manifest())


def test_a_slot_comes_back():
    """Decoding gives the value that was encoded, also for roots whose names are not UTF-8."""
    assert decode_slot(encode_slot(make_slot()), "latest") == make_slot()


@pytest.mark.parametrize(
    "manifest",
    [
        make_manifest(generation=0, segments=()),
        make_manifest(segments=(SegmentRef(ref(3), 5), SegmentRef(ref(3), 6))),
        make_manifest(segments=(SegmentRef(ref(3), 0),)),
    ],
)
def test_a_manifest_that_breaks_an_invariant_is_refused(manifest):
    """A checksum does not make a wrong manifest right."""
    with pytest.raises(CorruptionError):
        decode_manifest(encode_manifest(manifest), "m")


@pytest.mark.parametrize(
    "slot",
    [
        make_slot(kept=()),
        make_slot(ceiling=6),
        make_slot(next_serial=7),
        make_slot()._replace(kept=tuple(reversed(make_slot().kept))),
        make_slot()._replace(kept=(make_slot().kept[0], make_slot().kept[0]._replace(generation=6))),
    ],
)
def test_a_slot_that_breaks_an_invariant_is_refused(slot):
    """A checksum does not make a wrong slot right."""
    with pytest.raises(CorruptionError):
        decode_slot(encode_slot(slot), "latest")


FORGED = [
    None, 1, [], {}, "x", [1], [1, 2, 3, 4], [[], [], [], []], ["s", [1, 2, 3, True], [], [[1]]],
    [7, "s", [[[3, b"short", 5], 6]], [1, 2, 3]], [7, "s", [[[3, b"x" * 16, -5], 6]], [1, 2, 3]],
    [7, "s", [[["../x", b"x" * 16, 5], 6]], [1, 2, 3]], [2**64 - 1, "s", [], [1, 2, 3]], [7, b"s", [], [1, 2, 3]],
    [7, "s", 5, [1, 2, 3]], [7, "s", [[[1, b"x" * 16, 5], 6, 7]], [1, 2, 3]], [True, "s", [], [1, 2, 3]],
    ["st", [1, 20, 30, False], [["/a", "a", False]], []],
    ["st", [1, 20, 30, 1], [], [[1, [1, b"x" * 16, 1], 0, [0, 0, 0], 0]]],
    ["st", [1, 20, 30, False], [], [[1, [1, b"x" * 16, 1], 0, [0, 0], 0]]], ["st", [1, 20, 30, False], [], 4],
]  # fmt: skip


@pytest.mark.parametrize("value", FORGED, ids=range(len(FORGED)))
def test_forged_values_with_good_checksums_are_refused(value):
    """Whatever a forged file says, decoding raises the one declared error."""
    with pytest.raises(CorruptionError):
        decode_manifest(seal(MANIFEST_MAGIC, MANIFEST_VERSION, pack(value)), "m")
    with pytest.raises(CorruptionError):
        decode_slot(seal(SLOT_MAGIC, SLOT_VERSION, pack(value)), "latest")
