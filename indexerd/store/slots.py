"""The slot: which generations exist.

Owns: the value of a slot, its invariants, its bytes, and what moves from one slot to the next.
Knows nothing of: files, segments, why a generation is kept.
Invariants: 1. a generation exists while a slot names it, and by nothing else. 2. generations ascend; none is above the
    ceiling. 3. each commit has a higher revision than the one before it: the newest slot is the one with the highest.
Purity: pure.
See: docs/on-disk-format.md (slots), docs/consistency.md (ceiling).
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from indexerd.model import Root
from indexerd.store.codec import decode, pack, seal
from indexerd.store.manifest import FileRef, file_ref, is_count

MAGIC = b"IDXDSLOT"
FORMAT_VERSION = 1


class KnownRoot(NamedTuple):
    """A root that the store has held documents of, with the form its source paths have for ever."""

    path: str
    label: str
    prefixed: bool


def form_roots(known: Sequence[KnownRoot], roots: Sequence[Root]) -> tuple[Root, ...]:
    """Return the roots with the form that their source paths have in this store.

    A root that the store knows keeps its form for ever. A new one beside others is prefixed, so that no two documents
    share a name.
    """
    forms = {root.path: root.prefixed for root in known}
    return tuple(root._replace(prefixed=forms.get(root.path, root.prefixed or bool(known))) for root in roots)


def add_roots(known: Sequence[KnownRoot], roots: Sequence[Root]) -> tuple[KnownRoot, ...]:
    """Return what is known once these roots are, too."""
    formed = [KnownRoot(root.path, root.label, root.prefixed) for root in form_roots(known, roots)]
    return tuple(sorted({root.path: root for root in (*known, *formed)}.values()))


class Change(NamedTuple):
    """How many documents a generation added, updated and deleted."""

    added: int = 0
    updated: int = 0
    deleted: int = 0


class KeptGeneration(NamedTuple):
    """A generation that can be opened.

    Attributes:
        generation: Its number.
        manifest: Its manifest file.
        published_at_ns: Wall time of its publishing.
        change: What it changed.
        pinned_until_ns: Kept until then because evidence named it; 0 if not.
        partial: A step on the way to a first index: nothing is to be replayed from it once there is a later one.
    """

    generation: int
    manifest: FileRef
    published_at_ns: int
    change: Change
    pinned_until_ns: int = 0
    partial: bool = False


class Slot(NamedTuple):
    """The content of a slot file.

    Attributes:
        store_id: `st_` and 24 hex digits, drawn when the store was made.
        revision: Counts commits.
        ceiling: No generation above it is published before a durable slot with a higher one exists.
        next_serial: Serial numbers below it may have been used.
        closed: The store was closed after this slot was written: nothing above its newest generation was published.
        roots: Every root the store has held.
        kept: Generations, ascending; the last is the current one.
    """

    store_id: str
    revision: int
    ceiling: int
    next_serial: int
    closed: bool
    roots: tuple[KnownRoot, ...]
    kept: tuple[KeptGeneration, ...]

    @property
    def newest(self) -> KeptGeneration:
        """The current generation."""
        return self.kept[-1]


def encode_slot(slot: Slot) -> bytes:
    """Return the slot file's bytes."""
    roots = [(_os_bytes(root.path), _os_bytes(root.label), root.prefixed) for root in slot.roots]
    numbers = (slot.revision, slot.ceiling, slot.next_serial, slot.closed)
    return seal(MAGIC, FORMAT_VERSION, pack((slot.store_id, numbers, roots, slot.kept)))


def decode_slot(data: bytes | memoryview, where: str) -> Slot:
    """Read a slot file.

    Raises:
        CorruptionError: Damaged, or whole but breaking an invariant.
        FormatVersionError: Of another format version.
    """
    return decode(data, where, magic=MAGIC, version=FORMAT_VERSION, build=_slot, problems=slot_problems)


def slot_problems(slot: Slot) -> tuple[str, ...]:
    """Return every broken invariant of a slot, for people; empty when it is good."""
    generations = [kept.generation for kept in slot.kept]
    serials = [kept.manifest.serial for kept in slot.kept]
    checks = (
        (bool(generations) and generations[0] >= 1, "names no generation, or one below 1"),
        (all(a < b for a, b in itertools.pairwise(generations)), "generations do not ascend"),
        (len(set(serials)) == len(serials), "names a manifest twice"),
        (all(generation <= slot.ceiling for generation in generations), "names a generation above its ceiling"),
        (all(serial < slot.next_serial for serial in serials), "names a serial number that was not given out"),
    )
    return tuple(problem for good, problem in checks if not good)


def _slot(value: Any) -> Slot:
    store_id, (revision, ceiling, next_serial, closed), roots, kept = value
    if not all(map(is_count, (revision, ceiling, next_serial))):
        raise ValueError("a number is malformed")
    if not (isinstance(store_id, str) and isinstance(closed, bool)):
        raise TypeError("the store's identity or its closed mark is malformed")
    return Slot(
        store_id=store_id,
        revision=revision,
        ceiling=ceiling,
        next_serial=next_serial,
        closed=closed,
        roots=tuple(map(_root, roots)),
        kept=tuple(map(_kept, kept)),
    )


def _root(value: Any) -> KnownRoot:
    path, label, prefixed = value
    if not (isinstance(path, bytes) and isinstance(label, bytes) and isinstance(prefixed, bool)):
        raise TypeError("a root is malformed")
    return KnownRoot(path.decode("utf-8", "surrogateescape"), label.decode("utf-8", "surrogateescape"), prefixed)


def _os_bytes(text: str) -> bytes:
    """Return the bytes of a name as the operating system has them, whatever their encoding."""
    return text.encode("utf-8", "surrogateescape")


def _kept(value: Any) -> KeptGeneration:
    generation, manifest, published_at_ns, change, pinned_until_ns, partial = value
    added, updated, deleted = change
    counts = Change(added, updated, deleted)
    if not all(map(is_count, (generation, published_at_ns, pinned_until_ns, *counts))):
        raise ValueError("a kept generation is malformed")
    if not isinstance(partial, bool):
        raise TypeError("a kept generation's partial mark is malformed")
    return KeptGeneration(generation, file_ref(manifest), published_at_ns, counts, pinned_until_ns, partial)
