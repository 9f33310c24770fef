"""One shot: bring a store up to date without a thread and without a watch."""

import os
import stat

import pytest

from indexerd.clock import SystemClock
from indexerd.errors import NotFoundError
from indexerd.model import Settings
from indexerd.sync.status import Named
from tests.fakes.sync_rig import Rig


@pytest.fixture
def rig(tmp_path):
    with Rig(tmp_path, watch=False) as made:
        yield made


def test_a_first_run_adds_everything(rig):
    """All files are added, and the report counts them."""
    rig.write("a.md", "# A\n\nalpha\n")
    rig.write("deep/b.md", "# B\n\nbeta\n")
    report = rig.loop.sync_once()
    assert (report.generation, report.added, report.updated, report.deleted) == (1, 2, 0, 0)
    assert rig.paths() == ["a.md", "deep/b.md"]
    assert report.chunks_active == 2


def test_a_run_that_changes_nothing_publishes_nothing(rig):
    """A second run, and one after a touch with equal bytes, leave the generation as it is."""
    path = rig.write("a.md", "alpha")
    rig.loop.sync_once()
    report = rig.loop.sync_once()
    os.utime(path)
    touched = rig.loop.sync_once()
    assert (report.generation, report.unchanged, touched.generation, touched.unchanged) == (1, 1, 1, 1)


class _Later(SystemClock):
    """The time in a minute: files written now are old enough to be believed."""

    def now_ns(self):
        return super().now_ns() + 60 * 10**9


def test_fingerprints_that_did_not_change_are_not_written(tmp_path):
    """A run that reads nothing leaves the file of fingerprints alone; one that read something replaces it."""
    rig = Rig(tmp_path, watch=False)
    rig.clock = _Later()
    with rig:
        rig.write("a.md", "alpha")
        rig.loop.sync_once()
        rig.close()
        first = (rig.state / "fingerprints").stat()
        rig.open()
        rig.loop.sync_once()
        assert (rig.state / "fingerprints").stat() == first
        rig.write("b.md", "beta")
        rig.loop.sync_once()
        assert (rig.state / "fingerprints").stat() != first


def test_the_last_file_removed_leaves_an_empty_index(rig):
    """A root emptied of its only file has no documents, in a new generation."""
    path = rig.write("a.md", "alpha")
    rig.loop.sync_once()
    path.unlink()
    report = rig.loop.sync_once()
    assert (report.deleted, report.generation, rig.paths(), report.chunks_active) == (1, 2, [], 0)


def test_a_file_cut_short_keeps_no_old_tail(rig):
    """A file emptied has no chunks, one cut to two sections has two."""
    rig.write("a.md", "# One\n\na\n\n# Two\n\nb\n\n# Three\n\nc\n")
    rig.write("b.md", "# One\n\na\n\n# Two\n\nb\n\n# Three\n\nc\n")
    assert rig.loop.sync_once().chunks_active == 6
    rig.write("a.md", "")
    rig.write("b.md", "# One\n\na\n\n# Two\n\nb\n")
    assert rig.loop.sync_once().chunks_active == 2


def test_what_happened_while_nobody_looked_is_found(tmp_path, rig):
    """Files added, edited, renamed and deleted between two runs lead to the index of a fresh one."""
    for name in ("add", "edit", "rename", "delete"):
        rig.write(f"{name}.md", f"# {name}\n\nfirst\n")
    rig.loop.sync_once()
    rig.close()
    rig.write("new.md", "new")
    rig.write("edit.md", "second")
    (rig.root / "rename.md").rename(rig.root / "renamed.md")
    (rig.root / "delete.md").unlink()
    rig.open()
    report = rig.loop.sync_once()
    assert (report.added, report.updated, report.deleted) == (2, 1, 2)
    assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_a_named_file_is_the_only_one_looked_at(rig):
    """Syncing one path leaves all others, also those that are gone; a named one that is gone is removed."""
    for name in ("a", "b", "c"):
        rig.write(f"{name}.md", "first")
    rig.loop.sync_once()
    (rig.root / "b.md").unlink()
    rig.write("c.md", "second")
    report = rig.loop.sync_once([str(rig.root / "c.md")])
    assert (report.updated, report.deleted, rig.paths()) == (1, 0, ["a.md", "b.md", "c.md"])
    assert rig.loop.sync_once(["b.md"]).deleted == 1


def test_a_path_outside_all_roots_is_refused(rig, tmp_path):
    """A path that no root holds is an error, and nothing is done."""
    with pytest.raises(NotFoundError):
        rig.loop.sync_once([str(tmp_path / "elsewhere.md")])


def test_a_binary_file_is_listed_and_not_indexed(rig):
    """A NUL early in a file makes it binary; a document that becomes binary is removed."""
    rig.write("was.md", "text")
    rig.write("blob.md", b"a\0b")
    report = rig.loop.sync_once()
    assert [(entry.source_path, entry.reason) for entry in report.skipped] == [("blob.md", "binary")]
    assert not report.complete()
    rig.write("was.md", b"\0")
    report = rig.loop.sync_once()
    assert report.deleted == 1
    assert [entry.source_path for entry in report.skipped] == ["blob.md", "was.md"]


def test_a_binary_file_that_becomes_text_is_indexed_and_no_longer_listed(rig):
    """The list of skipped files follows what the files are now."""
    rig.write("blob.md", b"a\0b")
    rig.loop.sync_once()
    rig.write("blob.md", "text")
    report = rig.loop.sync_once()
    assert (report.added, report.skipped) == (1, ())


def test_a_file_replaced_by_a_folder_and_back_is_followed(rig):
    """A folder with the name of a document is no document; a file with the name of a folder is one."""
    path = rig.write("n.md", "file")
    rig.loop.sync_once()
    path.unlink()
    rig.write("n.md/inner.md", "inner")
    rig.loop.sync_once()
    assert rig.paths() == ["n.md/inner.md"]
    (path / "inner.md").unlink()
    path.rmdir()
    rig.write("n.md", "file again")
    rig.loop.sync_once()
    assert rig.paths() == ["n.md"]


def test_new_settings_redo_every_document_once(rig, tmp_path):
    """Another chunk size makes all documents anew in one generation; a second run redoes none."""
    rig.write("a.md", "word " * 400)
    rig.write("b.md", "text")
    before = rig.loop.sync_once()
    rig.close()
    rig._settings = Settings(max_chars=200)
    rig.open()
    report = rig.loop.sync_once()
    assert (report.updated, report.added, report.generation) == (2, 0, before.generation + 1)
    assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")
    assert rig.loop.sync_once().generation == report.generation


def test_a_vanished_root_holds_its_documents(rig):
    """A root that is not there tombstones nothing; its documents are held until it is back."""
    rig.write("a.md", "alpha")
    rig.loop.sync_once()
    rig.root.rename(rig.root.with_name("away"))
    report = rig.loop.sync_once()
    assert (report.deleted, rig.paths(), rig.loop.held()) == (0, ["a.md"], {"a.md"})
    assert "root_unavailable" in rig.problems()
    assert report.skipped == (Named("r0", "missing"),)
    assert rig.loop.barrier(0.0).failure.code == "root_unavailable"
    rig.root.with_name("away").rename(rig.root)
    report = rig.loop.sync_once()
    assert (report.updated, report.held, report.skipped, rig.problems()) == (0, (), (), set())


def test_two_roots_keep_their_documents_apart(tmp_path):
    """Files of one name in two roots are two documents, named by the labels."""
    with Rig(tmp_path, tmp_path / "one", tmp_path / "two", watch=False) as rig:
        rig.write("a.md", "first", rig.roots[0].path)
        rig.write("a.md", "second", rig.roots[1].path)
        rig.loop.sync_once()
        assert [rig.text("r0/a.md"), rig.text("r1/a.md")] == ["first", "second"]


def test_the_fingerprints_outlive_a_restart(rig, monkeypatch):
    """After a restart no file whose stat is old enough to trust is read again."""
    old = 1_600_000_000
    path = rig.write("a.md", "alpha")
    os.utime(path, (old, old))
    rig.until(lambda: rig.clock.now_ns() - path.stat().st_ctime_ns > 2_200_000_000)
    rig.loop.sync_once()
    rig.close()
    rig.open()
    reads = []
    monkeypatch.setattr(type(rig.loop._sources), "read", lambda _self, path: reads.append(path))
    rig.loop.sync_once()
    assert reads == []


def test_a_damaged_fingerprint_file_costs_time_and_nothing_else(rig):
    """Garbage in place of the fingerprints means that everything is read, with the same result."""
    rig.write("a.md", "alpha")
    rig.loop.sync_once()
    rig.close()
    (rig.state / "fingerprints").write_bytes(b"\xff" * 100)
    rig.open()
    report = rig.loop.sync_once()
    assert (report.generation, report.unchanged) == (1, 1)


def test_many_files_are_read_by_worker_processes_with_the_same_result(tmp_path):
    """What workers index is what this process would."""
    with Rig(tmp_path, watch=False, workers=2) as rig:
        for number in range(60):
            rig.write(f"{number}.md", f"# Note {number}\n\n" + f"words of note {number} in many lines\n" * 3000)
        rig.write("blob.md", b"\0")
        report = rig.loop.sync_once()
        assert report.added == 60
        assert [entry.source_path for entry in report.skipped] == ["blob.md"]
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_the_state_directory_inside_the_root_is_not_indexed(tmp_path):
    """The daemon's own files are never documents."""
    with Rig(tmp_path, tmp_path, watch=False) as rig:
        rig.write("a.md", "alpha")
        rig.write("state/trap.md", "not a document")
        rig.loop.sync_once()
        assert rig.paths() == ["a.md"]
        assert stat.S_IMODE(rig.state.stat().st_mode) == 0o700


def test_new_settings_keep_what_cannot_be_looked_at(tmp_path):
    """Documents of a missing root are redone from the text the store kept, and stay held."""
    with Rig(tmp_path, tmp_path / "one", tmp_path / "two", watch=False) as rig:
        rig.write("a.md", "word " * 400, rig.roots[0].path)
        rig.write("b.md", "word " * 400, rig.roots[1].path)
        rig.loop.sync_once()
        rig.close()
        (tmp_path / "two").rename(tmp_path / "away")
        rig._settings = Settings(max_chars=200)
        rig.open()
        rig.loop.sync_once()
        assert (rig.paths(), rig.loop.held()) == (["r0/a.md", "r1/b.md"], {"r1/b.md"})
        (tmp_path / "away").rename(tmp_path / "two")
        report = rig.loop.sync_once()
        assert (report.updated, report.held) == (0, ())
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_a_document_of_a_root_that_is_no_more_is_removed(tmp_path):
    """A root left out of the set takes its documents along."""
    with Rig(tmp_path, tmp_path / "one", tmp_path / "two", watch=False) as rig:
        rig.write("a.md", "first", rig.roots[0].path)
        rig.write("b.md", "second", rig.roots[1].path)
        rig.loop.sync_once()
        rig.close()
        rig.roots = rig.roots[:1]
        rig.open()
        assert (rig.loop.sync_once().deleted, rig.paths()) == (1, ["r0/a.md"])
