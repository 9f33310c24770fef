"""What `query` was asked: its flags as one table and one value, read from argv without click.

Owns: the flags of `query`: their names, their help, which of them become which parameter of the socket.
Knows nothing of: sockets, files, terminals. Light on purpose: part of the query fast path.
Invariants: 1. `read_flags` either understands every argument exactly as the click command does, or returns None.
Purity: pure.
See: docs/protocol.md (query), docs/operations.md.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = tuple[str, str, str, str, str, str]

# Spellings; attribute of `Asking`, or form of the answer; kind; parameter of the socket; what stands for the value in
# the help, or the choices there are; help. In the order of the help.
FLAGS: tuple[Row, ...] = (
    ("-n --number", "number", "count", "k", "N", "How many hits (10); 0 for all."),
    ("-l --files-with-matches", "list", "form", "", "", "Print paths only."),
    ("-0 --null", "nul", "on", "", "", "Print exact paths, separated by NUL."),
    ("--json", "json", "form", "", "", "Print the whole result as JSON."),
    ("--jsonl", "jsonl", "form", "", "", "Print one JSON hit a line, then a summary."),
    ("--vimgrep", "vimgrep", "form", "", "", "Print path:line:column:text."),
    ("--sort", "sort", "choice", "sort", "score modified path", "Order of the hits."),
    ("--tag", "tags", "texts", "tags", "TAG", "Only documents with this tag."),
    ("--where", "where", "texts", "where", "KEY=VALUE", "Only documents with this front matter."),
    ("--since", "since", "text", "since", "WHEN", "Changed since: 7d, 12h, 2026-01-31."),
    ("--until", "until", "text", "until", "WHEN", "Changed before."),
    ("--all-words", "all_words", "on", "", "", "Only chunks with every word."),
    ("--phrase", "phrases", "texts", "phrase", "TEXT", "Only chunks with these words in a row."),
    ("--not", "excluded", "texts", "not", "WORD", "Only documents without this word."),
    ("-g --glob", "globs", "texts", "paths", "GLOB", "Only these paths; !GLOB leaves out."),
    ("--here", "here", "on", "", "", "Only below the current directory."),
    ("--role", "roles", "texts", "roles", "ROLE", "Ask in this role; repeatable."),
    ("--as-of", "as_of", "text", "as_of", "DATE", "Documents valid on this day."),
    ("--generation", "generation", "count", "generation", "N", "An older generation of the index."),
    ("--prefix", "prefix", "on", "prefix", "", "The last word may be a beginning."),
    ("--explain", "explain", "on", "explain", "", "Show the parts of each score."),
    ("--wait", "wait", "count", "wait_ms", "MS", "Wait so long for fresh text (100)."),
    ("-o --open", "opens", "on", "", "", "Open the first hit in $VISUAL at its line."),
    ("--color", "color", "choice", "", "auto always never", "Mark matches in colour."),
    ("--hyperlink", "hyperlink", "on", "", "", "On a terminal make citations links to their files."),
    ("--no-local", "no_local", "on", "", "", "Only ask a daemon; exit 3 if none runs."),
    ("--profile", "profile", "text", "", "NAME", "The watch set of this name."),
    ("--socket", "socket", "text", "", "PATH", "The daemon at this socket, and no other."),
    ("--state-dir", "state_dir", "text", "", "DIR", "The index in this directory."),
)


class Asking:
    """One query as typed. Attributes are flags of `indexerd query`; None and empty mean not given."""

    def __init__(self) -> None:
        self.text = ""
        self.number: int | None = None
        self.format = "people"
        self.nul = self.all_words = self.prefix = self.explain = self.hyperlink = False
        self.here = self.opens = self.no_local = False
        self.tags: list[str] = []
        self.where: list[str] = []
        self.phrases: list[str] = []
        self.excluded: list[str] = []
        self.globs: list[str] = []
        self.roles: list[str] = []
        self.since = self.until = self.as_of = self.sort = self.socket = self.profile = self.state_dir = ""
        self.generation: int | None = None
        self.wait: int | None = None
        self.color = "auto"

    def params(self) -> dict[str, object]:
        """Return the parameters of the socket's `query`; what was not given is left out."""
        given = {parameter: getattr(self, attribute) for _, attribute, _, parameter, *_ in FLAGS if parameter}
        given |= {"text": self.text, "must": self.text.split() if self.all_words else []}
        # `-n 0` asks for all: nought is a value, only False is not given.
        params = {name: value for name, value in given.items() if value or (value == 0 and value is not False)}
        if self.lists_files:
            # One hit names its file; and of two files with equal text both are wanted.
            params |= {"max_per_document": 1, "distinct": False}
        return params

    @property
    def lists_files(self) -> bool:
        """Whether names are printed and not chunks."""
        return self.format == "list" or (self.nul and self.format == "people")

    @property
    def is_narrowed(self) -> bool:
        """Whether flags leave documents out that hold the words."""
        lists = (self.tags, self.where, self.phrases, self.excluded, self.globs)
        return any(lists) or bool(self.since or self.until or self.all_words)


def read_flags(arguments: list[str]) -> Asking | None:
    """Read the arguments behind `query`; None where anything is unusual, so that the full command line decides."""
    rows = {spelling: row for row in FLAGS for spelling in row[0].split()}
    found = split_flags(arguments, {spelling: row[2] not in {"on", "form"} for spelling, row in rows.items()})
    asking = Asking()
    if found is None or not all(_set(asking, rows[name], value) for name, value in found[1]):
        return None
    asking.text = " ".join(found[0])
    needs_more = asking.here or asking.opens or asking.state_dir or wrong_pairs(asking.where)
    has_one_form = not asking.nul or asking.lists_files
    is_plain = has_one_form and asking.text.strip() and not needs_more
    return asking if is_plain and not is_undecodable("".join(arguments)) else None


def split_flags(arguments: list[str], known: Mapping[str, bool]) -> tuple[list[str], list[tuple[str, str]]] | None:
    """Split a command line into words, and flags with their values; None where it has others than those `known`.

    Of these it says whether they take a value.
    """
    words: list[str] = []
    flags: list[tuple[str, str]] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            return words + rest, flags
        if not argument.startswith("-"):
            words.append(argument)
            continue
        name, equals, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        takes_value = known.get(name)
        if takes_value is None or (equals and not takes_value) or (takes_value and not equals and not rest):
            return None
        flags.append((name, rest.pop(0) if takes_value and not equals else value))
    return words, flags


def _set(asking: Asking, row: Row, value: str) -> bool:
    """Set a flag; False where its value is not a plain one."""
    _, attribute, kind, _, metavar, _ = row
    if kind == "form":
        is_plain = asking.format in {"people", attribute}
        asking.format = attribute
        return is_plain
    if kind == "texts":
        getattr(asking, attribute).append(value)
        return True
    if kind == "count" and not (value.isascii() and value.isdigit() and len(value) < 10):
        return False
    setattr(asking, attribute, int(value) if kind == "count" else True if kind == "on" else value)
    return kind != "choice" or value in metavar.split()


def wrong_pairs(where: Sequence[str]) -> list[str]:
    """Return the values of `--where` that are no KEY=VALUE."""
    return [pair for pair in where if "=" not in pair or not pair.partition("=")[0].strip()]


def is_undecodable(text: str) -> bool:
    """Whether an argument was no UTF-8: it cannot travel as it is."""
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)
