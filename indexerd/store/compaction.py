"""Carrying out merges: a few neighbouring segments become one, under every kept generation that names them.

Owns: the steps of a merge, and where the heavy ones are done.
Knows nothing of: which merge is due, how a generation is published.
Invariants: 1. the heavy part runs outside the lock that publishes take. 2. every generation keeps its number and its
    content. 3. a merge that fails leaves nothing behind.
Purity: shell (the state directory, through the port; threads share it).
See: docs/consistency.md (merge).
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from indexerd.errors import CorruptionError, StoreError
from indexerd.ports import Clock, StoreFilesystem
from indexerd.store.healing import Healing
from indexerd.store.layout import Kind
from indexerd.store.ledger import Ledger, Origin
from indexerd.store.manifest import FileRef, Manifest, SegmentRef
from indexerd.store.merge_process import MergeProcess, Order
from indexerd.store.merging import plan_merge, size_of
from indexerd.store.parts import SMALL_CHUNKS, Stored
from indexerd.store.publish import write_manifest, write_segment
from indexerd.store.recover import read_back, read_segment
from indexerd.store.retelling import Stretch, retold, stretches_of, taken_back
from indexerd.store.segment import merge_segments
from indexerd.store.state import State, manifest_of, merged_parts, with_manifests

# While large segments arrive this close together, a bulk load is under way and merging would rewrite what grows.
LOADING_SECONDS = 5.0
# A merge of more than this (files of the segments) takes longer than anybody who asks meanwhile should wait: 20 ms for
# each MiB. Starting a process for it takes 0.2 s of processor time.
HEAVY_BYTES = 4 << 20

_Told = dict[int, tuple[Manifest, FileRef]]


@dataclass(slots=True)
class _Attempt:
    """A merge under way.

    Attributes:
        state: As it was when it began.
        plan: The parts that are merged.
        gone: Their segments.
        stretches: Where the merged segment fits into older generations.
        merged: What they become.
        back: What takes back, for each stretch, what has changed since.
        written: Every file that was written.
    """

    state: State
    plan: range
    gone: Sequence[Stored]
    stretches: Sequence[Stretch] = ()
    merged: Stored | None = None
    back: dict[Stretch, tuple[SegmentRef, ...]] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)

    @property
    def run(self) -> list[SegmentRef]:
        return [one.ref for one in self.gone]

    @property
    def generation(self) -> int:
        return max(ref.generation for ref in self.run)

    @property
    def drops_tombstones(self) -> bool:
        return self.plan.start == 0


class Compaction:
    """Merges one store's segments."""

    def __init__(self, fs: StoreFilesystem, clock: Clock, origin: Origin, ledger: Ledger, healing: Healing) -> None:
        self._fs, self._clock, self._staging, self._merger = fs, clock, origin.staging, origin.merger
        self._ledger, self._healing = ledger, healing
        self._large_at = float("-inf")
        # One merge or erasure at a time. Taken before the checkpoints' lock, and that before the ledger's.
        self.lock = threading.Lock()

    def note_publish(self, chunks: int) -> None:
        """Remember that a segment of so many chunks was published: large ones come in bulk loads."""
        if chunks > SMALL_CHUNKS:
            self._large_at = self._clock.monotonic()

    def planned(self, *, small: bool = False) -> range | None:
        """Return the parts to be merged now; None for none, or if only small ones may be."""
        parts = self._ledger.state.parts
        loading = self._clock.monotonic() - self._large_at < LOADING_SECONDS
        plan = plan_merge([size_of(part) for part in parts], loading=loading)
        if small and plan is not None and sum(parts[index].size for index in plan) > SMALL_CHUNKS:
            return None
        return plan

    def stop(self) -> None:
        """End a heavy merge under way, and begin no other."""
        if self._merger is not None:
            self._merger.stop()

    def run(self) -> bool:
        """Merge once if that is due; return whether anything was merged. Raises as `Store.merge_once`."""
        with self.lock:
            state, plan = self._ledger.state, self.planned()
            if plan is None:
                return False
            attempt = _Attempt(state, plan, [one for index in plan for one in state.parts[index].stored])
            try:
                # Outside the ledger's lock: the heavy part. Publishes go on meanwhile.
                attempt.stretches = stretches_of(_lasting(state), attempt.run)
                self._merge(attempt)
                told = self._told(attempt, _older(state), {})
                with self._ledger.lock:
                    is_merged = self._commit(attempt, told)
            except BaseException:
                self._staging.discard(attempt.written)
                raise
            self._staging.discard(attempt.written)
            return is_merged

    def _merge(self, attempt: _Attempt) -> None:
        total = sum(ref.file.length for ref in attempt.run)
        if self._merger is None or total <= HEAVY_BYTES:
            self._merge_here(attempt)
        else:
            self._merge_there(attempt, self._merger)
        assert attempt.merged is not None
        self._healing.adopt([attempt.merged])

    def _merge_here(self, attempt: _Attempt) -> None:
        parts = attempt.state.parts
        chosen = [(parts[index].view.data, parts[index].view.live) for index in attempt.plan]
        data = merge_segments(chosen, drop_tombstones=attempt.drops_tombstones)
        attempt.merged = write_segment(self._fs, self._staging, data, attempt.generation)
        attempt.written.append(attempt.merged.ref.name)
        loaded = {one.ref: one for one in attempt.state.stored}
        for stretch in attempt.stretches:
            before, taken = ([loaded.get(ref) or read_segment(self._fs, ref) for ref in refs] for refs in stretch)
            back = taken_back([one.data for one in before], [one.data for one in taken], data)
            attempt.back[stretch] = ()
            if back is not None:
                ref = write_segment(self._fs, self._staging, back, _newest(stretch)).ref
                attempt.back[stretch] = (ref,)
                attempt.written.append(ref.name)

    def _merge_there(self, attempt: _Attempt, merger: MergeProcess) -> None:
        later = [one.ref.name for part in attempt.state.parts[attempt.plan.stop :] for one in part.stored]
        back = [([ref.name for ref in before], [ref.name for ref in taken]) for before, taken in attempt.stretches]
        order = Order([ref.name for ref in attempt.run], later, attempt.drops_tombstones, back)
        try:
            file, *files = self._staging.receive(Kind.SEGMENT, 1 + len(back), lambda targets: merger(order, targets))
        except CorruptionError as error:
            self._healing.suspect(error.where)
            raise
        assert file is not None
        attempt.written += [one.name(Kind.SEGMENT) for one in (file, *files) if one is not None]
        attempt.merged = read_back(self._fs, SegmentRef(file, attempt.generation))
        for stretch, one in zip(attempt.stretches, files, strict=True):
            attempt.back[stretch] = (SegmentRef(one, _newest(stretch)),) if one is not None else ()

    def _told(self, attempt: _Attempt, manifests: Mapping[int, Manifest], known: _Told) -> _Told:
        """Write the new manifests of these generations, save of those for which one is known."""
        assert attempt.merged is not None
        told = dict(known)
        for number, manifest in manifests.items():
            new = retold(manifest, attempt.run, attempt.merged.ref, attempt.back)
            if new is not manifest and number not in told:
                told[number] = (new, write_manifest(self._staging, new))
                attempt.written.append(told[number][1].name(Kind.MANIFEST))
        return told

    def _commit(self, attempt: _Attempt, told: _Told) -> bool:
        assert attempt.merged is not None
        state = self._ledger.state
        parts = merged_parts(state.parts, attempt.gone, attempt.merged)
        if parts is None:
            return False
        older = _older(state)
        # What was made durable or healed meanwhile may have changed or dropped some.
        told = {number: new for number, new in told.items() if older.get(number) == attempt.state.manifests[number]}
        told = self._told(attempt, older, told)
        before = state.manifests[state.generation]
        manifest = manifest_of(before.generation, before.settings, parts, before.versions, erased=before.erased)
        _check_equal(before, manifest)
        told[state.generation] = (manifest, write_manifest(self._staging, manifest))
        attempt.written.append(told[state.generation][1].name(Kind.MANIFEST))
        new = with_manifests(state, told, parts, durable=state.snapshot.durable)
        named = new.names()
        used = [name for name in attempt.written if name in named]
        written = attempt.merged.ref.file.length + sum(file.length for _, file in told.values())
        left = [name for name in attempt.written if name not in named]
        self._ledger.exchange(new, staged=used, written=written)
        # What is named from here on must not be removed, whatever fails.
        attempt.written = left
        return True


def _check_equal(before: Manifest, after: Manifest) -> None:
    """Hold a merge to what it promises: whatever went wrong in it, it must not be what the index is from here on."""
    counts = [(one.documents, one.chunks, one.text_bytes) for one in (before, after)]
    if counts[0] != counts[1]:
        raise StoreError(f"a merge would have changed generation {before.generation} from {counts[0]} to {counts[1]}")


def _older(state: State) -> dict[int, Manifest]:
    return {number: one for number, one in state.manifests.items() if number != state.generation}


def _lasting(state: State) -> list[Manifest]:
    """Return what history may keep beside the generation to come: not the steps on the way to a first index."""
    assert state.slot is not None
    steps = {kept.generation for kept in state.slot.kept if kept.partial and not kept.pinned_until_ns}
    return [one for number, one in state.manifests.items() if number not in steps] if len(state.manifests) > 1 else []


def _newest(stretch: Stretch) -> int:
    return max(ref.generation for ref in stretch.taken)
