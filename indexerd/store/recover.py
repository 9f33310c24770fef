"""What start-up finds in a state directory, and which generation it opens.

Owns: the four states of a store (absent, older format, damaged, healthy) and the order in which slots are tried.
Knows nothing of: writing: nothing is changed, moved or removed here.
Invariants: 1. a generation is opened only if its manifest and every segment it names prove whole. 2. the newest slot is
    tried first, then the other; what is between them is never guessed. 3. an error of the machine (no descriptors, no
    permission) is not damage and is raised.
Purity: shell (reads the state directory, through the port).
See: docs/consistency.md (recovery).
"""

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

from indexerd.digests import fast_digest
from indexerd.errors import CorruptionError, FormatVersionError
from indexerd.ports import StoreFile, StoreFilesystem
from indexerd.store.layout import FileName, Kind, SlotName, parse_name
from indexerd.store.manifest import FileRef, Manifest, SegmentRef, decode_manifest
from indexerd.store.parts import Part, Stored, opened
from indexerd.store.segment import Segment, decode_segment, open_segment
from indexerd.store.slots import KeptGeneration, Slot, decode_slot

StoreCondition = Literal["absent", "older_format", "damaged", "healthy"]

# What the kernel says when something else stands in a file's place, or nothing does.
_NOT_OUR_FILE = {
    errno.ENOENT, errno.ELOOP, errno.EISDIR, errno.ENOTDIR, errno.ENXIO, errno.ENODEV, errno.EINVAL, errno.EFBIG,
}  # fmt: skip

# Below this a segment is in memory whole, above it the texts stay in its file.
HELD_OPEN_BYTES = 256 << 10
# A slot changes at its beginning, where its revision stands, and no slot of ours is longer.
_SLOT_BYTES = 8 << 20

Value = TypeVar("Value")
Fault = CorruptionError | FormatVersionError


class OpeningReport(NamedTuple):
    """What was found when the store was opened.

    Attributes:
        state: `absent` (nothing published here yet), `older_format`, `damaged` (both: rebuild), `healthy`.
        detail: For people: what is wrong, empty if nothing is.
        fell_back: An older generation than the newest known one was opened, or the newest slot could not be read.
    """

    state: StoreCondition
    detail: str
    fell_back: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """What lies in a state directory.

    Attributes:
        report: In short.
        slots: The slots that can be read.
        chosen: The slot whose newest generation is opened; None if none can be.
        parts: That generation.
        manifests: Of the generation opened, and of every one of either slot that can be read, by file.
        damaged: Names of files that proved damaged.
        highest_serial: Of any file name, whatever it holds.
        fault: The first thing wrong, if anything is.
    """

    report: OpeningReport
    slots: Mapping[SlotName, Slot]
    chosen: SlotName | None
    parts: tuple[Part, ...] = ()
    manifests: Mapping[FileRef, Manifest] = field(default_factory=dict)
    damaged: frozenset[str] = frozenset()
    highest_serial: int = 0
    fault: Fault | None = None


def look(fs: StoreFilesystem, *, history: bool) -> Found:
    """Read a state directory and open the newest generation that proves whole.

    Args:
        fs: The state directory.
        history: Read the manifests of older generations too.

    Raises:
        OSError: The machine's fault, not the store's: nothing was decided. Try again.
    """
    names = fs.names()
    slots, faults = _read_slots(fs, names)
    chosen, opened_one, tried = _open_newest(fs, slots)
    faults = [*faults, *tried]
    # The one that was opened is not read again: it may be gone from the directory by now.
    manifests = {slots[chosen].newest.manifest: opened_one[0]} if chosen and opened_one else {}
    if history:
        manifests = readable_manifests(fs, slots) | manifests
    return Found(
        report=_report(names, slots, chosen, faults),
        slots=slots,
        chosen=chosen,
        parts=opened_one[1] if opened_one else (),
        manifests=manifests,
        damaged=frozenset(fault.where for fault in faults),
        highest_serial=max((_serial(name) for name in names), default=0),
        fault=faults[0] if faults else None,
    )


def newest_first(slots: Mapping[SlotName, Slot]) -> list[SlotName]:
    """Return the slots' names, highest revision first."""
    # On a tie the durable one: after a clean close it says the same and is known to be flushed.
    return sorted(slots, key=lambda name: (-slots[name].revision, name is not SlotName.DURABLE))


def read_slot(fs: StoreFilesystem, name: SlotName) -> Slot:
    """Read one slot.

    Raises:
        CorruptionError, FormatVersionError: It cannot be used.
    """
    return _proved(name, lambda: decode_slot(fs.open(name).read_at(0, _SLOT_BYTES), name))


def slot_marks(fs: StoreFilesystem) -> tuple[object, ...]:
    """Return a value that differs once a slot has moved."""
    return tuple(_mark(fs, name) for name in SlotName)


def _mark(fs: StoreFilesystem, name: SlotName) -> object:
    try:
        file = fs.open(name)
        return file.size, fast_digest(file.read_at(0, _SLOT_BYTES))
    except OSError:
        return None


def read_manifest(fs: StoreFilesystem, kept: KeptGeneration) -> Manifest:
    """Read the manifest of a kept generation, proved to be the one that is meant.

    Raises:
        CorruptionError, FormatVersionError: It cannot be used.
    """
    name = kept.manifest.name(Kind.MANIFEST)
    manifest = _proved(name, lambda: decode_manifest(_proved_bytes(fs, kept.manifest, name), name))
    if manifest.generation != kept.generation:
        raise CorruptionError(name, f"is of generation {manifest.generation}, named as {kept.generation}")
    return manifest


def read_segment(fs: StoreFilesystem, ref: SegmentRef) -> Stored:
    """Read a segment, proved to be the one that is meant; the texts of a large one stay in its file, held open.

    Raises:
        CorruptionError, FormatVersionError: It cannot be used.
    """
    name = ref.name

    def load() -> Stored:
        if ref.file.length >= HELD_OPEN_BYTES:
            return Stored(ref, open_segment(_opened(fs, ref.file, name), ref.file.digest, name))
        data = _proved_bytes(fs, ref.file, name)
        return Stored(ref, decode_segment(data, name, verify=False))

    return _proved(name, load)


def read_back(fs: StoreFilesystem, ref: SegmentRef, data: Segment | None = None) -> Stored:
    """Return a segment that was just written, as it is used from here on.

    Of a large one the texts are used from its file, so that their memory can be given back.

    Args:
        fs: The state directory.
        ref: The file.
        data: What was written, if it is in memory.

    Raises:
        OSError: It cannot be read, or holds other bytes.
    """
    if data is not None and ref.file.length < HELD_OPEN_BYTES:
        return Stored(ref, data)
    try:
        return read_segment(fs, ref)
    except CorruptionError as error:
        raise OSError(errno.EIO, f"what was written cannot be read back ({error})", ref.name) from error


def read_generation(fs: StoreFilesystem, kept: KeptGeneration) -> tuple[Manifest, tuple[Part, ...]]:
    """Open a generation: all of it, proved whole.

    Raises:
        CorruptionError, FormatVersionError: It cannot be used.
    """
    manifest = read_manifest(fs, kept)
    parts = opened([read_segment(fs, ref) for ref in manifest.segments])
    counts = tuple(
        sum(numbers)
        for numbers in (
            [part.view.document_count for part in parts],
            [part.view.chunk_count for part in parts],
            [part.view.text_bytes for part in parts],
        )
    )
    if counts != (manifest.documents, manifest.chunks, manifest.text_bytes):
        where = kept.manifest.name(Kind.MANIFEST)
        raise CorruptionError(where, f"counts {counts} do not follow from the segments")
    return manifest, parts


def readable_manifests(fs: StoreFilesystem, slots: Mapping[SlotName, Slot]) -> dict[FileRef, Manifest]:
    """Return the manifests of all kept generations of these slots; damaged ones are left out (not replayable)."""
    found: dict[FileRef, Manifest] = {}
    for kept in (kept for slot in slots.values() for kept in slot.kept):
        if kept.manifest not in found:
            try:
                found[kept.manifest] = read_manifest(fs, kept)
            except (CorruptionError, FormatVersionError):
                continue
    return found


def _read_slots(fs: StoreFilesystem, names: Sequence[str]) -> tuple[dict[SlotName, Slot], list[Fault]]:
    slots: dict[SlotName, Slot] = {}
    faults: list[Fault] = []
    for name in SlotName:
        if name.value in names:
            try:
                slots[name] = read_slot(fs, name)
            except (CorruptionError, FormatVersionError) as fault:
                faults.append(fault)
    return slots, faults


def _open_newest(
    fs: StoreFilesystem, slots: Mapping[SlotName, Slot]
) -> tuple[SlotName | None, tuple[Manifest, tuple[Part, ...]] | None, list[Fault]]:
    faults: list[Fault] = []
    for name in newest_first(slots):
        try:
            generation = read_generation(fs, slots[name].newest)
        except (CorruptionError, FormatVersionError) as fault:
            faults.append(fault)
        else:
            return name, generation, faults
    return None, None, faults


def _report(
    names: Sequence[str], slots: Mapping[SlotName, Slot], chosen: SlotName | None, faults: list[Fault]
) -> OpeningReport:
    # Two slots may name one damaged file.
    detail = "; ".join(dict.fromkeys(str(fault) for fault in faults))
    if chosen is not None:
        return OpeningReport(state="healthy", detail=detail, fell_back=bool(faults))
    if any(isinstance(fault, FormatVersionError) for fault in faults):
        return OpeningReport(state="older_format", detail=detail, fell_back=False)
    if not faults and not slots:
        detail = lost_slots(names)
    state: StoreCondition = "damaged" if detail else "absent"
    return OpeningReport(state=state, detail=detail, fell_back=False)


def lost_slots(names: Sequence[str]) -> str:
    """Return what is wrong in a directory in which there is no slot; empty for nothing."""
    manifests = sum(_kind(name) is Kind.MANIFEST for name in names)
    # A first publish that was killed leaves its files and no slot; more manifests than that mean that slots were lost.
    return f"no slot, but {manifests} manifests" if manifests > 1 else ""


def _kind(name: str) -> Kind | None:
    parsed = parse_name(name)
    return parsed.kind if isinstance(parsed, FileName) and not parsed.damaged else None


def _serial(name: str) -> int:
    parsed = parse_name(name)
    return parsed.serial if isinstance(parsed, FileName) else 0


def _proved(where: str, load: Callable[[], Value]) -> Value:
    """Run `load`; what says that the file is not ours, or cannot be read twice in a row, is damage."""
    try:
        return load()
    except OSError as error:
        if error.errno in _NOT_OUR_FILE:
            raise CorruptionError(where, f"cannot be used: {error.strerror}") from error
        if error.errno != errno.EIO:
            raise
    try:
        return load()
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        raise CorruptionError(where, f"cannot be read: {error.strerror}") from error


def _proved_bytes(fs: StoreFilesystem, ref: FileRef, where: str) -> memoryview:
    data = memoryview(_opened(fs, ref, where).read_at(0, ref.length))
    if fast_digest(data) != ref.digest:
        raise CorruptionError(where, "its hash differs from its name's")
    return data


def _opened(fs: StoreFilesystem, ref: FileRef, where: str) -> StoreFile:
    """Open a file that has the length it should have: one much longer costs no memory."""
    file = fs.open(where)
    if file.size != ref.length:
        raise CorruptionError(where, f"has {file.size} bytes, expected {ref.length}")
    return file
