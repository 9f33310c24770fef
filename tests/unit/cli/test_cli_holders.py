"""The kernel's lists of locks and sockets, read."""

import fcntl
import os

from indexerd.cli.holders import holders, holding_processes, listening, sockets_of_holder

LOCKS = [
    "1: FLOCK  ADVISORY  WRITE 4242 08:01:131 0 EOF",
    "2: POSIX  ADVISORY  WRITE 7 08:01:131 0 EOF",
    "3: FLOCK  ADVISORY  WRITE 9 08:01:1131 0 EOF",
    "3: -> FLOCK  ADVISORY  WRITE 10 08:01:131 0 EOF",
    "nonsense",
]
SOCKETS = [
    "Num       RefCount Protocol Flags    Type St Inode Path",
    "0000000000000000: 00000002 00000000 00010000 0001 01 555 /run/u/a b.sock",
    "0000000000000000: 00000003 00000000 00000000 0001 03 556 /run/u/connected.sock",
    "0000000000000000: 00000002 00000000 00010000 0001 01 557 @abstract",
    "0000000000000000: 00000003 00000000 00000000 0001 03 558",
]


def test_the_holder_of_a_directory_is_read_from_the_list_of_locks():
    """Only whole-file locks that are held count, not those of other inodes and not those that wait."""
    assert holders(LOCKS, 131) == [4242]
    assert holders(LOCKS, 5) == []


def test_listening_sockets_are_found_by_inode():
    """Connected, abstract and nameless sockets are none; a path may hold spaces."""
    assert listening(SOCKETS) == {"555": "/run/u/a b.sock"}


def test_a_directory_that_nobody_holds_has_no_sockets(tmp_path):
    """No lock, no answer; no directory, no answer."""
    assert sockets_of_holder(str(tmp_path)) == []
    assert sockets_of_holder(str(tmp_path / "missing")) == []


def test_who_holds_a_directory_is_named_while_it_is_held(tmp_path):
    """The process with the lock is found through the directory that it has open; afterwards nobody is."""
    opened = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        assert holding_processes(str(tmp_path)) == [os.getpid()]
    finally:
        os.close(opened)
    assert holding_processes(str(tmp_path)) == holding_processes("") == []
