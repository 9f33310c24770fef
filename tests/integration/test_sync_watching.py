"""The running daemon's sync: whatever is done to the files, the barrier then tells the truth."""

import mmap
import os
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from indexerd.model import Settings
from indexerd.sync.scan import Scanner
from indexerd.wiring.coming import Coming
from tests.fakes.costs import costs_less_than
from tests.fakes.sync_rig import PATIENCE_SECONDS, Rig


@pytest.fixture
def rig(tmp_path):
    with Rig(tmp_path) as made:
        made.write("n.md", "first")
        yield made.start()


def test_an_atomic_save_is_found_and_the_old_text_is_gone(rig):
    """Twenty saves by rename: each is indexed at the next barrier, and the count of documents stays."""
    for number in range(20):
        rig.save("n.md", f"text {number}")
        rig.settle()
        assert (rig.text("n.md"), rig.paths()) == (f"text {number}", ["n.md"])


def test_a_save_in_place_is_found(rig):
    """Truncate, write, close: the new text is indexed, an empty one is never left."""
    for number in range(20):
        rig.write("n.md", f"text {number}")
        rig.settle()
        assert rig.text("n.md") == f"text {number}"


def test_a_save_with_a_backup_is_found(rig):
    """Rename to a backup, write anew, remove the backup, as vim does without backupcopy."""
    path = rig.root / "n.md"
    for number in range(20):
        path.rename(rig.root / "n.md~")
        path.write_text(f"text {number}")
        (rig.root / "n.md~").unlink()
        rig.settle()
        assert (rig.text("n.md"), rig.paths()) == (f"text {number}", ["n.md"])


def test_a_file_written_without_being_closed_is_found(rig):
    """Text that was flushed but whose file stays open is searchable at the next barrier."""
    with (rig.root / "log.md").open("w") as log:
        for number in range(5):
            log.write(f"line {number}\n")
            log.flush()
            rig.settle()
            assert rig.text("log.md").endswith(f"line {number}\n")


def test_a_file_written_without_being_closed_is_published_without_anybody_asking(rig):
    """A log that grows all the time is published all the same."""
    with (rig.root / "log.md").open("w") as log:

        def is_published():
            log.write("x\n")
            log.flush()
            time.sleep(0.01)
            return rig.text("log.md") not in (None, "")

        rig.until(is_published)
    rig.until(lambda: rig.text("log.md") == (rig.root / "log.md").read_text())


def test_a_file_truncated_and_written_later_does_not_stay_empty(rig):
    """A writer that sleeps between truncating and writing leaves its last text."""
    with (rig.root / "n.md").open("w") as file:
        time.sleep(0.2)
        file.write("late text")
    rig.settle()
    assert rig.text("n.md") == "late text"


def test_an_edit_with_size_and_time_put_back_is_found(rig):
    """Equal size and restored mtime do not hide a change."""
    path = rig.root / "n.md"
    before = path.stat()
    path.write_text("FIRST")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    rig.settle()
    assert rig.text("n.md") == "FIRST"


def test_an_edit_through_a_mapping_is_found_by_a_repair(rig):
    """A write through memory makes no event; asked to repair, the file is read all the same."""
    with (rig.root / "n.md").open("r+b") as file, mmap.mmap(file.fileno(), 5) as mapping:
        mapping[:5] = b"FIRST"
        mapping.flush()
    seen = rig.loop._sources.read("n.md")
    assert rig.loop.repair({"n.md": seen}, time.monotonic() + PATIENCE_SECONDS) is not None
    assert rig.text("n.md") == "FIRST"


def test_new_nested_folders_lose_no_file(rig):
    """Fifty times a file three folders deep, made in one go."""
    for number in range(50):
        deep = rig.root / f"{number}" / "b" / "c"
        deep.mkdir(parents=True)
        (deep / "n.md").write_text(f"text {number}")
        rig.settle()
        assert rig.text(f"{number}/b/c/n.md") == f"text {number}"


def test_a_folder_moved_in_and_out_takes_its_files_along(rig, tmp_path):
    """Files of a folder moved in are indexed, edits inside are seen; moved out, all are gone."""
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    for name in ("a.md", "sub/b.md"):
        (outside / name).write_text("moved")
    shutil.move(outside, rig.root / "in")
    rig.settle()
    assert rig.paths() == ["in/a.md", "in/sub/b.md", "n.md"]
    (rig.root / "in/sub/b.md").write_text("edited inside")
    rig.settle()
    assert rig.text("in/sub/b.md") == "edited inside"
    shutil.move(rig.root / "in", outside)
    rig.settle()
    assert rig.paths() == ["n.md"]
    (outside / "sub/b.md").write_text("edited outside")
    rig.settle()
    assert rig.paths() == ["n.md"]
    assert rig.loop.status().watches == 1


def test_a_folder_renamed_is_known_by_its_new_name_only(rig):
    """After a rename within the root the old paths are gone and edits arrive under the new ones."""
    rig.write("a/x/n.md", "first")
    rig.settle()
    (rig.root / "a").rename(rig.root / "b")
    (rig.root / "b/x/n.md").write_text("second")
    rig.settle()
    assert (rig.paths(), rig.text("b/x/n.md")) == (["b/x/n.md", "n.md"], "second")
    (rig.root / "b/x/n.md").write_text("third")
    rig.settle()
    assert rig.text("b/x/n.md") == "third"


def test_a_folder_renamed_and_made_anew_at_once_keeps_both(rig):
    """The old name can be taken by a new folder in the same moment."""
    rig.write("a/n.md", "old")
    rig.settle()
    for number in range(20):
        (rig.root / "a").rename(rig.root / f"old{number}")
        rig.write("a/n.md", f"new {number}")
        rig.settle()
        assert rig.text("a/n.md") == f"new {number}"
    assert len(rig.paths()) == 22


def test_a_folder_named_like_a_document_is_a_folder(rig):
    """`x.md/` moved and removed leads to no error and the right index."""
    rig.write("x.md/in.md", "inner")
    rig.settle()
    assert rig.paths() == ["n.md", "x.md/in.md"]
    (rig.root / "x.md").rename(rig.root / "y.md")
    rig.settle()
    assert rig.paths() == ["n.md", "y.md/in.md"]
    shutil.rmtree(rig.root / "y.md")
    (rig.root / "y.md").write_text("a file now")
    rig.settle()
    assert (rig.paths(), rig.problems()) == (["n.md", "y.md"], set())


def test_a_link_replaced_by_a_file_is_indexed(rig):
    """A link is no document; the file that takes its name is."""
    (rig.root / "l.md").symlink_to("n.md")
    rig.settle()
    assert rig.paths() == ["n.md"]
    (rig.root / "l.md").unlink()
    rig.write("l.md", "a file")
    rig.settle()
    assert rig.paths() == ["l.md", "n.md"]


def test_a_root_deleted_and_made_anew_is_watched_again(rig):
    """Its documents are held while it is gone; when it is back, the index follows what is there."""
    shutil.rmtree(rig.root)
    rig.settle()
    assert rig.loop.status().roots[0].state == "missing"
    assert rig.loop.held() == set(rig.paths())
    rig.root.mkdir()
    rig.write("new.md", "after")
    rig.until(lambda: rig.paths() == ["new.md"])
    rig.write("new.md", "edited")
    rig.settle()
    assert (rig.text("new.md"), rig.problems()) == ("edited", set())


def test_a_root_renamed_with_another_in_its_place_is_the_other(rig):
    """Events of the tree that moved away change nothing; the new tree is indexed and watched."""
    away = rig.root.with_name("away")
    rig.root.rename(away)
    rig.root.mkdir()
    rig.write("other.md", "other")
    (away / "n.md").write_text("written far away")
    rig.settle()
    assert rig.paths() == ["other.md"]
    rig.write("other.md", "edited")
    rig.settle()
    assert rig.text("other.md") == "edited"


def test_a_root_given_through_a_link_is_watched(tmp_path):
    """Edits made through the real path are seen under the link's name."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with Rig(tmp_path, tmp_path / "link") as rig:
        rig.start()
        (tmp_path / "real" / "sub").mkdir()
        (tmp_path / "real" / "sub" / "a.md").write_text("text")
        rig.settle()
        (tmp_path / "real" / "sub" / "a.md").write_text("edited")
        rig.settle()
        assert (rig.paths(), rig.text("sub/a.md")) == (["sub/a.md"], "edited")


def test_a_root_inside_another_belongs_to_itself(tmp_path):
    """Documents of the inner root have its label only, and events reach it."""
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    with Rig(tmp_path, tmp_path / "outer", tmp_path / "outer" / "inner") as rig:
        rig.write("a.md", "outer")
        rig.write("inner/b.md", "inner")
        rig.start()
        assert rig.paths() == ["r0/a.md", "r1/b.md"]
        rig.write("inner/b.md", "edited")
        rig.settle()
        assert rig.text("r1/b.md") == "edited"


def test_an_edited_ignore_file_acts_at_once(rig):
    """A rule that comes removes what it names, a rule that goes brings it back and watches it."""
    rig.write("secret/s.md", "secret")
    rig.settle()
    rig.write(".gitignore", "secret/\n")
    rig.settle()
    assert rig.paths() == ["n.md"]
    (rig.root / ".gitignore").unlink()
    rig.settle()
    assert rig.paths() == ["n.md", "secret/s.md"]
    rig.write("secret/s.md", "edited")
    rig.settle()
    assert rig.text("secret/s.md") == "edited"


def test_ignored_folders_are_not_watched(rig):
    """Version control's and other ignored folders cost no watch, however many there are."""
    for folder in (".git/objects", "node_modules/left/right", ".hidden/x"):
        (rig.root / folder).mkdir(parents=True)
    rig.settle()
    assert rig.loop.status().watches == 1


def test_a_burst_becomes_few_generations(rig):
    """What comes while a publish runs is collected."""
    before, written, publish = rig.generation(), threading.Event(), rig.store.publish

    def publish_late(prepared):
        assert written.wait(PATIENCE_SECONDS)
        return publish(prepared)

    rig.store.publish = publish_late
    for number in range(300):
        rig.write(f"{number}.md", f"text {number}")
    written.set()
    rig.settle()
    assert len(rig.paths()) == 301
    # One was under way, or what is begun is more than goes into it; the rest follows together.
    assert rig.generation() - before < 10


@pytest.mark.slow
def test_nothing_happens_at_idle(rig):
    """After it has settled: no publish, no read, hardly any processor time, and reading files wakes nobody."""
    for number in range(200):
        rig.write(f"{number}.md", "text")
    rig.settle()
    rig.until(lambda: not rig.loop._stepper.timetable._recent and not rig.loop._stepper.pending._idle)
    rig.settle()
    generation, steps = rig.generation(), []
    step = rig.loop._stepper.step
    rig.loop._stepper.step = lambda: (steps.append(1), step())
    for path in rig.root.glob("*.md"):
        path.read_bytes()
    rig.until(lambda: is_quiet_for(3, steps))
    assert rig.generation() == generation


def is_quiet_for(seconds, steps):
    """Look whether a stretch passes with a few steps and hardly any processor time, of this or any other thread."""
    began, used, before = time.monotonic(), time.process_time(), len(steps)
    while time.monotonic() - began < seconds:
        time.sleep(0.1)
    return time.process_time() - used < 0.1 and len(steps) - before <= 5


def test_a_touched_file_costs_no_generation(rig):
    """New times with equal bytes publish nothing."""
    generation = rig.generation()
    os.utime(rig.root / "n.md", (1, 1))
    rig.settle()
    assert rig.generation() == generation


def test_the_barrier_costs_next_to_nothing_at_idle(rig):
    """A thousand questions while nothing happens take well under a tenth of a millisecond each."""

    def ask():
        for _ in range(1000):
            assert rig.barrier() == "current"

    assert costs_less_than(1.0, ask)


def test_a_barrier_without_time_says_pending(rig):
    """A question that may not wait, asked after a write, does not claim to be current."""
    asked, publish = threading.Event(), rig.store.publish

    def publish_late(prepared):
        assert asked.wait(PATIENCE_SECONDS)
        return publish(prepared)

    rig.store.publish = publish_late
    rig.save("n.md", "text")
    assert rig.barrier(0) == "pending"
    asked.set()
    rig.settle()
    assert rig.text("n.md") == "text"


def test_a_question_before_there_is_a_sync_waits_for_it(tmp_path):
    """The socket answers before there is a sync: who asks then is told so, or waits for its first scan."""
    with Rig(tmp_path) as rig, ThreadPoolExecutor() as pool:
        for text, unready in (("first", "building"), ("second", "pending")):
            rig.write("n.md", text)
            coming = Coming(rig.store, rig.roots)
            early = coming.barrier(0.0)
            assert (early.state, coming.status().state, coming.held()) == (unready, unready, frozenset())
            deadline = time.monotonic() + PATIENCE_SECONDS
            asked = [pool.submit(coming.barrier, deadline), pool.submit(coming.barrier, deadline, early)]
            rig.loop.start()
            coming.give(rig.loop)
            assert [one.result().state for one in asked] == ["current", "current"]
            assert rig.text("n.md") == text
            rig.close()
            rig.open()


def test_many_who_ask_at_once_are_all_told_the_truth(rig):
    """Eight writers, each asking after each of its own saves, always find their own text."""
    wrong = []

    def work(name):
        for number in range(25):
            rig.save(f"{name}.md", f"{name} {number}")
            if rig.barrier() != "current" or rig.text(f"{name}.md") != f"{name} {number}":
                wrong.append((name, number))

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.slow
def test_a_switch_of_branches_leaves_the_right_files(rig, tmp_path):
    """Ten checkouts to and fro between two branches of a hundred files end in the index of the last."""

    def git(*words):
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=rig.root, check=True, capture_output=True
        )

    git("init", "-b", "main")
    for number in range(100):
        rig.write(f"d{number % 7}/{number}.md", f"main {number}")
    git("add", ".")
    git("commit", "-m", "main")
    git("checkout", "-b", "other")
    for number in range(0, 100, 2):
        rig.write(f"d{number % 7}/{number}.md", f"other {number}")
    shutil.rmtree(rig.root / "d3")
    git("add", "-A")
    git("commit", "-m", "other")
    for _ in range(10):
        git("checkout", "main")
        git("checkout", "other")
    rig.settle()
    assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")
    git("checkout", "main")
    rig.settle()
    assert rig.digest() == rig.scratch_digest(tmp_path / "scratch2")


def test_new_generations_are_told_until_it_is_ended(rig):
    """A callback gets each new snapshot, and none after it was ended."""
    seen = []
    first = rig.generation()
    end = rig.loop.on_publish(lambda snapshot: seen.append(snapshot.generation))
    rig.save("n.md", "second")
    rig.settle()
    # Told behind the publish: the one before this may be told late.
    rig.until(lambda: first + 1 in seen)
    end()
    rig.save("n.md", "third")
    rig.settle()
    rig.close()
    assert [generation for generation in seen if generation > first] == [first + 1]


def test_a_stop_in_the_middle_of_a_burst_is_clean(tmp_path):
    """Stopped while much is pending, the next start finishes the work."""
    with Rig(tmp_path) as rig:
        rig.start()
        for number in range(500):
            rig.write(f"{number}.md", "text")
        rig.close()
        rig.open().start()
        assert len(rig.paths()) == 500


def test_a_rule_file_above_the_root_acts_at_once(tmp_path):
    """In a repository, a `.gitignore` above the root that changes changes what is indexed."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "docs").mkdir()
    with Rig(tmp_path, tmp_path / "repo" / "docs") as rig:
        rig.write("secret.md", "secret")
        rig.write("open.md", "open")
        rig.start()
        (tmp_path / "repo" / ".gitignore").write_text("secret.md\n")
        rig.settle()
        assert rig.paths() == ["open.md"]
        (tmp_path / "repo" / ".gitignore").unlink()
        rig.settle()
        assert rig.paths() == ["open.md", "secret.md"]


def test_a_rule_file_above_the_root_that_changes_during_the_first_scan_acts(tmp_path, monkeypatch):
    """The folder above is watched before its rules are read: an edit right behind the scan is not lost."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    original = Scanner.scan

    def scan_then_edit(self, *arguments):
        look = original(self, *arguments)
        (tmp_path / "repo" / ".gitignore").write_text("secret.md\n")
        return look

    with Rig(tmp_path, tmp_path / "repo" / "docs") as rig:
        rig.write("secret.md", "secret")
        rig.write("open.md", "open")
        monkeypatch.setattr(Scanner, "scan", scan_then_edit)
        rig.start()
        rig.settle()
        assert rig.paths() == ["open.md"]


def test_a_rule_file_of_a_root_acts_on_a_root_inside_it(tmp_path):
    """Of two roots one inside the other, the outer one's `.gitignore` speaks for both, as git has it."""
    repository = tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    with Rig(tmp_path, repository, repository / "docs") as rig:
        for folder in (repository, repository / "docs"):
            rig.write("secret.md", "secret", folder)
            rig.write("open.md", "open", folder)
        rig.start()
        (repository / ".gitignore").write_text("secret.md\n")
        rig.settle()
        assert rig.paths() == ["r0/open.md", "r1/open.md"]


def test_a_sync_asked_of_the_running_daemon_reports_what_it_did(rig):
    """The same question as in one shot, answered through the thread."""
    rig.write("m.md", "new")
    report = rig.loop.sync_once()
    assert (rig.text("m.md"), report.skipped, report.unchanged + report.added) == ("new", (), 2)


def test_new_settings_under_a_daemon_serve_the_old_set_until_the_new_one_is_whole(tmp_path):
    """While all is redone the state is building; afterwards everything has the new settings, in one generation."""
    with Rig(tmp_path) as rig:
        for number in range(30):
            rig.write(f"{number}.md", "word " * 400)
        rig.start()
        generation = rig.generation()
        rig.close()
        rig._settings = Settings(max_chars=200)
        rig.open()
        assert rig.loop.status().state == "building"
        seen = []
        rig.loop.on_publish(lambda snapshot: seen.append((snapshot.generation, snapshot.document_count)))
        rig.loop.start()
        rig.until(lambda: rig.loop.status().state == "current" and seen)
        assert seen == [(generation + 1, 30)]
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def edit_unseen(path, text):
    """Change a file's bytes through memory: no event, and a stat that soon looks settled."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), len(text)) as mapping:
        mapping[: len(text)] = text.encode()
        mapping.flush()


@pytest.mark.slow
def test_a_file_too_recent_to_trust_is_read_again_by_itself(rig):
    """A second write right after the first, without any event, is found within a few seconds."""
    stepper = rig.loop._stepper

    def is_edited_in_time():
        rig.save("n.md", "first")
        rig.settle()
        # As long as its second look is still to come.
        with stepper.lock:
            is_recent = "n.md" in stepper.timetable._recent
            if is_recent:
                edit_unseen(rig.root / "n.md", "FIRST")
        return is_recent

    rig.until(is_edited_in_time)
    rig.until(lambda: rig.text("n.md") == "FIRST")


@pytest.mark.slow
def test_a_change_of_which_nothing_tells_is_found_by_the_rolling_sample(rig):
    """Bytes that changed under an unchanged stat are found when the sample comes by."""
    rig.until(lambda: not rig.loop._stepper.timetable._recent and not rig.loop._stepper.pending._idle)
    path = rig.root / "n.md"
    edit_unseen(path, "FIRST")
    rig.due("sample")
    rig.until(lambda: rig.text("n.md") == "FIRST")


def test_the_fingerprints_are_written_down_while_running(rig):
    """Some time after the start the file is there, without a stop."""
    rig.due("save")
    rig.until((rig.state / "fingerprints").exists)


def test_a_change_without_an_event_is_found_by_the_regular_scan_and_logged(rig, caplog):
    """With all events suppressed, the timer's scan finds what changed and says how much."""
    rig.loop._stepper.watcher._hand_over = lambda _hints, *, overflowed: None
    rig.write("new.md", "unseen")
    rig.due("reconcile")
    rig.until(lambda: rig.text("new.md") == "unseen")
    rig.until(lambda: "drift: a regular scan found 1 documents" in caplog.text)
