"""The store's upkeep runs beside the writer, fails without harm, and sleeps."""

import threading

from indexerd.sync.upkeep import Upkeep


class Upkept:
    """A store that says what is due and counts what is done."""

    def __init__(self):
        self.due, self.merges, self.error = 0, 0, None
        self.done = []
        self.looked = threading.Event()

    def checkpoint_due(self):
        self.looked.set()
        return self.due > 0

    def checkpoint(self):
        if self.error is not None:
            raise self.error
        self.due -= 1
        self.done.append("checkpoint")

    def merge_due(self):
        return self.merges > 0

    def merge_once(self):
        self.merges -= 1
        self.done.append("merge")
        return True

    def stop_merging(self):
        self.merges = 0

    def collect(self):
        self.done.append("collect")
        return 0


def test_what_is_due_is_done_and_then_collected():
    """A checkpoint and a merge are each followed by a collection; with nothing due nothing is done."""
    store = Upkept()
    upkeep = Upkeep(store, lambda: False, lambda _code, _error: None)
    assert not upkeep.flush_once()
    assert not upkeep.merge_once()
    store.due = store.merges = 1
    assert upkeep.flush_once()
    assert upkeep.merge_once()
    assert store.done == ["checkpoint", "collect", "merge", "collect"]


def test_a_wake_leads_to_a_look_and_a_stop_ends_the_thread():
    """Asleep with nothing due, it looks when woken, and stops when told."""
    store = Upkept()
    upkeep = Upkeep(store, lambda: False, lambda _code, _error: None)
    upkeep.start()
    assert store.looked.wait(60)
    store.looked.clear()
    store.due = 1
    upkeep.wake()
    assert store.looked.wait(60)
    upkeep.stop()
    assert store.done == ["checkpoint", "collect"]


def test_no_flush_waits_for_a_merge():
    """While a merge goes on for as long as it likes, what is to be flushed is flushed."""
    store, merging, go_on = Upkept(), threading.Event(), threading.Event()

    def merge_once():
        merging.set()
        assert go_on.wait(60)
        store.merges = 0
        return True

    store.merge_once, store.merges = merge_once, 1
    flushed = threading.Event()
    store.collect = flushed.set
    upkeep = Upkeep(store, lambda: True, lambda _code, _error: None)
    upkeep.start()
    assert merging.wait(60)
    store.due = 1
    assert flushed.wait(60)
    go_on.set()
    upkeep.stop()


def test_a_failure_is_reported_and_cleared_by_a_success():
    """The cause is told, the thread goes on, and the next success takes the report back."""
    store, told, changed = Upkept(), [], threading.Event()

    def report(code, error):
        told.append((code, error))
        changed.set()

    store.due, store.error = 1, OSError(5, "Input/output error")
    upkeep = Upkeep(store, lambda: store.due > 0, report)
    upkeep.start()
    while ("upkeep_failed", store.error) not in told:
        assert changed.wait(60)
        changed.clear()
    failed, store.error = len(told), None
    while ("upkeep_failed", None) not in told[failed:]:
        changed.clear()
        assert changed.wait(60)
    upkeep.stop()
    assert store.done[0] == "checkpoint"
