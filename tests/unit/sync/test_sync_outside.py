"""Files that rule a root from outside of it: each change is told once."""

import os

import pytest

from indexerd.model import Root
from indexerd.sync.outside import OutsideRules
from tests.fakes.manual_clock import ManualClock

ONE, TWO = Root("/one", "one"), Root("/two", "two")


class Place:
    """Files for each root, and a clock that stands still until it is moved on."""

    def __init__(self, folder) -> None:
        self.folder, self.clock, self.refusing = folder, ManualClock(), False
        self.names = {ONE: ["shared", "of-one"], TWO: ["shared", "of-two"]}

    def files_of(self, root):
        if self.refusing:
            raise OSError(24, "too many open files")
        return [os.fsencode(self.folder / name) for name in self.names[root]]

    def rules(self) -> OutsideRules:
        return OutsideRules([ONE, TWO], self.files_of, self.clock)

    def write(self, name, text) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_each_change_is_told_once_to_the_roots_it_concerns(place):
    """Made, written, made executable, removed: of a file for both roots both are told, of its own each alone."""
    rules = place.rules()
    assert rules.changed() == []
    place.write("shared", "a")
    assert rules.changed() == [ONE, TWO]
    assert rules.changed() == []
    place.write("of-two", "a")
    assert rules.changed() == [TWO]
    (place.folder / "shared").chmod(0o700)
    assert rules.changed() == [ONE, TWO]
    (place.folder / "of-two").unlink()
    assert (rules.changed(), rules.changed()) == ([TWO], [])


def test_a_file_in_a_folder_that_was_not_there_is_noticed(place):
    """However deep it is made."""
    place.names[ONE].append("not/yet/there")
    rules = place.rules()
    place.write("not/yet/there", "a")
    assert rules.changed() == [ONE]


def test_files_that_a_look_has_met_are_asked_for_from_then_on(place):
    """The root counts as changed once: between the look and the first stat the file may have been written."""
    met: dict[Root, frozenset[bytes]] = {}
    rules = OutsideRules([ONE, TWO], place.files_of, place.clock, met_in=lambda root: met.get(root, frozenset()))
    met[ONE] = frozenset({b"worktree"})
    place.names[ONE].append("elsewhere")
    assert (rules.changed(), rules.changed()) == ([ONE], [])
    place.write("elsewhere", "a")
    assert (rules.changed(), rules.changed()) == ([ONE], [])


def test_what_is_done_in_a_folder_is_no_change_of_it(place):
    """It is there or it is not."""
    (place.folder / "of-one").mkdir()
    rules = place.rules()
    place.write("of-one/inside", "a")
    assert rules.changed() == []
    place.write("of-one/inside", "b")
    (place.folder / "of-one/inside").unlink()
    (place.folder / "of-one").rmdir()
    assert rules.changed() == [ONE]


def test_a_write_that_leaves_the_stat_as_it_was_is_noticed_while_the_file_is_young(place, monkeypatch):
    """Of two writes within one tick of the clock only the bytes tell; of an old file the stat is enough."""
    place.write("shared", "a")
    stats = {}
    monkeypatch.setattr("indexerd.sync.outside._stat", lambda path: stats.get(path, (place.clock.now_ns(),) * 2))
    stats[os.fsencode(place.folder / "shared")] = (place.clock.now_ns(),) * 6
    stats[os.fsencode(place.folder / "of-one")] = stats[os.fsencode(place.folder / "of-two")] = ()
    rules = place.rules()
    assert rules.changed() == []
    place.write("shared", "b")
    assert rules.changed() == [ONE, TWO]
    place.clock.advance(3)
    assert rules.changed() == []
    place.write("shared", "c")
    assert rules.changed() == [], "read no more: its stat would tell"


def test_a_list_of_files_that_changes_is_asked_for_anew(place):
    """A file of settings that names another one: from then on that one counts."""
    rules = place.rules()
    place.names[ONE].append("named")
    place.write("of-one", "names another")
    assert rules.changed() == [ONE]
    place.write("named", "a")
    assert rules.changed() == [ONE]


def test_a_list_that_cannot_be_made_is_a_change_once_it_can(place):
    """For want of descriptors nothing is known: the root is looked at as soon as something is."""
    place.refusing = True
    rules = place.rules()
    assert rules.changed() == []
    place.refusing = False
    assert (rules.changed(), rules.changed()) == ([ONE, TWO], [])
