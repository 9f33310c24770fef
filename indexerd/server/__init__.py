"""The Unix socket: a bytes pump around `protocol` and a service.

Owns: listening, connections, their limits and deadlines, the threads that wait for answers.
Knows nothing of: what a method does, search, sync, the store.
Invariants: 1. no peer can make another wait: nothing on the event loop blocks, and what a connection may hold is
    bounded.
    2. replies of one connection come in the order of its requests.
Purity: shell (sockets, one thread for the loop, a few for calls).
See: docs/protocol.md, docs/operations.md (the socket).
"""

from indexerd.server.listening import Listener, announce, listen, take_over
from indexerd.server.serving import Dispatch, Limits, Server

__all__ = ["Dispatch", "Limits", "Listener", "Server", "announce", "listen", "take_over"]
