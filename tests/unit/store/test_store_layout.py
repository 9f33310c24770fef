"""Names of the state directory."""

import pytest

from indexerd.store.layout import FileName, Kind, SlotName, parse_name


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("serial", [0, 1, 2**63])
def test_a_name_reads_back(kind, damaged, serial):
    """A file's name says what it is."""
    name = FileName(kind, serial, bytes(range(16)), damaged)
    assert parse_name(str(name)) == name
    assert "/" not in str(name)


def test_slots_are_known():
    """The two slots have fixed names."""
    assert [parse_name(name) for name in ("latest", "durable")] == [SlotName.LATEST, SlotName.DURABLE]


@pytest.mark.parametrize(
    "name", ["", "notes.md", "LATEST", "latest ", "0-0.segment", f"{1:016x}-{'0' * 32}.segment.bak",
             f"../{1:016x}-{'0' * 32}.segment", f"{1:016X}-{'A' * 32}.segment", f"{1:016x}-{'0' * 32}.segment\n"],
)  # fmt: skip
def test_what_is_not_ours_is_not_ours(name):
    """Any other name is left alone."""
    assert parse_name(name) is None
