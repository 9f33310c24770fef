"""Erasing one document from every kept generation.

Owns: the segments and manifests that take the place of those that hold it.
Knows nothing of: why it is erased, whether its file is there, when the slot moves.
Invariants: 1. numbers stay, and the content of all other documents; each generation counts what it lost. 2. a version
    that an erased one had overridden does not come back. 3. what cannot be read cannot be proved free of the document:
    generations that name it go.
Purity: shell (the state directory, through the port).
See: docs/on-disk-format.md (erasure), docs/consistency.md (erasure).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from indexerd.errors import CorruptionError, FormatVersionError, StillIndexedError
from indexerd.model import ContentHash, SourcePath
from indexerd.ports import StoreFilesystem
from indexerd.store.checkpoint import Checkpoints
from indexerd.store.collect import remove_traces
from indexerd.store.layout import Kind
from indexerd.store.ledger import Ledger
from indexerd.store.manifest import FileRef, Manifest, SegmentRef
from indexerd.store.parts import Stored, opened
from indexerd.store.publish import write_manifest, write_segment
from indexerd.store.recover import read_segment
from indexerd.store.segment import Segment, merge_segments, with_tombstones
from indexerd.store.staging import Staging
from indexerd.store.state import State, pruned, with_manifests


class Erased(NamedTuple):
    """What an erasure did.

    Attributes:
        generations: Kept generations that had a version of the document and have none now.
        segments: Segment files written anew without it.
        dropped: Generations that could not be read to the end and are kept no longer.
    """

    generations: int = 0
    segments: int = 0
    dropped: int = 0


class _Mention(NamedTuple):
    """What a segment says of the document: how much of it, or that it is dead; and whether that version goes."""

    chunks: int
    size_bytes: int
    is_document: bool
    goes: bool


class Erasure:
    """One erasure on its way."""

    def __init__(self, fs: StoreFilesystem, staging: Staging, source_path: SourcePath, *, keep_current: bool) -> None:
        self._fs, self._staging = fs, staging
        self._path, self._keep = source_path, keep_current
        self._kept_hash: ContentHash | None = None
        self._mentions: dict[SegmentRef, _Mention | None] = {}
        self._replaced: dict[SegmentRef, Stored] = {}
        self._unreadable: set[SegmentRef] = set()
        self.written: list[str] = []
        self.result = Erased()

    def run(self, ledger: Ledger, checkpoints: Checkpoints, live: Callable[[], frozenset[str]]) -> Erased:
        """Erase the document from the state and from the disk. No merge runs meanwhile. Raises as `Store.erase`."""
        with checkpoints.lock:
            # Outside the ledger's lock: the heavy part. Publishes go on meanwhile, and add little.
            self.prepare(ledger.state)
            try:
                with ledger.lock:
                    new = self.erased_from(ledger.state)
                    if new is not None:
                        ledger.exchange(new, staged=self.written)
            except BaseException:
                self.discard()
                raise
            checkpoints.run()
            remove_traces(self._fs, live)
        return self.result

    def prepare(self, state: State) -> None:
        """Write what takes the place of each segment that mentions the document.

        Raises:
            StillIndexedError: It is indexed, and that is not to be kept.
            OSError: Nothing is staged. Try again.
        """
        try:
            self._prepare(state)
        except BaseException:
            self.discard()
            raise

    def erased_from(self, state: State) -> State | None:
        """Return the state without the document; None if nothing in it mentions it.

        Raises:
            StillIndexedError, OSError: As `prepare`; call `discard` then.
        """
        self._prepare(state)
        if state.slot is None:
            return None
        lost = {number for number, one in state.manifests.items() if self._unreadable & set(one.segments)}
        if state.generation in lost:
            raise CorruptionError(self._path, "the current generation cannot be read: open the store again")
        left = pruned(state, frozenset(state.manifests) - lost) if lost else state
        changed = {number: new for number, one in left.manifests.items() if (new := self._without(one)) != one}
        if not changed and not lost:
            return None
        erased = sum(new.erased > left.manifests[number].erased for number, new in changed.items())
        self.result = Erased(erased, len(self._replaced), len(lost))
        return self._moved(left, changed)

    def discard(self) -> None:
        """Remove what was written: the slot did not move."""
        self._staging.discard(self.written)
        self.written.clear()

    def _prepare(self, state: State) -> None:
        found = state.snapshot.find(self._path)
        if found is not None and not self._keep:
            remedy = "remove its file or exclude it first, or erase its history alone"
            raise StillIndexedError(f"{self._path!r} is indexed: {remedy}")
        kept = ContentHash(found[0].data.content_hashes[found[1]].tobytes()) if found is not None else None
        if kept != self._kept_hash and self._mentions:
            # It was published again meanwhile: what goes and what stays is another question now.
            self.discard()
            self._mentions.clear()
            self._replaced.clear()
        self._kept_hash = kept
        loaded = {one.ref: one for one in state.stored}
        for ref in sorted({ref for one in state.manifests.values() for ref in one.segments} - self._mentions.keys()):
            self._look_at(ref, loaded.get(ref))

    def _look_at(self, ref: SegmentRef, loaded: Stored | None) -> None:
        try:
            data = (loaded or read_segment(self._fs, ref)).data
            mention = self._mention(data)
            freed = self._freed(data) if mention is not None and mention.goes else None
        except (CorruptionError, FormatVersionError):
            if loaded is not None:
                # Of the current generation: it is healed, from the sources too, and then erased.
                raise
            self._unreadable.add(ref)
            mention = freed = None
        self._mentions[ref] = mention
        if freed is not None:
            self._replaced[ref] = self._written(ref, freed)

    def _mention(self, data: Segment) -> _Mention | None:
        number = data.find(self._path)
        if number >= 0:
            first, behind = data.first_chunks[number : number + 2].tolist()
            goes = data.content_hashes[number].tobytes() != self._kept_hash
            return _Mention(behind - first, data.sizes.item(number), True, goes)
        if data.tombstone_table.table.find(self._path.encode()) >= 0:
            # While the document is kept its name may stay, and must: an earlier version would come back.
            return _Mention(0, 0, False, self._kept_hash is None)
        return None

    def _freed(self, data: Segment) -> Segment:
        """Return a segment without the document; where its name stays, dead instead."""
        others = np.ones(data.document_count, dtype=np.bool_)
        number = data.find(self._path)
        if number >= 0:
            others[number] = False
        freed = merge_segments([(data, others)])
        dead = set(map(str.encode, freed.tombstones)) - {self._path.encode()}
        if self._kept_hash is not None:
            dead.add(self._path.encode())
        return with_tombstones(freed, dead)

    def _written(self, ref: SegmentRef, data: Segment) -> Stored:
        new = write_segment(self._fs, self._staging, data, ref.generation)
        self.written.append(new.ref.name)
        return new

    def _without(self, manifest: Manifest) -> Manifest:
        """Return a manifest with the new segments, and with the counts that follow from them."""
        mentioned = [one for ref in manifest.segments if (one := self._mentions[ref]) is not None]
        loses = bool(mentioned) and mentioned[-1].is_document and mentioned[-1].goes
        gone = mentioned[-1] if loses else _Mention(0, 0, is_document=False, goes=False)
        return manifest._replace(
            segments=tuple(self._replaced[ref].ref if ref in self._replaced else ref for ref in manifest.segments),
            documents=manifest.documents - loses,
            chunks=manifest.chunks - gone.chunks,
            text_bytes=manifest.text_bytes - gone.size_bytes,
            erased=manifest.erased + loses,
        )

    def _moved(self, state: State, changed: dict[int, Manifest]) -> State:
        written: dict[int, tuple[Manifest, FileRef]] = {}
        for number, manifest in changed.items():
            written[number] = (manifest, write_manifest(self._staging, manifest))
            self.written.append(written[number][1].name(Kind.MANIFEST))
        parts = opened(self._current(state.stored)) if state.generation in changed else state.parts
        return with_manifests(state, written, parts, durable=False)

    def _current(self, stored: Sequence[Stored]) -> list[Stored]:
        return [self._replaced.get(one.ref, one) for one in stored]
