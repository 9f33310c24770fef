"""Agents: the Model Context Protocol in front of the daemon's socket. Messages in, messages out.

Owns: the revisions of that protocol, the tools, what a model is told. The parts: `session` (lines, lifecycles,
    cancelling), `tools` and their `schemas`, `arguments` held to them, `instructions` (what a model is told).
Knows nothing of: standard streams, sockets, the index; how a call reaches the daemon (it is given).
Invariants: 1. roles, day, paths and safety are fixed at the start; no tool takes them. 2. no unsafe document is asked
    for.
Purity: pure, save for the calls it is given.
See: docs/agents.md.
"""
