"""Hints wait, coalesce, become due and are resolved in order."""

from indexerd.sync.pending import HURRIED, IDLE_PATHS, LONGEST, SETTLE, Hint, Kind, Pending

NOTE = b"/r/note.md"
OTHER = b"/r/other.md"


def test_a_closed_path_is_due_at_once():
    """A path whose writer is done is handed out in the moment it is named."""
    pending = Pending()
    pending.add([Hint(NOTE)], 10.0)
    assert pending.next_due() == 10.0
    batch = pending.take(10.0, 100)
    assert [hint.path for hint in batch.hints] == [NOTE]


def test_a_path_being_written_waits_until_it_settles():
    """A write without a close is not handed out before the writer has paused."""
    pending = Pending()
    pending.add([Hint(NOTE, Kind.WRITING)], 10.0)
    assert pending.take(10.0, 100) is None
    assert pending.next_due() == 10.0 + SETTLE
    pending.add([Hint(NOTE, Kind.WRITING)], 10.05)
    assert pending.next_due() == 10.05 + SETTLE
    assert pending.take(10.05 + SETTLE, 100) is not None


def test_a_path_written_for_ever_is_due_every_second():
    """A writer that never pauses cannot put its file off for longer than a second."""
    pending = Pending()
    moment = 10.0
    while pending.take(moment, 100) is None:
        pending.add([Hint(NOTE, Kind.WRITING)], moment)
        moment += SETTLE / 2
    assert moment <= 10.0 + LONGEST + SETTLE


def test_a_close_ends_the_wait():
    """The close of a file being written makes it due at once."""
    pending = Pending()
    pending.add([Hint(NOTE, Kind.WRITING), Hint(NOTE, Kind.DONE)], 10.0)
    assert pending.take(10.0, 100) is not None


def test_a_touch_does_not_reopen_a_closed_path():
    """A change of times or mode after the close leaves the path due."""
    pending = Pending()
    pending.add([Hint(NOTE, Kind.DONE), Hint(NOTE, Kind.TOUCHED)], 10.0)
    assert pending.take(10.0, 100) is not None


def test_a_touch_does_not_end_a_write():
    """A change of mode while a writer is at work does not make the path due."""
    pending = Pending()
    pending.add([Hint(NOTE, Kind.WRITING), Hint(NOTE, Kind.TOUCHED)], 10.0)
    assert pending.take(10.0, 100) is None


def test_somebody_waiting_shortens_the_wait_for_a_writer():
    """A hurried path is due after a short pause of its writer, not after the long one."""
    pending = Pending()
    number = pending.add([Hint(NOTE, Kind.WRITING)], 10.0)
    pending.hurry(number)
    assert pending.next_due() == 10.0 + HURRIED


def test_many_hints_for_one_path_are_one_entry():
    """A path named a thousand times is looked at once."""
    pending = Pending()
    pending.add([Hint(NOTE)] * 1000, 10.0)
    assert pending.count() == 1
    assert len(pending.take(10.0, 100).hints) == 1


def test_a_hint_is_unresolved_until_its_batch_is_done():
    """What is taken but not done still counts as unresolved."""
    pending = Pending()
    number = pending.add([Hint(NOTE)], 10.0)
    batch = pending.take(10.0, 100)
    assert pending.resolved_through() < number
    pending.done(batch)
    assert pending.resolved_through() == number


def test_a_hint_that_comes_while_its_path_is_in_work_is_looked_at_again():
    """A change during the read makes a new entry, resolved only by a new look."""
    pending = Pending()
    pending.add([Hint(NOTE)], 10.0)
    batch = pending.take(10.0, 100)
    later = pending.add([Hint(NOTE)], 10.1)
    pending.done(batch)
    assert pending.resolved_through() < later
    pending.done(pending.take(10.1, 100))
    assert pending.resolved_through() == later


def test_later_hints_do_not_hold_up_earlier_ones():
    """What one waits for is resolved although other paths keep changing."""
    pending = Pending()
    first = pending.add([Hint(NOTE)], 10.0)
    batch = pending.take(10.0, 100)
    pending.add([Hint(OTHER)], 10.1)
    pending.done(batch)
    assert pending.resolved_through() == first


def test_what_is_put_back_stays_unresolved_and_keeps_its_age():
    """A path whose read failed is tried again and holds the barrier meanwhile."""
    pending = Pending()
    number = pending.add([Hint(NOTE)], 10.0)
    batch = pending.take(10.0, 100)
    pending.put_back(batch.hints, 10.1, not_before=11.0)
    pending.done(batch)
    assert pending.resolved_through() < number
    assert pending.take(10.5, 100) is None
    assert pending.take(11.0, 100).hints[0].oldest == batch.hints[0].oldest


def test_two_entries_with_one_number_are_both_waited_for():
    """What is put back under the number of its batch holds that number until it is done itself."""
    pending = Pending()
    number = pending.add([Hint(NOTE, tree=True)], 10.0)
    first = pending.take(10.0, 100)
    pending.put_back([first.hints[0]._replace(path=OTHER, tree=False)], 10.0)
    second = pending.take(10.0, 100)
    pending.done(first)
    assert pending.resolved_through() < number
    pending.done(second)
    assert pending.resolved_through() == number


def test_doubts_are_one_and_wait_for_their_moment():
    """Several doubts lead to one look at everything, not before the latest moment asked for."""
    pending = Pending()
    pending.doubt(12.0)
    last = pending.doubt(11.0)
    assert pending.take(11.5, 100) is None
    batch = pending.take(12.0, 100)
    assert batch.reconcile
    assert pending.resolved_through() < last
    pending.done(batch)
    assert pending.resolved_through() == last


def test_a_batch_holds_the_oldest_first_and_leaves_the_rest():
    """The limit cuts behind the oldest; the rest comes with the next batch."""
    pending = Pending()
    pending.add([Hint(b"/r/%d" % number) for number in range(10)], 10.0)
    first = pending.take(10.0, 4)
    assert [hint.path for hint in first.hints] == [b"/r/0", b"/r/1", b"/r/2", b"/r/3"]
    assert len(pending.take(10.0, 100).hints) == 6


def test_what_nobody_waits_for_holds_nobody_up():
    """A look for no known cause is handed out, but the barrier and the count do not know it."""
    pending = Pending()
    number = pending.add([Hint(NOTE)], 10.0)
    pending.done(pending.take(10.0, 100))
    pending.add([Hint(OTHER, Kind.TOUCHED)], 10.0, idle=True)
    assert (pending.resolved_through(), pending.count()) == (number, 0)
    batch = pending.take(10.0, 100)
    assert [hint.path for hint in batch.hints] == [OTHER]
    assert (pending.resolved_through(), pending.count()) == (number, 0)
    pending.put_back(batch.hints, 10.0)
    pending.done(batch)
    assert (pending.resolved_through(), pending.count()) == (number, 0)


def test_a_cause_that_comes_later_is_waited_for():
    """An event for a path that waits without a cause makes the barrier wait for it."""
    pending = Pending()
    pending.add([Hint(NOTE, Kind.TOUCHED)], 10.0, idle=True)
    number = pending.add([Hint(NOTE)], 10.1)
    assert pending.resolved_through() < number
    assert pending.count() == 1
    pending.done(pending.take(10.1, 100))
    assert pending.resolved_through() == number


def test_a_survey_for_no_cause_holds_nobody_up():
    """The regular scan is handed out once and never counted."""
    pending = Pending()
    pending.survey()
    assert pending.resolved_through() == pending.last()
    batch = pending.take(10.0, 100)
    assert (batch.reconcile, batch.doubt, pending.count()) == (True, 0, 0)
    assert pending.take(10.0, 100) is None


def test_what_is_urgent_comes_alone():
    """Urgent paths are handed out before older ones, and without them."""
    pending = Pending()
    pending.add([Hint(NOTE)], 10.0)
    pending.add([Hint(OTHER)], 10.0, urgent=True)
    assert [hint.path for hint in pending.take(10.0, 100).hints] == [OTHER]
    assert [hint.path for hint in pending.take(10.0, 100).hints] == [NOTE]


def test_a_batch_undone_is_as_if_it_had_not_been_taken():
    """Its paths and its wish to look at everything come again."""
    pending = Pending()
    pending.add([Hint(b"/r/%d" % place) for place in range(100)], 10.0)
    number = pending.doubt()
    pending.undo(pending.take(10.0, 100), 10.0, 11.0)
    assert pending.resolved_through() < 1
    assert pending.take(10.5, 100) is None
    batch = pending.take(11.0, 100)
    assert (len(batch.hints), batch.reconcile) == (100, True)
    pending.done(batch)
    assert pending.resolved_through() == number


def test_amid_a_bulk_run_no_survey_is_handed_out():
    """Doubts stay for later while hints go on."""
    pending = Pending()
    pending.add([Hint(NOTE)], 10.0)
    pending.doubt()
    assert pending.next_due(surveys=False) == 10.0
    batch = pending.take(10.0, 100, surveys=False)
    assert not batch.reconcile
    assert pending.next_due(surveys=False) is None
    assert pending.take(10.0, 100).reconcile


def test_a_few_named_paths_do_not_wait_for_a_look_at_everything():
    """They are handed out alone, then everything; many are looked at with everything."""
    pending = Pending()
    pending.add([Hint(NOTE)], 10.0)
    pending.doubt()
    assert [(len(batch.hints), batch.reconcile) for batch in (pending.take(10.0, 100), pending.take(10.0, 100))] == [
        (1, False),
        (0, True),
    ]
    pending.add([Hint(b"/r/%d" % number) for number in range(100)], 11.0)
    pending.doubt()
    batch = pending.take(11.0, 100)
    assert (len(batch.hints), batch.reconcile) == (100, True)


def test_what_nobody_waits_for_comes_last_and_in_portions():
    """A thousand files to be looked at again are never before a named one, nor all at once, nor amid a bulk run."""
    pending = Pending()
    pending.add([Hint(b"/r/%d" % number, Kind.TOUCHED) for number in range(1000)], 10.0, idle=True)
    pending.doubt()
    pending.add([Hint(NOTE)], 10.0)
    assert pending.take(10.0, 5000).hints[0].path == NOTE
    assert pending.take(10.0, 5000, surveys=False) is None
    assert pending.next_due(surveys=False) is None
    assert pending.take(10.0, 5000).reconcile
    portion = pending.take(10.0, 5000)
    assert [hint.path for hint in portion.hints] == [b"/r/%d" % number for number in range(IDLE_PATHS)]
    pending.rest(11.0)
    assert (pending.take(10.5, 5000), pending.next_due()) == (None, 11.0)
    pending.add([Hint(b"/r/999")], 10.5)
    assert [hint.path for hint in pending.take(10.5, 5000).hints] == [b"/r/999"]
    left = 0
    while (batch := pending.take(11.0, 5000)) is not None:
        left += len(batch.hints)
    assert left == 1000 - IDLE_PATHS - 1


def test_what_is_done_in_bulk_holds_up_nobody_who_waits_for_named_paths():
    """A bulk run counts as pending to its end, but what is named meanwhile is resolved before."""
    pending = Pending()
    pending.doubt()
    run = pending.take(10.0, 100)
    assert pending.named_through() < pending.last()
    pending.in_bulk(run)
    number = pending.add([Hint(NOTE)], 10.0)
    assert pending.named_through() < number
    pending.done(pending.take(10.0, 100, surveys=False))
    assert (pending.named_through(), pending.resolved_through(), pending.count()) == (number, 0, 1)
    pending.done(run)
    assert (pending.resolved_through(), pending.count()) == (number, 0)


def test_amid_a_look_at_everything_a_few_files_are_handed_out():
    """Files that are due come alone, oldest first; folders, and files that are being written, wait for the end."""
    pending = Pending()
    pending.doubt()
    look = pending.take(10.0, 100)
    pending.in_bulk(look)
    pending.add([Hint(b"/r/folder", tree=True), Hint(b"/r/busy", Kind.WRITING), Hint(NOTE), Hint(OTHER)], 10.0)
    batch = pending.take_few(10.0, 1)
    assert [hint.path for hint in batch.hints] == [NOTE]
    pending.done(batch)
    assert [hint.path for hint in pending.take_few(10.0, 100).hints] == [OTHER]
    assert pending.take_few(10.0, 100) is None
    assert pending.count() == 4


def test_amid_a_look_at_everything_many_files_wait_for_its_end():
    """A burst is what that look is for."""
    pending = Pending()
    pending.add([Hint(b"/r/%d.md" % number) for number in range(65)], 10.0)
    assert pending.take_few(10.0, 100) is None
