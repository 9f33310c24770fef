"""Opening a state directory: for writing, or to read beside the daemon.

Owns: the writer lock's taking, whose store it is, the identity of a new one, and how a reader outruns collection.
Knows nothing of: what the store is used for.
Invariants: 1. nothing is written by opening. 2. a store of other roots is refused, damaged or not. 3. a reader sees one
    whole generation or an error, never a mixture.
Purity: shell (the state directory, through the port).
See: docs/consistency.md (recovery), docs/on-disk-format.md (identity).
"""

from collections.abc import Sequence

from indexerd.errors import CorruptionError, ForeignStoreError, StoreLockedError
from indexerd.model import History, Root
from indexerd.ports import Clock, StoreFilesystem
from indexerd.store.durability import Durability
from indexerd.store.history import Past
from indexerd.store.layout import SlotName
from indexerd.store.ledger import Numbers, Origin
from indexerd.store.manifest import UNKNOWN_VERSIONS, Versions
from indexerd.store.merge_process import MergeProcess
from indexerd.store.recover import Found, look, slot_marks
from indexerd.store.retention import DEFAULT_HISTORY
from indexerd.store.slots import KnownRoot, Slot, add_roots
from indexerd.store.snapshot import Snapshot
from indexerd.store.staging import Staging
from indexerd.store.state import State, empty_state, named_files, opened_state
from indexerd.store.writer import DurabilityMode, Store

# After anything but a clean close, serial numbers may have been given out that nothing on disk shows any more.
_LOST_SERIALS = 1 << 32
_READER_TRIES = 100


def open_store(  # noqa: PLR0913 (what a store is opened with, by name)
    fs: StoreFilesystem,
    clock: Clock,
    *,
    durability: DurabilityMode = "checkpoint",
    roots: Sequence[Root] = (),
    history: History = DEFAULT_HISTORY,
    merger: MergeProcess | None = None,
    versions: Versions = UNKNOWN_VERSIONS,
) -> Store:
    """Open a state directory for writing.

    What was found is in `opening`; a store that is absent, damaged or of an older format opens with generation 0, to be
    built from the sources with `replace_all`. Nothing on disk is changed before the first publish.

    Args:
        fs: The state directory. It belongs to the store from here on, also if this fails.
        clock: Time.
        durability: `always` makes each publish wait for the disk.
        roots: What the store is opened for; none to take it as it is.
        history: Which older generations are kept.
        merger: Carries out heavy merges; None to do them where they are asked for.
        versions: Of this program; each generation that it publishes keeps them.

    Raises:
        StoreLockedError: Another process writes here. Use its daemon, or stop it.
        ForeignStoreError: It belongs to other roots. Name another directory.
        OSError: It cannot be read now. Try again.
    """
    try:
        _lock(fs)
        found = look(fs, history=True)
        origin = _origin(fs, found, _known_roots(found, roots), merger, versions)
    except BaseException:
        fs.close()
        raise
    return Store(fs, clock, origin, durability=durability, history=history)


def open_reader(fs: StoreFilesystem) -> Snapshot | None:
    """Open the current generation without a lock, beside whoever writes; None if nothing was published.

    Raises:
        CorruptionError: No generation proves whole.
        FormatVersionError: It is of another format version.
        OSError: It cannot be read now.
    """
    return _reader_snapshot(_found_beside(fs, history=False))


def open_past(fs: StoreFilesystem) -> Past | None:
    """Open the kept generations without a lock, beside whoever writes; None if nothing was published.

    What the writer drops later cannot be opened any more: ask for a new one then. Raises as `open_reader`.
    """
    found = _found_beside(fs, history=True)
    current = _reader_snapshot(found)
    if current is None or found.chosen is None:
        return None
    slot, reached = found.slots[found.chosen], found.slots.get(SlotName.DURABLE)
    return Past(
        fs=fs,
        slot=slot,
        durable=frozenset(kept.generation for kept in reached.kept) if reached else frozenset[int](),
        manifests={
            kept.generation: found.manifests[kept.manifest] for kept in slot.kept if kept.manifest in found.manifests
        },
        current=current,
    )


def _found_beside(fs: StoreFilesystem, *, history: bool) -> Found:
    """Look until nothing was collected under the look."""
    for _ in range(_READER_TRIES):
        before = slot_marks(fs)
        found = look(fs, history=history)
        if found.report.state == "healthy" and not found.report.fell_back:
            return found
        # Collection may have removed what an overtaken slot named: only an unchanged slot proves damage.
        if slot_marks(fs) == before:
            return found
    raise CorruptionError("latest", "it changed with every attempt to read it")


def _lock(fs: StoreFilesystem) -> None:
    if not fs.lock():
        raise StoreLockedError("another process writes to this state directory; use its daemon, or stop it")


def _known_roots(found: Found, roots: Sequence[Root]) -> tuple[KnownRoot, ...]:
    known = {root.path: root for slot in found.slots.values() for root in slot.roots}
    if known and roots and not any(root.path in known for root in roots):
        listed = ", ".join(sorted(known))
        raise ForeignStoreError(f"this state directory belongs to {listed}; name another one with --state-dir")
    return add_roots(tuple(known.values()), roots)


def _origin(
    fs: StoreFilesystem,
    found: Found,
    roots: tuple[KnownRoot, ...],
    merger: MergeProcess | None,
    versions: Versions,
) -> Origin:
    state = _state(fs, found)
    reached = found.slots.get(SlotName.DURABLE)
    closed = _closed(found)
    highest = closed.ceiling if closed else max((slot.ceiling for slot in found.slots.values()), default=0)
    serials = [slot.next_serial for slot in found.slots.values()] + [found.highest_serial + 1]
    staging = Staging(fs, max(serials) + (_LOST_SERIALS if found.slots and not closed else 0))
    flushed = _names(found, reached)
    durability = Durability(fs, staging, slot=reached, flushed=flushed, dead=state.names() - flushed)
    return Origin(
        report=found.report,
        state=state,
        durability=durability,
        staging=staging,
        roots=roots,
        numbers=Numbers(
            highest=highest,
            ceiling=highest,
            revision=max((slot.revision for slot in found.slots.values()), default=0),
        ),
        merger=merger,
        versions=versions,
        damaged=found.damaged,
    )


def _state(fs: StoreFilesystem, found: Found) -> State:
    if found.chosen is None:
        return empty_state("st_" + fs.entropy(12).hex())
    slot, reached = found.slots[found.chosen], found.slots.get(SlotName.DURABLE)
    # A generation whose manifest is lost can never be shown again: it is no longer kept, and nobody is told it is.
    slot = slot._replace(kept=tuple(kept for kept in slot.kept if kept.manifest in found.manifests))
    manifests = {kept.generation: found.manifests[kept.manifest] for kept in slot.kept}
    generation = slot.newest.generation
    durable = reached is not None and any(kept.generation == generation for kept in reached.kept)
    return opened_state(slot, manifests, found.parts, durable=durable)


def _closed(found: Found) -> Slot | None:
    """Return the durable slot if the store was closed with it: then no number beyond its ceiling was published."""
    durable, latest = found.slots.get(SlotName.DURABLE), found.slots.get(SlotName.LATEST)
    if durable is None or not durable.closed or found.report.fell_back:
        return None
    return durable if latest is None or latest.revision <= durable.revision else None


def _names(found: Found, slot: Slot | None) -> frozenset[str]:
    if slot is None:
        return frozenset()
    manifests = {
        kept.generation: found.manifests[kept.manifest] for kept in slot.kept if kept.manifest in found.manifests
    }
    return named_files(slot, manifests)


def _reader_snapshot(found: Found) -> Snapshot | None:
    if found.chosen is None:
        if found.report.state == "absent":
            return None
        if found.fault is not None:
            raise found.fault
        raise CorruptionError("store", found.report.detail)
    slot, reached = found.slots[found.chosen], found.slots.get(SlotName.DURABLE)
    manifest = found.manifests[slot.newest.manifest]
    durable = reached is not None and any(kept.generation == manifest.generation for kept in reached.kept)
    return opened_state(slot, {manifest.generation: manifest}, found.parts, durable=durable).snapshot
