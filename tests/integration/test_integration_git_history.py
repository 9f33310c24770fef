"""A history checked out under a running daemon: after each commit the index is what a fresh one would be.

`INDEXERD_HISTORY_STEP` says how many commits of a real history one checkout passes over; 10 if it is not set.
"""

import contextlib
import os
import random
import subprocess
from pathlib import Path

import pytest

from indexerd.store import open_reader
from indexerd.store.dump import canonical_digest
from indexerd.store.fsio import RealStoreFilesystem
from tests.fakes.daemon_process import DaemonProcess, wait_for
from tests.reference.document_digests import FreshIndex, RunningIndex

REAL = ("tidb-docs-zh", "rust-book")
STEP = int(os.environ.get("INDEXERD_HISTORY_STEP", "10"))


def git(folder, *words):
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_DATE": "1700000000 +0000",
        "GIT_COMMITTER_DATE": "1700000000 +0000",
    }
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "advice.detachedHead=false")
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def make_history(folder: Path, commits: int, seed: int = 5) -> None:
    """Make a repository whose commits add, edit, move and delete documents, and change what is ignored."""
    choose = random.Random(seed)
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in range(commits):
        present = sorted(path for path in folder.rglob("*.md") if ".git" not in path.parts)
        for path in choose.sample(present, min(len(present), 6)):
            match choose.randrange(4):
                case 0:
                    path.unlink()
                case 1:
                    target = folder / f"moved{choose.randrange(4)}" / path.name
                    target.parent.mkdir(exist_ok=True)
                    path.rename(target)
                case _:
                    path.write_text(path.read_text() + f"\n## Added {number}\n\nline {choose.random()}\n")
        for each in range(4):
            path = folder / f"part{choose.randrange(5)}" / f"sub{choose.randrange(3)}" / f"n{number}-{each}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"---\ntags: [t{number}]\n---\n# Note {number} {each}\n\ntext {choose.random()}\n")
        (folder / ".gitignore").write_text(f"part{number % 5}/sub1/\n" if number % 3 == 0 else "")
        git(folder, "add", "-A", "-f")
        git(folder, "commit", "-q", "-m", str(number))


@contextlib.contextmanager
def opened(state):
    """Open the published generation as another process does."""
    fs = RealStoreFilesystem.open_directory(str(state), create=False)
    try:
        yield open_reader(fs)
    finally:
        fs.close()


def fresh_digest(repository: Path, place: Path) -> str:
    """Index the present tree into an empty store and return the digest."""
    with_fresh = DaemonProcess([repository], place).ready()
    assert with_fresh.end() == 0
    with_fresh.close()
    with opened(place / "state") as snapshot:
        return canonical_digest(snapshot)


def walk_history(repository: Path, commits, tmp_path: Path) -> int:
    """Check out commits forward and backward under one daemon; return how many states were compared.

    Each is compared document by document; the two ends by the canonical digest of an index made from nothing as well.
    """
    git(repository, "checkout", "-q", commits[0])
    daemon = DaemonProcess([repository], tmp_path / "running").ready()
    fresh, running, both_ways = FreshIndex(repository), RunningIndex(), [*commits, *reversed(commits[:-1])]
    try:
        for number, commit in enumerate(both_ways):
            git(repository, "checkout", "-q", commit)
            wait_for(lambda: daemon.call("query", text="text")["freshness"]["state"] == "current")
            with opened(daemon.state) as snapshot:
                held = running.documents(snapshot)
                assert held == fresh.documents(), (commit, differing(held, fresh.documents()))
                if commit in (commits[0], commits[-1]):
                    assert canonical_digest(snapshot) == fresh_digest(repository, tmp_path / f"fresh{number}"), commit
        wait_for(lambda: daemon.call("status")["state"] == "current")
    finally:
        daemon.close()
    return len(both_ways)


def differing(one, other) -> list[str]:
    """Return the names that two indexes do not hold alike."""
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


@pytest.mark.slow
def test_each_checkout_of_a_made_history_equals_a_fresh_index(tmp_path):
    """Forward and backward through forty commits: each document is what an index built from nothing would hold."""
    repository = tmp_path / "repository"
    make_history(repository, 40)
    commits = git(repository, "rev-list", "--reverse", "main").split()
    assert walk_history(repository, commits, tmp_path) == 79


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_the_commits_of_a_real_history_equal_a_fresh_index(name, tmp_path, data, record_property):
    """Commits of a real repository, given with --data, forward and backward: each equals an index made from nothing."""
    repository = tmp_path / name
    git(tmp_path, "clone", "-q", str(data / name), str(repository))
    commits = git(repository, "rev-list", "--reverse", "HEAD").split()[::STEP]
    compared = walk_history(repository, commits, tmp_path)
    record_property("compared", compared)
    assert compared == 2 * len(commits) - 1
