"""The composition root: from a configuration to parts that know one another, for the daemon and for one-shot commands.

Owns: which implementation stands behind each port; what is opened before what, and closed after what.
Knows nothing of: signals, the command line, what the parts do.
Invariants: 1. daemon and one-shot commands are made of the same parts. 2. whatever fails half-way, what was opened is
    closed.
Purity: shell.
See: ARCHITECTURE.md (the composition root).
"""
