"""`python -m indexerd`.

Owns: nothing.
Knows nothing of: everything behind the entry.
Invariants: 1. the same as the installed command.
Purity: shell.
See: indexerd/_entry.py.
"""

from indexerd._entry import main

if __name__ == "__main__":
    main()
