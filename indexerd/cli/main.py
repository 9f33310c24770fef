"""The command-line group: which commands there are, and what each kind of failure becomes.

Owns: the groups in the help, the map from errors to exit statuses, the last border of the process.
Knows nothing of: what any command does.
Invariants: 1. on failure nothing is on standard output, save a JSON error object where JSON was asked for. 2. exit
    status: 2 usage or error, 3 no daemon, 75 busy, 78 bad configuration, 130 interrupted, 141 nobody reads any more.
Purity: shell (standard streams, exit status).
See: docs/operations.md (exit statuses).
"""

import errno
import importlib
import os
import sys
from collections.abc import Mapping, Sequence

import click

from indexerd import __version__
from indexerd.cli.printing import BROKEN_PIPE, escape, write, write_json, write_lines
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

# Help shows commands in these groups; each lives in the module named beside it, which is loaded when the command is
# called. The sentence is the first of the command's own help: to show all of them, none need be loaded.
GROUPS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "Everyday": (
        ("watch", "watching", "Index folders, keep the index fresh, and answer queries."),
        ("query", "querying", "Search, and show proved hits with their lines."),
        ("open", "citing", "Open the N-th hit of the last query in $VISUAL, at its line."),
        ("show", "citing", "Print the present text of a citation or path: guide/setup.md#L12-L18."),
        ("status", "stating", "Show what is indexed, how fresh it is, and what is wrong."),
        ("stop", "watching", "End a running daemon; returns when it is gone."),
    ),
    "Evidence": (
        ("evidence", "querying", "Print cited evidence within a budget, ready for a model."),
        ("check", "checking", "Hold an answer to its sources: what it cites, and whether that says it."),
        (
            "verify",
            "citing",
            "Say whether a full citation (…#L12-L18@sha256:HEX) still holds, and where it does not what changed.",
        ),
        (
            "replay",
            "replaying",
            "Ask a saved result (`query --json`) again of its generation; say whether it is identical.",
        ),
        ("eval", "evaluating", "Measure retrieval, evidence and answer checks on cases with known answers."),
    ),
    "Upkeep": (
        ("sync", "syncing", "Index roots once, or only the named paths inside one, without watching."),
        ("documents", "stating", "List the documents in the index."),
        (
            "generations",
            "stating",
            "List the generations that are kept, oldest first; of generation N the documents that it changed.",
        ),
        ("forget", "forgetting", "Erase a document from every kept generation: text, words, hashes, name."),
        ("fsck", "storing", "Check every byte and every rule of an index; print one line per problem."),
        ("doctor", "doctoring", "Look for everything that weakens a promise, and say what to do about it."),
        ("dump", "storing", "Print what the index holds: documents, chunks, terms, one line each."),
        ("config", "stating", "Print the effective settings as a valid file, with where each comes from."),
    ),
    "Integration": (
        ("mcp", "integrating", "Serve an agent over standard input and output (Model Context Protocol)."),
        ("metrics", "stating", "Print the daemon's metrics as text that Prometheus reads."),
        ("completion", "completing", "Print the completion script of a shell; source it from the shell's start file."),
        (
            "install-service",
            "integrating",
            "Write systemd user units that start the daemon of a profile, and say what to type next.",
        ),
    ),
}
# Exit status and stable code of each family of errors; a refused request has a code of its own.
FAMILIES: tuple[tuple[type[Exception], int, str], ...] = (
    (UnreachableError, 3, "no_daemon"),
    (BusyError, 75, "busy"),
    (StoreLockedError, 75, "store_locked"),
    (ConfigError, 78, "bad_configuration"),
    (StoreError, 2, "store_error"),
    (Exception, 2, "error"),
)
_PRINTED_BY_LIBRARY = frozenset({"-h", "--help", "--version"})
_MODULES = {name: module for commands in GROUPS.values() for name, module, _ in commands}


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary) for name, _, summary in commands])


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


def _apart(given: Sequence[str]) -> list[str]:
    """Return a command line in which `--poll` without seconds does not take the root behind it for them."""
    end = given.index("--") if "--" in given else len(given)
    pairs = zip(given, [*given[1:], ""], strict=True)
    return [
        "--poll=always" if word == "--poll" and at < end and not following.replace(".", "", 1).isdecimal() else word
        for at, (word, following) in enumerate(pairs)
    ]


def _run(given: list[str]) -> int:
    try:
        status = cli.main(args=_apart(given), prog_name="indexerd", standalone_mode=False)
        # There is none where the caller closed it.
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        # The interpreter flushes standard output once more at exit, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except click.ClickException as error:
        return _usage(error, given)
    except (IndexerdError, OSError) as error:
        return report(_named(error, given), as_json="--json" in given)
    return status if isinstance(status, int) else 0


def report(error: Exception, *, as_json: bool) -> int:
    """Print an error where it belongs and return the exit status of its family."""
    status, code = next((status, code) for family, status, code in FAMILIES if isinstance(error, family))
    problems: Sequence[str] = getattr(error, "problems", (describe(error),))
    if as_json:
        code = error.code if isinstance(error, RequestError) else code
        write_json({"error": {"code": code, "message": "; ".join(problems)}})
    else:
        write_lines([f"indexerd: {escape(problem)}" for problem in problems], 2)
    return status


def describe(error: Exception) -> str:
    """Return what a person reads about an error: for the system's errors the file and the cause."""
    if isinstance(error, OSError) and error.strerror:
        where = os.fsdecode(error.filename) + ": " if isinstance(error.filename, str | bytes) else ""
        remedy = "; free some space there" if error.errno in {errno.ENOSPC, errno.EDQUOT} else ""
        return f"{where}{error.strerror}{remedy}"
    return str(error) or type(error).__name__


def _bare() -> int:
    """Show what there is, as for any call that does not say what to do."""
    with click.Context(cli, info_name="indexerd", **cli.context_settings) as context:
        write(2, cli.get_help(context) + "\n")
    return 2


def _usage(error: click.ClickException, given: Sequence[str]) -> int:
    message = error.format_message()
    if isinstance(error, click.MissingParameter) and error.ctx is not None:
        _options, *wanted = error.ctx.command.collect_usage_pieces(error.ctx)
        message = f"an argument is missing: type `{' '.join([error.ctx.command_path, *wanted])}`"
    if "--json" in given:
        write_json({"error": {"code": "usage", "message": message}})
        return error.exit_code
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"\nTry `{context.command_path} --help`." if context is not None else ""
    arguments = [one for one in context.command.params if isinstance(one, click.Argument)] if context else []
    if isinstance(error, click.NoSuchOption) and arguments:
        hint = f"\nPut -- before a word that begins with a dash.{hint}"
    write(2, f"indexerd: {escape(message)}{hint}\n")
    return 2


def _named(error: Exception, given: Sequence[str]) -> Exception:
    """Name standard output where it took no help and no version: the library that prints these does not."""
    if isinstance(error, OSError) and error.filename is None and not _PRINTED_BY_LIBRARY.isdisjoint(given):
        return OSError(error.errno, error.strerror, "standard output")
    return error
