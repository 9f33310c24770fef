"""Citations made at one commit and verified at another: git says what became of the lines."""

import hashlib
import random
import re
import subprocess
from pathlib import Path

import pytest

from indexerd.documents.decoding import decode
from indexerd.model import Citation, ContentHash, LineSpan, SourcePath
from indexerd.ports import SourceFault, SourceRead
from indexerd.service.verdict import verdict_on_source
from tests.integration.test_integration_git_history import git

HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
MISSING = SourceFault(code="source_missing", detail="ENOENT")


def blob(repository: Path, commit: str, path: str) -> bytes | None:
    """Return a file's bytes at a commit; None if it is not there."""
    done = subprocess.run(["git", "show", f"{commit}:{path}"], cwd=repository, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def shifted(diff: str, first: int, last: int) -> int | None:
    """Return where a diff without context leaves the first of some lines; None if it touches them."""
    offset = 0
    for match in HUNK.finditer(diff):
        start, removed, _, added = (int(group) if group is not None else 1 for group in match.groups())
        # Lines that are only added stand behind line `start`.
        begin, end = (start + 1, start) if removed == 0 else (start, start + removed - 1)
        if begin > last:
            break
        if end >= first:
            return None
        offset += added - removed
    return first + offset


def cut(raw: bytes, first: int, last: int) -> bytes:
    """Return lines as `sed -n FIRST,LASTp` prints them."""
    *whole, rest = raw.split(b"\n")
    return b"".join([*(line + b"\n" for line in whole), rest][first - 1 : last])


def passages(raw: bytes, choose: random.Random) -> list[tuple[int, int]]:
    """Return two spans of lines of a file."""
    count = raw.count(b"\n") + (not raw.endswith(b"\n"))
    starts = [choose.randint(1, max(count, 1)) for _ in range(2)] if raw else []
    return [(first, min(count, first + choose.randint(0, 9))) for first in starts]


def held_to_git(repository: Path, pairs, choose: random.Random, files_each: int) -> dict[str, int]:
    """Cite at one commit, verify at another, compare with git; return how often each verdict was given."""
    given = dict.fromkeys(("fresh", "moved", "changed", "gone"), 0)
    for before, after in pairs:
        named = git(repository, "diff", "--name-only", "--no-renames", "--diff-filter=MD", before, after).splitlines()
        named = sorted(path for path in named if path.endswith(".md") and not path.startswith('"'))
        for path in choose.sample(named, min(files_each, len(named))):
            old, new = blob(repository, before, path), blob(repository, after, path)
            diff = git(repository, "diff", "-U0", "--no-renames", before, after, "--", path)
            for first, last in passages(old, choose):
                given[judged(old, new, diff, (path, first, last))] += 1
    return given


def judged(old: bytes, new: bytes | None, diff: str, cited: tuple[str, int, int]) -> str:
    """Return the verdict on a citation, once it is held to the diff and to the bytes."""
    path, first, last = cited
    text = cut(old, first, last)
    # Citations hash the decoded text; what is no UTF-8 is another matter than where lines went.
    assert decode(text).text.encode() == text
    digest = hashlib.sha256(text).digest()
    citation = Citation(source_path=SourcePath(path), span=LineSpan(first, last), content_hash=ContentHash(digest))
    found = MISSING if new is None else SourceRead(data=new, stat=None)
    verdict = verdict_on_source(citation, found, text.decode())
    state = verdict["state"]
    if new is None:
        assert state == "gone", cited
        return state
    length = last - first
    count = new.count(b"\n") + (not new.endswith(b"\n"))
    lines = [line + b"\n" for line in new.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    places = [at for at in range(1, count - length + 1) if b"".join(lines[at - 1 : at + length]) == text]
    kept = shifted(diff, first, last)
    assert kept is None or kept in places, (cited, kept)
    assert state == ("fresh" if first in places else "moved" if places else "changed"), cited
    if state == "moved":
        nearest = min(places, key=lambda at: (abs(at - first), at))
        assert verdict["moved_to"][0] == str(citation._replace(span=LineSpan(nearest, nearest + length))), cited
        assert kept is None or len(places) > 10 or any(f"#L{kept}-" in place for place in verdict["moved_to"]), cited
    if state == "changed":
        held_to_diff(verdict["diff"], text.decode(), new.decode("utf-8", "replace"))
    return state


def held_to_diff(diff: str, text: str, now: str) -> None:
    """Check that a diff begins with the cited lines and leads to lines that stand in the file now, side by side."""
    body = [line for line in diff.split("\n")[2:] if line and not line.startswith(("@@", "\\"))]
    minus = [line[1:] for line in body if line[0] in "- "]
    plus = [line[1:] for line in body if line[0] in "+ "]
    assert any(line[0] in "-+" for line in body)
    assert all(line in text.split("\n") for line in minus)
    assert all(line in now.split("\n") for line in plus)


def make_edits(folder: Path, commits: int, choose: random.Random) -> None:
    """Make a repository whose commits insert, alter, remove, repeat and move lines, and remove files."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    files = {f"f{number}.md": [f"line {choose.randrange(12)}" for _ in range(25)] for number in range(10)}
    for number in range(commits):
        for name in choose.sample(sorted(files), min(4, len(files))):
            lines, at = files[name], choose.randrange(len(files[name]) + 1)
            edits = {0: [], 1: [f"new {number}"], 2: lines[:3], 3: ["line 3", "", "line 3"]}
            lines[at : at + choose.randrange(3)] = edits[choose.randrange(4)]
        if number % 9 == 8:
            del files[choose.choice(sorted(files))]
        for path in folder.glob("*.md"):
            path.unlink()
        for name, lines in files.items():
            (folder / name).write_text("\n".join(lines) + choose.choice(["\n", ""]))
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", str(number))


@pytest.mark.slow
def test_verdicts_over_a_made_history_are_those_of_git(tmp_path):
    """Commits that edit, repeat, move and remove lines: no citation gets a verdict that git contradicts."""
    repository, choose = tmp_path / "repository", random.Random(7)
    make_edits(repository, 30, choose)
    commits = git(repository, "rev-list", "--reverse", "main").split()
    pairs = [sorted(choose.sample(range(len(commits)), 2)) for _ in range(20)]
    given = held_to_git(repository, [(commits[a], commits[b]) for a, b in pairs], choose, 8)
    assert min(given.values()) > 10, given


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tidb-docs-zh", "rust-book"])
def test_verdicts_over_a_real_history_are_those_of_git(name, data, record_property):
    """Commits of a real repository, given with --data: cited at one, verified at a later one, none wrong."""
    repository = data / name
    commits = git(repository, "rev-list", "--reverse", "HEAD").split()
    choose = random.Random(11)
    pairs = [sorted(choose.sample(range(len(commits)), 2)) for _ in range(60)]
    given = held_to_git(repository, [(commits[a], commits[b]) for a, b in pairs], choose, 12)
    record_property("verdicts", given)
    assert min(given[state] for state in ("fresh", "moved", "changed")) > 50, given
