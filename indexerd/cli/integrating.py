"""`completion`: a script that teaches a shell the commands and flags.

Owns: nothing but the choice of shell.
Knows nothing of: the commands.
Invariants: 1. the script holds no path of this machine.
Purity: shell (standard output).
See: docs/operations.md.
"""

import click
from click.shell_completion import get_completion_class

from indexerd.cli.answering import write


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> int:
    """Print the completion script of a shell; source it from the shell's start file."""
    kind = get_completion_class(shell)
    assert kind is not None
    root = context.find_root().command
    write(1, kind(root, {}, "indexerd", "_INDEXERD_COMPLETE").source().encode() + b"\n")
    return 0
