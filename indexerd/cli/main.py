"""The command-line group: which commands there are, and what each kind of failure becomes.

Owns: the groups in the help, the map from errors to exit statuses, the last border of the process.
Knows nothing of: what any command does.
Invariants: 1. on failure nothing is on standard output, save a JSON error object where JSON was asked for. 2. exit
    status: 2 usage or error, 3 no daemon, 75 busy, 78 bad configuration, 130 interrupted, 141 nobody reads any more.
Purity: shell (standard streams, exit status).
See: docs/operations.md (exit statuses).
"""

import importlib
import json
import os
import sys
from collections.abc import Sequence

import click

from indexerd import __version__
from indexerd.cli.answering import BROKEN_PIPE, write
from indexerd.cli.plain import escape
from indexerd.errors import (
    BusyError,
    ConfigError,
    IndexerdError,
    RequestError,
    StoreError,
    StoreLockedError,
    UnreachableError,
)
from indexerd.protocol.messages import nearest_name

# Help shows commands in these groups; each command lives in the module named beside it.
GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Everyday",
        (
            ("watch", "watching"),
            ("query", "querying"),
            ("open", "opening"),
            ("show", "opening"),
            ("status", "stating"),
            ("stop", "watching"),
        ),
    ),
    (
        "Evidence",
        (
            ("evidence", "querying"),
            ("check", "checking"),
            ("verify", "opening"),
            ("replay", "replaying"),
            ("eval", "evaluating"),
        ),
    ),
    (
        "Upkeep",
        (
            ("sync", "syncing"),
            ("documents", "listing"),
            ("generations", "listing"),
            ("forget", "forgetting"),
            ("fsck", "storing"),
            ("doctor", "doctoring"),
            ("dump", "storing"),
            ("config", "stating"),
        ),
    ),
    (
        "Integration",
        (
            ("mcp", "integrating"),
            ("metrics", "stating"),
            ("completion", "completing"),
            ("install-service", "installing"),
        ),
    ),
)
_PRINTED_BY_LIBRARY = frozenset({"-h", "--help", "--version"})
_MODULES = {name: module for _, commands in GROUPS for name, module in commands}


class _Commands(click.Group):
    """Loads a command's module when it is called, so that `status` does not pay for `dump`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in _MODULES:
            return None
        module = importlib.import_module(f"indexerd.cli.{_MODULES[cmd_name]}")
        command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _MODULES:
            near = nearest_name(args[0], _MODULES)
            raise click.UsageError(f"No such command {args[0]!r}.{f' Did you mean {near!r}?' if near else ''}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS:
            loaded = [(name, self.get_command(ctx, name)) for name, _ in commands]
            rows = [(name, command.get_short_help_str(limit=200)) for name, command in loaded if command is not None]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="indexerd")
def cli() -> None:
    """Search a folder of documents: never old, never wrong, every hit cited by line.

    Start with `indexerd watch ./docs`, then ask with `indexerd query TEXT`.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return _run(given) if given else _bare()


def _run(given: list[str]) -> int:
    try:
        status = cli.main(args=given, prog_name="indexerd", standalone_mode=False)
        # There is none where the caller closed it.
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        _forget_output()
        return BROKEN_PIPE
    except click.ClickException as error:
        return _usage(error, given)
    except (IndexerdError, OSError) as error:
        return report(_named(error, given), as_json="--json" in given)
    return status if isinstance(status, int) else 0


def report(error: Exception, *, as_json: bool) -> int:
    """Print an error where it belongs and return the exit status of its family."""
    status, code = classify(error)
    problems = error.problems if isinstance(error, ConfigError) else (describe(error),)
    if as_json:
        fields = {"code": code, "message": "; ".join(problems)}
        write(1, (json.dumps({"error": fields}, ensure_ascii=True) + "\n").encode())
    else:
        write(2, "".join(f"indexerd: {escape(problem)}\n" for problem in problems).encode("utf-8", "backslashreplace"))
    return status


def classify(error: Exception) -> tuple[int, str]:  # noqa: PLR0911 - one row a family
    """Return exit status and stable code of an error."""
    match error:
        case UnreachableError():
            return 3, "no_daemon"
        case BusyError():
            return 75, "busy"
        case StoreLockedError():
            return 75, "store_locked"
        case ConfigError():
            return 78, "bad_configuration"
        case RequestError():
            return 2, error.code
        case StoreError():
            return 2, "store_error"
        case _:
            return 2, "error"


def describe(error: Exception) -> str:
    """Return what a person reads about an error: for the system's errors the file and the cause."""
    if isinstance(error, OSError) and error.strerror:
        where = os.fsdecode(error.filename) + ": " if isinstance(error.filename, str | bytes) else ""
        return f"{where}{error.strerror}"
    return str(error) or type(error).__name__


def _bare() -> int:
    """Show what there is, as for any call that does not say what to do."""
    with click.Context(cli, info_name="indexerd", **cli.context_settings) as context:
        write(2, (cli.get_help(context) + "\n").encode("utf-8", "backslashreplace"))
    return 2


def _usage(error: click.ClickException, given: Sequence[str]) -> int:
    # The library lists choices on lines of their own.
    message = " ".join(error.format_message().split())
    if "--json" in given:
        write(1, (json.dumps({"error": {"code": "usage", "message": message}}) + "\n").encode())
        return error.exit_code
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"\nTry `{context.command_path} --help`." if context is not None else ""
    if isinstance(error, click.NoSuchOption) and _takes_words(context):
        hint = f"\nPut -- before a word that begins with a dash.{hint}"
    write(2, f"indexerd: {escape(message)}{hint}\n".encode("utf-8", "backslashreplace"))
    return 2


def _takes_words(context: click.Context | None) -> bool:
    return context is not None and any(isinstance(one, click.Argument) for one in context.command.params)


def _named(error: Exception, given: Sequence[str]) -> Exception:
    """Name standard output where it took no help and no version: the library that prints these does not."""
    if isinstance(error, OSError) and error.filename is None and not _PRINTED_BY_LIBRARY.isdisjoint(given):
        return OSError(error.errno, error.strerror, "standard output")
    return error


def _forget_output() -> None:
    """Point standard output elsewhere: the interpreter flushes it once more at exit, and would complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
