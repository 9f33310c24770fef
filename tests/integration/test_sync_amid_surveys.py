"""Amid a look at everything what is saved is searchable at once, and the look that saw it older changes nothing."""

import errno
import os
import random
import threading

import pytest

from indexerd.sync.pending import Hint
from indexerd.sync.scan import Scanner
from tests.fakes.sync_rig import PATIENCE_SECONDS, Rig

FOLDERS, FILES = 12, 20


@pytest.fixture
def rig(tmp_path):
    """A sync without a thread over some folders, nothing indexed; files as old as can be."""
    with Rig(tmp_path, watch=False) as rig:
        for folder in range(FOLDERS):
            for number in range(FILES):
                path = rig.write(f"d{folder:02}/n{number:02}.md", f"text {folder} {number}")
                os.utime(path, (1000 * folder + number, 1000 * folder + number))
        yield rig


def amid(rig, act):
    """Let `act` be called with a count each time the survey pauses, whatever time it took before."""
    stepper, pauses = rig.loop._stepper, []
    between = stepper.writer.between

    def pause():
        # What is done amid a survey looks at folders, too.
        if stepper.writer._amid is not None:
            pauses.append(len(pauses))
            act(len(pauses))
            stepper._next_amid = 0.0
        between()

    stepper.writer.between = pause
    return pauses


def name(rig, *names, tree=False):
    """Tell of files as events would; return the number of the last."""
    hints = [Hint(os.fsencode(rig.root / name), tree=tree) for name in names]
    return rig.loop._stepper.pending.add(hints, rig.clock.monotonic())


def walked(rig):
    """Look at everything and step until that is published."""
    stepper = rig.loop._stepper
    stepper.run_until(stepper.pending.doubt())
    stepper.run_until(stepper.pending.last())


def test_a_save_amid_a_first_survey_is_published_before_its_end(rig, tmp_path):
    """It is a generation of its own, the barrier waits for it alone, and the index is still being built."""
    seen = []

    def act(count):
        if count == 5:
            rig.write("d03/n03.md", "saved")
            number = name(rig, "d03/n03.md")
            seen.append(number)
        elif seen and count == 6:
            seen.append(rig.text("d03/n03.md"))
            seen.append(rig.loop._stepper.pending.named_through() >= seen[0])
            seen.append(rig.loop.building())

    amid(rig, act)
    walked(rig)
    assert seen[1:] == ["saved", True, True]
    assert len(rig.paths()) == FOLDERS * FILES
    assert rig.text("d03/n03.md") == "saved"
    assert not rig.loop.building()
    assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_what_a_survey_saw_before_is_not_the_last_word(rig, tmp_path, monkeypatch):
    """Made, deleted, replaced by a folder, and changed behind the survey's back: all stay as they were seen last."""
    monkeypatch.setattr("indexerd.sync.cycle._CONFIRMED_AT_MOST", 0)
    walked(rig)

    def act(count):
        if count == FOLDERS + 1:
            rig.write("d00/new.md", "made behind it")
            rig.write("d00/n00.md", "changed behind it")
            (rig.root / "d01/n01.md").unlink()
            (rig.root / "d02/n02.md").unlink()
            rig.write("d02/n02.md/inner.md", "a folder now")
            name(rig, "d00/new.md", "d00/n00.md", "d01/n01.md", "d02/n02.md")

    amid(rig, act)
    before = rig.generation()
    walked(rig)
    assert rig.generation() == before + 1
    assert rig.text("d00/new.md") == "made behind it"
    assert rig.text("d01/n01.md") is None
    assert rig.text("d02/n02.md/inner.md") == "a folder now"
    assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


@pytest.mark.parametrize("is_much", [False, True])
def test_rules_saved_amid_a_survey_hold_after_it(rig, tmp_path, monkeypatch, is_much):
    """The survey read the older rules of a folder; what it found by them is looked at once more.

    Also where all files are to be read again, so that the bulk run has some of them that are ignored by then.
    """
    walked(rig)
    monkeypatch.setattr("indexerd.sync.fingerprint.is_racy", lambda *_: is_much)

    def act(count):
        if count == 7:
            rig.write(".gitignore", "d04/\nn07.md\n")
            rig.write("d05/.gitignore", "!n07.md\n")
            name(rig, ".gitignore", "d05/.gitignore")

    amid(rig, act)
    walked(rig)
    assert [path for path in rig.paths() if path.startswith("d04/") or path.endswith("n07.md")] == ["d05/n07.md"]
    assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_much_waits_for_the_end_of_a_survey(rig, tmp_path):
    """A large file is put back instead of holding up the survey or beginning a bulk run in it."""
    states = []

    def act(count):
        if count == 3:
            rig.write("d01/large.md", "many words\n" * 200_000)
            name(rig, "d01/large.md")
        states.append((rig.text("d01/large.md") is None, rig.loop._stepper.writer.bulk_running()))

    amid(rig, act)
    walked(rig)
    assert set(states) == {(True, False)}
    assert len(rig.text("d01/large.md")) == 11 * 200_000
    assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_a_disk_that_refuses_amid_a_survey_does_not_end_it(rig, tmp_path, monkeypatch):
    """What could not be published waits, the problem stands, and the survey goes on to its end."""
    walked(rig)
    publish, refusals = rig.store.publish, []

    def refuse(prepared):
        if rig.loop._stepper.writer._amid is not None:
            refusals.append(rig.loop.status().problems)
            raise OSError(errno.ENOSPC, "no space")
        return publish(prepared)

    monkeypatch.setattr(rig.store, "publish", refuse)
    rig.write("d07/n07.md", "saved")
    pauses = amid(rig, lambda count: count == 4 and name(rig, "d07/n07.md"))
    rig.loop._stepper.pending.doubt()
    rig.loop._stepper.step()
    assert len(refusals) == 1
    assert rig.problems() == {"publish_failed"}
    assert len(pauses) > FOLDERS
    rig.loop._stepper.run_until(rig.loop._stepper.pending.last())
    assert rig.problems() == set()
    assert rig.text("d07/n07.md") == "saved"
    assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_amid_surveys_the_index_is_that_of_a_fresh_start(rig, tmp_path, seed):
    """Files are made, changed, changed back, deleted and moved at any moment of three surveys."""
    drawn = random.Random(seed)

    def act(count):
        path = f"d{drawn.randrange(FOLDERS):02}/n{drawn.randrange(FILES + 5):02}.md"
        other = f"d{drawn.randrange(FOLDERS):02}/n{drawn.randrange(FILES):02}.md"
        match drawn.randrange(6):
            case 0:
                rig.save(path, f"text {count}")
            case 1:
                rig.write(path, "as it was")
            case 2:
                (rig.root / path).unlink(missing_ok=True)
            case 3 if (rig.root / other).exists():
                os.replace(rig.root / other, rig.root / path)
                name(rig, other)
            case _:
                return
        name(rig, path)

    amid(rig, act)
    for _ in range(3):
        walked(rig)
        assert rig.digest() == rig.scratch_digest(tmp_path / f"scratch{rig.generation()}")


def test_what_the_first_save_needs_is_made_ready_while_the_first_scan_runs(tmp_path, monkeypatch):
    """A save right after the start finds it there: it is not left until the scan is over."""
    ready, in_time, scan = threading.Event(), [], Scanner.scan

    def scan_when_ready(*args, **more):
        in_time.append(ready.wait(PATIENCE_SECONDS))
        return scan(*args, **more)

    monkeypatch.setattr("indexerd.sync.stepper.make_ready", lambda _: ready.set())
    monkeypatch.setattr(Scanner, "scan", scan_when_ready)
    with Rig(tmp_path) as rig:
        rig.start()
    assert in_time[0]
