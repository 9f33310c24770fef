"""`mcp`: the program inside of agents.

Owns: the help of `mcp`, what its wrong flags are told.
Knows nothing of: how an agent is answered.
Invariants: 1. what an agent may see is fixed when it is started.
Purity: shell (standard streams).
See: docs/agents.md.
"""

import datetime

import click

from indexerd.agents.tools import Bounds
from indexerd.cli.agenting import Served, serve
from indexerd.cli.options import acting, selecting, take_selection


@click.command("mcp")
@acting
@click.option("--as-of", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE", help="Documents valid on this day.")
@click.option("-g", "--glob", "globs", metavar="GLOB", help="Only these paths; !GLOB leaves out.", multiple=True)
@click.option("--wait", type=click.IntRange(0, 60_000), metavar="MS", help="Wait so long for fresh text (2000).")
@selecting
def mcp_command(
    roles: tuple[str, ...], as_of: datetime.datetime | None, globs: tuple[str, ...], wait: int | None, **flags: object
) -> int:
    """Serve an agent over standard input and output (Model Context Protocol).

    What it may see is fixed by these flags; unsafe documents never reach it.
    """
    day = "" if as_of is None else as_of.date().isoformat()
    bounds = Bounds(roles or None, day, globs, Bounds().wait_ms if wait is None else wait)
    return serve(Served(bounds, **take_selection(flags)._asdict()))
