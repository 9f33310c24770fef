"""Writing files anew whose flush failed.

Owns: where the bytes of a dead file come from, and the manifests that name its copy.
Knows nothing of: why a file is dead, when its copy is committed.
Invariants: 1. what is copied is proved by its hash. 2. nothing goes on reading a dead file: its pages may be dropped,
    and the disk never had them.
Purity: shell (the state directory, through the port).
See: docs/consistency.md (failed flush).
"""

from collections.abc import Mapping
from dataclasses import replace

from indexerd.errors import CorruptionError, FormatVersionError
from indexerd.ports import StoreFilesystem
from indexerd.store.layout import Kind
from indexerd.store.manifest import FileRef, Manifest, SegmentRef
from indexerd.store.parts import Stored
from indexerd.store.publish import write_manifest
from indexerd.store.recover import MAPPED_BYTES, read_segment
from indexerd.store.segment import decode_segment, encode_segment
from indexerd.store.staging import Staging
from indexerd.store.state import State, pruned, renamed


def rewritten(fs: StoreFilesystem, staging: Staging, state: State, dead: frozenset[str]) -> tuple[State, list[str]]:
    """Write dead files anew under new names.

    The bytes come from memory or are proved by their hash, since a page that could not be written may also be lost.
    An older generation of which a power cut took a file cannot be shown again: it is no longer kept.

    Returns:
        The state that names the copies, and the copies' names, still staged.

    Raises:
        OSError: A copy could not be written; nothing is staged. Try again.
        CorruptionError: Bytes of the current generation are lost: open the store again, which falls back to what is
            durable.
    """
    written: list[str] = []
    try:
        segments = _copied_segments(fs, staging, state, dead, written)
        state = _without_lost(state, dead, segments)
        manifests = _new_manifests(staging, state, dead, segments, written)
    except (OSError, CorruptionError):
        staging.discard(written)
        raise
    return renamed(state, segments, manifests), written


def _copied_segments(
    fs: StoreFilesystem, staging: Staging, state: State, dead: frozenset[str], written: list[str]
) -> dict[FileRef, Stored]:
    current = {one.ref: one.data for one in state.stored}
    copies = {}
    for ref in sorted(_dead_segments(state, dead)):
        kept = current.get(ref) if ref.file.length < MAPPED_BYTES else None
        try:
            data = kept or read_segment(fs, ref).data
        except (CorruptionError, FormatVersionError):
            if ref in current:
                raise
            continue
        file = staging.write(Kind.SEGMENT, encode_segment(data))
        written.append(file.name(Kind.SEGMENT))
        if file.digest != ref.file.digest:
            raise CorruptionError(ref.name, "its bytes changed after they were written")
        new = SegmentRef(file, ref.generation)
        copies[ref.file] = Stored(new, kept or decode_segment(fs.map(new.name), new.name, verify=False))
    return copies


def _dead_segments(state: State, dead: frozenset[str]) -> set[SegmentRef]:
    return {ref for manifest in state.manifests.values() for ref in manifest.segments if ref.name in dead}


def _without_lost(state: State, dead: frozenset[str], copies: Mapping[FileRef, Stored]) -> State:
    """Return the state without the generations that name a dead segment of which there is no copy."""
    lost = {ref.file for ref in _dead_segments(state, dead)} - copies.keys()
    keep = {number for number in state.manifests if lost.isdisjoint(state.files_of(number))}
    return pruned(state, frozenset(keep)) if lost else state


def _new_manifests(
    staging: Staging, state: State, dead: frozenset[str], segments: Mapping[FileRef, Stored], written: list[str]
) -> dict[int, tuple[Manifest, FileRef]]:
    assert state.slot is not None
    new = {}
    for kept in state.slot.kept:
        manifest = state.manifests.get(kept.generation)
        if manifest is None:
            continue
        refs = tuple(
            SegmentRef(segments[ref.file].ref.file, ref.generation) if ref.file in segments else ref
            for ref in manifest.segments
        )
        if refs != manifest.segments or kept.manifest.name(Kind.MANIFEST) in dead:
            changed = replace(manifest, segments=refs)
            file = write_manifest(staging, changed)
            written.append(file.name(Kind.MANIFEST))
            new[kept.generation] = (changed, file)
    return new
