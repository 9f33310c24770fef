"""Prints the manual page indexerd(1), made from the commands themselves: `make man` writes it to docs/indexerd.1."""

import re
import sys

import click

from indexerd import __version__
from indexerd.cli.completing import Described, Flag, described
from indexerd.cli.main import GROUPS, cli

HEAD = r""".\" made by docs/manual.py from the commands; do not edit
.TH INDEXERD 1 "" "indexerd {version}" "indexerd"
.SH NAME
indexerd \- search a folder of documents: never old, never wrong, every hit cited by line
.SH SYNOPSIS
.B indexerd watch
.I ROOT...
.br
.B indexerd query
.I TEXT...
.br
.B indexerd
.I COMMAND
.RI [ OPTION... ]
.RI [ ARGUMENT... ]
.SH DESCRIPTION
.B indexerd watch
keeps a full-text index of folders of Markdown, text, reStructuredText and Org documents and answers over a Unix socket.
Every hit is proved against the file before it is shown.
The other commands ask the running daemon; several work without one.
"""
TAIL = r""".SH EXIT STATUS
.TP
.B 0
found, good
.TP
.B 1
nothing found, abstained, findings
.TP
.B 2
wrong usage, error
.TP
.B 3
no daemon
.TP
.B 75
busy: try again later
.TP
.B 78
wrong configuration
.TP
.B 130
interrupted
.TP
.B 141
the reader of the output has gone
.SH ENVIRONMENT
.TP
.B INDEXERD_SOCKET
the daemon at this socket is asked
.TP
.BR VISUAL ", " EDITOR
what
.B indexerd open
starts
.TP
.BR NO_COLOR ", " CLICOLOR_FORCE ", " FORCE_COLOR
whether matches are marked in colour
.TP
.BR XDG_RUNTIME_DIR ", " XDG_STATE_HOME ", " XDG_CONFIG_HOME
where the files below are
.SH FILES
.TP
.I $XDG_RUNTIME_DIR/indexerd/PROFILE.sock
socket
.TP
.I $XDG_RUNTIME_DIR/indexerd/last-result
where the hits of the last query are, for
.B indexerd open
.TP
.I $XDG_STATE_HOME/indexerd/PROFILE/
index
.TP
.I $XDG_CONFIG_HOME/indexerd/config.toml
configuration
.SH SEE ALSO
.BR rg (1),
.BR recoll (1),
.BR systemd.service (5)
"""


def main() -> None:
    """Print the page."""
    sys.stdout.write(page())


def page() -> str:
    """Return the page as roff."""
    parts = [HEAD.format(version=__version__)]
    with click.Context(cli, info_name="indexerd") as context:
        for title, commands in GROUPS.items():
            parts.append(f".SH {title.upper()} COMMANDS\n")
            parts += [section(described(context, name)) for name, *_ in commands]
    return "".join([*parts, TAIL])


def section(command: Described) -> str:
    """Return one command: how it is called, what it does, its flags."""
    usage = f" \\fI{roff(command.usage)}\\fR" if command.usage else ""
    lines = [f".SS indexerd {command.name}{usage}\n"]
    lines += [f".PP\n{line(text)}\n" for text in (*command.text, command.epilog) if text]
    return "".join([*lines, *map(flag_entry, command.flags)])


def flag_entry(flag: Flag) -> str:
    """Return one flag with its help."""
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in flag.names)
    value = f" \\fI{roff(flag.value)}\\fR" if flag.value else ""
    return f".TP\n{names}{value}\n{line(flag.help)}\n"


def line(text: str) -> str:
    """Return text that stands at the beginning of a line: a dot there would be a request."""
    return re.sub(r"^(?=[.'])", r"\\&", roff(text))


def roff(text: str) -> str:
    """Return text in which nothing has a meaning for roff."""
    signs = {"\\": r"\e", "-": r"\-", "…": "...", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", "›": ">"}
    return "".join(signs.get(char, char) for char in text)


if __name__ == "__main__":
    main()
