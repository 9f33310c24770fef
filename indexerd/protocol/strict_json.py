"""JSON from a stranger: bounded in depth before the library sees it, and strict where parsers differ.

Owns: what counts as JSON here: no duplicate keys, no NaN or infinity, no lone surrogates, no numbers beyond 64 bits.
Knows nothing of: lines, requests.
Invariants: 1. time is linear in the length, whatever the text. 2. only `ValueError` escapes.
Purity: pure.
See: docs/protocol.md (limits).
"""

import json
import re

# A whole string, or an unterminated one up to the end: without the second form a run of `\"` would be tried from every
# quote.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_INTEGER_DIGITS = 20


class TooDeepError(ValueError):
    """The text nests deeper than the limit."""


def nests_deeper(text: bytes, limit: int) -> bool:
    """Tell whether JSON text opens more than `limit` brackets inside one another. Exact for balanced text."""
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    left = _STRING.sub(b"", text).translate(_BRACKETS, _NOT_BRACKETS)
    for _ in range(limit):
        # Each pass removes exactly the innermost level: what replacing uncovers is not looked at again in the same
        # pass.
        shorter = left.replace(b"[]", b"")
        if len(shorter) == len(left):
            break
        left = shorter
    return left.count(b"[") > limit or b"[]" in left


def decode_json(text: bytes, depth: int) -> object:
    """Parse one JSON value.

    Raises:
        TooDeepError: It nests deeper than `depth`.
        ValueError: It is not JSON in the strict sense of this module.
    """
    if nests_deeper(text, depth):
        raise TooDeepError(f"nested deeper than {depth}")
    try:
        value: object = _DECODER.decode(text.decode("utf-8"))
        if _SURROGATE.search(text) is not None:
            # Pairs have become one character by now; what is left of the range cannot be encoded and raises.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is no UTF-8") from error
    except UnicodeEncodeError as error:
        raise ValueError("half of a surrogate pair is no character") from error
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object names a key twice")
    return result


def _integer(digits: str) -> int:
    if len(digits) > _INTEGER_DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is out of range")
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_number, parse_constant=_no_constant
)
