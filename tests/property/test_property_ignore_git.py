"""Our verdicts are git's, on generated trees with generated ignore files."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexerd.model import Root
from indexerd.naming import decode_name
from indexerd.sync.ignore import IgnoreOptions
from indexerd.sync.scan import Scanner

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")

NAMES = ["a", "b", "ab", "foo", "x.md", "foo.txt", "é.md", "a b.md", "tail .md", "!d.md", "#c.md", "a\\b.md",
         "[x].md", "A.md", "a\nb.md", "*", "foo-bar.md", "docs", "keep.md", "9.txt"]  # fmt: skip
PIECES = ["*", "**", "?", "/", "/**/", "**/", "/**", "a", "b", "foo", "docs", "[ab]", "[!a]", "[a-f]", "[[:alpha:]]",
          "[]x]", "[", "]", "\\", "\\ ", " ", ".md", ".txt", "!", "#", "x", "***", "[z-a]", "[[:digit:]9]", "[[:foo:]]",
          "\\*", "é", "\t", "[a", "keep", "[^/]", "[\\]]", "[a/b]", "**\\/", "[!]", "-"]  # fmt: skip
simple = st.tuples(
    st.sampled_from(["", "", "!", "/", "!/"]), st.sampled_from(NAMES), st.sampled_from(["", "/", "/*", "/**"])
).map("".join)
folders = st.lists(st.sampled_from(["*", "**", "?", "a*", "*.md", *NAMES]), min_size=1, max_size=4).map("/".join)
pasted = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
line = st.tuples(st.sampled_from(["", "", "!"]), simple | folders | pasted, st.sampled_from(["", "/", " ", "\r"])).map(
    "".join
)
ignore_file = st.lists(line, max_size=6).map("\n".join)


def tree(depth):
    entry = st.just(None) if depth == 0 else st.none() | tree(depth - 1)
    return st.tuples(st.none() | ignore_file, st.dictionaries(st.sampled_from(NAMES), entry, max_size=6))


def build(folder, made):
    text, entries = made
    if text is not None:
        (folder / ".gitignore").write_bytes(text.encode())
    for name, inner in entries.items():
        if inner is None:
            (folder / name).write_text("")
        else:
            (folder / name).mkdir()
            build(folder / name, inner)


def wanted_by_git(top, below):
    """Every file at or below `below` that git would not ignore."""
    files = [
        os.path.relpath(os.path.join(at, name), os.fsencode(top))
        for at, _, names in os.walk(os.fsencode(top / below))
        if b".git" not in at.split(b"/")
        for name in names
        if name != b".gitignore"
    ]
    command = ["git", "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"]
    answer = subprocess.run(command, cwd=top, input=b"\0".join([*files, b""]), capture_output=True, check=False).stdout
    fields = answer.split(b"\0")
    rows = [fields[at : at + 4] for at in range(0, len(fields) - 3, 4)]
    return {path for _, _, pattern, path in rows if not pattern or pattern.startswith(b"!")}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tree(3), st.sampled_from(["", "docs"]))
def test_a_scan_and_single_looks_agree_with_git(made, below):
    """A scan of a repository, or of a folder inside it, takes what git does not ignore; so does a look at each file."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        made[1].setdefault("docs", (None, {"a.md": None}))
        if made[1]["docs"] is None:
            made[1]["docs"] = (None, {})
        build(top, made)
        subprocess.run(["git", "init", "-q", name], check=True)
        # A root is looked into though git may ignore it: the user asked for it. Compare where git does not.
        if below and _ignored_by_git(top, below):
            below = ""
        root = Root(label="r", path=str(top / below))
        scanner = Scanner([root], IgnoreOptions(hidden=True))
        scanned = {os.path.join(os.fsencode(below), decode_name(path)) for path in scanner.scan().files}
        assert scanned == {path for path in wanted_by_git(top, below) if path.endswith((b".md", b".txt"))}
        every = [os.path.relpath(path, start=os.fsencode(root.path)) for path in _all_files(os.fsencode(root.path))]
        looked = scanner.look([(root, path) for path in every])
        assert set(looked.files) == set(scanner.scan().files)


def _ignored_by_git(top, path):
    return subprocess.run(["git", "check-ignore", "-q", "--no-index", path], cwd=top, check=False).returncode == 0


def _all_files(top):
    return [os.path.join(at, name) for at, _, names in os.walk(top) if b".git" not in at.split(b"/") for name in names]
