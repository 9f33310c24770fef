"""Options that several commands share: which watch set, which settings, which filters, how to print.

Owns: the spelling of shared flags; how a file that one names is read and written.
Knows nothing of: what the commands do with them.
Invariants: 1. a flag has one meaning in every command that has it.
Purity: declarations; shell (files that flags name).
See: docs/operations.md.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from indexerd.cli.asking import FLAGS, Asking, wrong_pairs
from indexerd.cli.place import Selection
from indexerd.errors import RequestError

F = TypeVar("F", bound=Callable[..., object])
P = TypeVar("P", bound=str | tuple[str, ...])
# Nothing that is read whole from a file that was named is as large.
_MOST_BYTES = 256 << 20


# The largest whole number that every reader of JSON keeps exactly.
_MOST = (1 << 53) - 1


class Whole(click.IntRange):
    """A whole number, from a least one on; what else is typed is told so in plain words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read what was typed."""
        try:
            number = super().convert(value, param, ctx)
        except click.BadParameter:
            number = None
        if number is None or number > _MOST:
            most = self.max if number is None else _MOST
            to = " or more" if most is None else f" to {most}"
            self.fail(f"{value!r} is not a whole number, {self.min}{to}.", param, ctx)
        return number


class Share(click.FloatRange):
    """A number between two others, told in plain words too."""

    name = "number"


def stacked(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator that applies several, so that help lists them in the order given."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def taking(*spellings: str) -> Callable[[F], F]:
    """Return a decorator that adds the flags of `query` with one of these spellings."""
    return stacked(*(_option(row) for row in FLAGS if not set(spellings).isdisjoint(row[0].split())))


def _option(row: tuple[str, str, str, str, str, str]) -> Callable[[F], F]:
    spellings, attribute, kind, _, metavar, told = row
    names = (*spellings.split(), f"as_{attribute}" if kind == "form" else attribute)
    if kind in {"form", "on"}:
        return click.option(*names, is_flag=True, help=told)
    if kind == "choice":
        default = getattr(Asking(), attribute) or None
        choices = click.Choice(metavar.split())
        return click.option(*names, type=choices, default=default, show_default=default is not None, help=told)
    if kind == "count":
        return click.option(*names, type=Whole(0), metavar=metavar, help=told)
    if kind == "texts":
        callback = _only_pairs if metavar == "KEY=VALUE" else None
        return click.option(*names, metavar=metavar, multiple=True, callback=callback, help=told)
    return click.option(*names, metavar=metavar, default="", help=told)


def _only_pairs(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    if wrong := wrong_pairs(given):
        raise click.BadParameter(f"{wrong[0]!r} is not KEY=VALUE, such as owner=alice.")
    return given


def no_empty(_context: click.Context, _argument: click.Parameter, given: P) -> P:
    """Refuse an empty path among those typed: a variable that is not set makes one, and it would mean this folder."""
    if "" in (given if isinstance(given, tuple) else (given,)):
        raise click.BadParameter("an empty path names nothing; is a variable not set?")
    return given


# The flags that say which watch set is meant, in which role one asks, and which documents are meant by their metadata.
selecting = taking("--profile", "--socket", "--state-dir")
acting = taking("--role")
as_json = click.option("--json", "is_json", is_flag=True, help="Print JSON.")
naming = taking("--tag", "--where")
# What to look for and where, the same for people and for evidence.
filtering = taking(
    "--tag", "--where", "--since", "--until", "--all-words", "--phrase", "--not", "--glob", "--here", "--role",
    "--as-of", "--generation", "--prefix", "--explain", "--wait",
)  # fmt: skip


def _poll(_context: click.Context, _option: click.Parameter, given: str | None) -> bool | float | None:
    if given is None or given == "always":
        return None if given is None else True
    try:
        return float(given)
    except ValueError:
        raise click.BadParameter(f"{given!r} is not a number of seconds") from None


# The flags that stand for keys of `[profile.NAME]`.
setting = stacked(
    click.option("--max-chars", type=Whole(0), metavar="N", help="Target size of a chunk in characters (900)."),
    click.option("--language", "languages", metavar="L", help="Stemming language, or none (english)."),
    click.option("--format", "formats", multiple=True, metavar=".EXT", help="File ending to index; repeatable."),
    click.option("--max-file-bytes", type=Whole(0), metavar="N", help="Skip larger files (16 MiB)."),
    click.option("--hidden/--no-hidden", default=None, help="Index hidden files and folders."),
    click.option("--node-modules/--no-node-modules", default=None, help="Index node_modules too."),
    click.option("--tagged-caches/--no-tagged-caches", default=None, help="Index folders with a CACHEDIR.TAG too."),
    click.option("--ignore", multiple=True, metavar="PATTERN", help="Leave out, as in .gitignore; repeatable."),
    click.option(
        "--poll",
        metavar="[SECONDS]",
        is_flag=False,
        flag_value="always",
        callback=_poll,
        help="Look at the folders every SECONDS (10) instead of waiting for events.",
    ),
    click.option("--no-poll", is_flag=True, help="Wait for events everywhere."),
    click.option(
        "--durability",
        type=click.Choice(["checkpoint", "always"]),
        help="Flush in the background (checkpoint) or with each change.",
    ),
)


def take_settings(flags: dict[str, object]) -> dict[str, object]:
    """Return the setting flags, all that is left of a callback's arguments, as keys of `[profile.NAME]`."""
    no_poll = flags.pop("no_poll")
    one_of({"--poll": flags["poll"], "--no-poll": no_poll})
    given = flags | ({"poll": False} if no_poll else {})
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value is not None and value != ()
    }


def take_selection(flags: dict[str, object]) -> Selection:
    """Take the selecting flags out of a callback's arguments."""
    names = ("socket", "profile", "state_dir")
    return Selection(**{name: str(flags.pop(name) or "") for name in names})


def words(text: tuple[str, ...], phrases: Sequence[str] = ()) -> str:
    """Join the words of a query as typed; phrases that must be there are words enough.

    Raises:
        click.UsageError: There is none.
    """
    joined = " ".join(text).strip() or " ".join(phrases).strip()
    if not joined:
        command = click.get_current_context().command_path
        listing = "`indexerd documents` lists what there is, by --tag and --where too"
        raise click.UsageError(f"say what to look for: {command} TEXT ({listing})")
    return joined


def one_of(given: Mapping[str, object]) -> None:
    """Refuse flags, given with their values, of which one would be ignored silently.

    Raises:
        click.UsageError: Several were.
    """
    typed = [flag for flag, value in given.items() if value]
    if len(typed) > 1:
        raise click.UsageError(f"{' and '.join(typed)} do not go together: give one of them")


def goes_with(*rows: tuple[str, object, str, object]) -> None:
    """Refuse flags that would be ignored silently without another: rows of flag, value, what it needs, value of that.

    Raises:
        click.UsageError: One was typed alone.
    """
    for flag, value, needed, is_there in rows:
        if value and not is_there:
            raise click.UsageError(f"{flag} goes with {needed}: give both")


def read_text(name: str) -> str:
    """Return the text of a file that was named; `-` is standard input.

    Raises:
        RequestError: It is no UTF-8, or too large for any that is read here.
        OSError: It cannot be read.
    """
    with open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
        raw = file.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise RequestError(f"{name}: larger than {_MOST_BYTES >> 20} MiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{name}: is no UTF-8 text ({error.reason} at byte {error.start})") from error


def read_json(name: str, remedy: str) -> Any:
    """Return the value in a JSON file that was named; `remedy` says where to get one.

    Raises:
        RequestError, OSError: As `read_text`; or it is no JSON.
    """
    try:
        return json.loads(read_text(name))
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{name}: no JSON ({error}): {remedy}") from error


def save_text(name: str, text: str) -> None:
    """Write a text into a file that was named."""
    with open(name, "wb") as file:
        file.write(text.encode("utf-8", "backslashreplace"))
