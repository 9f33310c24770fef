"""The one writer: takes batches of hints, reads what they lead to, publishes, and says which batches are resolved.

Owns: what is read at once and what in bulk, when either is published, which batches wait for which publish.
Knows nothing of: threads, locks, who waits, how failures are retried.
Invariants: 1. a batch is resolved only after all it led to is published, or found to change nothing. 2. what is read at
    once is published by itself, also amid a bulk run; of two reads of a file the newer counts, whichever is back
    first. 3. while a set is redone for new settings nothing of it is visible.
Purity: shell (through the cycle and the store).
See: docs/consistency.md (the writer).
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from indexerd.model import SourcePath
from indexerd.naming import source_path
from indexerd.sync.apply import Draft, Tally
from indexerd.sync.bulk import Bulk, Sized
from indexerd.sync.cycle import Cycle, Work
from indexerd.sync.pending import HURRIED, LONGEST, NOBODY, Batch, Taken, Writing
from indexerd.sync.reading import Slice, Wanted, read_slice
from indexerd.sync.repair import Reads, Repaired, holds, repair
from indexerd.sync.saved import RACY_NS
from indexerd.sync.status import Progress
from indexerd.sync.upkeep import malloc_trim

# Above either of these a batch is read in bulk, so that an urgent file need not wait for its end.
INLINE_FILES = 64
INLINE_BYTES = 1 << 20
# Amid a bulk run more files than a person saves at once join it: a burst becomes few generations.
INLINE_FILES_IN_BULK = 16
# One path takes 20 us to look at, one of a walk 10 us (2026-11-30), and folders named with their files are walked for
# each.
MANY_PATHS = 200
SURVEY_FACTOR = 4
# A first index shows something after a second, then every few seconds: each publish costs a manifest and a merge later.
FIRST_PUBLISH_SECONDS = 1.0
NEXT_PUBLISH_SECONDS = 3.0
# A draft lies in memory with nearly twice its text: two workers read 14 MB in a second.
DRAFT_BYTES = 8 << 20


class Again(NamedTuple):
    """Files of a batch to be read again, under the batch's number, so that the barrier still waits for them.

    Attributes:
        changing: Their writer was at work during the read: again when it is done.
        busy: A bulk run is reading them just now: again when they are back.
    """

    changing: tuple[Taken, ...]
    busy: tuple[Taken, ...]


@dataclass(slots=True, kw_only=True)
class Writer:
    """The state of the writer between two steps. Used by one thread at a time.

    Attributes:
        cycle: Looks and reads.
        fingerprint: Of the settings in force.
        new_bulk: Makes a bulk run.
        writing: What newer events say of a file (absolute path): whether it is being saved in place.
        between: Called every few milliseconds of a survey: it may have small batches taken and published.
        redo: The published set has other settings and is being made anew.
        unfinished: The first index is not complete.
    """

    cycle: Cycle
    fingerprint: str
    new_bulk: Callable[[], Bulk]
    writing: Callable[[bytes], Writing]
    between: Callable[[], None]
    redo: bool = False
    unfinished: bool = field(init=False)
    total: Tally = field(default_factory=Tally)
    # What was read at once, and what was read in bulk.
    _draft: Draft = field(init=False)
    _bulk_draft: Draft = field(init=False)
    _bulk: Bulk | None = None
    _open: list[Batch] = field(default_factory=list)
    _open_in_bulk: list[Batch] = field(default_factory=list)
    _bulk_due: float = 0.0
    _bulk_looked_ns: int = 0
    _bulk_files: set[SourcePath] = field(default_factory=set)
    # Files that were read at once since the bulk run took them in.
    _overtaken: set[SourcePath] = field(default_factory=set)
    # What was looked at amid a survey, which may have seen it older; None while there is none.
    _amid: list[Taken] | None = None
    _recent: set[SourcePath] = field(default_factory=set)
    # When a file that had text was first seen empty, and when the bulk run first read one that was being saved.
    _emptied: dict[SourcePath, float] = field(default_factory=dict)
    _half: dict[SourcePath, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        snapshot = self.cycle.store.snapshot()
        self.redo = snapshot.generation > 0 and snapshot.settings != self.fingerprint
        self.unfinished = snapshot.generation == 0 or self.cycle.store.is_partial
        self._draft = Draft(self.cycle.settings, self.fingerprint)
        redone_in = self.cycle.store if self.redo else None
        self._bulk_draft = Draft(self.cycle.settings, self.fingerprint, redone_in=redone_in)

    def take(self, batch: Batch) -> tuple[Again | None, bool]:
        """Look at what a batch names; read it at once if it is little, else begin to read it in bulk.

        Amid a survey (called from its `between`) nothing is begun in bulk: what is much is put back.

        Returns:
            Files to be put back under the batch's number, if there are any, and whether the rest is read in bulk.
        """
        amid = self._amid is not None
        work = self._look(batch, self._bulk_draft if self.redo else self._draft)
        if not self.redo:
            self._overtake(self._bulk_files_within(work.scope))
        few = INLINE_FILES if self._bulk is None and not amid else INLINE_FILES_IN_BULK
        if amid and _is_much(work.read, few):
            self._open.append(batch)
            return Again(changing=(), busy=batch.hints), False
        if self._amid is not None:
            self._amid.extend(batch.hints)
        # Which other names they have is known of what is published: looked at again when the run is over.
        linked = work.linked if self._bulk is not None else frozenset()
        if self.redo or _is_much(work.read, few):
            # The run's draft gives way to what overtook it: what is gone of that is published by itself.
            overtaken = self._overtaken.intersection(work.tombstones)
            self._draft.delete(overtaken, self.cycle.ledger)
            self._bulk_draft.delete(overtaken.symmetric_difference(work.tombstones), self.cycle.ledger)
            busy = self._begin_bulk(work.read)
            # What it found gone waits for the run's publish, too: whoever makes one of these anew overtakes that word.
            self._bulk_files.update(work.tombstones)
            self._open_in_bulk.append(batch)
            return self._again([], [*busy, *linked]), True
        hints = {hint.path: hint for hint in batch.hints}
        self._draft.delete(work.tombstones, self.cycle.ledger)
        self._open.append(batch)
        changed = self._read(work.read, hints)
        return self._again(changed, linked.difference(changed), hints, batch.oldest), False

    def advance(self) -> Again | None:
        """Take in one slice that bulk reading has finished; return files to be put back, if there are any."""
        part = self._bulk.collect() if self._bulk is not None else None
        if part is None:
            return None
        changed = self._receive(part, self._bulk_draft, self._bulk_looked_ns, self._overtaken)
        return self._again([*changed, *self._half_saved(part)], [])

    def is_publish_due(self) -> bool:
        """Return whether `publish` should be called now: what was read at once never waits."""
        return bool(self._open or self._draft)

    def publish(self) -> list[Batch]:
        """Publish what was read at once if it changes anything; return the batches that are resolved by it.

        Raises:
            OSError: Nothing changed; call again later.
            StoreError: As `OSError`.
        """
        whole = self._bulk is None and any(batch.reconcile for batch in self._open)
        unfinished = self.unfinished and not whole
        if self._draft.ready():
            self._publish(self._draft, unfinished=unfinished)
        self.unfinished = unfinished
        resolved, self._open = self._open, []
        return resolved

    def bulk_due(self, now: float) -> float | None:
        """Return the moment when `publish_bulk` should be called; None while it would change and resolve nothing."""
        if self._bulk is None or not self._bulk.running():
            return None if self._bulk is None else now
        if self.redo or not self._bulk_draft:
            return None
        return now if self._bulk_draft.text_bytes >= DRAFT_BYTES else self._bulk_due

    def publish_bulk(self, now: float) -> list[Batch]:
        """Publish what bulk reading has given so far; end the run and return its batches if that was all.

        Raises:
            OSError: Nothing changed; call again later.
            StoreError: As `OSError`.
        """
        ended = not self.bulk_running()
        unfinished = self.unfinished and not (ended and any(batch.reconcile for batch in self._open_in_bulk))
        if self.redo:
            self.cycle.keep_held(self._bulk_draft)
        self._bulk_draft.give_way(self._overtaken, self.cycle.store.snapshot())
        if self._bulk_draft.ready():
            self._publish(self._bulk_draft, unfinished=unfinished)
            self.redo = False
        self._bulk_due = now + NEXT_PUBLISH_SECONDS
        self.unfinished = unfinished
        if not ended:
            return []
        resolved, self._open_in_bulk = self._open_in_bulk, []
        self.stop()
        return resolved

    def _publish(self, draft: Draft, *, unfinished: bool) -> None:
        _, tally = draft.publish(self.cycle.store, self.cycle.ledger, partial=unfinished)
        self.total += tally

    def _bulk_files_within(self, scope: Collection[SourcePath]) -> set[SourcePath]:
        """Return the files of the bulk run that a look has seen since, or has seen to be gone."""
        found = self._bulk_files.intersection(scope)
        folders = tuple(f"{path}/" if path else "" for path in scope if path not in found)
        return found.union(path for path in self._bulk_files if path.startswith(folders)) if folders else found

    def _overtake(self, paths: Iterable[SourcePath]) -> None:
        """Note that files were read newer than the bulk run has read them, or will have."""
        if self._bulk is not None:
            self._overtaken.update(paths)

    def repair(self, reads: Reads) -> Repaired | None:
        """Publish what a query saw of some files, ahead of the draft; None while the whole set is redone.

        Raises:
            OSError: Nothing changed.
            StoreError: As `OSError`.
        """
        if self.redo:
            return None
        # A file that waits to be published, or that a bulk run may have read since, would go back to that read.
        drafted = {path: read for path, read in reads.items() if self._draft.touches(path) or path in self._bulk_files}
        others = {path: read for path, read in reads.items() if path not in drafted}
        repaired = repair(others, self.cycle, self.fingerprint, self.writing, (INLINE_FILES, INLINE_BYTES))
        self.total += repaired.tally
        if self._amid is not None:
            self._amid.extend(Taken(self.cycle.absolute(path), False, 0, 0.0) for path in repaired.published)
        left = {path for path, read in drafted.items() if not holds(repaired.snapshot, path, read)}
        return repaired._replace(left=repaired.left | left)

    def give_up_changing(self, places: Iterable[bytes]) -> None:
        """List files that never held still long enough to be read."""
        for place in places:
            found = self.cycle.scanner.locate(place)
            if found is not None:
                self.cycle.ledger.note_unusable(source_path(*found), None, "source_changed")

    def bulk_running(self) -> bool:
        """Return whether a bulk run is under way."""
        return self._bulk is not None and self._bulk.running()

    def results_ready(self) -> bool:
        """Return whether `advance` has something to take in now."""
        return self._bulk is not None and self._bulk.ready()

    def take_recent(self) -> list[SourcePath]:
        """Return the files read since the last call whose stat is too fresh to be believed; each is returned once."""
        recent, self._recent = self._recent, set()
        if not recent:
            return []
        cache, indexed = self.cycle.ledger.cache, self.cycle.ledger.indexed
        return cache.doubted(sorted(path for path in recent if path in indexed), indexed)

    def progress(self) -> Progress | None:
        """Return how far the bulk run is; None when there is none."""
        bulk = self._bulk
        return Progress(bulk.done_files, bulk.total_files) if bulk is not None else None

    def left(self) -> int:
        """Return how many files are still to be read in bulk."""
        progress = self.progress()
        return progress.total - progress.done if progress is not None else 0

    def stop(self) -> None:
        """End a bulk run; what it had not yet given back is read another time."""
        bulk, self._bulk = self._bulk, None
        self._bulk_files, self._overtaken, self._half = set(), set(), {}
        if bulk is not None:
            bulk.stop()
            # Its drafts are most of what was ever taken: 16 MB after 43 MB of text, in a millisecond.
            malloc_trim(0)

    def is_long(self, batch: Batch) -> bool:
        """Return whether a batch means a look at whole roots, in which other things come in between."""
        roots = {os.fsencode(root.path) for root in self.cycle.roots}
        return self._is_survey(batch) or any(hint.tree and hint.path in roots for hint in batch.hints)

    def _is_survey(self, batch: Batch) -> bool:
        """Return whether a batch means a look at everything: also where that costs less than at many single paths."""
        paths = len(batch.hints)
        many = self._bulk is None and paths > MANY_PATHS and SURVEY_FACTOR * paths > len(self.cycle.ledger)
        return batch.reconcile or many

    def _look(self, batch: Batch, draft: Draft) -> Work:
        if not self.is_long(batch):
            return self.cycle.look(batch.hints, draft)
        self._amid = []
        try:
            if self._is_survey(batch):
                work = self.cycle.survey(batch.hints, draft, self.between, redo=self.redo)
            else:
                work = self.cycle.look(batch.hints, draft, self.between)
        finally:
            amid, self._amid = self._amid, None
        return self.cycle.look_again(work, amid, draft) if amid else work

    def _read(self, files: Sequence[Sized], hints: Mapping[bytes, Taken]) -> list[SourcePath]:
        began = self.cycle.clock.monotonic()

        def is_unfinished(want: Wanted, size_bytes: int) -> bool:
            place = self.cycle.absolute(want.source_path)
            # A scan for lost events comes upon files that are being saved as well: there is no hint of these.
            hint = hints.get(place)
            if hint is not None and began - hint.first > LONGEST:
                return False
            # A file that is shorter than before while its writer has it open was most likely just truncated.
            is_cut = hint is not None and hint.writing and size_bytes < want.size_bytes
            is_empty = self._is_just_emptied(want.source_path, size_bytes, began, had_text=want.size_bytes > 0)
            return is_cut or is_empty or self.writing(place) is not Writing.NO

        looked_ns = self.cycle.clock.now_ns()
        wanted = [file.want for file in files]
        part = read_slice(wanted, self.cycle.sources, self.cycle.settings, is_unfinished)
        return self._receive(part, self._draft, looked_ns)

    def _half_saved(self, part: Slice) -> list[SourcePath]:
        """Return what bulk reading may have seen amid a save in place: it is read once more, for `LONGEST` at most."""
        now, found = self.cycle.clock.monotonic(), []
        for path, result, stat, _ in part.outcomes:
            # What was not written to of late is whole.
            if result != "stored" or stat is None or stat.ctime_ns < self._bulk_looked_ns - RACY_NS:
                continue
            is_empty = self._is_just_emptied(path, stat.size, now, had_text=path in self.cycle.ledger)
            is_half = is_empty or self.writing(self.cycle.absolute(path)) is not Writing.NO
            if is_half and now - self._half.setdefault(path, now) < LONGEST:
                found.append(path)
        return found

    def _is_just_emptied(self, path: SourcePath, size_bytes: int, now: float, *, had_text: bool) -> bool:
        """Return whether a file is empty for the first time: it is emptied before the kernel tells of a write."""
        if size_bytes or not had_text:
            self._emptied.pop(path, None)
            return False
        return now - self._emptied.setdefault(path, now) < HURRIED

    def _again(
        self,
        changed: Iterable[SourcePath],
        busy: Iterable[SourcePath],
        hints: Mapping[bytes, Taken] = MappingProxyType({}),
        number: int = NOBODY,
    ) -> Again | None:
        now = self.cycle.clock.monotonic()
        # What a bulk run has of these does not count any more: its batches wait for them, too.
        number = min([number, *(batch.oldest for batch in self._open_in_bulk)])

        def taken(path: SourcePath, *, writing: bool) -> Taken:
            place = self.cycle.absolute(path)
            first = hints[place].first if place in hints else now
            return Taken(place, tree=False, oldest=number, first=first, writing=writing)

        again = Again(
            changing=tuple(taken(path, writing=True) for path in changed),
            busy=tuple(taken(path, writing=False) for path in busy),
        )
        return again if again.changing or again.busy else None

    def _receive(
        self, part: Slice, draft: Draft, looked_ns: int, overtaken: Collection[SourcePath] = ()
    ) -> list[SourcePath]:
        self._recent.update(outcome.source_path for outcome in part.outcomes if outcome.stat is not None)
        return self.cycle.receive(part, draft, looked_ns, overtaken)

    def _begin_bulk(self, files: Sequence[Sized]) -> list[SourcePath]:
        """Have files read in bulk; return those that have to wait, since they are being read just now."""
        if self._bulk is None:
            self._bulk = self.new_bulk()
            self._bulk_due = self.cycle.clock.monotonic() + FIRST_PUBLISH_SECONDS
            # Before any read of this run: a file changed since then counts as too recent to trust.
            self._bulk_looked_ns = self.cycle.clock.now_ns()
        busy = self._bulk.busy()
        added = [file for file in files if file.want.source_path not in busy]
        paths = {file.want.source_path for file in added}
        # The read to come is newer than what overtook an earlier one.
        self._bulk_draft.give_way(self._overtaken & paths, self.cycle.store.snapshot())
        self._overtaken -= paths
        # What is read twice in one run is compared with nothing: the first read may be published by then, or not.
        twice = self._bulk_files & paths
        self._bulk.add(
            [file._replace(want=_anew(file.want)) if file.want.source_path in twice else file for file in added]
        )
        self._bulk_files |= paths
        return [file.want.source_path for file in files if file.want.source_path in busy]


def _anew(want: Wanted) -> Wanted:
    return Wanted(want.source_path, size_bytes=want.size_bytes)


def _is_much(files: Sequence[Sized], most: int) -> bool:
    return len(files) > most or sum(file.size_bytes for file in files) > INLINE_BYTES
