"""What people reported of watching: passes without end, folders that are never seen, changes that are lost for good."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.fakes.daemon_process import wait_for
from tests.fakes.inotify_limits import limit
from tests.fakes.watched_notes import Notes

pytestmark = pytest.mark.slow
FILES = {f"plain/{number}.md": f"plainword number{number}x\n" * 60 for number in range(200)}
# More than the kernel's list of mounts, which is read when a mount comes or goes anywhere; less than a pass reads.
FEW_BYTES = 100_000
TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """A daemon whose state directory, socket and log lie inside the folder that it watches."""
    made = Notes(tmp_path_factory.mktemp("notes"))
    for name, text in FILES.items():
        made.write(name, text)
    for name in ("index", "run"):
        (made.root / name).mkdir(mode=0o700)
    yield made.start(state=made.root / "index", socket=made.root / "run" / "d.sock")
    made.close()


def effort(pid):
    """Return (bytes read, processor seconds) of a process so far."""
    io = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(io["rchar"]), (int(fields[11]) + int(fields[12])) / TICKS


def test_nothing_is_done_at_idle(notes):
    """Its own reads, and an index inside the folder, woke it over and over; at idle it reads and publishes nothing."""
    # What was saved just now is read again after two seconds, and flushed and merged meanwhile: that comes to an end.
    generation = notes.settle()["generation"]
    wait_for(lambda: is_idle_for(notes, seconds=3.0))
    assert notes.settle()["generation"] == generation


def is_idle_for(notes, seconds):
    """Read every file, as other programs do, and look whether that moves the daemon."""
    began, before = time.monotonic(), effort(notes.daemon.process.pid)
    for path in (notes.root / "plain").iterdir():
        path.read_bytes()
    wait_for(lambda: time.monotonic() - began > seconds)
    read, spent = (now - then for now, then in zip(effort(notes.daemon.process.pid), before, strict=True))
    return read < FEW_BYTES and spent < 0.01 * seconds + 1 / TICKS


def test_the_index_inside_the_folder_is_no_document(notes):
    """State, socket and log below the root were indexed; none of them is a document."""
    assert set(notes.documents()) >= set(FILES)
    assert not [name for name in notes.documents() if name.startswith(("index", "run"))]
    assert notes.found("plainword", paths=["index/**"]) == []


def test_new_nested_folders_are_seen_every_time(notes):
    """A watch that came after the children missed them; fifty times a note three folders deep is found."""
    for number in range(50):
        place = f"deep/{number}/b/c"
        script = f"mkdir -p {place} && echo deepword{number}x > {place}/n.md"
        subprocess.run(["sh", "-c", script], check=True, cwd=notes.root)
        assert notes.found(f"deepword{number}x") == [f"{place}/n.md"]


def test_a_folder_moved_in_is_followed_and_moved_out_forgotten(notes):
    """Edits in a folder that was moved in went unseen, and its files stayed when it left; both are followed."""
    outside = notes.place / "outside"
    outside.mkdir()
    (outside / "n.md").write_text("movedinword\n")
    outside.rename(notes.root / "moved")
    assert notes.found("movedinword") == ["moved/n.md"]
    notes.write("moved/n.md", "movededitword\n")
    notes.write("moved/new.md", "movednewword\n")
    assert (notes.found("movededitword"), notes.found("movednewword")) == (["moved/n.md"], ["moved/new.md"])
    (notes.root / "moved").rename(outside)
    assert (notes.found("movededitword"), notes.found("movednewword")) == ([], [])
    (outside / "n.md").write_text("movedawayword\n")
    assert notes.found("movedawayword") == []


def test_a_renamed_folder_is_known_by_its_new_name(notes):
    """Events came under the old name; only the new path is there, with the new text."""
    notes.write("before/n.md", "renameword one\n")
    assert notes.found("renameword") == ["before/n.md"]
    (notes.root / "before").rename(notes.root / "behind")
    notes.write("behind/n.md", "renameword two\n")
    hits = notes.ask("renameword")["hits"]
    assert [(hit["source_path"], hit["text"]) for hit in hits] == [("behind/n.md", "renameword two\n")]


def test_worktrees_do_not_multiply_notes(notes):
    """Copies made by `git worktree` filled index and queue; hidden ones and those of an ignore file are left out."""
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", notes.root / "repo"]
    notes.write("repo/.gitignore", "copies/\n")
    notes.write("repo/n.md", "worktreeword\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    assert notes.found("worktreeword", distinct=False) == ["repo/n.md"]
    watches = notes.settle()["watches"]
    copies = 5
    for number in range(copies):
        place = [".wt", "copies"][number % 2]
        command = ["worktree", "add", "-q", notes.root / f"repo/{place}/x{number}", "-b", f"b{number}"]
        subprocess.run([*git, *command], check=True, capture_output=True)
    assert notes.found("worktreeword", distinct=False) == ["repo/n.md"]
    # The repository's own folders, in which its settings change, may be watched a little later than the notes.
    assert notes.settle()["watches"] < watches + copies


def test_an_edited_ignore_file_acts_at_once(notes):
    """Rules were read once; a rule added while running takes its documents out, and removed brings them back."""
    notes.write("rules/secret/n.md", "ruleword\n")
    assert notes.found("ruleword") == ["rules/secret/n.md"]
    rules = notes.write("rules/.gitignore", "secret/\n")
    assert notes.found("ruleword") == []
    rules.unlink()
    assert notes.found("ruleword") == ["rules/secret/n.md"]


@pytest.mark.parametrize(
    ("rules", "kept"),
    [(".*/\n", ["a.md", "docs/b.md", "docs/keep/c.md"]), ("docs/*\n!docs/keep/\n", ["a.md", "docs/keep/c.md"])],
)
def test_ignore_rules_mean_what_git_means(notes, rules, kept):
    """`.*/` ignored the root itself, and a negation was read wrong; the set is that of git."""
    for name in ("a.md", "docs/b.md", "docs/keep/c.md"):
        notes.write(f"asgit/{name}", "asgitword\n")
    notes.write("asgit/.gitignore", rules)
    assert sorted(notes.found("asgitword", distinct=False)) == [f"asgit/{name}" for name in kept]


def test_a_link_leads_nowhere(notes):
    """A link reached files outside of the folder; it is neither indexed nor served."""
    (notes.place / "secret.md").write_text("linkedsecret\n")
    (notes.root / "linked.md").symlink_to(notes.place / "secret.md")
    (notes.root / "etc").symlink_to("/etc")
    assert notes.found("linkedsecret") == []
    assert not [name for name in notes.documents() if name.startswith(("linked", "etc"))]


def test_a_branch_switched_to_and_fro_leaves_the_right_notes(own_notes):
    """Bursts of deletions and creations left the index wrong; after ten checkouts it equals one made from nothing."""
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", own_notes.root]

    def run(*command):
        subprocess.run([*git, *command], check=True, capture_output=True)

    for number in range(100):
        own_notes.write(f"{number % 7}/{number}.md", f"branchword main{number}\n")
    run("init", "-q", "-b", "main")
    run("add", ".")
    run("commit", "-qm", "one")
    run("checkout", "-qb", "other")
    for number in range(0, 100, 3):
        own_notes.write(f"{number % 7}/{number}.md", f"branchword other{number}\n")
    shutil.rmtree(own_notes.root / "5")
    own_notes.write("only/other.md", "branchword onlyother\n")
    run("add", "-A")
    run("commit", "-qm", "two")
    own_notes.start()
    for _ in range(10):
        run("checkout", "-q", "main")
        run("checkout", "-q", "other")
    assert own_notes.found("onlyother") == ["only/other.md"]
    own_notes.settle()
    assert own_notes.digest() == own_notes.scratch_digest()


def test_what_changed_while_nobody_ran_is_made_up_for(own_notes):
    """Files changed while the daemon was down were never indexed; after its start the index equals a new one."""
    for name in ("edited", "renamed", "deleted", "same"):
        own_notes.write(f"{name}.md", f"down{name}word\n")
    assert own_notes.start().daemon.end() == 0
    own_notes.write("edited.md", "downnewtext\n")
    own_notes.write("added.md", "downaddedword\n")
    (own_notes.root / "renamed.md").rename(own_notes.root / "new-name.md")
    (own_notes.root / "deleted.md").unlink()
    own_notes.start()
    assert set(own_notes.documents()) == {"added.md", "edited.md", "new-name.md", "same.md"}
    assert own_notes.found("downeditedword") == []
    own_notes.settle()
    assert own_notes.digest() == own_notes.scratch_digest()


def test_a_folder_named_through_a_link_is_watched(own_notes):
    """Events named the real path and were dropped; edits by either path are seen, under the spelling that was given."""
    own_notes.write("n.md", "throughlink one\n")
    link = own_notes.place / "link"
    link.symlink_to(own_notes.root)
    own_notes.start(root=link)
    own_notes.write("n.md", "throughlink two\n")
    (link / "m.md").write_text("throughlink three\n")
    hits = own_notes.ask("throughlink")["hits"]
    assert {hit["path"]: hit["text"] for hit in hits} == {
        str(link / "n.md"): "throughlink two\n",
        str(link / "m.md"): "throughlink three\n",
    }


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_burst_that_overflows_the_queue_is_made_up_for(own_notes):
    """Lost events went unnoticed and the index stayed wrong; they are counted, and a full look mends it."""
    length = 100
    for number in range(5):
        own_notes.write(f"d{number}/old.md", f"overflowold{number}x\n")
    with limit("max_queued_events", length):
        own_notes.start()
    process = own_notes.daemon.process
    process.send_signal(signal.SIGSTOP)
    try:
        for number in range(length + 10):
            own_notes.write(f"d{number % 5}/{number}.md", f"overflowword{number}x\n")
        (own_notes.root / "d4/old.md").unlink()
    finally:
        process.send_signal(signal.SIGCONT)
    for number in (0, length + 9):
        assert own_notes.found(f"overflowword{number}x") == [f"d{number % 5}/{number}.md"]
    assert own_notes.found("overflowold4x") == []
    assert own_notes.settle()["overflows"] >= 1
    assert own_notes.digest() == own_notes.scratch_digest()
