"""`mcp`: standard input and output as the transport of the Model Context Protocol; calls go on to the daemon.

Owns: the flags of `indexerd mcp`, read without click; finding the daemon, anew for each call that needs one.
Knows nothing of: messages, tools. Light on purpose: an agent waits for the first reply.
Invariants: 1. nothing but messages is written to standard output. 2. a client that has no daemon is answered too.
Purity: shell (standard streams, sockets).
See: docs/agents.md, docs/adr/0017.
"""

import os
import select
from collections.abc import Mapping
from typing import NamedTuple

from indexerd import __version__
from indexerd.agents.session import Message, Session
from indexerd.agents.tools import Bounds, Tools
from indexerd.cli.asking import split_flags
from indexerd.cli.printing import write
from indexerd.cli.sockets import named_socket, present_sockets
from indexerd.errors import UnreachableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from indexerd.client import Client

_CHUNK = 1 << 16
_STDIN = 0
_CALL_SECONDS = 60.0
_HINT = b"indexerd: mcp waits for an agent's messages on standard input; agents start it themselves (Ctrl-D ends it)\n"


class Served(NamedTuple):
    """What `indexerd mcp` was started with: which daemon, and what an agent may ask of it."""

    bounds: Bounds
    socket: str = ""
    profile: str = ""
    state_dir: str = ""


def read_served(arguments: list[str]) -> Served | None:
    """Read the arguments behind `mcp`; None where anything is unusual, so that the full command line decides."""
    names = ("--role", "--as-of", "-g", "--glob", "--wait", "--socket", "--profile", "--state-dir")
    found = split_flags(arguments, dict.fromkeys(names, True))
    if found is None or found[0]:
        return None
    last = {**dict.fromkeys(names, ""), **dict(found[1])}
    wait = last["--wait"] or str(Bounds().wait_ms)
    if not is_date(last["--as-of"]) or not (wait.isascii() and wait.isdigit() and int(wait) <= 60_000):
        return None
    roles = tuple(value for name, value in found[1] if name == "--role")
    globs = tuple(value for name, value in found[1] if name in {"-g", "--glob"})
    bounds = Bounds(roles or None, last["--as-of"], globs, int(wait))
    return Served(bounds, last["--socket"], last["--profile"], last["--state-dir"])


def is_date(text: str) -> bool:
    """Tell whether a flag is a date like 2026-09-06, or not given."""
    if not text:
        return True
    from datetime import date  # noqa: PLC0415 - for a flag that few give

    try:
        # In this one of the forms that it reads.
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def serve(served: Served) -> int:
    """Answer until standard input ends; return the exit status."""
    session = Session(Tools(_Daemon(served).call, served.bounds), __version__)
    try:
        if os.isatty(_STDIN):
            write(2, _HINT)
        while data := _read():
            session.feed(data)
            if not _answer_all(session):
                return 0
        session.end()
        _answer_all(session)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        from indexerd.cli.main import report  # noqa: PLC0415 - costs more than all that an agent waits for

        return report(error, as_json=False)
    return 0


def _read() -> bytes:
    try:
        return os.read(_STDIN, _CHUNK)
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard input") from error


def _answer_all(session: Session) -> bool:
    """Answer what has come; False once nobody reads any more."""
    while (message := session.next_message()) is not None:
        reply = _answered(session, message)
        # What cancels this message may have come while it was at work.
        while select.select([_STDIN], [], [], 0)[0] and (data := _read()):
            session.feed(data)
        if reply is not None and not session.is_cancelled(message) and not write(1, reply):
            return False
    return True


def _answered(session: Session, message: Message) -> bytes | None:
    try:
        return session.answer(message)
    except Exception as error:  # noqa: BLE001 - the border of one message: the agent must not lose the server
        write(2, f"indexerd mcp: {type(error).__name__}: {error}\n")
        return session.failure(message)


def _likely(served: Served) -> str | None:
    """Return the socket that is named, or the only one there is: most often it is the one, and costs no settings."""
    if served.state_dir:
        return None
    uid = os.getuid()
    present = present_sockets(os.environ, uid)
    only = present[0] if len(present) == 1 else None
    return named_socket(served.socket, served.profile, os.environ, uid) or only


class _Daemon:
    """Calls the daemon that is meant; one connection a call, so that its restart is not noticed."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._path = _likely(served)

    def call(self, method: str, params: Mapping[str, object]) -> Mapping[str, object]:
        """Ask.

        Raises:
            UnreachableError: No daemon runs; says what to run.
            IndexerdError: What the daemon refused.
        """
        from indexerd.client import Client  # noqa: PLC0415 - not before a tool is called

        if self._path is not None:
            try:
                with Client(self._path, _CALL_SECONDS) as client:
                    return client.call(method, params)
            except UnreachableError:
                # It may run elsewhere by now.
                self._path = None
        with self._find() as client:
            self._path = client.path
            return client.call(method, params)

    def _find(self) -> "Client":
        """Connect to the daemon that is meant; where the client hid the session's directory from us, look there too."""
        from indexerd.cli.place import Selection, here  # noqa: PLC0415 - settings, not needed for the first reply
        from indexerd.cli.reaching import reach_daemon  # noqa: PLC0415 - as above
        from indexerd.config import find_places  # noqa: PLC0415 - as above

        place, served = here(), self._served
        selection = Selection(served.socket, served.profile, served.state_dir)
        try:
            return reach_daemon(selection, place)
        except UnreachableError:
            usual = f"/run/user/{place.uid}"
            if "XDG_RUNTIME_DIR" in place.environ or not os.path.isdir(usual):
                raise
            # Clients start servers with few variables, and this one is not among them.
            environ = {**place.environ, "XDG_RUNTIME_DIR": usual}
            return reach_daemon(selection, place._replace(environ=environ, places=find_places(environ, place.uid)))
