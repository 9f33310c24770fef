"""The wire: bytes of a connection to requests, results to bytes. No socket, no clock, no dispatch.

Owns: the protocol version. The parts: `messages` (values, limits, error codes), `strict_json`, the framings
    `json_lines`, `msgpack_rpc` and `http_text`, `connection` (the first byte decides), `fields` (parameters, read).
Knows nothing of: sockets, what a method means, search, the store.
Invariants: 1. any byte string fed in any pieces gives messages or faults, never another exception. 2. nothing is
    allocated because a header announces it. 3. the same result gives the same values in every framing.
Purity: pure.
See: docs/protocol.md.
"""

# Importable without msgpack: the client's fast path needs this number and nothing else of the package.
PROTOCOL_VERSION = 1
