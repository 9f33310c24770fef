"""A file with several names below the roots is the same under each of them, whichever a writer uses."""

import os

import pytest

from tests.fakes.sync_rig import Rig


@pytest.mark.parametrize("restart", [False, True], ids=["same process", "after a restart"])
def test_a_write_through_one_hard_link_is_seen_under_the_other(tmp_path, restart):
    """The kernel tells of the name that was written through alone; the other one is looked at as well."""
    other = tmp_path / "other"
    (other / "deep").mkdir(parents=True)
    with Rig(tmp_path, tmp_path / "notes", other) as rig:
        first = rig.write("one.md", "old text")
        os.link(first, other / "deep/two.md")
        rig.start()
        if restart:
            rig.close()
            rig.open().start()
        old = {path: rig.text(path) for path in rig.paths()}
        assert len(old) == 2
        first.write_text("new text, in place")
        rig.settle()
        assert {rig.text(path) for path in old} == {"new text, in place"}
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_a_link_that_was_replaced_is_a_file_of_its_own(tmp_path):
    """An atomic save parts the names: the other one keeps the old text."""
    with Rig(tmp_path) as rig:
        first = rig.write("one.md", "old text")
        os.link(first, rig.root / "two.md")
        rig.start()
        rig.save("one.md", "new text")
        rig.settle()
        assert (rig.text("one.md"), rig.text("two.md")) == ("new text", "old text")
