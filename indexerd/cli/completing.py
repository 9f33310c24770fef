"""`completion`: a script that teaches a shell the commands, flags and fixed values; all of these as values.

Owns: the scripts for bash, zsh and fish; which flags take the name of a file.
Knows nothing of: what a command does.
Invariants: 1. a script is static: completing runs no program, and it holds no path of this machine. 2. equal commands
    give equal scripts. 3. all that the help shows is described, in the same order.
Purity: shell (standard output).
See: docs/operations.md (install).
"""

import inspect
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from indexerd.cli.printing import write

# What stands for a value in the help, where the value is the name of a file or folder.
_FILES = frozenset({"FILE", "DIR", "PATH", "ROOT", "CASES", "CITATION", "ANSWER", "PATHS", "ROOTS"})
_BASH = """\
_indexerd() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command="" at flags="" values="" files=""
  for ((at = 1; at < COMP_CWORD; at++)); do
    case ${{COMP_WORDS[at]}} in -*) ;; *) command=${{COMP_WORDS[at]}}; break ;; esac
  done
  case "$command $before" in
{values}  esac
  case $command in
{commands}    *) flags="--help --version" values="{names}" ;;
  esac
  if [[ $word == -* ]]; then values=$flags files=""; fi
  COMPREPLY=($(compgen -W "$values" -- "$word"))
  if [[ -n $files ]]; then compopt -o default; fi
}}
complete -F _indexerd indexerd
"""
_ZSH = """\
#compdef indexerd
_indexerd() {{
  local line state
  _arguments -C '(-h --help)'{{-h,--help}}'[Show help]' '--version[Show the version]' \\
    '1:command:->command' '*::rest:->rest'
  case $state in
    command)
      local -a commands=(
{names}      )
      _describe command commands ;;
    rest)
      case $line[1] in
{commands}      esac ;;
  esac
}}
if [[ ${{funcstack[1]}} == _indexerd ]]; then _indexerd "$@"; else compdef _indexerd indexerd; fi
"""


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


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> int:
    """Print the completion script of a shell; source it from the shell's start file."""
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    commands = [described(root, name) for name in root.command.list_commands(root)]
    script = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[shell](commands)
    write(1, script)
    return 0


def bash_script(commands: Sequence[Described]) -> str:
    """Return the script for bash."""
    values, cases = [], []
    for command in commands:
        for flag in command.flags:
            pattern = "|".join(f'"{command.name} {name}"' for name in flag.names)
            if flag.choices:
                words = " ".join(flag.choices)
                values.append(f'    {pattern}) COMPREPLY=($(compgen -W "{words}" -- "$word")); return ;;\n')
            elif flag.value:
                files = " compopt -o default;" if flag.takes_file else ""
                values.append(f"    {pattern}) COMPREPLY=();{files} return ;;\n")
        flags = " ".join(name for flag in command.flags for name in flag.names)
        words, files = " ".join(command.choices), "yes" if command.takes_file else ""
        cases.append(f'    {command.name}) flags="{flags}" values="{words}" files="{files}" ;;\n')
    names = " ".join(command.name for command in commands)
    return _BASH.format(values="".join(values), commands="".join(cases), names=names)


def zsh_script(commands: Sequence[Described]) -> str:
    """Return the script for zsh; it may be sourced, or lie in a folder of `$fpath` as `_indexerd`."""
    names = "".join(f"        {_quoted(f'{one.name}:{one.summary}')}\n" for one in commands)
    cases = []
    for command in commands:
        specs = [*map(_zsh_flag, command.flags), _quoted(f"*: :{_zsh_values(command.choices, command.takes_file)}")]
        cases.append(f"        {command.name}) _arguments -s {' '.join(specs)} ;;\n")
    return _ZSH.format(names=names, commands="".join(cases))


def _zsh_flag(flag: Flag) -> str:
    told = flag.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    value = f":{flag.value.replace(':', ' ')}:{_zsh_values(flag.choices, flag.takes_file)}" if flag.value else ""
    spec = _quoted(f"[{told}]{value}")
    if flag.repeats:
        return " ".join(f"{_quoted('*' + name)}{spec}" for name in flag.names)
    others = f"({' '.join(flag.names)})"
    return " ".join(f"{_quoted(others + name)}{spec}" for name in flag.names)


def _zsh_values(choices: Sequence[str], takes_file: bool) -> str:
    return f"({' '.join(choices)})" if choices else "_files" if takes_file else " "


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish_script(commands: Sequence[Described]) -> str:
    """Return the script for fish."""
    return "".join(f"complete -c indexerd {line}\n" for line in ("-f", *_fish_lines(commands)))


def _fish_lines(commands: Sequence[Described]) -> Iterator[str]:
    names = " ".join(command.name for command in commands)
    yield f"-n 'not __fish_seen_subcommand_from {names}' -s h -l help -d 'Show help'"
    for command in commands:
        told = _fish_quoted(command.summary)
        yield f"-n 'not __fish_seen_subcommand_from {names}' -a {command.name} -d {told}"
        here = f"-n '__fish_seen_subcommand_from {command.name}'"
        if command.choices or command.takes_file:
            yield f"{here} -a '{' '.join(command.choices)}'" if command.choices else f"{here} -F"
        for flag in command.flags:
            spelled = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            yield f"{here} {spelled}{_fish_value(flag)} -d {_fish_quoted(flag.help)}"


def _fish_value(flag: Flag) -> str:
    if flag.choices:
        return f" -x -a '{' '.join(flag.choices)}'"
    return "" if not flag.value else " -r -F" if flag.takes_file else " -x"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


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
