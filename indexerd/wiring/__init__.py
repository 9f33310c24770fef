"""The composition root: from a configuration to parts that know one another, for the daemon and for one-shot commands.

Owns: which implementation stands behind each port; what is opened before what, and closed after what.
Knows nothing of: signals, the command line, what the parts do.
Invariants: 1. daemon and one-shot commands are made of the same parts. 2. whatever fails half-way, what was opened is
    closed.
Purity: shell.
See: ARCHITECTURE.md (the composition root).
"""

from indexerd.wiring.ground import check_ground, stored_roots, was_synced
from indexerd.wiring.house import House, open_local
from indexerd.wiring.looking import look_once
from indexerd.wiring.reading import open_reading, open_sources
from indexerd.wiring.resident import Daemon, open_daemon

__all__ = [
    "Daemon",
    "House",
    "check_ground",
    "look_once",
    "open_daemon",
    "open_local",
    "open_reading",
    "open_sources",
    "stored_roots",
    "was_synced",
]
