"""Kernel events become hints, and the table of watches stays in step with them."""

import random

from indexerd.sync.pending import Hint, Kind
from indexerd.sync.watches import (
    ATTRIB,
    CLOSE_WRITE,
    CREATE,
    DELETE,
    DELETE_SELF,
    IGNORED,
    ISDIR,
    MODIFY,
    MOVED_FROM,
    MOVED_TO,
    OVERFLOW,
    Event,
    WatchTable,
)


def table(*folders):
    made = WatchTable()
    for number, folder in enumerate(folders, 1):
        made.add(number, folder)
    return made


def test_the_kinds_of_events_say_what_the_writer_does():
    """Closed, moved and deleted mean done; modified and created mean writing; attributes mean touched."""
    harvest = table(b"/r").read(
        [
            Event(1, MODIFY, b"a"),
            Event(1, CREATE, b"b"),
            Event(1, CLOSE_WRITE, b"c"),
            Event(1, MOVED_TO, b"d"),
            Event(1, MOVED_FROM, b"e"),
            Event(1, DELETE, b"f"),
            Event(1, ATTRIB, b"g"),
        ]
    )
    assert [hint.kind for hint in harvest.hints] == [Kind.WRITING] * 2 + [Kind.DONE] * 4 + [Kind.TOUCHED]
    assert [hint.path for hint in harvest.hints] == [
        b"/r/" + name for name in (b"a", b"b", b"c", b"d", b"e", b"f", b"g")
    ]


def test_an_event_about_a_folder_means_all_below_it():
    """A folder made, moved, touched or deleted is looked at as a tree."""
    harvest = table(b"/r").read([Event(1, CREATE | ISDIR, b"sub"), Event(1, DELETE_SELF, b"")])
    assert harvest.hints == (Hint(b"/r/sub", Kind.DONE, tree=True), Hint(b"/r", Kind.DONE, tree=True))


def test_a_folder_that_moves_away_loses_its_watches_and_those_below():
    """The watches of a moved folder are dropped at the event; a namesake with a longer name keeps its own."""
    watches = table(b"/r", b"/r/a", b"/r/a/b", b"/r/ab")
    harvest = watches.read([Event(1, MOVED_FROM | ISDIR, b"a")])
    assert sorted(harvest.dropped) == [2, 3]
    assert watches.read([Event(2, CLOSE_WRITE, b"x")]).hints == ()
    assert watches.read([Event(4, CLOSE_WRITE, b"x")]).hints == (Hint(b"/r/ab/x"),)


def test_a_folder_watched_at_its_new_place_first_keeps_that_watch():
    """When the scan reaches the new place before the move is read, the move drops only the old name."""
    watches = table(b"/r", b"/r/a")
    watches.add(2, b"/r/b")
    harvest = watches.read([Event(1, MOVED_FROM | ISDIR, b"a"), Event(2, CLOSE_WRITE, b"x")])
    assert harvest.dropped == ()
    assert harvest.hints[-1] in {Hint(b"/r/a/x"), Hint(b"/r/b/x")}
    assert watches.read([Event(2, CLOSE_WRITE, b"x")]).hints == (Hint(b"/r/b/x"),)


def test_one_folder_under_two_spellings_gives_hints_for_both():
    """A folder that two roots reach is reported under each name."""
    watches = table(b"/r/sub")
    watches.add(1, b"/link")
    assert watches.read([Event(1, CLOSE_WRITE, b"x")]).hints == (Hint(b"/r/sub/x"), Hint(b"/link/x"))


def test_a_watch_that_the_kernel_removed_is_forgotten():
    """After the kernel's farewell the descriptor means nothing."""
    watches = table(b"/r", b"/r/a")
    assert watches.read([Event(2, IGNORED, b""), Event(2, MODIFY, b"x")]).hints == ()
    assert b"/r/a" not in watches


def test_an_overflow_is_told():
    """Lost events are reported, whatever else is in the batch."""
    harvest = table(b"/r").read([Event(-1, OVERFLOW, b""), Event(1, CLOSE_WRITE, b"x")])
    assert harvest.overflowed
    assert harvest.hints == (Hint(b"/r/x"),)


def test_after_a_walk_only_what_was_entered_stays_watched():
    """Folders that a complete walk did not enter lose their watch; other roots keep theirs."""
    watches = table(b"/r", b"/r/a", b"/r/b", b"/other")
    assert watches.keep_only({b"/r"}, {b"/r", b"/r/b"}) == (2,)
    assert b"/other" in watches
    assert b"/r/a" not in watches


def test_what_is_done_to_one_folder_costs_its_own_tree_alone():
    """Folders come and go in any order: those at and below a path are always those of a plain list, nothing is left."""
    choose, watches, plain = random.Random(3), WatchTable(), {}
    names = [b"/r" + b"".join(b"/%d" % choose.randrange(3) for _ in range(choose.randrange(5))) for _ in range(60)]
    for number in range(1, 400):
        folder = choose.choice(names)
        match choose.randrange(4):
            case 0:
                dropped = watches.drop_below([folder])
                gone = {f for f in plain if f == folder or f.startswith(folder + b"/")}
                assert sorted(dropped) == sorted(plain.pop(f) for f in gone)
            case 1:
                kept = set(choose.sample(names, 5))
                dropped = watches.keep_only({folder}, kept)
                gone = {f for f in plain if f not in kept and (f == folder or f.startswith(folder + b"/"))}
                assert sorted(dropped) == sorted(plain.pop(f) for f in gone)
            case _ if folder not in plain:
                watches.add(number, folder)
                plain[folder] = number
        assert len(watches) == len(plain)
    watches.drop_below([b"/r"])
    assert (len(watches), watches._children) == (0, {})


def test_of_a_folder_watched_for_some_names_the_others_say_nothing():
    """Until it is watched for all of them, which it stays whoever asks for some again."""
    table = WatchTable()
    table.add(1, b"/r/.git", frozenset({b"info"}))
    events = [Event(1, CREATE, b"index.lock"), Event(1, CREATE | ISDIR, b"info")]
    assert [hint.path for hint in table.read(events).hints] == [b"/r/.git/info"]
    table.add(1, b"/r/.git")
    table.add(1, b"/r/.git", frozenset({b"info"}))
    assert [hint.path for hint in table.read(events).hints] == [b"/r/.git/index.lock", b"/r/.git/info"]
