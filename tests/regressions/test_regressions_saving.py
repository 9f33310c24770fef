"""What people reported of saving: editors' ways to write a file that were missed, and old text that stayed."""

import mmap
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tests.fakes.daemon_process import PATIENCE_SECONDS, wait_for
from tests.fakes.watched_notes import PERMISSIONS_COUNT, Notes

pytestmark = pytest.mark.slow
OPTIONS = {"through": PERMISSIONS_COUNT}
FILES = {"stable.md": "stableword\n"}


@pytest.mark.parametrize("temporary", [".tmp", "~", ".swp", ".sb-12ab", ".md", ""])
def test_a_save_by_rename_is_found(notes, temporary):
    """A temporary file renamed onto the note was never indexed, whatever its name; new text is found, old is gone."""
    name = f"renamed{len(temporary)}{temporary.strip('.~')}.md"
    notes.write(name, "oldrename\n")
    assert notes.found("oldrename") == [name]
    if temporary:
        notes.save(name, "newrename\n", temporary)
    else:  # from a folder that is not watched
        outside = notes.place / "outside.md"
        outside.write_text("newrename\n")
        os.replace(outside, notes.root / name)
    assert notes.found("newrename") == [name]
    assert notes.found("oldrename") == []
    (notes.root / name).unlink()


def test_twenty_saves_by_rename_never_lose_the_note(notes):
    """The note vanished from the index after a save; through twenty it is there at every moment, in its last text."""
    notes.write("kept.md", "keptword turn0\n")
    notes.ask("keptword")
    for turn in range(1, 21):
        notes.save("kept.md", f"keptword turn{turn}\n")
        assert notes.best("keptword")["text"] == f"keptword turn{turn}\n"
        assert [name for name in notes.documents() if name.startswith("kept")] == ["kept.md"]


@pytest.mark.skipif(shutil.which("vim") is None, reason="needs vim")
@pytest.mark.parametrize("backup", ["no", "yes", "auto"])
def test_saves_by_vim_are_found(notes, backup):
    """Vim's renames to and fro looked like a deletion; after each save the note is there with its last text."""
    path = notes.write(f"vim-{backup}.md", "vimword turn0\n")
    for turn in range(1, 8):
        commands = (f"set backupcopy={backup} backup writebackup", f"1s/turn.*/turn{turn}/", "wq")
        options = [part for command in commands for part in ("-c", command)]
        subprocess.run(
            ["vim", "-Nes", "-u", "NONE", *options, path], check=True, capture_output=True, timeout=PATIENCE_SECONDS
        )
        assert notes.best("vimword", paths=[path.name])["text"] == f"vimword turn{turn}\n"
    assert f"vim-{backup}.md~" not in notes.documents()


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_an_index_that_lags_never_gives_old_text(notes, change):
    """An old index answered with text that was gone; here it is given only to who asks for the past by name."""
    path = notes.write("lagging.md", "laggingword\n")
    generation = notes.ask("laggingword")["generation"]
    if change == "edit":
        path.write_text("laggingchanged\n")
    else:
        path.unlink()
    # Without any wait, a hit that its file does not prove is withheld and counted.
    reply = notes.daemon.call("query", text="laggingword", wait_ms=0)
    assert reply["hits"] == []
    assert notes.found("laggingword") == []
    past = notes.daemon.call("query", text="laggingword", generation=generation)
    assert [hit["text"] for hit in past["hits"]] == ["laggingword\n"]
    assert past["historical"] is not None


def test_a_change_that_makes_no_event_is_never_answered_old(notes):
    """A write through a mapping tells nobody; the old text is not given all the same, and the new one is found."""
    path = notes.write("mapped.md", "mappedone steady\n")
    notes.ask("mappedone")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as area:
        area[6:9] = b"two"
    assert notes.ask("mappedone")["hits"] == []
    assert notes.best("mappedtwo")["text"] == "mappedtwo steady\n"


def test_a_write_through_another_hard_link_is_never_answered_old(notes):
    """One name of a file was written and the other kept its old text; that is not given, and by then both are new."""
    path = notes.write("link-one.md", "linkedold both\n")
    os.link(path, notes.root / "link-two.md")
    assert len(notes.found("linkedold", distinct=False)) == 2
    with (notes.root / "link-two.md").open("r+") as file:
        file.write("linkednew")
    assert notes.found("linkedold") == []
    assert sorted(notes.found("both linkednew", distinct=False)) == ["link-one.md", "link-two.md"]


def test_the_last_note_removed_leaves_nothing(own_notes):
    """An empty folder was taken for nothing to do; the last document goes, in a new generation."""
    path = own_notes.write("only.md", "onlyword\n")
    own_notes.start()
    before = own_notes.ask("onlyword")
    path.unlink()
    after = own_notes.ask("onlyword")
    assert after["hits"] == []
    assert after["generation"] > before["generation"]
    status = own_notes.settle()
    assert (status["documents"], status["chunks"]) == (0, 0)


def test_a_note_cut_short_keeps_no_old_tail(notes):
    """Chunks of the longer version stayed; emptied it has none, cut to two sections it has two."""
    text = "".join(f"## S{n}\n\ntailword{n}\n\n" for n in range(5))
    for name in ("emptied.md", "cut.md"):
        notes.write(name, text)
    assert {row["chunks"] for name, row in notes.documents().items() if name in {"emptied.md", "cut.md"}} == {5}
    notes.write("emptied.md", "")
    notes.write("cut.md", "".join(text.partition("## S2")[:1]))
    rows = notes.documents()
    assert (rows["emptied.md"]["chunks"], rows["cut.md"]["chunks"]) == (0, 2)
    assert [notes.found(f"tailword{n}") for n in range(5)] == [["cut.md"], ["cut.md"], [], [], []]


def test_an_edit_of_equal_size_and_time_is_noticed(notes):
    """Size and time were taken for identity; text of the same length with its time put back is found."""
    path = notes.write("same.md", "aaaaword\n")
    notes.ask("aaaaword")
    stat = path.stat()
    path.write_bytes(b"bbbbword\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert notes.found("bbbbword") == ["same.md"]
    assert notes.found("aaaaword") == []


def test_a_writer_that_pauses_leaves_its_last_text(notes):
    """A file emptied and written later stayed empty; each answer has a whole version, and the last one stays."""
    path = notes.write("paused.md", "pausedword one\n")
    notes.ask("pausedword")
    written = threading.Event()

    def write_slowly():
        with path.open("w") as file:
            written.wait(0.2)  # nobody sets it before: the pause is the case
            file.write("pausedword two\n")

    writer = threading.Thread(target=write_slowly)
    writer.start()
    seen = set()
    while writer.is_alive():
        reply = notes.daemon.call("query", text="pausedword", wait_ms=10)
        seen |= {hit["text"] for hit in reply["hits"]}
    writer.join()
    assert seen <= {"pausedword one\n", "pausedword two\n"}
    assert notes.best("pausedword")["text"] == "pausedword two\n"


def test_a_single_write_is_indexed_without_another_event(notes):
    """A file skipped because it was being written was not looked at again; one write alone is found, asked or not."""
    with (notes.root / "single.md").open("w") as file:
        file.write("singleword\n")
        file.flush()
        wait_for(lambda: notes.daemon.call("query", text="singleword", wait_ms=0)["hits"])


def test_names_that_differ_in_case_are_two(notes):
    """Names were folded: twins merged, a rename by case left both; the index has exactly the names on disk."""
    notes.write("case/README.md", "casetwin upper\n")
    notes.write("case/readme.md", "casetwin lower\n")
    assert sorted(notes.found("casetwin")) == ["case/README.md", "case/readme.md"]
    (notes.root / "case/README.md").rename(notes.root / "case/Readme.md")
    assert sorted(notes.found("casetwin")) == ["case/Readme.md", "case/readme.md"]


def test_a_copy_back_of_a_moved_note_is_a_document(notes):
    """Equal bytes were taken for the moved file itself; both places are documents."""
    path = notes.write("move/a.md", "copiedword\n")
    notes.ask("copiedword")
    path.rename(notes.root / "move/b.md")
    shutil.copyfile(notes.root / "move/b.md", path)
    assert {"move/a.md", "move/b.md"} <= set(notes.documents())
    assert sorted(notes.found("copiedword", distinct=False)) == ["move/a.md", "move/b.md"]


def test_a_folder_named_like_a_note_is_a_folder(notes):
    """Moving and removing `x.md/` was read as events of a file; no problem stands, and the index is right."""
    notes.write("x.md/inner.md", "folderword\n")
    assert notes.found("folderword") == ["x.md/inner.md"]
    (notes.root / "x.md").rename(notes.root / "y.md")
    assert notes.found("folderword") == ["y.md/inner.md"]
    shutil.rmtree(notes.root / "y.md")
    assert notes.found("folderword") == []
    assert notes.settle()["problems"] == []


def test_what_changes_its_kind_is_followed(notes):
    """File, folder and link of one name replaced one another and the old one stayed; each is what it is now."""
    path = notes.write("kind.md", "kindfile\n")
    assert notes.found("kindfile") == ["kind.md"]
    path.unlink()
    notes.write("kind.md/inner.md", "kindfolder\n")
    assert (notes.found("kindfile"), notes.found("kindfolder")) == ([], ["kind.md/inner.md"])
    shutil.rmtree(path)
    path.symlink_to(notes.root / "stable.md")
    assert notes.found("stableword") == ["stable.md"]
    assert notes.found("kindfolder") == []
    path.unlink()
    path.write_text("kindagain\n")
    assert notes.found("kindagain") == ["kind.md"]
    assert notes.settle()["problems"] == []


def test_a_note_that_may_not_be_read_holds_up_no_other(notes):
    """One unreadable file ended the run; the other nine are indexed, and the one is listed with its cause."""
    for number in range(10):
        path = notes.write(f"ten/{number}.new", f"tenword{number}\n")
        path.chmod(0 if number == 3 else 0o644)
        path.rename(path.with_suffix(".md"))
    found = [notes.found(f"tenword{number}") for number in range(10)]
    assert found == [[] if number == 3 else [f"ten/{number}.md"] for number in range(10)]
    assert notes.status()["skipped_files"] == [{"source_path": "ten/3.md", "reason": "EACCES"}]
    (notes.root / "ten/3.md").chmod(0o644)
    assert notes.found("tenword3") == ["ten/3.md"]
    assert notes.status()["skipped_files"] == []


def test_a_folder_that_may_not_be_read_keeps_its_notes(notes):
    """`Cannot look` was read as `gone`; the documents are held: not served, not deleted, back when it can be read."""
    folder = notes.write("closed/n.md", "closedword\n").parent
    assert notes.found("closedword") == ["closed/n.md"]
    folder.chmod(0)
    try:
        reply = notes.ask("closedword")
        assert reply["hits"] == []
        deleted = notes.daemon.call("documents", deleted=True)["documents"]
        assert "closed/n.md" not in {row["source_path"] for row in deleted}
        assert {entry["source_path"]: entry["reason"] for entry in notes.status()["held_files"]} == {
            "closed/n.md": "EACCES"
        }
    finally:
        folder.chmod(0o755)
    assert notes.found("closedword") == ["closed/n.md"]


def test_a_read_only_index_still_answers(tmp_path):
    """A write that failed broke reading too; answers keep the last good generation, the problem names the directory."""
    notes = Notes(tmp_path, **OPTIONS)
    notes.write("a.md", "steadyword\n")
    notes.write("b.md", "firstword\n")
    notes.start()
    state = Path(notes.daemon.state)
    try:
        before = notes.ask("steadyword")
        wait_for(lambda: notes.status()["durable_generation"] == before["generation"])
        state.chmod(0o500)
        notes.write("b.md", "secondword\n")
        failed = lambda: [one for one in notes.status()["problems"] if one["code"] == "publish_failed"]  # noqa: E731
        problem = wait_for(failed)[0]
        during = notes.daemon.call("query", text="steadyword", wait_ms=None)
        assert [hit["text"] for hit in during["hits"]] == ["steadyword\n"]
        assert during["generation"] == before["generation"]
        assert notes.daemon.call("query", text="firstword", wait_ms=None)["hits"] == []
        assert (str(state) in problem["detail"], "EACCES" in problem["detail"]) == (True, True), problem
        state.chmod(0o700)
        wait_for(lambda: notes.daemon.call("query", text="secondword")["hits"])
        assert notes.settle()["problems"] == []
    finally:
        state.chmod(0o700)
        notes.close()
