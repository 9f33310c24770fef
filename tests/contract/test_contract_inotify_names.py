"""The names and values of the watching library that the watcher relies on are what it expects."""

import inspect
import os

from watchdog.observers import inotify_c
from watchdog.observers.inotify_c import InotifyConstants, InotifyFD, inotify_add_watch, inotify_rm_watch

from indexerd.sync import watches

CONSTANTS = [name for name in dir(watches) if hasattr(InotifyConstants, f"IN_{name}")]


def test_our_event_bits_are_those_of_the_library():
    """Every bit we name has the library's value."""
    assert len(CONSTANTS) >= 16
    for name in CONSTANTS:
        assert getattr(watches, name) == getattr(InotifyConstants, f"IN_{name}"), name
    assert watches.OVERFLOW == InotifyConstants.IN_Q_OVERFLOW


def test_the_lean_mask_holds_nothing_that_reading_causes():
    """Opening, reading and closing without a write wake nobody."""
    noisy = InotifyConstants.IN_OPEN | InotifyConstants.IN_ACCESS | InotifyConstants.IN_CLOSE_NOWRITE
    assert not (watches.FOLDER_MASK | watches.ROOT_MASK) & noisy


def test_the_library_opens_a_descriptor_and_parses_its_records(tmp_path):
    """The five names used do what the watcher needs: open, add, remove, parse; and refuse with errno set."""
    descriptor = InotifyFD._create_inotify_fd()
    try:
        wd = inotify_add_watch(descriptor, os.fsencode(tmp_path), watches.FOLDER_MASK)
        assert wd > 0
        (tmp_path / "x.md").write_text("x")
        records = list(InotifyFD._parse_event_buffer(os.read(descriptor, 4096)))
        assert [(record[0], record[3]) for record in records] == [(wd, b"x.md")] * 3
        assert inotify_rm_watch(descriptor, wd) == 0
        assert inotify_add_watch(descriptor, b"/nowhere/at/all", watches.FOLDER_MASK) == -1
    finally:
        os.close(descriptor)


def test_creating_a_descriptor_is_a_plain_call():
    """The library's way to open a descriptor takes no argument and starts no thread."""
    assert list(inspect.signature(InotifyFD._create_inotify_fd).parameters) == []
    assert "use_errno=True" in inspect.getsource(inotify_c)
