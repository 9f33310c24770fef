"""The use cases: a request value and a caller in, a result value out.

Owns: the dispatch table. The parts: `callers`, `parts` (what is injected), `searching`, `citations`, `verdict`,
    `listing`, `condition`, `rendering`.
Knows nothing of: sockets, framings, threads, how anything is indexed.
Invariants: 1. every method has a caller. 2. the same request gives the same result in every framing and without a
    daemon.
Purity: shell (through what is injected).
See: docs/protocol.md.
"""
