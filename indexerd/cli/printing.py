"""What a command prints: escaped text for people, bytes and JSON for programs, past a closed pipe.

Owns: the escaping of everything people read, when colour is used, how paths are shortened, singular and plural; the
    writing to standard streams.
Knows nothing of: click, results, sockets. Light on purpose: part of the query fast path.
Invariants: 1. after `escape` a text holds no character that moves a cursor, changes the order of other characters, or
    cannot be encoded. 2. colour only where it was asked for or somebody looks.
Purity: pure, save the writing.
See: docs/threat-model.md.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BROKEN_PIPE = 141
RESET, BOLD, DIM, YELLOW, CYAN = (f"\x1b[{code}m" for code in (0, 1, 2, 33, 36))
MATCH = "\x1b[1;31m"

# C0, DEL, C1; then what reorders or hides text: line and paragraph separators, bidi controls, zero-width characters,
# variation selectors are left (emoji need them), tag characters; lone surrogates stand for bytes that are not UTF-8.
_ESCAPED: dict[int, str] = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))},
    **{code: f"\\u{code:04x}" for code in (0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x2060, 0xFEFF, 0x180E)},
    **{code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))},
}


def escape(text: str) -> str:
    r"""Return one line; control, bidi, invisible characters as `\\xNN` or `\\uNNNN`, undecodable bytes as `\\xNN`."""
    if text.isascii() and text.isprintable():
        return text
    return _last_resort(text.translate(_ESCAPED))


def flatten(text: str) -> str:
    """Return a text on one line: tabs and line ends become spaces, the rest is escaped."""
    return escape(text.replace("\r\n", " ").replace("\n", " ").replace("\t", " "))


def terminal_safe(text: str) -> str:
    """Return a text of several lines with everything but line ends and tabs escaped."""
    return "\n".join("\t".join(escape(cell) for cell in line.split("\t")) for line in text.split("\n"))


def _last_resort(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if _is_shown(ord(char)) else _code(ord(char)) for char in text)


def _is_shown(code: int) -> bool:
    return not (0xD800 <= code < 0xE000 or 0xE0000 <= code < 0xE0080)


def _code(code: int) -> str:
    if 0xDC80 <= code < 0xDD00:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def wants_colour(choice: str, environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Decide on colour: `--color`, then NO_COLOR, then CLICOLOR_FORCE or FORCE_COLOR, then whether somebody looks."""
    if choice in {"always", "never"}:
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("CLICOLOR_FORCE", "0") not in {"", "0"} or environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return is_terminal and environ.get("TERM") != "dumb"


def shorten(path: str, cwd: str) -> str:
    """Return an absolute path relative to the current directory where it lies below it."""
    below = cwd.rstrip("/") + "/"
    return path[len(below) :] if path.startswith(below) and len(path) > len(below) else path


def count(number: int, word: str, plural: str | None = None) -> str:
    """Return `1 document`, `1,234 documents`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def write_result(value: object, lines: Iterable[str], *, is_json: bool) -> None:
    """Write a result as JSON, or as lines for people."""
    _ = write_json(value) if is_json else write_lines(lines)


def write_json(value: object) -> bool:
    """Write a value to standard output as one line of JSON; see `write`."""
    import json  # noqa: PLC0415 - not on the fast path

    return write(1, json.dumps(value, separators=(",", ":")) + "\n")


def write_lines(lines: Iterable[str], stream: int = 1) -> bool:
    """Write lines; see `write`."""
    return write(stream, "".join(f"{line}\n" for line in lines))


def write(stream: int, data: bytes | str) -> bool:
    """Write all bytes to a descriptor; False if nobody reads any more. Of text what is no Unicode is written as escape.

    Raises:
        OSError: Standard output takes nothing (full, closed). What is lost on standard error is lost without a word.
    """
    view = memoryview(data if isinstance(data, bytes) else data.encode("utf-8", "backslashreplace"))
    while view:
        try:
            view = view[os.write(stream, view) :]
        except BrokenPipeError:
            return False
        except OSError as error:
            if stream == 2:
                return False
            raise OSError(error.errno, error.strerror, "standard output") from error
    return True
