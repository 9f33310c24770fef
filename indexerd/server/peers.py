"""Who is at the other end of a connection, as the kernel says.

Owns: reading SO_PEERCRED and SO_PEERGROUPS.
Knows nothing of: what the answer permits.
Invariants: 1. identity is that of who connected, at that moment; it is never looked up by pid.
Purity: shell (sockets).
See: docs/protocol.md (callers).
"""

import array
import socket
import struct

from indexerd.service.callers import Peer

_CREDENTIALS = struct.Struct("3i")
# Python names no SO_PEERGROUPS; the number is the same on every Linux architecture Python runs on but sparc and parisc.
_SO_PEERGROUPS = 59
_MAX_GROUPS = 65_536


def peer_of(connection: socket.socket) -> Peer:
    """Return the peer of a connected Unix socket.

    Raises:
        OSError: The kernel does not say; refuse the connection.
    """
    _, uid, gid = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return Peer(uid=uid, gid=gid, groups=_groups(connection))


def _groups(connection: socket.socket) -> frozenset[int]:
    for size in (64, _MAX_GROUPS):
        try:
            raw = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, size * 4)
        except OverflowError:
            continue
        except OSError:
            # ERANGE: more groups than fit, try again with room for all. On a kernel older than 4.13 there are none.
            continue
        return frozenset(array.array("I", raw))
    return frozenset()
