"""What the store holds in memory, and the next such value for each kind of commit.

Owns: the transitions publish, merge, prune and rename: from one state to the next, with nothing else changed.
Knows nothing of: when they happen, locks, what fails.
Invariants: 1. a state equals what the `latest` slot names. 2. merge, prune and rename keep the number and the content
    of the current generation. 3. a state never changes; readers hold its snapshot.
Purity: pure.
See: docs/consistency.md (commit).
"""

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from indexerd.store.layout import Kind
from indexerd.store.manifest import NO_GENERATION, FileRef, Manifest, Versions
from indexerd.store.parts import Part, Stored, appended, join, kill, live_masks, new_part, settled
from indexerd.store.segment import Segment
from indexerd.store.slots import Change, KeptGeneration, KnownRoot, Slot
from indexerd.store.snapshot import Snapshot, make_snapshot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """All that one commit decides.

    Attributes:
        store_id: Identity of the store.
        slot: What `latest` says; None while nothing is published.
        manifests: Manifest of every kept generation that could be read.
        parts: The current generation.
        snapshot: The same, for readers.
    """

    store_id: str
    slot: Slot | None
    manifests: Mapping[int, Manifest]
    parts: tuple[Part, ...]
    snapshot: Snapshot

    @property
    def generation(self) -> int:
        """Number of the current generation; 0 if none."""
        return self.snapshot.generation

    @property
    def stored(self) -> tuple[Stored, ...]:
        """The segments of the current generation, oldest first."""
        return self.snapshot.stored

    def names(self) -> frozenset[str]:
        """Return every file that the slot names, directly or through a manifest."""
        return named_files(self.slot, self.manifests)

    def files_of(self, kept: KeptGeneration) -> dict[FileRef, int]:
        """Return the sizes of a kept generation's files; of its segments none if its manifest could not be read."""
        manifest = self.manifests.get(kept.generation)
        files = (kept.manifest, *(ref.file for ref in (manifest.segments if manifest else ())))
        return {file: file.length for file in files}


def empty_state(store_id: str) -> State:
    """Return the state before the first publish."""
    snapshot = make_snapshot(store_id=store_id, manifest=NO_GENERATION, durable=False, parts=())
    return State(store_id=store_id, slot=None, manifests={}, parts=(), snapshot=snapshot)


def opened_state(slot: Slot, manifests: Mapping[int, Manifest], parts: tuple[Part, ...], *, durable: bool) -> State:
    """Return the state that a slot on disk describes."""
    manifest = manifests[slot.newest.generation]
    snapshot = make_snapshot(store_id=slot.store_id, manifest=manifest, durable=durable, parts=parts)
    return State(store_id=slot.store_id, slot=slot, manifests=manifests, parts=parts, snapshot=snapshot)


def named_files(slot: Slot | None, manifests: Mapping[int, Manifest]) -> frozenset[str]:
    """Return the names of all manifests and segments of a slot's generations."""
    if slot is None:
        return frozenset()
    manifest_names = {kept.manifest.name(Kind.MANIFEST) for kept in slot.kept}
    present = [manifests[kept.generation] for kept in slot.kept if kept.generation in manifests]
    # Most generations share most segments: each name is made once.
    files = {ref.file for manifest in present for ref in manifest.segments}
    return frozenset(manifest_names | {file.name(Kind.SEGMENT) for file in files})


def pinned(state: State, generations: Collection[int], until_ns: int) -> State:
    """Return the state that keeps some generations until then; those it does not have are passed over."""
    if state.slot is None or not generations:
        return state
    kept = tuple(
        one._replace(pinned_until_ns=until_ns) if one.generation in generations else one for one in state.slot.kept
    )
    return replace(state, slot=state.slot._replace(kept=kept))


def manifest_of(
    generation: int, settings: str, parts: Sequence[Part], versions: Versions, *, erased: int = 0
) -> Manifest:
    """Return the manifest of a generation made of these parts."""
    return Manifest(
        generation=generation,
        settings=settings,
        segments=tuple(stored.ref for part in parts for stored in part.stored),
        documents=sum(part.view.document_count for part in parts),
        chunks=sum(part.view.chunk_count for part in parts),
        text_bytes=sum(part.view.text_bytes for part in parts),
        versions=versions,
        erased=erased,
    )


def grown(parts: Sequence[Part], added: Sequence[Stored]) -> tuple[Part, ...]:
    """Return the parts with new segments on top."""
    result = tuple(parts)
    for stored in added:
        result = appended(result, stored)
    return result


def published(
    state: State, manifest: Manifest, parts: tuple[Part, ...], kept: KeptGeneration, *, roots: tuple[KnownRoot, ...]
) -> State:
    """Return the state with one more generation.

    Args:
        state: The state before.
        manifest: Of the new generation.
        parts: Its parts.
        kept: How the slot names it.
        roots: Every root the store has held.
    """
    before = state.slot
    slot = Slot(
        store_id=state.store_id,
        revision=0,
        ceiling=0,
        next_serial=0,
        closed=False,
        roots=roots,
        kept=(*(before.kept if before else ()), kept),
    )
    manifests = {**state.manifests, kept.generation: manifest}
    return opened_state(slot, manifests, parts, durable=False)


def merged_parts(parts: Sequence[Part], gone: Sequence[Stored], merged: Stored) -> tuple[Part, ...] | None:
    """Return the parts with one stored segment in place of a run of them; None if that run is no longer there.

    Publishes may have come since the merge began. They only append, so the run is still one; but its first part may by
    now be joined with earlier segments, its last one with later ones, and some of its documents may be overridden.

    Args:
        parts: The parts now.
        gone: The run that was merged.
        merged: What it became.
    """
    names = [one.ref.file for part in parts for one in part.stored]
    first = names.index(gone[0].ref.file) if gone[0].ref.file in names else len(names)
    if names[first : first + len(gone)] != [one.ref.file for one in gone]:
        return None
    before, parted_before = _until(parts, first)
    left_after, parted_after = _until(parts, first + len(gone))
    after = parts[len(left_after) + bool(parted_after) :]
    behind = parted_after and parts[len(left_after)].stored[len(parted_after) :]
    later = [one.data for one in behind] + [part.view.data for part in after]
    return settled(
        (
            *before,
            *_as_one(parted_before, [merged.data, *later]),
            *_as_one([merged], later),
            *_as_one(behind, later[len(behind) :]),
            *after,
        )
    )


def _until(parts: Sequence[Part], number: int) -> tuple[Sequence[Part], Sequence[Stored]]:
    """Return the parts made of the first stored segments alone, and those of them that share a part with later ones."""
    for index, part in enumerate(parts):
        if number < len(part.stored):
            return parts[:index], part.stored[:number]
        number -= len(part.stored)
    return parts, ()


def _as_one(stored: Sequence[Stored], later: Sequence[Segment]) -> tuple[Part, ...]:
    """Return the part that neighbouring segments are seen as, without what later ones override; none for none."""
    masks = live_masks([one.data for one in stored])
    single = [new_part([one], one.data, mask) for one, mask in zip(stored, masks, strict=True)]
    joined = [join(single)] if len(single) > 1 else single
    return tuple(functools.reduce(kill, later, part) for part in joined)


def with_manifests(
    state: State, manifests: Mapping[int, tuple[Manifest, FileRef]], parts: tuple[Part, ...], *, durable: bool
) -> State:
    """Return the state in which some generations have other manifests (merge, new names, erasure).

    Args:
        state: The state before.
        manifests: The new ones, and their files.
        parts: The current generation.
        durable: Whether that is known to outlive a power cut.
    """
    slot = state.slot
    assert slot is not None
    kept = tuple(
        one._replace(manifest=manifests[one.generation][1]) if one.generation in manifests else one for one in slot.kept
    )
    values = {**state.manifests, **{number: manifest for number, (manifest, _) in manifests.items()}}
    return opened_state(slot._replace(kept=kept), values, parts, durable=durable)


def pruned(state: State, keep: frozenset[int]) -> State:
    """Return the state that names no generation outside `keep`, which holds the current one."""
    slot = state.slot
    assert slot is not None
    kept = tuple(one for one in slot.kept if one.generation in keep)
    manifests = {number: manifest for number, manifest in state.manifests.items() if number in keep}
    return replace(state, slot=slot._replace(kept=kept), manifests=manifests)


def renamed(
    state: State, segments: Mapping[FileRef, Stored], manifests: Mapping[int, tuple[Manifest, FileRef]]
) -> State:
    """Return the state with some files under new names and everything else the same.

    Args:
        state: The state before.
        segments: Old segment file to its copy.
        manifests: Generation to its new manifest.
    """
    parts = tuple(_renamed_part(part, segments) for part in state.parts)
    return with_manifests(state, manifests, parts, durable=state.snapshot.durable)


def _renamed_part(part: Part, segments: Mapping[FileRef, Stored]) -> Part:
    stored = tuple(segments.get(one.ref.file, one) for one in part.stored)
    if all(new is old for new, old in zip(stored, part.stored, strict=True)):
        return part
    view = replace(part.view, data=stored[0].data) if len(stored) == 1 else part.view
    return replace(part, stored=stored, view=view)


def durable(state: State) -> State:
    """Return the state whose current generation is known to outlive a power cut."""
    return replace(state, snapshot=replace(state.snapshot, durable=True))


def new_kept(generation: int, manifest: FileRef, now_ns: int, change: Change, *, partial: bool) -> KeptGeneration:
    """Return how a slot names a generation that is being published."""
    return KeptGeneration(generation, manifest, max(now_ns, 0), change, partial=partial)
