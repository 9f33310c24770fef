"""Reading one table of settings: typed values, unknown keys with the nearest valid one, every problem collected.

Owns: how a wrong setting is described.
Knows nothing of: which settings exist.
Invariants: 1. a problem never stops the reading: the default takes the value's place and the problem is kept.
Purity: pure.
See: docs/operations.md.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
D = TypeVar("D")


class Section:
    """One table of the configuration, known by the name people see in messages (`[profile.docs]`)."""

    def __init__(self, name: str, table: object, keys: Sequence[str], problems: list[str]) -> None:
        self.name = name
        self._problems = problems
        self._table: Mapping[str, object] = {}
        if not isinstance(table, Mapping):
            problems.append(f"{name}: must be a table")
            return
        self._table = table
        problems.extend(unknown_key(name, key, keys) for key in table if key not in keys)

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def get(self, key: str, read: Callable[[object], T], default: D) -> T | D:
        """Return the value of a key as `read` understands it, or the default with the problem noted.

        Args:
            key: One of the section's keys.
            read: Turns the raw value into the typed one; raises ValueError with "must be ...".
            default: What holds where the key is absent or wrong.
        """
        if key not in self._table:
            return default
        try:
            return read(self._table[key])
        except ValueError as error:
            self.problem(key, str(error))
            return default

    def problem(self, key: str, text: str) -> None:
        """Note what is wrong with a key."""
        self._problems.append(f"{self.name} {key}: {text}")


def unknown_key(section: str, key: str, keys: Sequence[str]) -> str:
    """Describe a key that does not exist, with the nearest one that does."""
    near = difflib.get_close_matches(str(key), keys, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"valid keys: {', '.join(sorted(keys))}"
    return f"{section}: unknown key {key!r}; {hint}"


def nearest(name: str, names: Sequence[str]) -> str:
    """Return ` (did you mean ...?)` for the closest of the valid names, or nothing."""
    near = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def wrong(text: str) -> ValueError:
    """Return the error of a reader: any value that cannot be used is wrong, whether by type or by range."""
    return ValueError(text)


def read_bool(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise wrong(f"must be true or false, not {value!r}")
    return value


def read_text(value: object) -> str:
    """Read a string that says something."""
    if not isinstance(value, str) or not value.strip() or "\x00" in value:
        raise wrong(f"must be a non-empty string, not {value!r}")
    return value


def read_texts(value: object) -> tuple[str, ...]:
    """Read a list of strings."""
    if not isinstance(value, list | tuple):
        raise wrong(f"must be a list of strings, not {value!r}")
    return tuple(read_text(item) for item in value)


def read_text_or_texts(value: object) -> tuple[str, ...]:
    """Read a string or a list of strings."""
    return (read_text(value),) if isinstance(value, str) else read_texts(value)


def read_int(least: int, most: int) -> Callable[[object], int]:
    """Return a reader of whole numbers within inclusive limits."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise wrong(f"must be a whole number from {least} to {most}, not {value!r}")
        return value

    return read


def read_number(least: float, most: float) -> Callable[[object], float]:
    """Return a reader of numbers within inclusive limits."""

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise wrong(f"must be a number from {least:g} to {most:g}, not {value!r}")
        return float(value)

    return read


def read_choice(choices: Sequence[T]) -> Callable[[object], T]:
    """Return a reader of one of a few words."""

    def read(value: object) -> T:
        for choice in choices:
            if value == choice:
                return choice
        words = [str(choice) for choice in choices]
        raise wrong(f"must be one of {', '.join(words)}, not {value!r}{nearest(str(value), words)}")

    return read
