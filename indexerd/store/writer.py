"""The store as its one writer holds it.

Owns: the operations on a store and the order of their steps.
Knows nothing of: sources, queries, how a segment is made.
Invariants: 1. memory equals what `latest` says: they change together, under the ledger's lock. 2. `snapshot` takes no
    lock. 3. the heavy part of a merge runs outside the lock that publishes take.
Purity: shell (the state directory, through the port; threads share it).
See: docs/consistency.md (publish, checkpoint, merge).
"""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from indexerd.errors import CorruptionError, DurabilityUnknownError, PublishConflictError
from indexerd.model import History, SourcePath
from indexerd.ports import Clock, StoreFilesystem
from indexerd.store.checkpoint import Checkpoints
from indexerd.store.collect import collect_garbage
from indexerd.store.compaction import Compaction
from indexerd.store.erasure import Erased, Erasure
from indexerd.store.healing import Healing
from indexerd.store.history import GenerationInfo, Past
from indexerd.store.layout import Kind
from indexerd.store.ledger import Ledger, Origin
from indexerd.store.parts import Stored
from indexerd.store.prepared import PreparedGeneration
from indexerd.store.publish import write_manifest, write_segment
from indexerd.store.segment import Segment
from indexerd.store.slots import Change
from indexerd.store.snapshot import Snapshot
from indexerd.store.state import (
    State,
    grown,
    manifest_of,
    new_kept,
    published,
)
from indexerd.store.statistics import StoreStatistics, statistics_of

DurabilityMode = Literal["checkpoint", "always"]


class Store:
    """One state directory, held for writing. Made by `open_store`.

    `prepare`, `publish` and `abort` belong to one writer thread; `checkpoint`, `merge_once` and `collect` may run
    beside it in another; `snapshot` may be called by any.
    """

    def __init__(
        self, fs: StoreFilesystem, clock: Clock, origin: Origin, *, durability: DurabilityMode, history: History
    ) -> None:
        """Prefer `open_store`."""
        self._fs, self._clock, self._always = fs, clock, durability == "always"
        self.opening = origin.report
        self.known_roots = origin.roots
        self._staging = origin.staging
        self._durability = origin.durability
        self._ledger = Ledger(fs, clock, origin.staging, origin.state, origin.numbers, pin_ns=history.pin_ns)
        self._checkpoints = Checkpoints(fs, clock, origin.staging, self._ledger, origin.durability, history=history)
        self.healing = Healing(fs, clock, self._ledger, self._checkpoints, origin.durability)
        self._counters = self._checkpoints.counters
        self._damaged = origin.damaged
        self._versions = origin.versions
        self._compaction = Compaction(fs, clock, origin, self._ledger, self.healing)

    @property
    def store_id(self) -> str:
        """Identity of the store, drawn when it was made."""
        return self._ledger.state.store_id

    def snapshot(self) -> Snapshot:
        """Return the current generation. Takes no lock; what it returns never changes."""
        return self._ledger.state.snapshot

    @property
    def is_partial(self) -> bool:
        """Whether the current generation is a step on the way to a first index, by this process or one before it."""
        slot = self._ledger.state.slot
        return slot is not None and slot.newest.partial

    def stage(self, segment: Segment) -> Stored:
        """Write a segment for a generation to come, so that its texts need no memory until then.

        It is given to `prepare` in the segment's place. Nothing names it before it is published; `abort` leaves it.

        Raises:
            OSError: It was not written.
        """
        return write_segment(self._fs, self._staging, segment, self._ledger.state.generation + 1)

    def prepare(
        self,
        segments: Sequence[Segment | Stored],
        *,
        settings: str,
        change: Change,
        replace_all: bool = False,
        partial: bool | None = None,
    ) -> PreparedGeneration:
        """Write segments to the state directory; nothing is visible until `publish`.

        Args:
            segments: At least one, written here or staged before; later ones override earlier ones.
            settings: Settings fingerprint of all documents of the generation to be.
            change: What it changes, for `generations`.
            replace_all: The segments are all there is (a rebuild, new settings).
            partial: More of a first index is to come, so that this generation is worth no history; None if that is as
                it was.

        Raises:
            OSError: Nothing was prepared and nothing is left behind. Try again.
            ValueError: No segment, or settings that differ from the current generation's without `replace_all`.
        """
        state, begun = self._ledger.state, self._clock.monotonic()
        if not segments:
            raise ValueError("a generation needs a segment")
        if not replace_all and state.snapshot.document_count and settings != state.snapshot.settings:
            raise ValueError("documents of two settings in one generation; replace all of them")
        stored: list[Stored] = []
        own: list[str] = []
        try:
            for segment in segments:
                stored.append(segment if isinstance(segment, Stored) else self.stage(segment))
                own += [] if isinstance(segment, Stored) else [stored[-1].ref.name]
        except BaseException:
            self._staging.discard(own)
            raise
        self.healing.adopt(stored)
        return PreparedGeneration(
            parent=state.generation,
            stored=tuple(stored),
            own=tuple(own),
            settings=settings,
            change=change,
            replace_all=replace_all,
            partial=self.is_partial if partial is None else partial,
            begun=begun,
        )

    def publish(self, prepared: PreparedGeneration) -> Snapshot:
        """Make a prepared generation the current one.

        Returns:
            The snapshot now current. With durability `always` its `durable` says whether the disk confirmed it; if not,
            a checkpoint is due and `statistics` has the cause.

        Raises:
            PublishConflictError: Another generation was published since; the prepared one is gone. Prepare again.
            OSError: Nothing changed. Publish the same again, or abort it.
            CorruptionError: Written bytes are lost. Open the store again: it falls back to what is durable.
        """
        self._checkpoints.reserve()
        chunks = max(one.data.chunk_count for one in prepared.stored)
        with self._ledger.lock:
            state = self._ledger.state
            if state.generation != prepared.parent:
                self.abort(prepared)
                raise PublishConflictError(
                    f"generation {state.generation} was published, {prepared.parent} was expected"
                )
            self._publish_on(state, prepared)
        # It is published: nothing that comes now may make it look as if it were not.
        try:  # noqa: SIM105 - that needs memory too
            self._note_published(chunks, prepared.begun)
        except MemoryError:
            pass
        if self._always:
            self._checkpoint_quietly()
        return self._ledger.state.snapshot

    def abort(self, prepared: PreparedGeneration) -> None:
        """Give up a prepared generation; what `prepare` wrote is removed, now or by the next collection."""
        self._staging.discard(prepared.own)

    def checkpoint(self) -> None:
        """Make the current generation durable: afterwards it outlives a power cut.

        Raises:
            OSError: The last durable generation is still the one that is. Try again.
            DurabilityUnknownError: The disk did not confirm the last step. Try again.
            CorruptionError: Written bytes are lost. Open the store again: it falls back to what is durable.
        """
        self._checkpoints.run()

    def checkpoint_due(self) -> bool:
        """Tell whether a checkpoint should run now.

        It should where the disk is 500 ms or 4 MiB behind, or the next publish would have to wait for one, as after
        opening; and not just after a failed one.
        """
        return self._checkpoints.due(at_once=self._always)

    def merge_due(self) -> bool:
        """Tell whether `merge_once` would do something."""
        return self._compaction.planned() is not None

    def merge_once(self) -> bool:
        """Write a few neighbouring segments as one; the current generation keeps its number and its content.

        Returns:
            Whether something was merged.

        Raises:
            OSError: Nothing changed. Try again later.
            CorruptionError: A segment is damaged; nothing changed.
        """
        merged = self._compaction.run()
        self._counters.merges += merged
        return merged

    def stop_merging(self) -> None:
        """End a heavy merge under way, which is then as if it had not begun, and begin no other."""
        self._compaction.stop()

    def collect(self) -> int:
        """Remove files that no slot names; return how many.

        Raises:
            OSError: The directory cannot be listed. Try again later.
        """
        with self._checkpoints.lock:
            if self._ledger.state.slot is None:
                return 0
            return collect_garbage(self._fs, self._live_names, self._damaged)

    def pin(self, generation: int) -> None:
        """Keep a generation for the days that history says, since evidence named it.

        Written with the next publish, or by the upkeep soon after: a checkpoint is due until then.
        """
        self._ledger.pin(generation)

    def past(self) -> Past:
        """Return what is kept of older generations, as of now."""
        state, reached = self._ledger.state, self._durability.slot
        durable = frozenset(kept.generation for kept in reached.kept) if reached else frozenset[int]()
        return Past(fs=self._fs, slot=state.slot, durable=durable, manifests=state.manifests, current=state.snapshot)

    def generations(self) -> tuple[GenerationInfo, ...]:
        """Return the kept generations, oldest first."""
        return self.past().generations()

    def erase(self, source_path: SourcePath, *, keep_current: bool = False) -> Erased:
        """Erase a document, or all versions of it but the current one, from every kept generation and from the disk.

        Afterwards no file of the store holds its text, path, terms or hashes; numbers, and all other documents, stay.
        Killed at any moment, the store opens as before or as after; call it again to be certain of the disk.

        Raises:
            StillIndexedError: It is indexed, and that is not to be kept. Nothing changed.
            OSError, DurabilityUnknownError, CorruptionError: It may be erased from what is shown, and not yet from the
                disk. Try again.
        """
        erasure = Erasure(self._fs, self._staging, source_path, keep_current=keep_current)
        with self._compaction.lock:
            return erasure.run(self._ledger, self._checkpoints, self._live_names)

    def statistics(self) -> StoreStatistics:
        """Return what the store knows about itself, as one immutable value."""
        unsynced = self._ledger.unsynced
        age = max(0.0, self._clock.monotonic() - unsynced.since) if unsynced.since is not None else 0.0
        return statistics_of(
            self._ledger.state, self._counters, self._durability.generation, age, unsynced.length_bytes
        )

    def close(self) -> None:
        """Make the current generation durable and release the lock, whatever happens.

        A process that lives for one publish has no other time for upkeep, so small segments are merged and garbage is
        collected here as well.

        Raises:
            OSError, DurabilityUnknownError, CorruptionError: The last generations may not outlive a power cut.
        """
        try:
            # What cannot be written keeps its place in the schedule: no reason to fail for.
            with contextlib.suppress(OSError):
                self._ledger.keep_pins()
            if self._checkpoints.closed():
                return
            # Nothing changes if it fails; the next process merges.
            with contextlib.suppress(OSError, CorruptionError):
                if self._compaction.planned(small=True):
                    self.merge_once()
            self._checkpoints.close()
            self._collect_quietly()
        finally:
            self._fs.close()

    # Publishing.

    def _note_published(self, chunks: int, begun: float) -> None:
        self._compaction.note_publish(chunks)
        self._counters.made_publish(self._clock.monotonic() - begun)

    def _publish_on(self, state: State, prepared: PreparedGeneration) -> None:
        generation = self._ledger.highest + 1
        # Its number is known only now: after anything but a clean close it is not the parent's successor.
        stored = [replace(one, ref=one.ref._replace(generation=generation)) for one in prepared.stored]
        parts = grown(() if prepared.replace_all else state.parts, stored)
        manifest = manifest_of(generation, prepared.settings, parts, self._versions)
        staged = [one.ref.name for one in prepared.stored]
        ref = write_manifest(self._staging, manifest)
        name = ref.name(Kind.MANIFEST)
        try:
            kept = new_kept(generation, ref, self._clock.now_ns(), prepared.change, partial=prepared.partial)
            new = published(state, manifest, parts, kept, roots=self.known_roots)
            self._ledger.exchange(new, staged=[name, *staged], written=ref.length + prepared.length_bytes)
        except BaseException:
            self._staging.discard([name])
            raise
        self._ledger.highest = generation

    def _collect_quietly(self) -> None:
        # If the directory cannot be listed, what nothing names stays for the next process.
        with contextlib.suppress(OSError):
            self.collect()

    def _checkpoint_quietly(self) -> None:
        try:
            self.checkpoint()
        except (OSError, DurabilityUnknownError, CorruptionError, MemoryError):
            # Counted, shown in `statistics`, and due again: the generation is published, durable or not.
            return

    def _live_names(self) -> frozenset[str]:
        with self._ledger.lock:
            return self._ledger.state.names() | self._durability.protected | self._staging.staged()
