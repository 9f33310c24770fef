"""The commands and their flags as values, for what is made from them: completion of shells, the manual page.

Owns: which flags take the name of a file.
Knows nothing of: shells, roff.
Invariants: 1. every command, flag and argument that the help shows is described, in the same order.
Purity: pure.
See: docs/operations.md (install).
"""

import inspect
from typing import NamedTuple

import click

# What stands for a value in the help, where the value is the name of a file or folder.
_FILES = frozenset({"FILE", "DIR", "PATH", "ROOT", "CASES", "CITATION", "ANSWER", "PATHS", "ROOTS"})


class Flag(NamedTuple):
    """A flag. `value` is empty for one that takes none."""

    names: tuple[str, ...]
    help: str
    value: str
    choices: tuple[str, ...]
    takes_file: bool
    repeats: bool


class Described(NamedTuple):
    """A command. `summary` is one sentence, `text` the whole help by paragraphs, `epilog` what stands at its end."""

    name: str
    summary: str
    text: tuple[str, ...]
    epilog: str
    usage: str
    flags: tuple[Flag, ...]
    choices: tuple[str, ...]
    takes_file: bool


def described(context: click.Context, name: str) -> Described:
    """Describe one command of the group that the context is of."""
    group = context.command
    assert isinstance(group, click.Group)
    command = group.get_command(context, name)
    assert command is not None
    own = click.Context(command, info_name=name, parent=context)
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    return Described(
        name,
        command.get_short_help_str(limit=300),
        tuple(" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n")),
        command.epilog or "",
        " ".join(piece for piece in command.collect_usage_pieces(own) if piece != "[OPTIONS]"),
        tuple(_flag(one, own) for one in command.get_params(own) if isinstance(one, click.Option) and not one.hidden),
        tuple(choice for one in arguments for choice in _choices(one)),
        any(_is_file(one, one.make_metavar(own)) for one in arguments),
    )


def _flag(option: click.Option, context: click.Context) -> Flag:
    value = "" if option.is_flag or option.count else option.make_metavar(context)
    names = (*option.opts, *option.secondary_opts)
    help_text = " ".join((option.help or "").split())
    return Flag(names, help_text, value, _choices(option), bool(value) and _is_file(option, value), option.multiple)


def _choices(parameter: click.Parameter) -> tuple[str, ...]:
    return tuple(map(str, parameter.type.choices)) if isinstance(parameter.type, click.Choice) else ()


def _is_file(parameter: click.Parameter, value: str) -> bool:
    return isinstance(parameter.type, click.Path) or value.strip("[].").upper() in _FILES
