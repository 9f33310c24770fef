"""`install-service` and `mcp`: the program inside of a service manager and of agents.

Owns: the text of the user units, their names and where they go; the help of `mcp`, what its wrong flags are told.
Knows nothing of: the service manager (it is told nothing, the user is); how an agent is answered.
Invariants: 1. a file with other content is never overwritten. 2. `systemd/` holds just these texts for the profile
    `default` and the program `indexerd`.
Purity: shell (two files, standard output).
See: systemd/README.md, docs/agents.md.
"""

import os
import shutil
import sys
from pathlib import Path

import click

from indexerd.agents.tools import Bounds
from indexerd.cli.agenting import Served, is_date, serve
from indexerd.cli.options import Whole, acting, selecting, take_selection, taking
from indexerd.cli.place import Selection, here
from indexerd.cli.printing import escape, write
from indexerd.errors import ConfigError, RequestError

_SERVICE = """\
# A user unit for the profile `@PROFILE` of config.toml; `indexerd install-service` writes it for any profile.
# It needs no user namespace, so it works with every user manager since systemd 247.
[Unit]
Description=indexerd search daemon
# A profile that fails five times in a minute stays down: see `systemctl --user status indexerd`.
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
# Ready when the socket answers; the first index is built afterwards and shows in the status line.
Type=notify
NotifyAccess=main
ExecStart=@PROGRAM watch --profile @PROFILE
# Compare everything with the disk again.
ExecReload=kill -HUP $MAINPID
# The daemon makes the last generation durable before it ends.
KillMode=mixed
TimeoutStopSec=30
# Signs of life come while the thread that writes the index gets on; without them it is killed and started again.
WatchdogSec=300
Restart=on-failure
RestartSec=1
# Not tried again: 2, it cannot work like this; 75, another process has the store or the socket; 78, bad configuration.
RestartPreventExitStatus=2 75 78

# Indexing stands back behind whatever the person is doing.
Nice=5
IOSchedulingClass=best-effort
IOSchedulingPriority=7
MemoryHigh=1G
TasksMax=64
LimitNOFILE=4096

# What a reader of files with one Unix socket never needs.
UMask=0077
NoNewPrivileges=yes
# The only kind of socket it opens: no network at all.
RestrictAddressFamilies=AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
# No library it uses makes code at run time.
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM

[Install]
WantedBy=default.target
"""

_SOCKET = """\
# Listens for the profile `@PROFILE` before the daemon runs and while it starts again: clients wait and do not fail.
[Unit]
Description=socket of the indexerd search daemon

[Socket]
ListenStream=%t/indexerd/@PROFILE.sock
SocketMode=0600
DirectoryMode=0700

[Install]
WantedBy=sockets.target
"""

_NEXT = """\
now:
  systemctl --user daemon-reload
  systemctl --user enable --now @NAME.socket @NAME.service
  loginctl enable-linger    (to keep it running while you are not logged in)
"""


def service_unit(profile: str, program: str) -> str:
    """Return the service unit that runs `program` for a profile."""
    return _SERVICE.replace("@PROGRAM", _quoted(program)).replace("@PROFILE", profile)


def socket_unit(profile: str) -> str:
    """Return the socket unit of a profile."""
    return _SOCKET.replace("@PROFILE", profile)


def unit_name(profile: str) -> str:
    """Return the name of a profile's units, without the ending."""
    return "indexerd" if profile == "default" else f"indexerd-{profile}"


def _quoted(program: str) -> str:
    """Write a path as one word of a command line: `%` and `$` mean something there, and so does white space."""
    plain = program.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if any(char in program for char in " \t\"'\\;") else plain


@click.command("install-service")
@click.option("--profile", metavar="NAME", default="default", show_default=True, help="Which profile of config.toml.")
@click.option("--print", "only_print", is_flag=True, help="Print the units, write nothing.")
def install_service_command(profile: str, only_print: bool) -> int:
    """Write systemd user units that start the daemon of a profile, and say what to type next.

    The profile must have roots in config.toml. A unit that exists with other content is left alone.
    """
    place = here()
    if not place.load(Selection(profile=profile)).roots:
        wanted = f'write roots = ["/FOLDER"] below [profile.{profile}] in {place.places.config_file}'
        raise ConfigError([f"profile {profile!r} has no roots: {wanted}"])
    name, program = unit_name(profile), _program()
    units = {f"{name}.service": service_unit(profile, program), f"{name}.socket": socket_unit(profile)}
    if only_print:
        write(1, "\n".join(f"# {file}\n{text}" for file, text in units.items()))
        return 0
    folder = Path(place.places.config_file).parents[1] / "systemd" / "user"
    _refuse_others(folder, units)
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in units.items():
        is_there = (folder / file).exists()
        if not is_there:
            (folder / file).write_text(text, encoding="utf-8")
        write(1, f"{escape(str(folder / file))}: {'as it was' if is_there else 'written'}\n")
    write(1, _NEXT.replace("@NAME", name))
    return 0


def _program() -> str:
    """Return the absolute path of this very program: a service manager has another PATH, or none."""
    own = os.path.abspath(sys.argv[0])
    if os.path.basename(own) == "indexerd" and os.access(own, os.X_OK):
        return own
    beside = os.path.join(os.path.dirname(sys.executable), "indexerd")
    found = beside if os.access(beside, os.X_OK) else shutil.which("indexerd")
    if found is None:
        raise RequestError("the program `indexerd` is not on PATH: install it, then call `indexerd install-service`")
    return os.path.abspath(found)


def _refuse_others(folder: Path, units: dict[str, str]) -> None:
    """Refuse to touch anything if any of the files is there with other content."""
    for file, text in units.items():
        path = folder / file
        try:
            found = path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            continue
        if found != text:
            raise RequestError(f"{path} exists with other content: compare it with --print, then remove it")


@click.command("mcp")
@acting
@taking("--as-of")
@taking("--glob")
@click.option("--wait", type=Whole(0, 60_000), metavar="MS", help="Wait so long for fresh text (2000).")
@selecting
def mcp_command(roles: tuple[str, ...], as_of: str, globs: tuple[str, ...], wait: int | None, **flags: object) -> int:
    """Serve an agent over standard input and output (Model Context Protocol).

    What it may see is fixed by these flags; unsafe documents never reach it.
    """
    if not is_date(as_of):
        raise click.BadParameter(f"{as_of!r} is no date like 2026-09-06", param_hint="--as-of")
    bounds = Bounds(roles or None, as_of, globs, Bounds().wait_ms if wait is None else wait)
    return serve(Served(bounds, **take_selection(flags)._asdict()))
