"""What people reported of the index on disk: settings without effect, two writers, damage taken for health."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.watched_notes import Notes, begun_program, ended, program

pytestmark = pytest.mark.slow

NEXT_RELEASE = "import indexerd.indexing; indexerd.indexing.DOCUMENTS_VERSION += 1"
LONG = "".join(f"paragraph {n} of words that fill it up to some length or other\n\n" for n in range(40))


def sync(place, *arguments):
    done = program(place / "home", "sync", *arguments, "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_another_chunk_size_takes_effect_once(own_notes):
    """A new chunk size changed nothing, since texts were unchanged; all is chunked anew, once, and `status` says so."""
    own_notes.write("a.md", LONG)
    own_notes.write("b.md", LONG)
    seen = []
    for max_chars in (900, 200, 200):
        own_notes.start(settings={"max_chars": max_chars})
        seen.append(own_notes.settle())
        assert own_notes.daemon.end() == 0
    settings, chunks, generations = ([status[key] for status in seen] for key in ("settings", "chunks", "generation"))
    assert settings[0] != settings[1] == settings[2]
    assert chunks[0] < chunks[1] == chunks[2]
    assert generations == [1, 2, 2]


def test_a_new_release_redoes_unchanged_files_and_serves_the_old_until_then(own_notes):
    """A mended parser never reached unchanged files; all are redone, and meanwhile the old generation answers."""
    own_notes.write("a.md", "releaseword\n")
    old = own_notes.start().settle()
    own_notes.daemon.end()
    daemon = own_notes.begin(before=NEXT_RELEASE, hold=True)
    assert daemon.said() == "answering"
    during = daemon.call("query", text="releaseword", wait_ms=0)
    assert [hit["source_path"] for hit in during["hits"]] == ["a.md"]
    assert (during["settings"], during["generation"]) == (old["settings"], old["generation"])
    daemon.release()
    assert daemon.said() == "ready"
    after = own_notes.ask("releaseword")
    assert [hit["source_path"] for hit in after["hits"]] == ["a.md"]
    assert after["settings"] != old["settings"]
    assert after["generation"] == old["generation"] + 1


def test_naming_some_files_leaves_the_others(tmp_path):
    """`Not in this run` was read as `deleted`; others stay, and a named file that is gone goes."""
    notes = Notes(tmp_path)
    for name in "abc":
        notes.write(f"{name}.md", f"{name}word\n")
    state = ("--state-dir", tmp_path / "state")
    assert sync(tmp_path, notes.root, *state)["documents_added"] == 3
    for name in "abc":
        (notes.root / f"{name}.md").unlink()
    assert sync(tmp_path, notes.root / "a.md", *state)["documents_deleted"] == 1
    listed = program(tmp_path / "home", "documents", "--json", *state)
    assert [row["source_path"] for row in json.loads(listed.stdout)] == ["b.md", "c.md"]


def test_a_second_run_removes_and_redoes_nothing_needlessly(tmp_path):
    """A run only added, or redid all because of one odd file; the second does what changed, the third nothing."""
    notes = Notes(tmp_path)
    for name in "abc":
        notes.write(f"{name}.md", f"{name}word\n")
    notes.write("odd.md", b"\xff\xfe odd \x81\n")
    state = ("--state-dir", tmp_path / "state")
    sync(tmp_path, notes.root, *state)
    (notes.root / "a.md").unlink()
    (notes.root / "b.md").rename(notes.root / "moved.md")
    second, third = (sync(tmp_path, notes.root, *state) for _ in range(2))
    counts = ("documents_added", "documents_updated", "documents_deleted", "documents_unchanged")
    assert [second[key] for key in counts] == [1, 0, 2, 2]
    assert [third[key] for key in counts] == [0, 0, 0, 3]
    assert third["generation"] == second["generation"]


def test_two_runs_at_once_do_not_undo_each_other(tmp_path):
    """The slower of two builders won with older content; one writes, the other waits its turn or is refused as busy."""
    notes = Notes(tmp_path)
    for number in range(300):
        notes.write(f"{number}.md", f"twiceword{number}x\n")
    home = tmp_path / "home"
    runs = [begun_program(home, "sync", notes.root, "--state-dir", tmp_path / "state") for _ in range(2)]
    statuses = {ended(run).returncode for run in runs}
    assert statuses in ({0}, {0, 75})
    assert sync(tmp_path, notes.root, "--state-dir", tmp_path / "state")["documents_unchanged"] == 300
    assert program(home, "fsck", "--state-dir", tmp_path / "state").returncode == 0


def test_a_run_beside_a_daemon_is_done_by_the_daemon(own_notes):
    """A daemon went on serving an index that another process had replaced; the daemon itself does the run."""
    own_notes.write("a.md", "besideword\n")
    own_notes.start()
    report = sync(own_notes.place, own_notes.root, "--state-dir", own_notes.daemon.state)
    own_notes.write("b.md", "besideword two\n")
    later = sync(own_notes.place, own_notes.root, "--state-dir", own_notes.daemon.state)
    assert later["generation"] == own_notes.status()["generation"] > report["generation"]
    assert sorted(own_notes.found("besideword")) == ["a.md", "b.md"]


def test_a_damaged_index_answers_at_once_and_is_rebuilt(own_notes):
    """Damage blocked the start, or passed for `no notes`; the socket answers `building` at once, and all comes back."""
    own_notes.write("a.md", "damagedword\n")
    own_notes.start()
    own_notes.daemon.end()
    for path in Path(own_notes.daemon.state).iterdir():
        os.truncate(path, path.stat().st_size // 2)
    daemon = own_notes.begin(hold=True)
    assert daemon.said() == "answering"
    reply = daemon.call("evidence", text="damagedword", wait_ms=0)
    assert (reply["hits"], reply["abstention_reason"]) == ([], "index_building")
    assert daemon.call("query", text="damagedword", wait_ms=0)["freshness"]["state"] == "building"
    status = daemon.call("status")
    assert (status["state"], status["opening"]["state"]) == ("building", "damaged")
    daemon.release()
    assert daemon.said() == "ready"
    assert own_notes.found("damagedword") == ["a.md"]


@pytest.mark.parametrize(
    ("harm", "state"), [(None, "absent"), ("old", "older_format"), ("zero", "damaged"), ("nothing", "healthy")]
)
def test_four_states_of_an_index_are_told_apart(own_notes, harm, state):
    """Damaged was reported as up to date or as none; absent, older, damaged and healthy are four words."""
    own_notes.write("a.md", "stateword\n")
    if harm is not None:
        own_notes.start(before="import indexerd.store.slots as s; s.FORMAT_VERSION = 0" if harm == "old" else "")
        own_notes.daemon.end()
    if harm == "zero":
        for path in Path(own_notes.daemon.state).iterdir():
            path.write_bytes(b"\0" * path.stat().st_size)
    own_notes.start()
    assert own_notes.status()["opening"]["state"] == state
    assert own_notes.found("stateword") == ["a.md"]


def test_a_few_bytes_changed_in_place_are_noticed(own_notes):
    """A record altered at the same length passed every check; `fsck` names it, and it is never served."""
    own_notes.write("a.md", "# T\n\nalteredword of the text that is kept\n")
    own_notes.write("b.md", "intactword\n")
    own_notes.start()
    own_notes.daemon.end()
    state = Path(own_notes.daemon.state)
    changed = [path for path in state.iterdir() if b"alteredword" in path.read_bytes()]
    assert changed
    for path in changed:
        path.write_bytes(path.read_bytes().replace(b"alteredword", b"forgedxword"))
    checked = program(own_notes.place / "home", "fsck", "--state-dir", state)
    assert checked.returncode == 1
    assert any(path.name.encode() in checked.stdout for path in changed)
    own_notes.start()
    assert own_notes.status()["opening"]["state"] == "damaged"
    assert own_notes.found("forgedxword") == []
    assert own_notes.found("alteredword") == ["a.md"]


def test_one_undecodable_file_does_not_spoil_the_next_start(own_notes):
    """One bad file made the index `broken` at every start; the second start publishes nothing and is healthy."""
    own_notes.write("odd.md", b"caf\xe9 oddstart\n")
    own_notes.write("a.md", "plainstart\n")
    generations = []
    for _ in range(3):
        own_notes.start()
        generations.append(own_notes.settle()["generation"])
        own_notes.daemon.end()
    assert generations == [1, 1, 1]


def test_no_pid_is_believed(own_notes):
    """A recycled process number kept it from starting, or killed a stranger; the kernel's lock counts."""
    own_notes.write("a.md", "pidword\n")
    own_notes.start()
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        for name in ("pid", "daemon.pid", "indexerd.pid", "lock"):
            (Path(own_notes.daemon.state) / name).write_text(str(stranger.pid))
        own_notes.daemon.process.kill()
        own_notes.daemon.process.wait()
        own_notes.start()
        assert own_notes.found("pidword") == ["a.md"]
        assert stranger.poll() is None
    finally:
        stranger.communicate(b"\n")


def test_askers_at_once_without_a_daemon_all_get_an_answer(tmp_path):
    """Two first openings raced and one failed; all who ask at once without a daemon are answered."""
    notes = Notes(tmp_path)
    notes.write("a.md", "firstopening\n")
    home = tmp_path / "home"
    assert program(home, "sync", notes.root).returncode == 0
    crowd = [begun_program(home, "query", "firstopening", "-l") for _ in range(4)]
    ends = [ended(one) for one in crowd]
    assert [(end.returncode, Path(os.fsdecode(end.stdout.strip())).name) for end in ends] == [(0, "a.md")] * 4, ends
