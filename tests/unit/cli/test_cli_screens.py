"""What people see of a daemon: the first screen, its progress, its status."""

import os

import pytest
from click.testing import CliRunner

from indexerd.cli import watching
from indexerd.cli.stating import status_lines
from indexerd.cli.syncing import report_lines
from indexerd.cli.watching import Screen, first_screen, inherited_socket, next_commands, progress_line, watchdog_seconds
from indexerd.errors import ConfigError


def make_status(**changes):
    return {
        "state": "current",
        "generation": 7,
        "durable_generation": 7,
        "documents": 3,
        "chunks": 9,
        "unsafe": 0,
        "roots": [{"label": "docs", "path": "/home/u/docs", "state": "ok"}],
        "pending": 0,
        "reconciled_age_s": 61.0,
        "overflows": 0,
        "skipped": 0,
        "held": 0,
        "replay_from": 1,
        "progress": None,
        "problems": [],
        "profile": "docs-1a2b",
        "socket": "/run/u/docs-1a2b.sock",
        **changes,
    }


def test_the_first_screen_says_what_was_found_and_what_to_type():
    """Found, time, folders, profile, socket and the next commands are all there."""
    text = "\n".join(first_screen(make_status(), 0.25, "/run"))
    for part in ("3 documents in 9 chunks, indexed in 250 ms", "/home/u/docs", "docs-1a2b.sock", "indexerd query"):
        assert part in text
    assert "left out" not in text


def test_the_first_screen_tells_what_was_left_out_and_how_to_see_it():
    """Skipped, held and unsafe are counted, with the command that lists them."""
    text = "\n".join(first_screen(make_status(skipped=2, held=1, unsafe=4), 2.0, "/run"))
    assert "2 files skipped, 1 file cannot be looked at, 4 chunks held back from evidence" in text
    assert "indexerd doctor" in text


def test_what_to_type_names_this_daemon_and_no_other():
    """By its profile where that leads to its socket, else by the socket: another may have the profile's place."""
    status = make_status(profile="docs-1a2b", socket="/a b/docs-1a2b.sock")
    assert "indexerd stop --profile docs-1a2b" in next_commands(status, "/a b")
    assert "indexerd stop --socket '/a b/docs-1a2b.sock'" in next_commands(status, "/run")


def test_a_folder_with_nothing_to_index_is_said_to_be_one():
    """An empty index is told with what would be indexed."""
    assert "nothing to index yet" in "\n".join(first_screen(make_status(documents=0, chunks=0), 0.1, "/run"))


@pytest.mark.parametrize(
    "lines", [lambda s: first_screen(s, 1.0, "/run"), status_lines], ids=["first screen", "status"]
)
def test_names_and_problems_are_escaped(lines):
    """A folder's name cannot play with the terminal."""
    hostile = make_status(
        roots=[{"label": "\x1b[2J", "path": "/a\x1b[2J\n", "state": "missing"}],
        problems=[{"code": "x", "since": "", "count": 2, "detail": "\x1b[2J"}],
    )
    text = "\n".join(lines(hostile))
    assert "\x1b" not in text
    assert "missing" in text


def test_progress_is_one_short_line():
    """The bar fits a terminal of 80 columns, also for a million files."""
    assert progress_line(make_status(progress=None)) == "looking for documents"
    line = progress_line(make_status(progress={"done": 250_000, "total": 1_000_000}))
    assert "25%" in line
    assert len(line) < 80


@pytest.mark.parametrize("columns", [1, 20, 40, 60, 80, 200])
@pytest.mark.parametrize("done", [0, 250_000, 1_000_000])
def test_progress_never_wraps(columns, done):
    """In a narrow terminal the bar shrinks, then goes; a line that wraps could not be drawn over."""
    line = progress_line(make_status(progress={"done": done, "total": 1_000_000}), columns)
    assert len(line) < columns
    assert columns < 20 or f"{done // 10_000}%" in line
    assert line.count("#") + line.count("-") <= 30


def test_the_screen_shows_progress_on_a_terminal_then_the_first_screen(capfd):
    """While building a bar on one line; afterwards the screen, with the time since the start."""
    moments = iter([0.0, 1.5])
    screen = Screen(lambda: next(moments), "/run", is_terminal=True)
    screen.show_progress(make_status(state="building", progress={"done": 1, "total": 2}))
    screen.show_first(make_status())
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "50%" in shown.err
    assert shown.err.count("indexed in 1.5 s") == 1


def test_without_a_terminal_there_is_no_progress_bar(capfd):
    """A log gets the first screen only."""
    screen = Screen(lambda: 0.0, "/run", is_terminal=False)
    screen.show_progress(make_status(state="building"))
    assert capfd.readouterr().err == ""


def test_a_socket_of_the_service_manager_is_taken_over_only_by_its_addressee():
    """`LISTEN_FDS` counts only together with our own process number."""
    assert inherited_socket({"LISTEN_PID": "7", "LISTEN_FDS": "1"}, 7) == 3
    assert inherited_socket({"LISTEN_PID": "8", "LISTEN_FDS": "1"}, 7) is None
    assert inherited_socket({}, 7) is None


def test_of_several_sockets_of_the_service_manager_none_is_left_without_an_answer():
    """Whoever connected to the second would wait for nobody: the settings are refused."""
    with pytest.raises(ConfigError, match="2 sockets"):
        inherited_socket({"LISTEN_PID": "7", "LISTEN_FDS": "2"}, 7)


def test_without_a_runtime_directory_it_is_told_where_our_own_socket_goes(tmp_path, monkeypatch, capfd):
    """Of one that the service manager made nothing is told: it is elsewhere."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(watching, "_foreground", lambda *_: 0)
    (tmp_path / "docs").mkdir()
    for environ, is_told in (({}, True), ({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}, False)):
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        assert CliRunner().invoke(watching.watch_command, [str(tmp_path / "docs")]).exit_code == 0
        assert ("XDG_RUNTIME_DIR is not set" in capfd.readouterr().err) is is_told


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "2500000"}, 2.5),
        ({"WATCHDOG_USEC": "2500000", "WATCHDOG_PID": "7"}, 2.5),
        ({"WATCHDOG_USEC": "2500000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_service_manager_waits_for_a_sign_of_life_only_where_it_says_so(environ, seconds):
    """`WATCHDOG_USEC` counts for the process that it is meant for, if it is a number."""
    assert watchdog_seconds(environ, 7) == seconds


def test_status_tells_every_weakness():
    """Pending, held, skipped, unsafe, overflows, missing roots and problems all show."""
    status = make_status(
        state="degraded",
        durable_generation=5,
        pending=2,
        skipped=1,
        held=3,
        unsafe=4,
        overflows=1,
        problems=[{"code": "watch_limit", "since": "", "count": 3, "detail": "raise it"}],
    )
    text = "\n".join(status_lines(status))
    for part in (
        "degraded",
        "5 on disk for good",
        "2 paths",
        "1 file",
        "3 documents",
        "overflows",
        "(3 times)",
        "1 minute",
    ):
        assert part in text, part


def test_others_than_the_owner_are_not_sent_to_problems_that_they_are_not_told():
    """The state in words, and the number of what they see."""
    told = {"protocol": 1, "state": "degraded", "generation": 7, "today": "2026-12-01", "time_zone": "UTC"}
    assert list(status_lines(told)) == ["degraded: a promise is weaker", "  generation   7"]
    assert next(status_lines(make_status(state="degraded"))).endswith("see the problems below")


def test_a_sync_report_names_what_was_skipped_and_held():
    """Each file that was left out is named with its reason, escaped; a long list is cut with its rest counted."""
    report = {
        "generation": 2,
        "durable": True,
        "documents_added": 1,
        "documents_updated": 0,
        "documents_unchanged": 5,
        "documents_deleted": 0,
        "documents_skipped": [{"source_path": f"x\x1b{n}", "reason": "EACCES"} for n in range(12)],
        "documents_held": [{"source_path": "h.md", "reason": "EACCES"}],
        "chunks_active": 9,
        "unsafe_chunks": 1,
    }
    text = "\n".join(report_lines(report))
    assert "1 added, 5 unchanged (generation 2, 9 chunks)" in text
    assert "2 more not indexed" in text
    assert "held  h.md: EACCES" in text
    assert "\x1b" not in text
