"""Writing files anew whose flush failed, or that were damaged.

Owns: where the bytes of a dead file come from, the manifests that name its copy, and which older generations are lost
    with bytes that nobody has.
Knows nothing of: why a file is dead, when its copy is committed.
Invariants: 1. what is copied comes from memory or is proved by its hash. 2. nothing goes on reading a dead file: its
    pages may be dropped, and the disk never had them. 3. the current generation keeps its number and its content.
Purity: shell (the state directory, through the port).
See: docs/consistency.md (failed flush, damage while running).
"""

from collections.abc import Iterator, Mapping

from indexerd.errors import CorruptionError, FormatVersionError
from indexerd.ports import StoreFilesystem
from indexerd.store.layout import Kind
from indexerd.store.manifest import FileRef, Manifest, SegmentRef
from indexerd.store.parts import Stored, opened
from indexerd.store.publish import write_manifest, write_segment
from indexerd.store.recover import HELD_OPEN_BYTES, read_segment
from indexerd.store.segment import Segment
from indexerd.store.staging import Staging
from indexerd.store.state import State, opened_state, pruned, renamed

Copies = Mapping[FileRef, Stored]


def rewritten(
    fs: StoreFilesystem, staging: Staging, state: State, dead: frozenset[str], healed: Mapping[FileRef, Segment]
) -> tuple[State, list[str]]:
    """Write dead files anew under new names.

    The bytes come from memory or are proved by their hash, since a page that could not be written may also be lost.
    An older generation whose bytes are lost is not kept any more.

    Args:
        fs: The state directory.
        staging: Writes the copies.
        state: What is to be named anew.
        dead: Its files that must not be used.
        healed: What the texts of damaged segments are known to be; see `Checkpoints.replace_damaged`.

    Returns:
        The state that names the copies, and the copies' names, still staged.

    Raises:
        OSError: A copy could not be written; nothing is staged. Try again.
        CorruptionError: Bytes of the current generation are lost: open the store again, which falls back to what is
            durable.
    """
    written: list[str] = []
    try:
        copies = {}
        for ref, data in _dead_segments(fs, state, dead, healed):
            copies[ref.file] = write_segment(fs, staging, data, ref.generation)
            written.append(copies[ref.file].ref.name)
        kept = pruned(state, _replayable(state, dead, copies))
        manifests = _new_manifests(staging, kept, dead, copies, written)
    except BaseException:
        staging.discard(written)
        raise
    new_state = renamed(kept, copies, manifests)
    if not healed:
        return new_state, written
    # Ordinals may have moved with the documents that are gone.
    assert new_state.slot is not None
    parts = opened(new_state.stored)
    return opened_state(new_state.slot, new_state.manifests, parts, durable=state.snapshot.durable), written


def _dead_segments(
    fs: StoreFilesystem, state: State, dead: frozenset[str], healed: Mapping[FileRef, Segment]
) -> Iterator[tuple[SegmentRef, Segment]]:
    """Yield each dead segment with its value; those that only older generations name and nobody has are left out."""
    current = {one.ref.file: one.data for one in state.stored}
    refs = {ref for manifest in state.manifests.values() for ref in manifest.segments if ref.name in dead}
    for ref in sorted(refs):
        data = healed.get(ref.file)
        if data is None and ref.file.length < HELD_OPEN_BYTES:
            data = current.get(ref.file)
        if data is None:
            try:
                data = read_segment(fs, ref).data
            except (CorruptionError, FormatVersionError):
                if ref.file in current:
                    raise
                continue
        yield ref, data


def _replayable(state: State, dead: frozenset[str], copies: Copies) -> frozenset[int]:
    """Return the generations all of whose documents are still there, and the current one."""
    counts = {one.ref.file: one.data.document_count for one in state.stored}

    def is_whole(ref: SegmentRef) -> bool:
        copy = copies.get(ref.file)
        # A healed segment lacks dead documents whose text is lost: earlier generations had them alive.
        if copy is None:
            return ref.name not in dead
        return copy.data.document_count == counts.get(ref.file, copy.data.document_count)

    whole = {number for number, manifest in state.manifests.items() if all(map(is_whole, manifest.segments))}
    return frozenset(whole | {state.generation})


def _new_manifests(
    staging: Staging, state: State, dead: frozenset[str], copies: Copies, written: list[str]
) -> dict[int, tuple[Manifest, FileRef]]:
    assert state.slot is not None
    new = {}
    for kept in state.slot.kept:
        manifest = state.manifests.get(kept.generation)
        if manifest is None:
            continue
        refs = tuple(
            SegmentRef(copies[ref.file].ref.file, ref.generation) if ref.file in copies else ref
            for ref in manifest.segments
        )
        if refs != manifest.segments or kept.manifest.name(Kind.MANIFEST) in dead:
            changed = manifest._replace(segments=refs)
            file = write_manifest(staging, changed)
            written.append(file.name(Kind.MANIFEST))
            new[kept.generation] = (changed, file)
    return new
