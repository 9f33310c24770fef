"""The store as its one writer holds it.

Owns: the current state, the order of locks, and when numbers are reserved, states made durable, files collected.
Knows nothing of: sources, queries, how a segment is made.
Invariants: 1. memory equals what `latest` says: they change together under the commit lock. 2. a number is published
    at most once, also across power cuts (ceiling). 3. `snapshot` takes no lock; a flush is never waited for
    under the commit lock, save when a reserve of numbers is used up.
Purity: shell (the state directory, through the port; threads share it).
See: docs/consistency.md (publish, checkpoint, merge), docs/adr/0001.
"""

import errno
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from indexerd.errors import CorruptionError, DurabilityUnknownError, FormatVersionError, PublishConflictError
from indexerd.ports import Clock, StoreFilesystem
from indexerd.store.checkpoint import Durability, rewritten
from indexerd.store.collect import collect_garbage
from indexerd.store.layout import Kind, SlotName
from indexerd.store.manifest import SegmentRef
from indexerd.store.merging import PartSize, plan_merge
from indexerd.store.parts import SMALL_CHUNKS, Part, Stored
from indexerd.store.publish import commit, write_manifest
from indexerd.store.recover import MAPPED_BYTES, OpeningReport, read_generation
from indexerd.store.retention import PIN_NS, history_limit_bytes, plan_retention
from indexerd.store.segment import Segment
from indexerd.store.segment_codec import decode_segment, encode_segment
from indexerd.store.segment_merge import merge_segments
from indexerd.store.slots import Change, KnownRoot
from indexerd.store.snapshot import Snapshot, make_snapshot
from indexerd.store.staging import Staging
from indexerd.store.state import (
    State,
    durable,
    grown,
    manifest_of,
    merged_parts,
    new_kept,
    pinned,
    pruned,
    published,
    with_manifest,
)
from indexerd.store.statistics import Counters, GenerationInfo, StoreStatistics, statistics_of

DurabilityMode = Literal["checkpoint", "always"]

# Numbers set aside with each durable slot. A restart that was no clean close skips what is left of them.
RESERVED_GENERATIONS = 256
CHECKPOINT_SECONDS = 0.5
CHECKPOINT_BYTES = 4 << 20
RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
# While large segments arrive this close together, a bulk load is under way and merging would rewrite what grows.
LOADING_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedGeneration:
    """Segments that are written and named by nothing: to be published or aborted.

    Attributes:
        parent: Generation that was current when it was prepared.
        stored: Its segments, oldest first.
        settings: Settings fingerprint of the generation it would make.
        change: What it would change.
        replace_all: It holds all there is: nothing of the parent stays.
    """

    parent: int
    stored: tuple[Stored, ...]
    settings: str
    change: Change
    replace_all: bool

    @property
    def length_bytes(self) -> int:
        """Bytes of its segments in the state directory."""
        return sum(one.ref.file.length for one in self.stored)


@dataclass(slots=True, kw_only=True)
class Unsynced:
    """What a power cut would take: since when, and how many bytes."""

    since: float | None = None
    length_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class Origin:
    """What opening a state directory gives the writer to start from."""

    report: OpeningReport
    state: State
    durability: Durability
    staging: Staging
    roots: tuple[KnownRoot, ...]
    highest_generation: int
    ceiling: int
    revision: int
    damaged: frozenset[str] = field(default_factory=frozenset)


class Store:
    """One state directory, held for writing. Made by `open_store`.

    `prepare`, `publish` and `abort` belong to one writer thread; `checkpoint`, `merge_once` and `collect` may run
    beside it in another; `snapshot` may be called by any.
    """

    def __init__(
        self, fs: StoreFilesystem, clock: Clock, origin: Origin, *, durability: DurabilityMode, history: float
    ) -> None:
        """Prefer `open_store`."""
        self._fs, self._clock, self._always, self._history = fs, clock, durability == "always", history
        self.opening = origin.report
        self.known_roots = origin.roots
        self._state = origin.state
        self._staging = origin.staging
        self._durability = origin.durability
        self._damaged = origin.damaged
        # The last number that was or may have been published, and the last that may be published without reserving.
        self._highest, self._ceiling = origin.highest_generation, origin.ceiling
        self._revision = origin.revision
        self._pins: set[int] = set()
        self._unsynced = Unsynced()
        self._counters = Counters()
        self._retry_at = 0.0
        self._large_at = float("-inf")
        # Guards the swap of `_state` with the move of `latest`. Held for short; taken last.
        self._commit_lock = threading.RLock()
        # One checkpoint or collection at a time. Taken before the commit lock.
        self._durable_lock = threading.RLock()
        # One merge at a time. Taken before the commit lock, never with the durable lock.
        self._merge_lock = threading.Lock()
        if origin.state.slot is not None and self._durability.unflushed(origin.state):
            self._unsynced.since = clock.monotonic()

    @property
    def store_id(self) -> str:
        """Identity of the store, drawn when it was made."""
        return self._state.store_id

    def snapshot(self) -> Snapshot:
        """Return the current generation. Takes no lock; what it returns never changes."""
        return self._state.snapshot

    def prepare(
        self, segments: Sequence[Segment], *, settings: str, change: Change, replace_all: bool = False
    ) -> PreparedGeneration:
        """Write segments to the state directory; nothing is visible until `publish`.

        Args:
            segments: At least one; later ones override earlier ones.
            settings: Settings fingerprint of all documents of the generation to be.
            change: What it changes, for `generations`.
            replace_all: The segments are all there is (a rebuild, new settings).

        Raises:
            OSError: Nothing was prepared and nothing is left behind. Try again.
            ValueError: No segment, or settings that differ from the current generation's without `replace_all`.
        """
        state = self._state
        if not segments:
            raise ValueError("a generation needs a segment")
        if not replace_all and state.snapshot.document_count and settings != state.snapshot.settings:
            raise ValueError("documents of two settings in one generation; replace all of them")
        stored: list[Stored] = []
        try:
            for segment in segments:
                stored.append(self._write_segment(segment, state.generation + 1))  # noqa: PERF401 - undone on error
        except OSError:
            self._staging.discard([one.ref.name for one in stored])
            raise
        return PreparedGeneration(
            parent=state.generation, stored=tuple(stored), settings=settings, change=change, replace_all=replace_all
        )

    def publish(self, prepared: PreparedGeneration) -> Snapshot:
        """Make a prepared generation the current one.

        Returns:
            The snapshot now current. With durability `always` its `durable` says whether the disk confirmed it; if not,
            a checkpoint is due and `statistics` has the cause.

        Raises:
            PublishConflictError: Another generation was published since; the prepared one is gone. Prepare again.
            OSError: Nothing changed. Publish the same again, or abort it.
        """
        self._reserve()
        with self._commit_lock:
            state = self._state
            if state.generation != prepared.parent:
                self.abort(prepared)
                raise PublishConflictError(
                    f"generation {state.generation} was published, {prepared.parent} was expected"
                )
            self._publish_on(state, prepared)
        if max(one.data.chunk_count for one in prepared.stored) > SMALL_CHUNKS:
            self._large_at = self._clock.monotonic()
        if self._always:
            self._checkpoint_quietly()
        return self._state.snapshot

    def abort(self, prepared: PreparedGeneration) -> None:
        """Give up a prepared generation; its files are removed, now or by the next collection."""
        self._staging.discard([one.ref.name for one in prepared.stored])

    def checkpoint(self) -> None:
        """Make the current generation durable: afterwards it outlives a power cut.

        Raises:
            OSError: The last durable generation is still the one that is. Try again.
            DurabilityUnknownError: The disk did not confirm the last step. Try again.
            CorruptionError: Written bytes are lost: rebuild.
        """
        with self._durable_lock:
            try:
                self._checkpoint(closed=False)
            except (OSError, DurabilityUnknownError, CorruptionError) as error:
                failures = self._counters.failed_checkpoint(str(error))
                pause = RETRY_SECONDS[min(failures, len(RETRY_SECONDS)) - 1]
                self._retry_at = self._clock.monotonic() + pause
                raise
            self._counters.made_checkpoint()

    def checkpoint_due(self) -> bool:
        """Tell whether a checkpoint should run now: 500 ms or 4 MiB behind, and not just after a failed one."""
        since, now = self._unsynced.since, self._clock.monotonic()
        if since is None or now < self._retry_at:
            return False
        return self._always or now - since >= CHECKPOINT_SECONDS or self._unsynced.length_bytes >= CHECKPOINT_BYTES

    def merge_due(self) -> bool:
        """Tell whether `merge_once` would do something."""
        return self._planned(self._state) is not None

    def merge_once(self) -> bool:
        """Write a few neighbouring segments as one; the current generation keeps its number and its content.

        Returns:
            Whether something was merged.

        Raises:
            OSError: Nothing changed. Try again later.
        """
        with self._merge_lock:
            state = self._state
            plan = self._planned(state)
            if plan is None:
                return False
            chosen = [state.parts[index] for index in plan]
            # Outside the commit lock: the heavy part. Publishes go on meanwhile.
            data = merge_segments(
                [(part.view.data, part.view.live) for part in chosen], drop_tombstones=plan.start == 0
            )
            gone = [one for part in chosen for one in part.stored]
            merged = self._write_segment(data, max(one.ref.generation for one in gone))
            with self._commit_lock:
                return self._commit_merge(gone, merged)

    def collect(self) -> int:
        """Remove files that no slot names; return how many.

        Raises:
            OSError: The directory cannot be listed. Try again later.
        """
        with self._durable_lock:
            if self._state.slot is None:
                return 0
            return collect_garbage(self._fs, self._live_names, self._damaged)

    def pin(self, generation: int) -> None:
        """Keep a generation for 30 days, since evidence named it; written with the next publish."""
        self._pins.add(generation)

    def generations(self) -> tuple[GenerationInfo, ...]:
        """Return the kept generations, oldest first."""
        slot, reached = self._state.slot, self._durability.slot
        safe = {kept.generation for kept in reached.kept} if reached else set()
        return tuple(
            GenerationInfo(kept.generation, kept.generation in safe, kept.published_at_ns, *kept.change)
            for kept in (slot.kept if slot else ())
        )

    def open_generation(self, generation: int) -> Snapshot | None:
        """Open a kept generation; None if it is not kept or does not prove whole.

        Raises:
            OSError: The machine's fault. Try again.
        """
        state = self._state
        kept = [one for one in (state.slot.kept if state.slot else ()) if one.generation == generation]
        if not kept:
            return None
        try:
            manifest, parts = read_generation(self._fs, kept[0])
        except (CorruptionError, FormatVersionError):
            return None
        safe = generation <= self._durability.generation
        return make_snapshot(
            store_id=state.store_id, generation=generation, durable=safe, settings=manifest.settings, parts=parts
        )

    def statistics(self) -> StoreStatistics:
        """Return what the store knows about itself, as one immutable value."""
        now, since = self._clock.monotonic(), self._unsynced.since
        age = max(0.0, now - since) if since is not None else 0.0
        return statistics_of(self._state, self._counters, self._durability.generation, age, self._unsynced.length_bytes)

    def close(self) -> None:
        """Make the current generation durable and release the lock, whatever happens.

        Raises:
            OSError, DurabilityUnknownError, CorruptionError: The last generations may not outlive a power cut.
        """
        try:
            with self._durable_lock:
                if not self._is_closed():
                    self._checkpoint(closed=True)
        finally:
            self._fs.close()

    # Publishing.

    def _write_segment(self, segment: Segment, generation: int) -> Stored:
        file = self._staging.write(Kind.SEGMENT, encode_segment(segment))
        ref = SegmentRef(file, generation)
        if file.length < MAPPED_BYTES:
            return Stored(ref, segment)
        try:
            # A large one is used from its file, so that its memory can be given back.
            return Stored(ref, decode_segment(self._fs.map(ref.name), ref.name, verify=False))
        except OSError:
            self._staging.discard([ref.name])
            raise

    def _publish_on(self, state: State, prepared: PreparedGeneration) -> None:
        generation = self._highest + 1
        parts = grown(() if prepared.replace_all else state.parts, prepared.stored)
        manifest = manifest_of(generation, prepared.settings, parts)
        ref = write_manifest(self._staging, manifest)
        kept = new_kept(generation, ref, self._clock.now_ns(), prepared.change)
        kept_for_evidence = pinned(state, self._pins, kept.published_at_ns + PIN_NS)
        new = published(kept_for_evidence, manifest, parts, kept, roots=self.known_roots)
        name = ref.name(Kind.MANIFEST)
        self._commit_latest(new, [name], [one.ref.name for one in prepared.stored], ref.length + prepared.length_bytes)
        self._highest = generation
        self._pins.clear()
        self._counters.made_publish()

    def _commit_latest(self, new: State, undo: Sequence[str], staged: Sequence[str], length_bytes: int) -> None:
        """Move `latest` to a new state and memory with it.

        Args:
            new: The state; its slot's revision, ceiling and closed mark are set here.
            undo: Staged files to remove if the move fails.
            staged: Further staged files that the move names; they stay staged if it fails.
            length_bytes: What was written for it.
        """
        assert new.slot is not None
        slot = replace(new.slot, revision=self._revision + 1, ceiling=self._ceiling, closed=False)
        try:
            written = commit(self._fs, self._staging, slot, SlotName.LATEST, flush=False)
        except OSError:
            self._staging.discard(undo)
            raise
        self._state = replace(new, slot=written)
        self._revision = written.revision
        self._staging.release([*undo, *staged])
        self._unsynced.length_bytes += length_bytes
        if self._unsynced.since is None:
            self._unsynced.since = self._clock.monotonic()

    # Merging.

    def _planned(self, state: State) -> range | None:
        loading = self._clock.monotonic() - self._large_at < LOADING_SECONDS
        return plan_merge([_part_size(part) for part in state.parts], loading=loading)

    def _commit_merge(self, gone: Sequence[Stored], merged: Stored) -> bool:
        state = self._state
        parts = merged_parts(state.parts, gone, merged)
        if parts is None:
            self._staging.discard([merged.ref.name])
            return False
        manifest = manifest_of(state.generation, state.snapshot.settings, parts)
        try:
            ref = write_manifest(self._staging, manifest)
        except OSError:
            self._staging.discard([merged.ref.name])
            raise
        new = with_manifest(state, manifest, ref, parts)
        self._commit_latest(new, [ref.name(Kind.MANIFEST), merged.ref.name], [], ref.length + merged.ref.file.length)
        self._counters.made_merge()
        return True

    # Durability. The durable lock is held.

    def _reserve(self) -> None:
        """Make sure that the next number may be published: no power cut may ever bring it back with other content."""
        if self._highest < self._ceiling:
            return
        with self._durable_lock:
            if self._state.slot is None:
                # A store of a new identity: no slot that could outlive a power cut has ever named a number.
                self._ceiling = self._highest + RESERVED_GENERATIONS
                return
            try:
                self._checkpoint(closed=False)
            except DurabilityUnknownError as error:
                raise OSError(errno.EIO, "no generation numbers could be reserved") from error

    def _checkpoint(self, *, closed: bool) -> None:
        self._heal()
        self._prune()
        with self._commit_lock:
            state, taken = self._state, replace(self._unsynced)
            highest = self._highest
        if state.slot is None or self._has_reached(state, closed=closed):
            return
        ceiling = highest if closed else highest + RESERVED_GENERATIONS
        self._durability.flush(state, replace(state.slot, ceiling=ceiling, closed=closed))
        with self._commit_lock:
            self._ceiling = ceiling
            self._forget_unsynced(state, taken)
            if self._state.generation <= self._durability.generation:
                self._state = durable(self._state)

    def _has_reached(self, state: State, *, closed: bool) -> bool:
        reached = self._durability.slot
        assert state.slot is not None
        same = reached is not None and reached.revision == state.slot.revision and reached.closed == closed
        return same and self._highest < self._ceiling and not self._durability.unflushed(state)

    def _is_closed(self) -> bool:
        reached, slot = self._durability.slot, self._state.slot
        return slot is None or (reached is not None and reached.closed and reached.revision >= slot.revision)

    def _forget_unsynced(self, state: State, taken: Unsynced) -> None:
        self._unsynced.length_bytes -= taken.length_bytes
        # What was committed while the flush ran is unsynced since now at the latest.
        self._unsynced.since = None if self._state.slot is state.slot else self._clock.monotonic()

    def _heal(self) -> None:
        """Give files whose flush failed new names, for they must never be flushed again."""
        if not self._durability.dead_files(self._state):
            return
        with self._commit_lock:
            dead = self._durability.dead_files(self._state)
            new, written = rewritten(self._fs, self._staging, self._state, dead)
            self._commit_latest(new, written, [], 0)

    def _prune(self) -> None:
        with self._commit_lock:
            state = self._state
            if state.slot is None or len(state.slot.kept) < 2:
                return
            live = state.manifests[state.generation].text_bytes
            limit = history_limit_bytes(live, self._history)
            keep = plan_retention(state.slot.kept, self._clock.now_ns(), lambda g: _files(state, g), limit)
            if len(keep) < len(state.slot.kept):
                self._commit_latest(pruned(state, keep), [], [], 0)

    def _checkpoint_quietly(self) -> None:
        try:
            self.checkpoint()
        except (OSError, DurabilityUnknownError):
            # Counted, shown in `statistics`, and due again: the generation is published, durable or not.
            return

    def _live_names(self) -> frozenset[str]:
        with self._commit_lock:
            return self._state.names() | self._durability.protected | self._staging.staged()


def _part_size(part: Part) -> PartSize:
    data = part.view.data
    return PartSize(len(part.stored), data.chunk_count, data.chunk_count - part.view.chunk_count)


def _files(state: State, generation: int) -> dict[str, int]:
    manifest = state.manifests.get(generation)
    return {ref.name: ref.file.length for ref in manifest.segments} if manifest else {}
