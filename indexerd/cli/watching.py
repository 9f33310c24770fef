"""`watch` and `stop`: start a daemon in the foreground or apart, and end one.

Owns: where a detached daemon's log goes; what is printed while a daemon starts, and what is told to type next.
Knows nothing of: what a daemon does.
Invariants: 1. `watch --detach` returns when the socket answers, and a small first index has had its moment, or when the
    daemon has failed, never before. 2. without a root, and without a profile that has some, nothing is watched.
    3. what the first index skipped is counted with the command that lists it.
Purity: shell (processes, standard streams).
See: docs/operations.md.
"""

import os
import select
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import click

from indexerd.cli.logs import start_log
from indexerd.cli.options import no_empty, selecting, setting, take_selection, take_settings
from indexerd.cli.place import Place, Selection, here
from indexerd.cli.printing import count, escape, write, write_lines
from indexerd.cli.reaching import flag_for, is_kept_by_daemon, naming_holder, reach_daemon
from indexerd.cli.stating import size_of
from indexerd.cli.syncing import require_roots
from indexerd.client import Client
from indexerd.config import Config
from indexerd.errors import BusyError, ConfigError, IndexerdError

_STOP_SECONDS = 60
_LEFT_OUT = (
    ("skipped", "skipped"),
    ("held", "cannot be looked at"),
    ("withheld", "found by nobody"),
    ("unsafe", "held back from evidence"),
)
_BAR = 30
_SHORTEST_BAR = 5
# A folder that is indexed in a moment is, when `watch --detach` returns: what is asked next is not told to ask again.
_FIRST_INDEX_SECONDS, _LOOK_SECONDS = 3.0, 0.02


@click.command("watch")
@click.argument("roots", nargs=-1, metavar="ROOT...", callback=no_empty)
@click.option("--detach", is_flag=True, help="Return as soon as the daemon answers.")
@setting
@selecting
def watch_command(roots: tuple[str, ...], detach: bool, **flags: object) -> int:
    """Index folders, keep the index fresh, and answer queries.

    A ROOT is a folder, or LABEL=FOLDER to name it in citations.
    """
    selection, settings, place = take_selection(flags), take_settings(flags), here()
    config = _configure(roots, selection, place, settings)

    def read_again() -> Config:
        try:
            return _configure(roots, selection, place, settings)
        except click.UsageError as error:
            raise ConfigError([error.format_message()]) from error

    begin = _detached if detach else _foreground
    return begin(config, place.environ, read_again)


def _configure(roots: tuple[str, ...], selection: Selection, place: Place, settings: dict[str, object]) -> Config:
    if not roots and not selection.profile:
        raise click.UsageError("say what to watch: indexerd watch ROOT, or --profile NAME with roots in config.toml")
    config = place.load(selection, roots=roots, settings=settings)
    if not config.roots:
        raise click.UsageError(f"profile {config.profile} has no roots: name some, or add them to config.toml")
    require_roots(config)
    is_ours = config.socket.is_default and inherited_socket(place.environ, os.getpid()) is None
    if place.places.runtime_is_fallback and is_ours:
        write(2, f"indexerd: XDG_RUNTIME_DIR is not set: the socket is in {place.places.runtime_dir}\n")
    return config


def _foreground(
    config: Config,
    environ: Mapping[str, str],
    read_again: Callable[[], Config],
    on_answering: Callable[[], None] | None = None,
) -> int:
    from indexerd.clock import SystemClock  # noqa: PLC0415 - numpy and the store only where a daemon starts
    from indexerd.daemon import run  # noqa: PLC0415 - as above

    start_log(config.log, environ)
    is_terminal = os.isatty(2) and on_answering is None
    screen = Screen(SystemClock().monotonic, config.socket.clients_look_in, is_terminal=is_terminal)
    # Whoever reads the log as objects, one a line, can read no words for people between them.
    shows = config.log.format != "json"
    with naming_holder(config):
        return run(
            config,
            on_answering=on_answering,
            on_progress=screen.show_progress if shows else None,
            on_ready=screen.show_first if shows else None,
            notify_socket=environ.get("NOTIFY_SOCKET"),
            watchdog_seconds=watchdog_seconds(environ, os.getpid()),
            listen_fd=inherited_socket(environ, os.getpid()),
            read_again=read_again,
            in_vain=lambda: is_kept_by_daemon(config.state_dir),
        )


def inherited_socket(environ: Mapping[str, str], pid: int) -> int | None:
    """Return the descriptor of a listening socket that the service manager opened for this process, if it did.

    Raises:
        ConfigError: It opened several: whoever connects to another than the first would wait for nobody.
    """
    number = environ.get("LISTEN_FDS", "0") if environ.get("LISTEN_PID") == str(pid) else "0"
    if number not in {"0", "1"}:
        raise ConfigError([f"the service manager hands over {number} sockets (LISTEN_FDS): name one ListenStream"])
    # By the protocol the first one is number 3.
    return 3 if number == "1" else None


def watchdog_seconds(environ: Mapping[str, str], pid: int) -> float | None:
    """Return how long the service manager waits for a sign of life of this process; None if it waits for none."""
    microseconds = environ.get("WATCHDOG_USEC", "")
    is_ours = environ.get("WATCHDOG_PID", str(pid)) == str(pid)
    return int(microseconds) / 1_000_000 if is_ours and microseconds.isdecimal() and int(microseconds) else None


class Screen:
    """Shows progress while the first index is built, then the first screen. All of it on standard error."""

    def __init__(self, monotonic: Callable[[], float], directory: str, *, is_terminal: bool) -> None:
        self._monotonic, self._directory = monotonic, directory
        self._started = monotonic()
        self._is_terminal = is_terminal
        self._shown = ""

    def show_progress(self, status: Mapping[str, Any]) -> None:
        """Show how far the first index is, where somebody looks."""
        if not self._is_terminal:
            return
        line = progress_line(status, _columns())
        if line != self._shown:
            write(2, f"\r\x1b[K{line}")
            self._shown = line

    def show_first(self, status: Mapping[str, Any]) -> None:
        """Show what was found and what can be typed next."""
        lines = first_screen(status, self._monotonic() - self._started, self._directory)
        clear = "\r\x1b[K" if self._is_terminal else ""
        write(2, clear + "".join(f"{line}\n" for line in lines))


def first_screen(status: Mapping[str, Any], seconds: float, directory: str) -> Iterator[str]:
    """Return the lines that follow the first index, which took `seconds`; sockets lie in `directory` by profile."""
    documents, chunks = status["documents"], status["chunks"]
    took = f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
    yield f"{count(documents, 'document')} in {count(chunks, 'chunk')}, indexed in {took}"
    for root in status["roots"]:
        note = "" if root["state"] == "ok" else f"  ({root['state'].replace('_', ' ')})"
        yield f"  watching  {escape(root['path'])}{note}"
    if not documents:
        yield "  nothing to index yet: files that end in .md, .mdx, .txt, .rst or .org are (--format names others)"
    yield from _left_out(status)
    for problem in status["problems"]:
        yield f"  problem   {escape(str(problem['code']))}: {escape(str(problem['detail']))}"
    yield f"  profile   {escape(str(status.get('profile')))}"
    yield f"  socket    {escape(str(status.get('socket')))}"
    yield "try:"
    yield from (f"  {command}" for command in next_commands(status, directory))


def _left_out(status: Mapping[str, Any]) -> Iterator[str]:
    parts = []
    for key, text in _LEFT_OUT:
        number = size_of(status.get(key))
        if number:
            parts.append(f"{count(number, 'chunk' if key == 'unsafe' else 'file')} {text}")
    if parts:
        yield f"  left out  {', '.join(parts)}: `indexerd doctor` lists them with the reason"


def next_commands(status: Mapping[str, Any], directory: str) -> list[str]:
    """Return commands that work as they stand, from any folder."""
    return [
        "indexerd query SOME WORDS",
        "indexerd evidence A QUESTION",
        "indexerd status",
        f"indexerd stop {flag_for(status, directory)}",
    ]


def progress_line(status: Mapping[str, Any], columns: int = 80) -> str:
    """Return one line about a running first index that leaves the last column of a terminal free."""
    progress = status.get("progress")
    if not progress or not progress["total"]:
        return "looking for documents"
    share = min(progress["done"] / progress["total"], 1.0)
    figures = f"{share:4.0%}  {progress['done']:,} of {count(progress['total'], 'file')}"
    # Redrawn in place, a line that wraps would leave its first half behind.
    width = min(_BAR, columns - len(f"indexing [] {figures}") - 1)
    if width < _SHORTEST_BAR:
        return f"indexing{figures}"[: max(columns - 1, 0)]
    filled = int(share * width)
    bar = "#" * filled + "-" * (width - filled)
    return f"indexing [{bar}] {figures}"


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80


def _detached(config: Config, environ: Mapping[str, str], read_again: Callable[[], Config]) -> int:
    """Start the daemon in a session of its own, wait until its socket answers, and tell where it is."""
    from indexerd.cli.main import report  # noqa: PLC0415 - the border of the new process
    from indexerd.daemon import detach  # noqa: PLC0415 - numpy and the store only where a daemon starts

    def work(answering: Callable[[], None]) -> int:
        try:
            return _foreground(config, environ, read_again, answering)
        except (IndexerdError, OSError) as error:
            return report(error, as_json=False)

    # Beside the state directory, never inside it.
    log = config.state_dir.rstrip("/") + ".log"
    status = detach(work, log)
    if status == 0:
        _await_first_index(config.socket.path)
        write(1, f"profile {config.profile}, socket {escape(config.socket.path)}, log {escape(log)}\n")
    return status


def _await_first_index(path: str) -> None:
    """Wait for a first index that takes a moment, and name what stands in its way.

    Not for a long one, and not for a daemon that does not answer.
    """
    with suppress(IndexerdError), Client(path) as client:
        for _ in range(round(_FIRST_INDEX_SECONDS / _LOOK_SECONDS)):
            status = client.call("status")
            if problems := status.get("problems"):
                write_lines([f"indexerd: {one['code']}: {escape(str(one['detail']))}" for one in problems], 2)
            if problems or status["state"] != "building":
                return
            select.select([], [], [], _LOOK_SECONDS)


@click.command("stop")
@selecting
def stop_command(**flags: object) -> int:
    """End a running daemon; returns when it is gone."""
    with reach_daemon(take_selection(flags), here()) as client:
        status = client.call("status")
        process = _process_of(status)
        client.call("shutdown")
    daemon = escape(f"profile {status.get('profile')}, pid {status.get('pid')}, socket {status.get('socket')}")
    if process is None:
        write(2, f"indexerd: told to stop: {daemon}\n")
        return 0
    is_gone = bool(select.select([process], [], [], _STOP_SECONDS)[0])
    os.close(process)
    if not is_gone:
        raise BusyError(f"the daemon was told to stop and still runs after {_STOP_SECONDS} s: see its log")
    write(2, f"indexerd: stopped: {daemon}\n")
    return 0


def _process_of(status: Mapping[str, Any]) -> int | None:
    """Return a descriptor that becomes readable when the daemon's process ends; None if it cannot be seen from here."""
    pid = status.get("pid")
    try:
        return os.pidfd_open(pid) if isinstance(pid, int) else None
    except OSError:
        return None
