"""Making generations outlive a power cut.

Owns: what is known to be flushed, what must never be flushed again, and the order data, manifest, directory, slot.
Knows nothing of: when a checkpoint is due, how generations are made.
Invariants: 1. the durable slot names only files whose bytes and names were flushed before it moved. 2. a file
    whose flush failed is never flushed again: its bytes are written anew under a new name. 3. whatever a durable slot
    names that may be the one on disk is protected from collection.
Purity: shell (the state directory, through the port).
See: docs/consistency.md (checkpoint).
"""

from collections.abc import Mapping, Sequence

from indexerd.errors import CorruptionError
from indexerd.ports import StoreFilesystem
from indexerd.store.layout import FileName, Kind, SlotName, parse_name
from indexerd.store.manifest import FileRef, Manifest, SegmentRef
from indexerd.store.parts import Stored
from indexerd.store.publish import commit, write_manifest
from indexerd.store.recover import read_segment
from indexerd.store.slots import Slot
from indexerd.store.staging import Staging
from indexerd.store.state import State, renamed


class Durability:
    """What the disk is known to hold. Used by one thread at a time (the store's durable lock)."""

    def __init__(
        self, fs: StoreFilesystem, staging: Staging, *, slot: Slot | None, flushed: frozenset[str], dead: frozenset[str]
    ) -> None:
        """Start from what was found on disk.

        Args:
            fs: The state directory.
            staging: Writes files.
            slot: The durable slot, if it can be read.
            flushed: Every file it names.
            dead: Files of an earlier process that were not known to be flushed: a flush of theirs may have failed,
                so they are treated as if it had.
        """
        self._fs = fs
        self._staging = staging
        self._flushed = flushed
        self._protected = flushed
        self._dead = dead
        self.slot = slot

    @property
    def generation(self) -> int:
        """Newest generation that is known to outlive a power cut; 0 if none."""
        return self.slot.newest.generation if self.slot else 0

    @property
    def protected(self) -> frozenset[str]:
        """Files that a durable slot names which may be the one on disk."""
        return self._protected

    def unflushed(self, state: State) -> frozenset[str]:
        """Return the files of a state that are not known to be flushed."""
        return state.names() - self._flushed

    def dead_files(self, state: State) -> frozenset[str]:
        """Return the files of a state that have to be written anew before it can be made durable."""
        self._dead &= state.names()
        return self._dead

    def flush(self, state: State, slot: Slot) -> None:
        """Make a state durable.

        Args:
            state: None of its files is dead.
            slot: What the durable slot will say.

        Raises:
            OSError: The durable slot did not move. Try again; files whose flush failed are dead now.
            DurabilityUnknownError: It moved, and may or may not outlive a power cut. Try again.
        """
        pending = self.unflushed(state)
        self._flush_files(sorted(pending, key=_segments_first))
        self._protected |= state.names()
        self.slot = commit(self._fs, self._staging, slot, SlotName.DURABLE, flush=True)
        self._flushed = self._protected = state.names()

    def _flush_files(self, pending: Sequence[str]) -> None:
        for name in pending:
            try:
                self._fs.flush_file(name)
            except OSError:
                self._dead |= {name}
                raise
        if not pending:
            return
        try:
            self._fs.flush_directory()
        except OSError:
            # Which of the names were lost is not known: all of them get new ones.
            self._dead |= frozenset(pending)
            raise
        self._flushed |= frozenset(pending)


def rewritten(fs: StoreFilesystem, staging: Staging, state: State, dead: frozenset[str]) -> tuple[State, list[str]]:
    """Write dead files anew under new names.

    Their bytes are read back and proved by their hash, since a page that could not be written may also be lost.

    Returns:
        The state that names the copies, and the copies' names, still staged.

    Raises:
        OSError: A copy could not be written; nothing is staged. Try again.
        CorruptionError: The bytes are lost: rebuild.
    """
    written: list[str] = []
    try:
        segments = _copied_segments(fs, staging, state, dead, written)
        manifests = _new_manifests(staging, state, dead, segments, written)
    except (OSError, CorruptionError):
        staging.discard(written)
        raise
    return renamed(state, segments, manifests), written


def _copied_segments(
    fs: StoreFilesystem, staging: Staging, state: State, dead: frozenset[str], written: list[str]
) -> dict[FileRef, Stored]:
    refs = {ref for manifest in state.manifests.values() for ref in manifest.segments if ref.name in dead}
    copies = {}
    for ref in sorted(refs):
        read_segment(fs, ref)
        file = staging.write(Kind.SEGMENT, [fs.map(ref.name)])
        written.append(file.name(Kind.SEGMENT))
        if file.digest != ref.file.digest:
            raise CorruptionError(ref.name, "its bytes changed after they were written")
        copies[ref.file] = read_segment(fs, SegmentRef(file, ref.generation))
    return copies


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
            changed = Manifest(
                generation=manifest.generation,
                settings=manifest.settings,
                segments=refs,
                documents=manifest.documents,
                chunks=manifest.chunks,
                text_bytes=manifest.text_bytes,
            )
            file = write_manifest(staging, changed)
            written.append(file.name(Kind.MANIFEST))
            new[kept.generation] = (changed, file)
    return new


def _segments_first(name: str) -> tuple[bool, str]:
    parsed = parse_name(name)
    return (not (isinstance(parsed, FileName) and parsed.kind is Kind.SEGMENT), name)
