"""`completion`: a script that teaches a shell the commands, flags and fixed values.

Owns: the scripts for bash, zsh and fish.
Knows nothing of: what a command does.
Invariants: 1. a script is static: completing runs no program, and it holds no path of this machine. 2. equal commands
    give equal scripts.
Purity: shell (standard output).
See: docs/operations.md (install).
"""

from collections.abc import Iterator, Sequence

import click

from indexerd.cli.answering import write
from indexerd.cli.describing import Described, Flag, described

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


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> int:
    """Print the completion script of a shell; source it from the shell's start file."""
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    commands = [described(root, name) for name in root.command.list_commands(root)]
    script = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[shell](commands)
    write(1, script.encode())
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
