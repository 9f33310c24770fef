"""The commit point: the one way in which what exists changes.

Owns: the order manifest, slot, replace, and what a failure at each step means.
Knows nothing of: why something is committed (publish, merge, checkpoint, erasure are four callers).
Invariants: 1. before the replace an error leaves everything as it was. 2. after the replace nothing is rolled back.
    3. a slot is never written in place.
Purity: shell (the state directory, through the port).
See: docs/consistency.md (commit point, crash table).
"""

from indexerd.errors import DurabilityUnknownError
from indexerd.ports import StoreFilesystem
from indexerd.store.layout import Kind, SlotName
from indexerd.store.manifest import FileRef, Manifest, SegmentRef, encode_manifest
from indexerd.store.parts import Stored
from indexerd.store.recover import read_back
from indexerd.store.segment import Segment, encode_segment
from indexerd.store.slots import Slot, encode_slot
from indexerd.store.staging import Staging


def write_manifest(staging: Staging, manifest: Manifest) -> FileRef:
    """Write a manifest and leave it staged.

    Raises:
        OSError: It was not written. Discard what was staged for it, or try again.
    """
    return staging.write(Kind.MANIFEST, [encode_manifest(manifest)])


def write_segment(fs: StoreFilesystem, staging: Staging, segment: Segment, generation: int) -> Stored:
    """Write a segment and leave it staged; return it as it is used from here on.

    Raises:
        OSError: It was not written, and nothing stays staged.
    """
    file = staging.write(Kind.SEGMENT, encode_segment(segment))
    try:
        return read_back(fs, SegmentRef(file, generation), segment)
    except BaseException:
        staging.discard([file.name(Kind.SEGMENT)])
        raise


def numbered(staging: Staging, slot: Slot) -> Slot:
    """Return the slot as it is to be written: no serial number that it does not know is given out before it moves."""
    return slot._replace(next_serial=staging.next_serial + SERIALS_AHEAD)


def commit(fs: StoreFilesystem, staging: Staging, slot: Slot, target: SlotName, *, flush: bool) -> None:
    """Move a slot: from here on the generations that it names exist.

    What it names must have been written before; for `flush` also flushed, file and directory. A process that is short
    of memory gets `MemoryError` before the move, or none at all.

    Args:
        fs: The state directory.
        staging: Gives the serial number of the slot on its way.
        slot: The new content, `numbered`.
        target: Which slot moves.
        flush: Make the move durable.

    Raises:
        OSError: The slot did not move; all is as before. Try again or give up.
        DurabilityUnknownError: The slot moved, but the directory was not flushed: the new content is in force and may
            or may not outlive a power cut. Follow it; never roll back.
    """
    temporary = staging.write(Kind.SLOT, [encode_slot(slot)]).name(Kind.SLOT)
    staged = [temporary]
    try:
        if flush:
            fs.flush_file(temporary)
        fs.replace(temporary, target)
    except BaseException as error:
        # Memory may have been wanting on the way back only: the name tells whether the slot has moved.
        if not isinstance(error, MemoryError) or fs.stamp(temporary) is not None:
            staging.discard(staged)
            raise
    staging.release(staged)
    if flush:
        _flush_move(fs)


# Staging by another thread while a slot is encoded must stay below what the slot says; a merge stages a handful.
SERIALS_AHEAD = 1 << 10


def _flush_move(fs: StoreFilesystem) -> None:
    try:
        fs.flush_directory()
    except (OSError, MemoryError) as error:
        raise DurabilityUnknownError(f"the directory was not flushed after a slot moved: {error}") from error
