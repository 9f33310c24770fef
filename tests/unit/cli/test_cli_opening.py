"""Opening a hit: the last result, and how editors are told a line."""

import os
from pathlib import Path

import pytest

from indexerd.cli.citing import describe_verdict, editor_command
from indexerd.cli.sockets import recall, remember


def hit(line):
    return {"line": line, "start_line": line - 1, "end_line": line + 13, "content_hash": "ab" * 32}


@pytest.fixture
def environ(tmp_path):
    (tmp_path / "indexerd").mkdir(mode=0o700)
    return {"XDG_RUNTIME_DIR": str(tmp_path)}


def test_the_last_result_is_remembered_exactly(environ):
    """Names of any bytes and their lines come back; other numbers name nothing."""
    paths = [b"/a/plain.md", b"/a/odd\n\xff.md"]
    remember([hit(3), hit(14)], paths, environ, os.getuid())
    assert recall(1, environ, os.getuid()) == (paths[0], 3, 2, 16, b"\xab" * 32)
    assert recall(2, environ, os.getuid()) == (paths[1], 14, 13, 27, b"\xab" * 32)
    assert recall(3, environ, os.getuid()) is None
    assert recall(0, environ, os.getuid()) is None


def test_a_result_without_hits_is_the_last_one_too(environ):
    """What an older query found is not opened after a newer one that found nothing."""
    remember([hit(3)], [b"/a"], environ, os.getuid())
    remember([], [], environ, os.getuid())
    assert recall(1, environ, os.getuid()) is None


def test_a_file_of_another_form_names_nothing(environ):
    """A damaged last result, or one of an older program, is as good as none."""
    for text in (b"/a\x003\0/b\x0014\0", b"/a\x003\x002\x005\0no hash\0", b"\xff"):
        remember([hit(3)], [b"/a"], environ, os.getuid())
        place = Path(environ["XDG_RUNTIME_DIR"], "indexerd", "last-result")
        place.write_bytes(text)
        assert recall(1, environ, os.getuid()) is None


def test_only_in_a_private_folder_something_is_remembered(tmp_path):
    """It is made where there is none, as without a daemon; losing `open N` is no failure of the query."""
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}
    remember([hit(3)], [b"/a"], environ, os.getuid())
    assert recall(1, environ, os.getuid()) is not None
    (tmp_path / "indexerd").chmod(0o777)
    assert recall(1, environ, os.getuid()) is None
    remember([hit(3)], [b"/a"], {"XDG_RUNTIME_DIR": str(tmp_path / "nowhere")}, os.getuid())


@pytest.mark.parametrize(
    ("editor", "expected"),
    [
        ("vim", [b"vim", b"+7", b"/a b.md"]),
        ("code --wait", [b"code", b"--wait", b"--goto", b"/a b.md:7"]),
        ("'/opt/my editor/hx'", [b"/opt/my editor/hx", b"/a b.md:7"]),
        ("", [b"vi", b"+7", b"/a b.md"]),
    ],
)
def test_editors_are_told_the_line_in_their_own_way(editor, expected):
    """Most take `+LINE FILE`; those that do not are known."""
    assert editor_command(editor, b"/a b.md", 7) == expected


def test_a_name_that_looks_like_a_placeholder_is_only_a_name():
    """A file called `{line}` opens as itself."""
    assert editor_command("vim", b"/{line}.md", 7) == [b"vim", b"+7", b"/{line}.md"]


def test_verdicts_are_one_line():
    """Fresh is a word; moved says where."""
    assert describe_verdict({"state": "fresh", "moved_to": []}) == "fresh"
    assert (
        describe_verdict({"state": "moved", "moved_to": ["a#L1-L2", "a#L5-L6"]}) == "moved to a#L1-L2 (2 places in all)"
    )
