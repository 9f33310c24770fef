"""One step of the sync after another: what is due is taken, read, published; what fails is put back.

Owns: the list of hints and its lock, the order of a step, the back-off after a failure, the standing problems.
Knows nothing of: which thread steps, who asks what.
Invariants: 1. a failed step consumes nothing: its batch is taken back, and the problem stands until a step succeeds.
    2. the lock is never held while looking, reading or publishing. 3. lost events lead to a fresh watch and a full
    scan, which whoever asks from then on waits for.
Purity: shell (through the writer and the watcher).
See: docs/consistency.md (the writer), docs/operations.md (problems).
"""

import errno
import logging
import threading
from collections.abc import Callable, Sequence

from indexerd.clock import BackOff
from indexerd.errors import StoreError
from indexerd.indexing import make_ready, settings_fingerprint
from indexerd.model import Root, Settings, SourcePath
from indexerd.ports import Clock, Sources, StoreFilesystem
from indexerd.store import Snapshot, Store
from indexerd.sync.bulk import Bulk
from indexerd.sync.cycle import Cycle
from indexerd.sync.memory import SavedCache, load_ledger
from indexerd.sync.options import SyncOptions
from indexerd.sync.pending import HURRIED, NOBODY, Batch, Hint, Pending, Writing
from indexerd.sync.problems import Standing
from indexerd.sync.repair import Reads, Repaired
from indexerd.sync.repairs import Repairs
from indexerd.sync.scan import Scanner
from indexerd.sync.timers import Timers
from indexerd.sync.timetable import (
    FIRST_SAVE_SECONDS,
    SAVE_SECONDS,
    STILL_CHANGING_SECONDS,
    TIMER_SLACK_SECONDS,
    Overflows,
    Timetable,
)
from indexerd.sync.watcher import Watcher
from indexerd.sync.watching import Watching
from indexerd.sync.worker import Brief
from indexerd.sync.writer import Again, Writer

_log = logging.getLogger(__name__)

# Of one batch: more than a burst ever names, less than what would make a list slow to sort.
_BATCH_PATHS = 20_000
_BATCH_PATHS_IN_BULK = 500
# Amid a survey: so many files at a time, and not before so long after the last ones.
_BATCH_PATHS_AMID = 16
_AMID_SECONDS = 0.005
# What a step that failed is called in the status; both go when one succeeds.
STEP_FAILURES = ("publish_failed", "sync_failed")


class Stepper:
    """The sync without a thread. `step` is called by one thread at a time; `note` and `lock` are for all."""

    def __init__(  # noqa: PLR0913 (the composition root names each)
        self,
        *,
        store: Store,
        sources: Sources,
        scanner: Scanner,
        roots: Sequence[Root],
        settings: Settings,
        clock: Clock,
        options: SyncOptions,
        watcher: Watcher | None,
        fs: StoreFilesystem | None,
    ) -> None:
        self.store, self.scanner, self.clock, self.roots = store, scanner, clock, tuple(roots)
        self.options, self._saved = options, SavedCache(fs)
        # Guards the hints, the timetable and the flags below. Taken after the watcher's own lock, never before it.
        self.lock = threading.Lock()
        self.wake = threading.Condition(self.lock)
        self.resolved = threading.Condition(self.lock)
        self.pending = Pending()
        self.repairs = Repairs(self.pending, sources, clock, self.wake, self.resolved)
        self.timetable = Timetable()
        self.problems = Standing(clock)
        self.watching = Watching(
            watcher, roots=self.roots, options=options, timetable=self.timetable, problems=self.problems, note=self.note
        )
        snapshot = store.snapshot()
        # Not now: whoever asks in the meantime is answered from the store, and a large index takes a while to list.
        self.ledger = load_ledger(snapshot, fs)
        brief = Brief(self.roots, options.max_file_bytes, settings)
        self.writer = Writer(
            cycle=Cycle(
                roots=self.roots,
                scanner=scanner,
                sources=sources,
                store=store,
                ledger=self.ledger,
                settings=settings,
                clock=clock,
                watcher=watcher,
            ),
            fingerprint=settings_fingerprint(settings),
            writing=self._writing,
            between=self._serve_amid,
            new_bulk=lambda: Bulk(brief, sources, self.notify, workers=options.workers),
        )
        self.building = self.writer.unfinished or self.writer.redo
        self.reconciled_at: float | None = None
        self.retry_at = 0.0
        self.timers = Timers(self.timetable, self.pending, self.writer.cycle, self.watching, self.wake)
        self.callbacks: list[Callable[[Snapshot], None]] = []
        self._overflows = Overflows()
        self._back_off = BackOff()
        self._unsaved = self._is_ready = False
        self._next_amid = 0.0
        self._beats = 0
        # What a failure now would be called in the status.
        self._phase = "sync_failed"

    def heartbeat(self) -> int:
        """Return a number that grows with each step, and while a long one gets on: it stands still if that hangs."""
        return self._beats

    # What others tell.

    def notify(self) -> None:
        """Wake the stepping thread: something may be due."""
        with self.lock:
            self.wake.notify_all()

    def doubt(self) -> None:
        """Have everything looked at."""
        with self.lock:
            self.pending.doubt()
            self.wake.notify_all()

    def note(self, hints: tuple[Hint, ...], *, overflowed: bool) -> None:
        """Take in what the watcher read; called under the watcher's lock, so that no barrier can fall between."""
        now = self.clock.monotonic()
        with self.lock:
            self.pending.add(hints, now)
            if overflowed:
                self.pending.doubt(self._overflows.lost(now))
                self.problems.report("events_lost", "the kernel's event queue overflowed; everything is scanned again")
            self.wake.notify_all()

    def read_again(self, paths: Sequence[SourcePath]) -> None:
        """Have documents read whose kept text is lost."""
        hints = [Hint(self.writer.cycle.absolute(path)) for path in paths]
        with self.lock:
            self.pending.add(hints, self.clock.monotonic(), urgent=True)
            self.wake.notify_all()

    @property
    def watcher(self) -> Watcher | None:
        """Return the watch; None where scans are relied on."""
        return self.watching.watcher

    # The step.

    def step(self) -> None:
        """Do what is due now.

        Raises:
            Exception: What was taken is put back. Tell `failed`, and step again when it says so; or give up.
        """
        self._beats += 1
        self.repairs.serve(self._repair, self._tell)
        now = self.clock.monotonic()
        # Before the lock is taken: the watcher's own lock comes first.
        unwatched = self._watch_again(now)
        with self.lock:
            if self.timers.on:
                self.timers.tick(now, in_bulk=self.writer.bulk_running())
                self.timers.look_at_unwatched(unwatched, now)
            batch = self._take(now)
        if batch is not None:
            self._work(batch)
        if self.retry_at > now:
            return
        if self.writer.is_publish_due():
            self._publish(lambda _: self.writer.publish())
        # One slice at most: whoever asks or saves meanwhile comes before the next.
        self.repairs.serve(self._repair, self._tell)
        self._put_back(self.writer.advance())
        now = self.clock.monotonic()
        due = self.writer.bulk_due(now)
        if due is not None and due <= now:
            self._publish(self.writer.publish_bulk)

    def failed(self, error: Exception) -> bool:
        """Note that a step failed: the next one that takes anything comes after the back-off.

        Returns:
            Whether it failed for another cause than the one that is known: a full disk is asked again each second.
        """
        self.retry_at = self.clock.monotonic() + self._back_off.failed(error)
        name = errno.errorcode.get(error.errno or 0, "") if isinstance(error, OSError) else type(error).__name__
        return self.problems.report(self._phase, f"{name}: {error}; the last generation is kept and it is tried again")

    def seconds_to_wait(self) -> float:
        """Return how long nothing will be due. Call with the lock held."""
        now = self.clock.monotonic()
        if self.repairs or (self.retry_at <= now and self.writer.results_ready()):
            return 0.0
        in_bulk = self.writer.bulk_running()
        timer = self.timetable.next_moment(recent=not in_bulk) if self.timers.on else float("inf")
        # A timed wait may end a little early: a timer is not so urgent that it should be asked for twice.
        moments = [timer + TIMER_SLACK_SECONDS]
        hints = None if self.writer.redo and in_bulk else self.pending.next_due(surveys=not in_bulk)
        publish = now if self.writer.is_publish_due() else self.writer.bulk_due(now)
        moments += [max(moment, self.retry_at) for moment in (hints, publish) if moment is not None]
        return min(max(0.0, min(moments) - now), threading.TIMEOUT_MAX)

    def run_until(self, number: int) -> None:
        """Step in this thread until everything up to a number is resolved.

        Files that never stop changing are given up after a while and listed as skipped.

        Raises:
            Exception: A step failed; what it took is put back.
        """
        give_up = self.clock.monotonic() + STILL_CHANGING_SECONDS
        while True:
            self.step()
            with self.lock:
                if self.pending.resolved_through() >= number:
                    return
                if self.writer.bulk_running():
                    give_up = self.clock.monotonic() + STILL_CHANGING_SECONDS
                elif self.clock.monotonic() >= give_up:
                    self.writer.give_up_changing(self.pending.abandon())
                    return
                wait = self.seconds_to_wait()
                if wait > 0:
                    self.wake.wait(wait)

    def do_besides(self, pause: Callable[[], object]) -> None:
        """Make ready what the first save would wait for, and write the fingerprints down: called by another thread."""
        if not self._is_ready:
            self._is_ready = True
            make_ready(self.writer.cycle.settings)
        elif self.reconciled_at is not None:
            self.ledger.make()
        with self.lock:
            due = self.save_due()
        if due:
            self.save(pause)

    def save(self, pause: Callable[[], object] = lambda: None) -> None:
        """Write the fingerprints down, if there is anything new; while others step, with a pause now and then."""
        changed, self._unsaved = self._unsaved and self.ledger.is_made, False
        if changed:
            self._saved.save(self.ledger.cache, self.ledger.paths(), pause)

    def drop_saved(self) -> None:
        """Remove the fingerprints on disk; the next save writes them anew. Raises `OSError` if they are still there."""
        self._saved.drop(self.ledger.cache)
        self._unsaved = True

    def save_due(self) -> bool:
        """Return whether it is time to write the fingerprints down. Call with the lock held."""
        now = self.clock.monotonic()
        if now < self.timetable.save:
            return False
        if self.pending.count() or self.writer.bulk_running():
            # Asked for later, not at once again: a store that refuses keeps things unpublished for long.
            self.timetable.save = now + FIRST_SAVE_SECONDS
            return False
        self.timetable.save = now + SAVE_SECONDS
        return self._unsaved

    def _take(self, now: float) -> Batch | None:
        in_bulk = self.writer.bulk_running()
        if self.retry_at > now or (self.writer.redo and in_bulk):
            return None
        # Amid a run a survey would list again what is still to be read; and little at a time, so that it goes on too.
        return self.pending.take(now, _BATCH_PATHS_IN_BULK if in_bulk else _BATCH_PATHS, surveys=not in_bulk)

    def _work(self, batch: Batch) -> None:
        began = self.clock.monotonic()
        self._phase = "sync_failed"
        try:
            if batch.doubt and (self._overflows.pending() or self.watching.is_dead()):
                self.watching.renew()
            is_long = self.writer.is_long(batch)
            if is_long:
                with self.lock:
                    self.pending.in_bulk(batch)
            again, in_bulk = self.writer.take(batch)
        except Exception:
            with self.lock:
                self.pending.undo(batch, began, began)
            raise
        self._put_back(again)
        self._unsaved = True
        with self.lock:
            if in_bulk and not is_long:
                self.pending.in_bulk(batch)
            elif batch.oldest == NOBODY:
                # As long again: what nobody waits for takes half of the time at most.
                self.pending.rest(2 * self.clock.monotonic() - began)
        if batch.reconcile:
            self._reconciled(began)
        self._refresh_problems()

    def _serve_amid(self) -> None:
        """Between two folders of a survey, do what somebody may be waiting for: for half of the time at most."""
        self._beats += 1
        now = self.clock.monotonic()
        if now < self._next_amid or now < self.retry_at:
            return
        try:
            self.repairs.serve(self._repair, self._tell)
            with self.lock:
                batch = None if self.writer.redo else self.pending.take_few(now, _BATCH_PATHS_AMID)
            if batch is not None:
                self._work(batch)
            if self.writer.is_publish_due():
                self._publish(lambda _: self.writer.publish())
        except (OSError, StoreError) as error:
            # The survey goes on: without it nothing new would be watched while the disk is full.
            self.failed(error)
        self._phase = "sync_failed"
        ended = self.clock.monotonic()
        self._next_amid = ended + max(_AMID_SECONDS, ended - now)

    def _watch_again(self, now: float) -> tuple[bytes, ...]:
        """Try again to watch where that was refused; return the folders to look into meanwhile."""
        if not self.timers.on or now < self.timetable.refused_retry:
            return ()
        # Numbered: whoever asks waits for the scan that sets the watches.
        self.watching.try_again(self.doubt)
        return self.watching.unwatched() if self.watcher is not None else ()

    def _reconciled(self, began: float) -> None:
        now = self.clock.monotonic()
        with self.lock:
            self.timetable.reconciled(now, now - began)
            if self._overflows.pending() and not self.pending.doubtful():
                self._overflows.scanned(now)
                self.problems.clear("events_lost")

    def _publish(self, publish: Callable[[float], list[Batch]]) -> None:
        self._phase = "publish_failed"
        now = self.clock.monotonic()
        before, total = self.store.snapshot().generation, self.writer.total
        batches = publish(now)
        self._report_drift(batches, self.writer.total.changes() - total.changes())
        self.retry_at = 0.0
        self._back_off.succeeded()
        for code in STEP_FAILURES:
            self.problems.clear(code)
        recent = self.writer.take_recent()
        snapshot = self.store.snapshot()
        with self.lock:
            for batch in batches:
                self.pending.done(batch)
                # Not when the look ended: what it found is searchable from here on.
                self.reconciled_at = now if batch.reconcile else self.reconciled_at
            if self.reconciled_at is not None and not self.writer.bulk_running():
                self.building = False
            self.timetable.look_again(recent, now)
            self.resolved.notify_all()
        if snapshot.generation != before:
            self._tell(snapshot)

    def _report_drift(self, batches: Sequence[Batch], changes: int) -> None:
        """Say when a scan that nobody asked for found changes: no event told of them."""
        if changes and self.watcher is not None and any(batch.reconcile and not batch.doubt for batch in batches):
            _log.warning("drift: a regular scan found %d documents changed of which no event told", changes)

    def _put_back(self, again: Again | None) -> None:
        if again is None:
            return
        now = self.clock.monotonic()
        with self.lock:
            self.pending.put_back(again.changing, now)
            self.pending.put_back(again.busy, now, not_before=now + HURRIED)

    def _writing(self, place: bytes) -> Writing:
        if self.watcher is not None:
            self.watcher.drain()
        with self.lock:
            return self.pending.writing(place)

    def _repair(self, reads: Reads) -> Repaired | None:
        if self.retry_at > self.clock.monotonic():
            return None
        self._phase = "publish_failed"
        return self.writer.repair(reads)

    def _tell(self, snapshot: Snapshot) -> None:
        for callback in tuple(self.callbacks):
            callback(snapshot)

    def _refresh_problems(self) -> None:
        states = sorted(f"{label}: {state}" for label, state in self.ledger.roots.items() if state != "ok")
        self.problems.set("root_unavailable", "; ".join(states) or None)
        self.watching.name_refused()
