"""Damage that comes while the store is open: noticed, and undone from memory and the sources.

Owns: what counts as damage, how it is noticed (by stamps all the time, by reading everything anew once a day), and
    where lost texts come from.
Knows nothing of: when it is asked, how sources are read.
Invariants: 1. nothing damaged is ever used: all but the texts of large segments is in memory, and those are proved at
    each reading. 2. healing keeps the current generation's number and content; older ones are kept where their bytes
    are. 3. a directory that holds another store is left alone.
Purity: shell (the state directory, through the port).
See: docs/consistency.md (damage while running).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.digests import content_hash, running_digest
from indexerd.errors import CorruptionError, ForeignStoreError, FormatVersionError
from indexerd.model import ContentHash, SourcePath
from indexerd.ports import Clock, StoreFilesystem
from indexerd.store.checkpoint import Checkpoints
from indexerd.store.durability import Durability
from indexerd.store.layout import Kind, SlotName
from indexerd.store.ledger import Ledger
from indexerd.store.manifest import FileRef
from indexerd.store.parts import Stored
from indexerd.store.recover import read_slot
from indexerd.store.segment import Segment, merge_segments
from indexerd.store.slots import Slot
from indexerd.store.snapshot import Snapshot
from indexerd.store.state import State
from indexerd.store.tables import FileTexts, bytes_table

SCRUB_SECONDS = 86_400.0
# Of one look, which comes every other second: a busy disk is not made busier.
SCRUB_BYTES = 16 << 20
_PIECE_BYTES = 1 << 20

Recover = Callable[[SourcePath, ContentHash], bytes | None]
"""Returns the bytes of a source if they have this hash."""


class Damage(NamedTuple):
    """What is not as it was written.

    Attributes:
        names: Files that are missing or hold other bytes.
        directory: The whole directory is gone or another one.
    """

    names: frozenset[str]
    directory: bool = False

    def __str__(self) -> str:
        if self.directory:
            return "the state directory was removed or replaced; it is made anew from memory and the sources"
        first = min(self.names)
        return f"{len(self.names)} files are damaged ({first}); they are written anew from memory and the sources"


class Healing:
    """Looks for damage and undoes it. Used by one thread, beside the writer's."""

    def __init__(
        self, fs: StoreFilesystem, clock: Clock, ledger: Ledger, checkpoints: Checkpoints, durability: Durability
    ) -> None:
        """Start from files that were proved just now, by opening."""
        self._fs, self._clock, self._ledger = fs, clock, ledger
        self._checkpoints, self._durability = checkpoints, durability
        self._recover: Recover | None = None
        self.adopt(ledger.state.stored)
        self._stamps: dict[str, tuple[int, ...] | None] = {}
        self._slots: dict[SlotName, tuple[tuple[int, ...] | None, int]] = {}
        self._scrubbing: Iterator[str | None] = iter(())
        self._scrub_at = clock.monotonic() + SCRUB_SECONDS

    def recover_from(self, recover: Recover) -> None:
        """Say where lost texts may still be had; until then they are lost."""
        self._recover = recover

    def adopt(self, stored: Iterable[Stored]) -> None:
        """Have lost texts of these segments looked for where `recover_from` said."""
        for one in stored:
            texts = one.data.texts
            if isinstance(texts, FileTexts) and texts.recover is None:
                # Not of the segment itself: it would hold itself, and its file, open.
                texts.recover = partial(self._text, one.data.paths, one.data.content_hashes)

    def suspect(self, name: str) -> None:
        """Have a file read at the next look, whatever its stamp says."""
        self._stamps[name] = None

    def look(self) -> Damage | None:
        """Compare what lies on disk with what was written; None if all is well.

        Cheap: a file is read again only when its stamp changed, and once a day, a little at each look.

        Raises:
            OSError: It cannot be looked at now. Try again later.
        """
        with self._checkpoints.lock:
            state = self._ledger.state
            if not self._fs.is_in_place():
                return Damage(names=state.names() | set(SlotName), directory=True)
            self.adopt(state.stored)
            files = _files(state)
            bad = {name for name, ref in files.items() if self._is_damaged(name, ref)}
            bad |= {one.ref.name for one in state.stored if _has_lost(one.data)}
            bad |= {name for name in SlotName if not self._is_slot_whole(name)}
            bad |= self._scrubbed(files)
            self._stamps = {name: stamp for name, stamp in self._stamps.items() if name in files and name not in bad}
        return Damage(names=frozenset(bad)) if bad else None

    def heal(self, damage: Damage) -> tuple[SourcePath, ...]:
        """Write what is damaged anew.

        Args:
            damage: As `look` told it.

        Returns:
            Living documents whose text is lost, since their sources have changed too: nothing was done. Index them
            anew, then look again. Empty when the damage is undone.

        Raises:
            OSError: The damage is still there, and so is what memory holds. Try again.
            ForeignStoreError: Another store lies where this one was. Move it away, or end this process.
            DurabilityUnknownError, CorruptionError: As `OSError`.
        """
        with self._checkpoints.lock:
            if damage.directory and not self._fs.is_in_place():
                self._fs.reopen()
                self._refuse_others()
            state = self._ledger.state
            if state.slot is None:
                return ()
            healed, lost = _with_texts(state, damage.names)
            if not lost:
                self._checkpoints.replace_damaged(damage.names, healed)
                self.adopt(self._ledger.state.stored)
            return lost

    def _text(self, paths: Sequence[SourcePath], hashes: npt.NDArray[np.uint8], number: int) -> bytes | None:
        """Return a text from a joined copy in memory, or from its source."""
        path, wanted = paths[number], ContentHash(hashes[number].tobytes())
        found = self._ledger.state.snapshot.find(path)
        if found is not None and not isinstance(found[0].data.texts, FileTexts):
            text = bytes(found[0].data.raw(found[1]))
            if content_hash(text) == wanted:
                return text
        return self._recover(path, wanted) if self._recover is not None else None

    def _refuse_others(self) -> None:
        for name in SlotName:
            try:
                found = read_slot(self._fs, name)
            except (CorruptionError, FormatVersionError):
                continue
            if found.store_id != self._ledger.state.store_id:
                raise ForeignStoreError("another store was put in the place of this one: move it away, or restart")

    def _is_damaged(self, name: str, ref: FileRef) -> bool:
        stamp = self._fs.stamp(name)
        if stamp is not None and self._stamps.get(name) == stamp:
            return False
        # What was written since the last look is read once too: it may have been damaged before it was ever stamped.
        self._stamps[name] = stamp
        return not all(self._proving(name, ref, from_disk=False))

    def _is_slot_whole(self, name: SlotName) -> bool:
        # The ledger's lock: `latest` moves with it.
        with self._ledger.lock:
            slot = self._ledger.state.slot if name is SlotName.LATEST else self._durability.slot
            stamp = self._fs.stamp(name)
            if slot is None or self._slots.get(name) == (stamp, slot.revision):
                return True
            is_whole = stamp is not None and self._says(name, slot)
        self._slots[name] = (stamp if is_whole else None, slot.revision)
        return is_whole

    def _says(self, name: SlotName, slot: Slot) -> bool:
        """Tell whether a slot on disk is this one; after a clean close `latest` lacks only the mark of that."""
        try:
            found = read_slot(self._fs, name)
        except (CorruptionError, FormatVersionError):
            return False
        return (found.store_id, found.revision) == (slot.store_id, slot.revision)

    # Reading everything anew.

    def _scrubbed(self, files: Mapping[str, FileRef]) -> frozenset[str]:
        """Read on for a while; return what was found damaged meanwhile."""
        now = self._clock.monotonic()
        if now >= self._scrub_at:
            self._scrub_at = now + SCRUB_SECONDS
            self._scrubbing = self._scrub(files)
        found = [name for name, _ in zip(self._scrubbing, range(SCRUB_BYTES // _PIECE_BYTES), strict=False) if name]
        # It may have been collected since the reading began.
        return frozenset(found) & files.keys()

    def _scrub(self, files: Mapping[str, FileRef]) -> Iterator[str | None]:
        """Read every file from the disk; yield for each piece, and the name of each file that is damaged."""
        for name, ref in sorted(files.items()):
            for is_good in self._proving(name, ref, from_disk=True):
                yield None if is_good else name

    def _proving(self, name: str, ref: FileRef, *, from_disk: bool) -> Iterator[bool]:
        """Read a file; yield for each piece, and False at last if it is not what was written."""
        running = running_digest()
        try:
            file = self._fs.open(name, from_disk=from_disk)
            for at in range(0, file.size, _PIECE_BYTES):
                running.update(file.read_at(at, _PIECE_BYTES))
                yield True
        except OSError:
            yield False
            return
        yield running.digest() == ref.digest


def _files(state: State) -> dict[str, FileRef]:
    if state.slot is None:
        return {}
    manifests = {
        kept.manifest.name(Kind.MANIFEST): kept.manifest
        for kept in state.slot.kept
        if kept.generation in state.manifests
    }
    segments = {ref.file for manifest in state.manifests.values() for ref in manifest.segments}
    return manifests | {file.name(Kind.SEGMENT): file for file in segments}


def _has_lost(data: Segment) -> bool:
    return isinstance(data.texts, FileTexts) and data.texts.is_damaged


def _with_texts(state: State, names: frozenset[str]) -> tuple[dict[FileRef, Segment], tuple[SourcePath, ...]]:
    """Return the damaged segments of the current generation with all texts in memory, and living documents without."""
    healed: dict[FileRef, Segment] = {}
    lost: list[SourcePath] = []
    for one in state.stored:
        data = one.data
        if one.ref.name not in names or not isinstance(data.texts, FileTexts):
            continue
        texts = [_maybe_text(data.texts, number) for number in range(data.document_count)]
        missing = [number for number, text in enumerate(texts) if text is None]
        lost += [data.paths[number] for number in missing if _is_alive(state.snapshot, data, number)]
        held = replace(data, texts=bytes_table([text or b"" for text in texts]))
        keep = np.ones(data.document_count, dtype=np.bool_)
        keep[missing] = False
        healed[one.ref.file] = merge_segments([(held, keep)]) if missing else held
    return healed, tuple(lost)


def _maybe_text(texts: FileTexts, number: int) -> bytes | None:
    try:
        return texts[number]
    except CorruptionError:
        return None


def _is_alive(snapshot: Snapshot, data: Segment, number: int) -> bool:
    """Tell whether this version of a document is the one that is found."""
    found = snapshot.find(data.paths[number])
    return found is not None and bytes(found[0].data.digests[found[1]]) == bytes(data.digests[number])
