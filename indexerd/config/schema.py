"""Which keys each table of `config.toml` has, and how each table is read.

Owns: the names of the settings in the file.
Knows nothing of: where the table came from, roots and places.
Invariants: 1. each reader returns a whole, valid value and adds every problem it met to the list it was given.
Purity: pure.
See: docs/operations.md.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from indexerd.access import AccessRules, PathRule
from indexerd.config.places import written_path, written_root
from indexerd.config.reading import (
    Section,
    nearest,
    read_choice,
    read_int,
    read_number,
    read_text,
    read_text_or_texts,
    read_texts,
    wrong,
)
from indexerd.config.values import Durability, Log, Poll, PollWhen, Roles
from indexerd.model import FrontMatterKeys, History, MetadataValue

TABLES = ("profile", "front_matter", "rules", "roles", "history", "socket", "log")
PROFILE_KEYS = (
    "roots", "languages", "formats", "max_chars", "max_file_bytes", "hidden", "node_modules", "tagged_caches", "ignore",
    "poll", "durability",
)  # fmt: skip
PROJECT_KEYS = ("ignore", "hidden", "node_modules", "tagged_caches", "formats", "metadata")
FRONT_MATTER_KEYS = ("title", "aliases", "tags", "version", "valid_from", "valid_to", "acl", "series")
RULE_KEYS = ("match", "acl", "safety", "boost", "supersede_by", "require", "metadata")
ROLE_KEYS = ("owner", "users", "groups")
HISTORY_KEYS = ("generations", "minutes", "hours", "days", "evidence_days", "max_ratio")
SOCKET_KEYS = ("path", "mode", "group")
_LONGEST_POLL_SECONDS = 3600
LOG_KEYS = ("level", "format", "queries")

# The stemmers that every PyStemmer since 2.2 has; a test compares this list with the library's.
LANGUAGES = (
    "none", "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german",
    "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "porter",
    "portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
)  # fmt: skip


def read_path(home: str) -> Callable[[object], str]:
    """Return a reader of one absolute path; `~` is the user's home."""

    def read(value: object) -> str:
        path = written_path(read_text(value), home)
        if path is None:
            raise wrong(f"must be an absolute path, or begin with ~/, not {value!r}")
        return path

    return read


def read_roots(home: str) -> Callable[[object], tuple[str, ...]]:
    """Return a reader of absolute `PATH` or `LABEL=PATH` texts; `~` is the user's home."""

    def read(value: object) -> tuple[str, ...]:
        texts = read_texts(value)
        roots = [written_root(text, home) for text in texts]
        for text, root in zip(texts, roots, strict=True):
            if root is None:
                raise wrong(f"must be absolute paths, or begin with ~/, not {text!r}")
        return tuple(root for root in roots if root is not None)

    return read


def read_poll(value: object) -> Poll:
    """Read `"auto"`, `"always"`, `"never"`, true and false for the last two, or seconds between two looks."""
    if isinstance(value, bool):
        return "always" if value else "never"
    if isinstance(value, int | float):
        if not 1 <= value <= _LONGEST_POLL_SECONDS:
            raise wrong(f"must be at least 1 and at most {_LONGEST_POLL_SECONDS} seconds, not {value!r}")
        return float(value)
    return read_choice(get_args(PollWhen))(value)  # type: ignore[no-any-return] # untyped; the choices are PollWhen's


def read_durability(value: object) -> Durability:
    """Read `"checkpoint"` or `"always"`."""
    return read_choice(get_args(Durability))(value)  # type: ignore[no-any-return] # as above


def read_language(value: object) -> str:
    """Read the name of a stemming language, or `none`."""
    name = read_text(value).lower()
    if name not in LANGUAGES:
        raise wrong(f"unknown language {name!r}{nearest(name, LANGUAGES)}; known are {', '.join(sorted(LANGUAGES))}")
    return name


def read_languages(value: object) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Read one language for all roots, or a table of root labels (and `default`); return (default, pairs)."""
    if not isinstance(value, Mapping):
        return read_language(value), ()
    named = {str(label): read_language(language) for label, language in value.items()}
    default = named.pop("default", None)
    return default, tuple(sorted(named.items()))


def read_formats(value: object) -> tuple[str, ...]:
    """Read file endings, with or without their dot."""
    endings = []
    for text in read_texts(value):
        ending = "." + text.lower().removeprefix("*").removeprefix(".")
        if ending == "." or "/" in ending or "*" in ending:
            raise wrong(f"must be file endings such as '.md', not {text!r}")
        endings.append(ending)
    if not endings:
        raise wrong("must name at least one file ending, such as '.md'")
    return tuple(dict.fromkeys(endings))


def read_metadata(value: object) -> dict[str, MetadataValue]:
    """Read a table of texts or lists of texts."""
    if not isinstance(value, Mapping):
        raise wrong(f"must be a table, not {value!r}")
    read: dict[str, MetadataValue] = {}
    for key, item in value.items():
        texts = read_texts(item) if isinstance(item, list | tuple) else (str(item),)
        read[str(key)] = texts if isinstance(item, list | tuple) else texts[0]
    return read


def read_mode(value: object) -> int:
    """Read permission bits as an octal string (`"0660"`) or a TOML octal number (`0o660`)."""
    try:
        mode = int(value, 8) if isinstance(value, str) else value
    except ValueError:
        mode = None
    if isinstance(mode, bool) or not isinstance(mode, int) or mode & ~0o666 or not mode & 0o600 == 0o600:
        raise wrong(f'must be permission bits such as "0600" or "0660", not {value!r}')
    return mode


def read_front_matter(table: object, problems: list[str]) -> FrontMatterKeys:
    """Read `[front_matter]`: which keys mean what."""
    section = Section("[front_matter]", table, FRONT_MATTER_KEYS, problems)
    default = FrontMatterKeys()
    return FrontMatterKeys(
        **{key: section.get(key, read_text_or_texts, getattr(default, key)) for key in FRONT_MATTER_KEYS}
    )


def read_rule(table: object, number: int, problems: list[str]) -> PathRule | None:
    """Read one `[[rules]]`; None where it cannot be one."""
    section = Section(f"[[rules]] number {number}", table, RULE_KEYS, problems)
    match = section.get("match", read_text, "")
    if not match:
        if "match" not in section:
            problems.append(f"{section.name}: needs match, a glob over source paths such as 'policies/**'")
        return None
    return PathRule(
        match=match,
        acl=section.get("acl", _optional_texts, None),
        safety=section.get("safety", read_choice(("allow", "withhold")), None),
        boost=section.get("boost", read_number(0.01, 100.0), 1.0),
        supersede_by=section.get("supersede_by", read_text, None),
        require=section.get("require", read_texts, ()),
        metadata=section.get("metadata", read_metadata, {}),
    )


def _optional_texts(value: object) -> tuple[str, ...] | None:
    return read_texts(value)


def read_rules(tables: object, problems: list[str]) -> tuple[PathRule, ...]:
    """Read all `[[rules]]`, in order."""
    if not isinstance(tables, Sequence) or isinstance(tables, str):
        problems.append("rules: must be an array of tables, written [[rules]]")
        return ()
    rules = [read_rule(table, number, problems) for number, table in enumerate(tables, 1)]
    return tuple(rule for rule in rules if rule is not None)


def read_access(table: Mapping[str, object], problems: list[str]) -> AccessRules:
    """Read what decides who may see a document."""
    keys = read_front_matter(table.get("front_matter", {}), problems)
    return AccessRules(keys=keys, rules=read_rules(table.get("rules", []), problems))


def read_roles(table: object, problems: list[str]) -> Roles:
    """Read `[roles]`: roles of the owner, of other users and of their groups."""
    section = Section("[roles]", table, ROLE_KEYS, problems)
    return Roles(
        owner=section.get("owner", read_text_or_texts, ()),
        users=section.get("users", _role_map, ()),
        groups=section.get("groups", _role_map, ()),
    )


def _role_map(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping):
        raise wrong(f"must be a table of names to lists of roles, not {value!r}")
    return tuple(sorted((str(name), read_text_or_texts(roles)) for name, roles in value.items()))


def read_history(table: object, problems: list[str]) -> History:
    """Read `[history]`."""
    section = Section("[history]", table, HISTORY_KEYS, problems)
    default = History()
    count = read_int(0, 1_000_000)
    return History(
        generations=section.get("generations", count, default.generations),
        minutes=section.get("minutes", count, default.minutes),
        hours=section.get("hours", count, default.hours),
        days=section.get("days", count, default.days),
        evidence_days=section.get("evidence_days", count, default.evidence_days),
        max_ratio=section.get("max_ratio", read_number(0.0, 1000.0), default.max_ratio),
    )


def read_log(table: object, problems: list[str]) -> Log:
    """Read `[log]`."""
    section = Section("[log]", table, LOG_KEYS, problems)
    return Log(
        level=section.get("level", read_choice(("debug", "info", "warning", "error")), "info"),
        format=section.get("format", read_choice(("text", "json")), "text"),
        queries=section.get("queries", read_choice(("hash", "text")), "hash"),
    )
