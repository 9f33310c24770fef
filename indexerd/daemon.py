"""The daemon's process: order of start and end, signals, the service manager.

Owns: what begins before what, what ends after what, which signal means what.
Knows nothing of: documents, queries, what a part does once it runs.
Invariants: 1. the store is locked before the socket is touched, and the socket answers before the first scan begins.
    2. at the end: no new calls, running ones finish, the sync stops, the store is made durable and closed. 3. at idle
    the main thread sleeps.
Purity: shell (signals, process, the manager's socket).
See: docs/operations.md (start, stop, systemd).
"""

import gc
import logging
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType

from indexerd import __version__
from indexerd.clock import SystemClock
from indexerd.config import Config
from indexerd.wiring.resident import Daemon, open_daemon

_log = logging.getLogger(__name__)

# Whoever waits at the socket already, as behind one that the service manager opened, is answered before the sync
# begins: loading it and the first scan would take half of the interpreter from them.
_FIRST_CALLERS_SECONDS = 0.05
# While the first index is built: how often a progress bar hears of it.
_PROGRESS_SECONDS = 0.2
# No word from the loop for this long while starting or stopping must not count as hanging (microseconds, as systemd
# wants).
_EXTEND_US = 60_000_000
# A full look for values that refer to each other in a ring holds up every thread: 90 ms among the 170,000 values of an
# index of 20,000 files (2026-11-30). Hardly any are in a ring: the look comes a hundred times more seldom here.
_YOUNG_LOOKS_FOR_A_FULL_ONE = 1000
# A thread that computes lets another have the interpreter after this long, a tenth of what is usual in Python: a query
# asks for it again behind each read. p99 during a reindex of 12,000 files, on a busy machine: 62 to 70 ms, and 120 to
# 221 with the usual 5 ms (2026-11-30).
_SWITCH_SECONDS = 0.0005
_STOP, _RECONCILE = b"s", b"r"
_SIGNALS = {signal.SIGTERM: _STOP, signal.SIGINT: _STOP, signal.SIGHUP: _RECONCILE}
_WAKING = {bytes([number]) for number in signal.valid_signals()}

Status = Mapping[str, object]


def run(  # noqa: PLR0913 - hooks of the command line and of the service manager, all optional
    config: Config,
    *,
    on_answering: Callable[[], None] | None = None,
    on_progress: Callable[[Status], None] | None = None,
    on_ready: Callable[[Status], None] | None = None,
    notify_socket: str | None = None,
    watchdog_seconds: float | None = None,
    listen_fd: int | None = None,
    read_again: Callable[[], Config] | None = None,
    in_vain: Callable[[], bool] = lambda: True,
) -> int:
    """Run the daemon of one profile until it is told to stop; return the exit status.

    Args:
        config: A valid configuration with at least one root.
        on_answering: Called once the socket answers.
        on_progress: Called with the owner's status a few times a second while the first index is built.
        on_ready: Called with the owner's status once the first index is complete.
        notify_socket: The service manager's `NOTIFY_SOCKET`.
        watchdog_seconds: How long the service manager waits for a sign of life; None if it waits for none.
        listen_fd: A listening socket that the service manager opened.
        read_again: Reads the settings again at SIGHUP; None keeps them as they are.
        in_vain: Tells whether it is of no use to wait for a process that keeps the store, see `open_daemon`.

    Raises:
        ConfigError: A root or the socket's place cannot be used; lists every problem.
        BusyError: A daemon answers at the socket already.
        StoreLockedError: Another process writes to the state directory.
        ForeignStoreError: The state directory belongs to other roots.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(*gc.get_threshold()[:2], _YOUNG_LOOKS_FOR_A_FULL_ONE)
    mailbox, manager = _Mailbox(), _Manager(notify_socket)
    # Signals first: one that comes while the store is being opened must still end the daemon in order.
    with (
        mailbox.signals(),
        _closing_after(open_daemon(config, stop=mailbox.stop, listen_fd=listen_fd, in_vain=in_vain), manager) as daemon,
    ):
        daemon.server.start()
        manager.say(READY=1, STATUS="building the index")
        if on_answering is not None:
            on_answering()
        _log.info("started", extra={"fields": {"version": __version__, "profile": config.profile}})
        watchdog = _Watchdog(manager, watchdog_seconds, daemon.heartbeat)
        _serve(daemon, mailbox, watchdog, _Hearers(manager, on_progress, on_ready), read_again)
        _log.info("stopping", extra={"fields": {}})
    return 0


def _serve(
    daemon: Daemon,
    mailbox: "_Mailbox",
    watchdog: "_Watchdog",
    hearers: "_Hearers",
    read_again: Callable[[], Config] | None,
) -> None:
    """Start the sync, then sleep until something is to be done."""
    word, building = mailbox.wait(_FIRST_CALLERS_SECONDS), True
    if word != _STOP:
        daemon.start_sync()
    while word != _STOP:
        if word == _RECONCILE:
            with hearers.reloading():
                if read_again is not None:
                    daemon.reload(read_again)
                daemon.reconcile()
        word = mailbox.wait(_PROGRESS_SECONDS if building else watchdog.seconds)
        watchdog.look()
        if building and word != _STOP:
            building = hearers.tell(daemon.status())


class _Watchdog:
    """Tells the service manager that the daemon lives, for as long as its writer gets on.

    Attributes:
        seconds: How often to look: four times in the span the manager waits; None if it waits for nothing.
    """

    def __init__(self, manager: "_Manager", span_seconds: float | None, heartbeat: Callable[[], int]) -> None:
        self.seconds = span_seconds / 4 if span_seconds is not None else None
        self._manager, self._heartbeat, self._last = manager, heartbeat, -1

    def look(self) -> None:
        """Say so if the heart has beaten since the last look: that this thread lives proves nothing."""
        beats = self._heartbeat() if self.seconds is not None else self._last
        if beats != self._last:
            self._last = beats
            self._manager.say(WATCHDOG=1)


class _Hearers:
    """Those who follow the first index: the service manager, and whoever looks at the terminal."""

    def __init__(
        self,
        manager: "_Manager",
        on_progress: Callable[[Status], None] | None,
        on_ready: Callable[[Status], None] | None,
    ) -> None:
        self._manager, self._on_progress, self._on_ready = manager, on_progress, on_ready

    @contextmanager
    def reloading(self) -> Iterator[None]:
        """Say that settings are being read again, and that it is done."""
        # `Type=notify-reload` tells this reload from an earlier one by the clock.
        self._manager.say(RELOADING=1, MONOTONIC_USEC=int(SystemClock().monotonic() * 1_000_000))
        try:
            yield
        finally:
            self._manager.say(READY=1)

    def tell(self, status: Status) -> bool:
        """Tell how far the index is; return whether it is still being built."""
        # An index from before is no news until it was compared with the disk once.
        building = status["state"] == "building" or status["reconciled_age_s"] is None
        progress = status["progress"]
        done = f" ({progress['done']} of {progress['total']} files)" if isinstance(progress, dict) else ""
        documents = status["documents"]
        whole = f"{documents} document{'' if documents == 1 else 's'}, generation {status['generation']}"
        self._manager.say(STATUS=f"building the index{done}" if building else whole)
        hearer = self._on_progress if building else self._on_ready
        if hearer is not None:
            hearer(status)
        return building


@contextmanager
def _closing_after(daemon: Daemon, manager: "_Manager") -> Iterator[Daemon]:
    try:
        yield daemon
    finally:
        manager.say(STOPPING=1, EXTEND_TIMEOUT_USEC=_EXTEND_US)
        daemon.close()


class _Mailbox:
    """Words for the main thread, from signal handlers and other threads.

    A pipe and not an Event: a handler runs between two steps of the main thread, which may hold the Event's own lock.
    """

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._terminals = [stream for stream in (0, 1, 2) if os.isatty(stream)]

    def stop(self) -> None:
        """Ask the main thread to end the daemon; from any thread."""
        self._post(_STOP)

    def wait(self, seconds: float | None) -> bytes | None:
        """Return the next word, or None when none comes in time."""
        ready, _, _ = select.select([self._reading], [], [], seconds)
        word = os.read(self._reading, 1) if ready else None
        # Awake, the main thread has run the handler, and the handler has posted a word.
        return self.wait(seconds) if word in _WAKING else word

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Receive signals; outside of the main thread, where Python has none, only `stop` counts."""
        is_main = threading.current_thread() is threading.main_thread()
        before = {number: signal.signal(number, self._receive) for number in _SIGNALS} if is_main else {}
        # The kernel may hand a signal to any thread: Python's handler then waits for the main one, which nobody wakes.
        waking = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False) if is_main else -1
        try:
            yield
        finally:
            if is_main:
                signal.set_wakeup_fd(waking)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        is_hung_up = number == signal.SIGHUP and self._terminals and not any(map(os.isatty, self._terminals))
        # Whoever closes the window means the end; a manager's SIGHUP comes with the streams as they were.
        self._post(_STOP if is_hung_up else _SIGNALS[signal.Signals(number)])

    def _post(self, word: bytes) -> None:
        # Full: so many words wait already that the main thread will look soon enough.
        with suppress(BlockingIOError):
            os.write(self._writing, word)


class _Manager:
    """The service manager's notification socket (sd_notify), by hand: a datagram of `KEY=value` lines."""

    def __init__(self, address: str | None) -> None:
        self._address = "\0" + address[1:] if address is not None and address.startswith("@") else address

    def say(self, **words: object) -> None:
        """Send; a manager that does not listen is no reason to stop."""
        if self._address is None:
            return
        text = "\n".join(f"{key}={value}" for key, value in words.items())
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sending, suppress(OSError):
            sending.sendto(text.encode(), self._address)


def detach(work: Callable[[Callable[[], None]], int], log_path: str | None = None) -> int:
    """Carry out `work` in a session of its own; return when it says that it answers.

    Call it before any thread is started. Until the daemon answers, its errors appear where the caller's do.

    Args:
        work: Runs the daemon; calls its argument once the socket answers; returns an exit status.
        log_path: Where its standard error goes afterwards; None for nowhere.

    Returns:
        0 once the daemon answers; the exit status of `work` if it ended before.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _become_daemon(work, writing, log_path)
    os.close(writing)
    answered = os.read(reading, 1)
    os.close(reading)
    if answered:
        return 0
    _, state = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(state) or 2


def _become_daemon(work: Callable[[Callable[[], None]], int], writing: int, log_path: str | None) -> None:
    """Run in the child; never returns."""
    status = 2
    try:
        os.setsid()

        def answering() -> None:
            _redirect(log_path)
            os.write(writing, b"1")
            os.close(writing)

        status = work(answering)
    except Exception:  # noqa: BLE001 - the end of a process: who started it sees the status, the log has the cause
        _log.exception("daemon_failed: it ends")
    finally:
        os._exit(status)


def _redirect(log_path: str | None) -> None:
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    log = os.open(log_path, flags, 0o600) if log_path is not None else nothing
    for descriptor, target in ((0, nothing), (1, log), (2, log)):
        os.dup2(target, descriptor)
    for opened in {nothing, log}:
        os.close(opened)
