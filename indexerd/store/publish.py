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
    ref = SegmentRef(staging.write(Kind.SEGMENT, encode_segment(segment)), generation)
    try:
        return read_back(fs, ref, segment)
    except OSError:
        staging.discard([ref.name])
        raise


def commit(fs: StoreFilesystem, staging: Staging, slot: Slot, target: SlotName, *, flush: bool) -> Slot:
    """Move a slot: from here on the generations that it names exist.

    What it names must have been written before; for `flush` also flushed, file and directory.

    Args:
        fs: The state directory.
        staging: Gives the serial number of the slot on its way.
        slot: The new content; its `next_serial` is set here.
        target: Which slot moves.
        flush: Make the move durable.

    Returns:
        The slot as written.

    Raises:
        OSError: The slot did not move; all is as before. Try again or give up.
        DurabilityUnknownError: The slot moved, but the directory was not flushed: the new content is in force and may
            or may not outlive a power cut. Follow it; never roll back.
    """
    # The slot's own serial number counts as given out, so one more than is known now.
    written = slot._replace(next_serial=staging.next_serial + SERIALS_AHEAD)
    temporary = staging.write(Kind.SLOT, [encode_slot(written)]).name(Kind.SLOT)
    try:
        if flush:
            fs.flush_file(temporary)
        fs.replace(temporary, target)
    except OSError:
        staging.discard([temporary])
        raise
    staging.release([temporary])
    if flush:
        _flush_move(fs)
    return written


# Staging by another thread while a slot is encoded must stay below what the slot says; a merge stages a handful.
SERIALS_AHEAD = 1 << 10


def _flush_move(fs: StoreFilesystem) -> None:
    try:
        fs.flush_directory()
    except OSError as error:
        raise DurabilityUnknownError(f"the directory was not flushed after a slot moved: {error}") from error
