"""The writer's thread, and what others may ask of it: the barrier, repair, status.

Owns: the thread, the answer to "is everything written before now searchable?".
Knows nothing of: queries, sockets, how a look or a read is done.
Invariants: 1. one thread writes. 2. `current` is said only when every hint taken before the question is resolved. 3.
    whatever fails in a step, the thread goes on. 4. at idle it wakes for its timers only.
Purity: shell (one thread).
See: docs/consistency.md (the barrier), docs/operations.md (problems).
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence

from indexerd.errors import NotFoundError, ShutdownError, StoreError
from indexerd.model import Root, Settings, SourcePath
from indexerd.ports import Clock, Sources, StoreFilesystem
from indexerd.store import Snapshot, Store
from indexerd.sync.apply import Tally
from indexerd.sync.mending import Mending
from indexerd.sync.options import SyncOptions
from indexerd.sync.pending import Hint
from indexerd.sync.problems import Problem
from indexerd.sync.repair import Asked, Reads, holds
from indexerd.sync.scan import Scanner
from indexerd.sync.status import Barrier, BarrierState, RootStatus, SyncReport, SyncStatus, named, state_of
from indexerd.sync.stepper import STEP_FAILURES, Stepper
from indexerd.sync.upkeep import Upkeep
from indexerd.sync.watcher import Watcher

_log = logging.getLogger(__name__)

# No bulk run is quicker than this: what is left of one divided by it is how long a wait would be in vain at least.
_FILES_PER_SECOND = 10_000
# How often one who waits for the end looks whether it has failed meanwhile.
_FAILURE_LOOK_SECONDS = 0.5


class SyncLoop:
    """Keeps one store in step with its roots: `start` for a daemon, `sync_once` alone for one shot."""

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
        watcher: Watcher | None = None,
        fs: StoreFilesystem | None = None,
    ) -> None:
        """Make a loop that is not running yet.

        Args:
            store: Open, with the writer's lock.
            sources: Reads below the roots.
            scanner: Looks below the same roots.
            roots: What to index.
            settings: How.
            clock: Time.
            options: How to sync.
            watcher: Not started; None to rely on scans alone. Dropped where events cannot work.
            fs: The state directory, for the file of fingerprints; None keeps none.
        """
        usable = watcher if not options.poll else None
        self._stepper = Stepper(
            store=store,
            sources=sources,
            scanner=scanner,
            roots=roots,
            settings=settings,
            clock=clock,
            options=options,
            watcher=usable,
            fs=fs,
        )
        self._store, self._sources, self._clock = store, sources, clock
        self.problems, self.heartbeat = self._stepper.problems, self._stepper.heartbeat
        self._roots = tuple(roots)
        self._thread: threading.Thread | None = None
        self._stopping = False
        mend = Mending(store, sources, clock, self.problems, self._stepper.read_again)
        unsynced, besides = lambda: not store.snapshot().durable, self._stepper.do_besides
        self._upkeep = Upkeep(store, unsynced, self._report_upkeep, mend, besides)

    def start(self) -> None:
        """Start watching, then the thread; the first thing it does is a full scan."""
        stepper = self._stepper
        stepper.watching.start()
        with stepper.lock:
            stepper.pending.doubt()
            stepper.timers.on = True
            self._stopping = False
            self._thread = threading.Thread(target=self._run, name="indexerd-sync", daemon=True)
            stepper.resolved.notify_all()
        self._end_upkeep = self.on_publish(lambda _: self._upkeep.wake())
        self._upkeep.start()
        self._thread.start()

    def stop(self) -> None:
        """End the threads after the step under way and save the fingerprints; the last checkpoint is the caller's."""
        thread, self._thread = self._thread, None
        if thread is not None:
            with self._stepper.lock:
                self._stopping = True
                self._stepper.wake.notify_all()
                self._stepper.resolved.notify_all()
            thread.join()
            self._end_upkeep()
            self._upkeep.stop()
        if self._stepper.watcher is not None:
            self._stepper.watcher.stop()
        self._stepper.writer.stop()
        self._stepper.save()

    def _run(self) -> None:
        stepper = self._stepper
        while not self._stopping:
            try:
                stepper.step()
            except Exception as error:  # noqa: BLE001 -- the border of one sync cycle
                if stepper.failed(error):
                    _log.exception("step_failed: what it took is put back")
            with stepper.lock:
                wait = stepper.seconds_to_wait()
                if wait > 0 and not self._stopping:
                    stepper.wake.wait(wait)

    # What others ask.

    def barrier(self, deadline: float, earlier: Barrier | None = None) -> Barrier:
        """Wait until everything written before this call is searchable.

        Args:
            deadline: Moment of the monotonic clock at which to stop waiting.
            earlier: An answer that was not in time; then what was written before that one is waited for.

        Returns:
            `current`: it is. `pending`: not in time. `building`: a first index, or one for new settings, is being made.
            In the last two `named` says whether what was saved by itself is searchable all the same; that is waited
            for in any case, the rest (a bulk run) only if it may end in time.
        """
        began = self._clock.monotonic()
        if self._is_alone():
            # One shot: as current as its last run, which comes before any question.
            return Barrier("current", 0.0, named=True, failure=self._failure(("root_unavailable",)))
        if self._thread is None or self._stopping:
            return Barrier("building" if self._stepper.building else "pending", 0.0)
        # An answer from before the start waited for nothing yet.
        number = earlier.number if earlier is not None and earlier.number else self._seen_so_far()
        state, named = self._wait_for(number, deadline)
        # That a root is back makes no event, and a look begun before may have missed it.
        while state == "current" and (later := self._roots_changed()):
            state, named = self._wait_for(later, deadline)
        failure = self._failure(STEP_FAILURES if state != "current" else ("root_unavailable",))
        return Barrier(state, self._clock.monotonic() - began, number, named, failure)

    def repair(self, reads: Reads, deadline: float) -> Snapshot | None:
        """Publish what a query saw of some files, before everything else.

        What cannot be published as it was seen (the file is gone, is being saved, is too large to be waited for) is
        looked at in the usual way instead, and is in the generation as that look found it. What the index has in a
        newer version already stays that.

        Args:
            reads: What was seen.
            deadline: Moment of the monotonic clock at which to stop waiting.

        Returns:
            A generation that holds this; the current one may be newer by then. None: not in time, or not at all.
        """
        current = self._store.snapshot()
        if all(holds(current, path, read) for path, read in reads.items()):
            return current
        asked = self._ask(reads, deadline)
        if not asked.left or not self._looked_at(asked.number, deadline):
            return asked.snapshot
        rest = {path: read for path, read in reads.items() if path not in asked.left}
        # What was seen of the rest may have been replaced while the others were looked at.
        return self._ask(rest, deadline).snapshot if rest else self._store.snapshot()

    def note_refused(self, detail: str | None) -> None:
        """Let the status say that new settings could not be taken in, and why; None when they were."""
        self._stepper.problems.set("settings_refused", detail)

    def reconcile(self) -> None:
        """Look at everything now (SIGHUP, a resume from sleep)."""
        self._stepper.doubt()

    def sync_once(self, paths: Sequence[str] | None = None) -> SyncReport:
        """Bring the index up to date and say what that took: with the thread if it runs, else here and now.

        Args:
            paths: Absolute paths or source paths; files and folders, which need not exist any more. None for all.

        Raises:
            NotFoundError: A path lies in no root; nothing was done.
            OSError: Nothing of what failed was published.
            StoreError: As `OSError`; with the thread also when it has failed so far and goes on trying.
        """
        stepper = self._stepper
        hints = [Hint(self._place_of(path), tree=True) for path in paths or ()]
        before = stepper.writer.total
        with stepper.lock:
            number = stepper.pending.doubt() if paths is None else stepper.pending.add(hints, self._clock.monotonic())
            stepper.pending.hurry(number)
            stepper.wake.notify_all()
        if self._thread is not None:
            self._wait_out(number)
        else:
            stepper.run_until(number)
            stepper.save()
        return self._report(stepper.writer.total, before)

    def drop_fingerprints(self) -> None:
        """Remove the file of fingerprints, to be written anew. Raises `OSError` if it is still there."""
        self._stepper.drop_saved()

    def held(self) -> frozenset[SourcePath]:
        """Return the documents that cannot be looked at now: not eligible."""
        return self._stepper.ledger.held_paths

    def may_hang(self) -> bool:
        """Return whether a look at a root may have to wait for another machine."""
        return self._stepper.watching.may_hang

    def modified(self, paths: Sequence[SourcePath]) -> list[int | None]:
        """Return the modification times (ns since 1970) of files as they were last read; None where not known."""
        return self._stepper.ledger.cache.modified(paths)

    def building(self) -> bool:
        """Return whether a first index, or one for new settings, is being made."""
        return self._stepper.building

    def on_publish(self, callback: Callable[[Snapshot], None]) -> Callable[[], None]:
        """Have each new snapshot told, on the writer's thread; return a function that ends it."""
        callbacks = self._stepper.callbacks
        callbacks.append(callback)

        def end() -> None:
            if callback in callbacks:
                callbacks.remove(callback)

        return end

    def status(self) -> SyncStatus:
        """Return one moment of the sync."""
        stepper, ledger = self._stepper, self._stepper.ledger
        watcher = stepper.watcher
        counters = watcher.statistics() if watcher is not None else None
        with stepper.lock:
            progress = stepper.writer.progress()
            pending = stepper.pending.count() + stepper.writer.left()
            reconciled_at = stepper.reconciled_at
        problems = self.problems.entries
        return SyncStatus(
            state=state_of(building=stepper.building, pending=pending, problems=problems),
            generation=self._store.snapshot().generation,
            roots=tuple(RootStatus(root.label, root.path, ledger.roots.get(root.label, "ok")) for root in self._roots),
            pending=pending,
            reconciled_age_seconds=self._clock.monotonic() - reconciled_at if reconciled_at is not None else None,
            overflows=counters.overflows if counters is not None else 0,
            watches=counters.watches if counters is not None else 0,
            skipped=named(ledger.skipped.items()),
            held=named(ledger.held.items()),
            problems=problems,
            progress=progress,
        )

    def _ask(self, reads: Reads, deadline: float) -> Asked:
        """Have the writer publish what was seen, and wait for that."""
        stepper = self._stepper
        with stepper.lock:
            asked = stepper.repairs.ask(reads)
        if self._is_alone():
            self._step_here()
        with stepper.lock:
            while not asked.done:
                remaining = deadline - self._clock.monotonic()
                if remaining <= 0 or self._stopping:
                    stepper.repairs.withdraw(asked)
                    break
                stepper.resolved.wait(min(remaining, threading.TIMEOUT_MAX))
        return asked

    def _looked_at(self, number: int, deadline: float) -> bool:
        """Wait until the files under a number were looked at; return whether they were."""
        return self._step_here(number) if self._is_alone() else self._wait_for(number, deadline)[1]

    def _is_alone(self) -> bool:
        """Return whether no thread will come: one shot has looked at everything before it is asked anything."""
        return self._thread is None and not self._stopping and self._stepper.reconciled_at is not None

    def _step_here(self, number: int = 0) -> bool:
        """Step in this thread, once at least and until a number is resolved; return whether that went well."""
        try:
            self._stepper.run_until(number)
        except (OSError, StoreError) as error:
            if self._stepper.failed(error):
                _log.warning("step_failed: what it took is put back (%s)", error)
            return False
        return True

    def _seen_so_far(self) -> int:
        """Take in all that has happened up to now; return the number that stands for it."""
        stepper = self._stepper
        if stepper.watcher is not None:
            stepper.watcher.drain()
        unwatched = stepper.watching.unwatched()
        now = self._clock.monotonic()
        with stepper.lock:
            stepper.timers.check_roots(now)
            if unwatched:
                stepper.pending.add([Hint(folder, tree=True) for folder in unwatched], now, urgent=True)
                stepper.wake.notify_all()
            return stepper.pending.last()

    def _roots_changed(self) -> int:
        """Have roots looked at that are back, or others, since a look that was under way; return the number of that."""
        stepper = self._stepper
        with stepper.lock:
            return stepper.pending.last() if stepper.timers.check_roots(self._clock.monotonic()) else 0

    def _wait_for(self, number: int, deadline: float, *, patient: bool = False) -> tuple[BarrierState, bool]:
        """Wait for what was named by itself up to a number, then for all; return the state and whether the first is."""
        stepper = self._stepper
        pending = stepper.pending
        with stepper.lock:
            if pending.resolved_through() < number:
                pending.hurry(number)
                stepper.wake.notify_all()
            while pending.resolved_through() < number or stepper.building:
                named = pending.named_through() >= number
                remaining = deadline - self._clock.monotonic()
                in_vain = not patient and self._is_hopeless(deadline, bulk=named)
                if remaining <= 0 or self._stopping or in_vain:
                    return "building" if stepper.building else "pending", named
                stepper.resolved.wait(min(remaining, threading.TIMEOUT_MAX))
        return "current", True

    def _wait_out(self, number: int) -> None:
        """Wait until everything up to a number is published, however long it takes, unless it fails."""
        while self._wait_for(number, self._clock.monotonic() + _FAILURE_LOOK_SECONDS, patient=True)[0] != "current":
            if self._stopping or self._thread is None:
                raise ShutdownError("the daemon is stopping")
            if (failure := self._failure(STEP_FAILURES)) is not None:
                raise StoreError(failure.detail)

    def _failure(self, codes: Sequence[str]) -> Problem | None:
        return next((problem for problem in self.problems.entries if problem.code in codes), None)

    def _is_hopeless(self, deadline: float, *, bulk: bool) -> bool:
        """Return whether waiting, for a bulk run or not, is sure to be in vain: then the answer is given at once."""
        stepper = self._stepper
        left = stepper.writer.left() if bulk else 0
        return stepper.retry_at > deadline or left > _FILES_PER_SECOND * (deadline - self._clock.monotonic())

    def _place_of(self, path: str) -> bytes:
        place = os.fsencode(path) if path.startswith("/") else self._sources.absolute(SourcePath(path))
        if place is None or self._stepper.scanner.locate(place) is None:
            raise NotFoundError(f"{path!r} lies in no root of this profile")
        return place

    def _report(self, total: Tally, before: Tally) -> SyncReport:
        ledger, snapshot = self._stepper.ledger, self._store.snapshot()
        added, updated = total.added - before.added, total.updated - before.updated
        away = {SourcePath(label): state for label, state in ledger.roots.items() if state != "ok"}
        return SyncReport(
            generation=snapshot.generation,
            durable=snapshot.durable,
            added=added,
            updated=updated,
            unchanged=max(snapshot.document_count - added - updated, 0),
            deleted=total.deleted - before.deleted,
            skipped=named({**ledger.skipped, **away}.items()),
            held=named(ledger.held.items()),
            chunks_active=snapshot.chunk_count,
            unsafe_chunks=snapshot.unsafe_chunk_count,
        )

    def _report_upkeep(self, code: str, error: Exception | None) -> None:
        self._stepper.problems.set(code, None if error is None else f"{error}; it is tried again")
