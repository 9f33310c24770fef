"""What `query` was asked: its flags as one value, read from argv without click, and as the socket's parameters.

Owns: the names of the query flags for the fast path; which flags become which parameter.
Knows nothing of: sockets, files, terminals. Light on purpose: part of the query fast path.
Invariants: 1. `read_flags` either understands every argument exactly as the click command does, or returns None.
Purity: pure.
See: docs/protocol.md (query), docs/operations.md.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Asking:
    """One query as typed. Attributes are flags of `indexerd query`; None and empty mean not given."""

    __slots__ = (
        "all_words", "as_of", "color", "excluded", "explain", "format", "generation", "globs", "here", "hyperlink",
        "nul", "number", "opens", "phrases", "prefix", "profile", "roles", "since", "socket", "sort", "tags", "text",
        "until", "wait", "where",
    )  # fmt: skip

    def __init__(self) -> None:
        self.text = ""
        self.number: int | None = None
        self.format = "people"
        self.nul = self.all_words = self.prefix = self.explain = self.here = self.opens = self.hyperlink = False
        self.tags: list[str] = []
        self.where: list[str] = []
        self.phrases: list[str] = []
        self.excluded: list[str] = []
        self.globs: list[str] = []
        self.roles: list[str] = []
        self.since = self.until = self.as_of = self.sort = self.socket = self.profile = ""
        self.generation: int | None = None
        self.wait: int | None = None
        self.color = "auto"

    def params(self) -> dict[str, object]:
        """Return the parameters of the socket's `query`; what was not given is left out."""
        given: dict[str, object] = {
            "text": self.text,
            "k": self.number,
            "roles": self.roles,
            "as_of": self.as_of,
            "generation": self.generation,
            "paths": self.globs,
            "tags": self.tags,
            "where": self.where,
            "since": self.since,
            "until": self.until,
            "must": self.text.split() if self.all_words else [],
            "phrase": self.phrases,
            "not": self.excluded,
            "prefix": self.prefix,
            "sort": self.sort,
            "explain": self.explain,
            "wait_ms": self.wait,
        }
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


# flag -> (attribute, kind); kinds: 'on', 'text', 'texts', 'int', or `=VALUE` to set.
_FLAGS: dict[str, tuple[str, str]] = {
    "-n": ("number", "int"),
    "--number": ("number", "int"),
    "-l": ("format", "=list"),
    "--files-with-matches": ("format", "=list"),
    "-0": ("nul", "on"),
    "--null": ("nul", "on"),
    "--json": ("format", "=json"),
    "--jsonl": ("format", "=jsonl"),
    "--vimgrep": ("format", "=vimgrep"),
    "--tag": ("tags", "texts"),
    "--where": ("where", "texts"),
    "--since": ("since", "text"),
    "--until": ("until", "text"),
    "--all-words": ("all_words", "on"),
    "--phrase": ("phrases", "texts"),
    "--not": ("excluded", "texts"),
    "-g": ("globs", "texts"),
    "--glob": ("globs", "texts"),
    "--role": ("roles", "texts"),
    "--as-of": ("as_of", "text"),
    "--generation": ("generation", "int"),
    "--prefix": ("prefix", "on"),
    "--explain": ("explain", "on"),
    "--wait": ("wait", "int"),
    "--color": ("color", "text"),
    "--hyperlink": ("hyperlink", "on"),
    "--socket": ("socket", "text"),
    "--profile": ("profile", "text"),
    "--no-local": ("", "on"),
}


def read_flags(arguments: list[str]) -> Asking | None:
    """Read the arguments behind `query`; None where anything is unusual, so that the full command line decides."""
    asking, texts, rest = Asking(), [], list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            texts += rest
            break
        if not argument.startswith("-"):
            texts.append(argument)
        elif not _read_flag(asking, argument, rest):
            return None
    asking.text = " ".join(texts)
    has_one_form = not asking.nul or asking.lists_files
    is_plain = asking.text.strip() and asking.color in {"auto", "always", "never"} and not wrong_pairs(asking.where)
    return asking if is_plain and has_one_form and not is_undecodable("".join(arguments)) else None


def _read_flag(asking: Asking, argument: str, rest: list[str]) -> bool:
    name, equals, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
    attribute, kind = _FLAGS.get(name, ("", ""))
    if not kind or (equals and kind not in {"text", "texts", "int"}):
        return False
    if kind in {"text", "texts", "int"} and not equals:
        if not rest:
            return False
        value = rest.pop(0)
    return _set(asking, attribute, kind, value)


def _set(asking: Asking, attribute: str, kind: str, value: str) -> bool:
    if kind == "int":
        if not (value.isascii() and value.isdigit() and len(value) < 10):
            return False
        setattr(asking, attribute, int(value))
    elif kind == "texts":
        getattr(asking, attribute).append(value)
    elif kind[0] == "=" and asking.format not in {"people", kind[1:]}:
        return False
    elif attribute:
        setattr(asking, attribute, value if kind == "text" else kind[1:] if kind[0] == "=" else True)
    return True


def wrong_pairs(where: Sequence[str]) -> list[str]:
    """Return the values of `--where` that are no KEY=VALUE."""
    return [pair for pair in where if "=" not in pair or not pair.partition("=")[0].strip()]


def is_undecodable(text: str) -> bool:
    """Whether an argument was no UTF-8: it cannot travel as it is."""
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)
