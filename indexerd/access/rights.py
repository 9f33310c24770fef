"""Who may see a document, and when: rights from raw metadata and the present rules.

Owns: what acl, validity, version and series mean, and how path rules change them.
Knows nothing of: callers, sockets, the store, chunks.
Invariants: 1. what cannot be read admits nobody. 2. no key of one document changes another's fate outside a path rule
    that says so. 3. rights are computed when read, never stored: a changed rule acts at once.
Purity: pure.
See: docs/operations.md (rules).
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeVar

from indexerd.access.globs import matches
from indexerd.model import Document, FrontMatterKeys, MetadataValue

_Key = TypeVar("_Key", bound=Hashable)

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER = re.compile(r"\d{1,18}")


class PathRule(NamedTuple):
    """What the configuration says of the documents under a path.

    Attributes:
        match: Glob on the source path.
        acl: Roles of which one must be held, beside what the document itself asks; None says nothing, an empty tuple
            admits nobody.
        safety: `allow` frees the documents from the safety gate, `withhold` puts them back under it.
        boost: Factor of their scores; the factors of several rules multiply.
        supersede_by: Metadata key (or `series`) that names a series of which only the newest version is served.
        require: Metadata keys that a document must carry; without one it is withheld.
        metadata: Values for keys that a document does not carry.
    """

    match: str
    acl: tuple[str, ...] | None = None
    safety: Literal["allow", "withhold"] | None = None
    boost: float = 1.0
    supersede_by: str | None = None
    require: tuple[str, ...] = ()
    metadata: Mapping[str, MetadataValue] = MappingProxyType({})


class AccessRules(NamedTuple):
    """The rules in force: which keys mean what, and the path rules in the order of the configuration."""

    keys: FrontMatterKeys = FrontMatterKeys()
    rules: tuple[PathRule, ...] = ()


class Rights(NamedTuple):
    """What decides whether a document is eligible.

    Attributes:
        acl: Each entry must admit the caller; an entry admits who holds one of its roles.
        valid_from: First day of validity; None is since ever.
        valid_to: First day no longer valid; None is for ever.
        version_key: The numbers in `version`, for comparing.
        series: Names the series, within its rule; None if nothing supersedes the document.
        withheld: Nobody sees it: a key that decides about it cannot be read, or a required one is missing.
        unsafe: The safety gate holds it back from evidence.
        boost: Factor of its scores.
    """

    acl: tuple[tuple[str, ...], ...] = ()
    valid_from: date | None = None
    valid_to: date | None = None
    version_key: tuple[int, ...] = ()
    series: str | None = None
    withheld: bool = False
    unsafe: bool = False
    boost: float = 1.0


OPEN = Rights()

# By `valid_from`, then by the numbers in `version`.
Age = tuple[date, tuple[int, ...]]


class Version(NamedTuple):
    """One version of a series."""

    series: str
    age: Age


def rights(document: Document, access: AccessRules) -> Rights:
    """Return the rights of one document under the rules in force."""
    try:
        return _decided(document, access)
    except _UnreadableError:
        return Rights(withheld=True, unsafe=bool(document.unsafe))


def why_withheld(document: Document, access: AccessRules) -> str | None:
    """Return which key keeps a document from everybody, and why; None if none does."""
    try:
        _decided(document, access)
    except _UnreadableError as error:
        return str(error)
    return None


def _decided(document: Document, access: AccessRules) -> Rights:
    rules = [(index, rule) for index, rule in enumerate(access.rules) if matches(rule.match, document.source_path)]
    keys = access.keys
    says_nothing = not document.unread_keys and not document.unsafe
    # Most front matter is about other things.
    if says_nothing and not rules and deciding_keys(keys).isdisjoint(map(str.casefold, document.metadata)):
        return OPEN
    unread = {key.casefold() for key in document.unread_keys}
    values = _folded(document.metadata, [rule for _, rule in rules], unread)
    _refuse_unread(unread, (*keys.acl, *keys.valid_from, *keys.valid_to))
    _require(values, [key for _, rule in rules for key in rule.require])
    starts, ends = list(_dates(values, keys.valid_from)), list(_dates(values, keys.valid_to))
    boost = 1.0
    for _, rule in rules:
        boost *= rule.boost
    return Rights(
        acl=(*_acls(values, keys.acl), *(rule.acl for _, rule in rules if rule.acl is not None)),
        valid_from=max(starts, default=None),
        valid_to=min(ends, default=None),
        version_key=tuple(int(part) for part in _NUMBER.findall(" ".join(_present(values, keys.version)))[:16]),
        series=_series(values, rules, keys),
        unsafe=bool(document.unsafe) and _gated([rule for _, rule in rules]),
        boost=boost,
    )


def deciding_keys(keys: FrontMatterKeys) -> frozenset[str]:
    """Return the keys, without case, one of which is in every document that is not open where no rule speaks of it."""
    return frozenset(key.casefold() for key in (*keys.acl, *keys.valid_from, *keys.valid_to, *keys.version))


def may_see(document_rights: Rights, roles: frozenset[str]) -> bool:
    """Return whether a caller with `roles` sees the document on some day or other."""
    return not document_rights.withheld and all(not roles.isdisjoint(entry) for entry in document_rights.acl)


def admits(document_rights: Rights, roles: frozenset[str], as_of: date) -> bool:
    """Return whether a caller with `roles` sees the document on that day."""
    return is_valid(document_rights, as_of) and may_see(document_rights, roles)


def is_valid(document_rights: Rights, as_of: date) -> bool:
    """Return whether a day lies within the document's dates, the last one not included."""
    starts, ends = document_rights.valid_from, document_rights.valid_to
    return (starts is None or as_of >= starts) and (ends is None or as_of < ends)


def superseded(visible: Mapping[_Key, Rights]) -> frozenset[_Key]:
    """Return which of the visible documents a newer visible version of their series replaces.

    Newest by `valid_from`, then by the numbers in `version`; equals do not replace each other.

    Args:
        visible: Only documents that the caller may see: a hidden version must not reveal itself by what it replaces.
    """
    versions = {key: version for key, entry in visible.items() if (version := version_of(entry)) is not None}
    newest = newest_of(versions.values())
    return frozenset(key for key, (series, age) in versions.items() if age < newest[series])


def version_of(entry: Rights) -> Version | None:
    """Return which version of which series a document is; None if nothing supersedes it."""
    if entry.series is None:
        return None
    return Version(entry.series, (entry.valid_from or date.min, entry.version_key))


def newest_of(versions: Iterable[Version]) -> dict[str, Age]:
    """Return the age of the newest version of each series."""
    newest: dict[str, Age] = {}
    for series, age in versions:
        if age >= newest.get(series, age):
            newest[series] = age
    return newest


def effective_metadata(document: Document, access: AccessRules) -> Mapping[str, MetadataValue]:
    """Return the metadata to filter by and to show: the document's own, completed by the path rules."""
    rules = [rule for rule in access.rules if rule.metadata and matches(rule.match, document.source_path)]
    if not rules:
        return document.metadata
    carried = {key.casefold() for key in (*document.metadata, *document.unread_keys)}
    added: dict[str, MetadataValue] = {}
    for rule in rules:
        added.update((key, value) for key, value in rule.metadata.items() if key.casefold() not in carried)
    return MappingProxyType({**document.metadata, **added})


class _UnreadableError(Exception):
    """A value that decides about the document cannot be read, or is missing."""


def _folded(
    metadata: Mapping[str, MetadataValue], rules: Sequence[PathRule], unread: set[str]
) -> dict[str, list[MetadataValue]]:
    """Return the values by key without case (`ACL` guards as `acl` does), rules' values only where nothing stands."""
    values: dict[str, list[MetadataValue]] = {}
    for key, value in metadata.items():
        values.setdefault(key.casefold(), []).append(value)
    defaults: dict[str, MetadataValue] = {}
    for rule in rules:
        defaults.update((key.casefold(), value) for key, value in rule.metadata.items())
    for key, value in defaults.items():
        if key not in values and key not in unread:
            values[key] = [value]
    return values


def _refuse_unread(unread: set[str], keys: Sequence[str]) -> None:
    for key in keys if unread else ():
        if key.casefold() in unread:
            raise _UnreadableError(f"{key} cannot be read")


def _require(values: Mapping[str, Sequence[MetadataValue]], keys: Sequence[str]) -> None:
    for key in keys:
        if not values.get(key.casefold()):
            raise _UnreadableError(f"{key} is required and not there")


def _dates(values: Mapping[str, Sequence[MetadataValue]], keys: Sequence[str]) -> Iterator[date]:
    for key in keys:
        for value in values.get(key.casefold(), ()):
            yield _date(key, value)


def _date(key: str, value: MetadataValue) -> date:
    if isinstance(value, str) and _DATE.fullmatch(value.strip()):
        with suppress(ValueError):
            return date.fromisoformat(value.strip())
    raise _UnreadableError(f"{key} is no date like 2026-09-06")


def _acls(values: Mapping[str, Sequence[MetadataValue]], keys: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for key in keys:
        for value in values.get(key.casefold(), ()):
            parts = value.split(",") if isinstance(value, str) else value
            yield tuple(part.strip() for part in parts if part.strip())


def _present(values: Mapping[str, Sequence[MetadataValue]], keys: Sequence[str]) -> Iterator[str]:
    for key in keys:
        yield from (value for value in values.get(key.casefold(), ()) if isinstance(value, str) and value.strip())


def _series(
    values: Mapping[str, Sequence[MetadataValue]], rules: Sequence[tuple[int, PathRule]], keys: FrontMatterKeys
) -> str | None:
    """Return the series under the last rule that speaks of one. Its number keeps the series of two rules apart."""
    for index, rule in reversed(rules):
        if rule.supersede_by:
            names = keys.series if rule.supersede_by == "series" else (rule.supersede_by,)
            value = next(_present(values, names), None)
            return None if value is None else f"{index}:{value.strip()}"
    return None


def _gated(rules: Sequence[PathRule]) -> bool:
    """Return whether the safety gate applies: the last rule that speaks of it decides."""
    return next((rule.safety for rule in reversed(rules) if rule.safety is not None), "withhold") != "allow"
