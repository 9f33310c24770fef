"""A request's parameters, read field by field with the type each must have.

Owns: what a wrong type, a wrong range or an unknown name is answered with.
Knows nothing of: which method has which fields.
Invariants: 1. a field nobody asked for is refused by name; nothing is silently ignored. 2. only `RequestError` escapes.
Purity: pure.
See: docs/protocol.md (methods).
"""

import datetime
import math
from collections.abc import Mapping

from indexerd.errors import RequestError, UnknownFieldError
from indexerd.protocol import PROTOCOL_VERSION
from indexerd.protocol.messages import Payload, meant, mismatch, shown_name

# Two of the longest path that Linux has: no name, citation or question of a person is longer. What is longer is dear to
# analyse, and whoever reaches the socket may send it.
_MAX_TEXT = 1 << 13
_MAX_LIST = 1024


class Fields:
    """Reads a mapping once. Every getter names its field as known; `close` refuses what was never named."""

    def __init__(self, params: Payload) -> None:
        self._params = params
        self._known = {"protocol"}
        version = params.get("protocol", PROTOCOL_VERSION)
        if version != PROTOCOL_VERSION or isinstance(version, bool):
            raise mismatch(version, PROTOCOL_VERSION)

    def _get(self, name: str) -> object:
        self._known.add(name)
        return self._params.get(name)

    def close(self) -> None:
        """Refuse the first field that no getter asked for, with the nearest that one did, or all.

        Raises:
            UnknownFieldError: There is such a field.
        """
        for name in self._params:
            if name not in self._known:
                shown = shown_name(name)
                raise UnknownFieldError(shown, f"unknown field {shown!r}; {meant(name, self._known)}")

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return a string of at most 8,192 characters, or the default."""
        value = self._get(name)
        return default if value is None else _text(name, value)

    def required_text(self, name: str) -> str:
        """Return a string that must be there."""
        value = self.text(name)
        if value is None:
            raise RequestError(f"{name!r} is missing")
        return value

    def integer(self, name: str, default: int | None = None, *, low: int = 0, high: int = 2**53) -> int | None:
        """Return a whole number from `low` to `high`, or the default."""
        value = self._get(name)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise RequestError(f"{name!r} must be a whole number from {low} to {high}")
        return value

    def number(self, name: str, default: float | None = None, *, low: float = 0.0, high: float = 1e9) -> float | None:
        """Return a finite number from `low` to `high`, or the default."""
        value = self._get(name)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise RequestError(f"{name!r} must be a number")
        if not low <= value <= high:
            raise RequestError(f"{name!r} must be from {low} to {high}")
        return float(value)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return true or false."""
        value = self._get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise RequestError(f"{name!r} must be true or false")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings; one string counts as a list of one."""
        return self.maybe_texts(name) or ()

    def maybe_texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of strings, or None when the field is absent: to name no role differs from not naming any."""
        value = self._get(name)
        if value is None:
            return None
        if isinstance(value, str):
            return (_text(name, value),)
        if not isinstance(value, list | tuple) or len(value) > _MAX_LIST:
            raise RequestError(f"{name!r} must be a list of at most {_MAX_LIST} strings")
        return tuple(_text(name, item) for item in value)

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return conditions from an object of strings or lists of strings, or from `key=value` texts."""
        value = self._get(name)
        if value is None:
            return ()
        if isinstance(value, Mapping):
            if len(value) > _MAX_LIST:
                raise RequestError(f"{name!r} may have {_MAX_LIST} keys")
            return tuple((_text(name, key), wanted) for key, given in value.items() for wanted in _each(name, given))
        pairs = tuple(text.partition("=") for text in _each(name, value))
        if not all(separator for _, separator, _ in pairs):
            raise RequestError(f"{name!r} must be an object, or a list of 'key=value'")
        return tuple((key, wanted) for key, _, wanted in pairs)

    def table(self, name: str) -> Mapping[str, object] | None:
        """Return an object as it came, or None."""
        value = self._get(name)
        if value is not None and not isinstance(value, Mapping):
            raise RequestError(f"{name!r} must be an object")
        return value

    def tables(self, name: str) -> tuple[Mapping[str, object], ...] | None:
        """Return a list of objects as they came, or None."""
        value = self._get(name)
        if value is None:
            return None
        if not isinstance(value, list | tuple) or len(value) > _MAX_LIST:
            raise RequestError(f"{name!r} must be a list of at most {_MAX_LIST} objects")
        if not all(isinstance(item, Mapping) for item in value):
            raise RequestError(f"{name!r} must be a list of objects")
        return tuple(value)

    def text_or_table(self, name: str) -> str | Mapping[str, object] | None:
        """Return a text of any length that a message can have, an object, or None."""
        value = self._get(name)
        if value is not None and not isinstance(value, str | Mapping):
            raise RequestError(f"{name!r} must be text or an object")
        return value

    def date(self, name: str) -> datetime.date | None:
        """Return a date given as `2026-09-06`."""
        value = self.text(name)
        if value is None:
            return None
        try:
            return datetime.date.fromisoformat(value)
        except ValueError as error:
            raise RequestError(f"{name!r} must be a date like 2026-09-06") from error

    def is_word(self, name: str, word: str) -> bool:
        """Tell whether a field is exactly this word: for those that take a word or a number."""
        return self._get(name) == word

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of the given words."""
        value = self.text(name, default)
        if value not in choices or value is None:
            raise RequestError(f"{name!r} must be one of {', '.join(choices)}")
        return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{name!r} must be text")
    if len(value) > _MAX_TEXT:
        raise RequestError(f"{name!r} has {len(value):,} characters, the most is {_MAX_TEXT:,}: shorten it")
    return value


def _each(name: str, value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list | tuple) else [value]
    if len(items) > _MAX_LIST:
        raise RequestError(f"{name!r} may have {_MAX_LIST} entries")
    return tuple(_text(name, item) for item in items)
