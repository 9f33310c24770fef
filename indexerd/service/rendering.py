"""From values of the inner rooms to the plain objects that travel.

Owns: the shape of lists and verdicts: names, units, which field is null when; how many hits one message carries.
Knows nothing of: framings, callers, where a value came from.
Invariants: 1. every text is valid Unicode; a path that is none travels as
    `path_b64`.
Purity: pure.
See: docs/protocol.md (documents, generations).
"""

import base64
import datetime
import json
from collections.abc import Mapping, Sequence

Json = dict[str, object]

# A reply below this many characters of text cannot pass the limit of 8 MiB even if each of them is escaped.
_SURELY_SMALL = 1_000_000
_FEW_HITS = 400
_MAX_HIT_BYTES = 7 << 20
_NS = 1_000_000_000
# The years 1900 and 9999: file times outside are damage, and the calendar ends there.
_FIRST_SECOND, _LAST_SECOND = -2_208_988_800, 253_402_300_799


def moment(time_ns: int) -> str:
    """Return `2026-09-06T12:00:00.000Z` for nanoseconds since 1970; an end of the calendar for what lies beyond it."""
    seconds = min(max(time_ns // _NS, _FIRST_SECOND), _LAST_SECOND)
    at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{time_ns // 1_000_000 % 1000:03d}Z"


def path_fields(path: bytes | None) -> Json:
    """Return `path`, and `path_b64` where the path is not UTF-8."""
    if path is None:
        return {"path": None}
    try:
        return {"path": path.decode()}
    except UnicodeDecodeError:
        return {"path": None, "path_b64": base64.b64encode(path).decode()}


def printable_path(path: str) -> str:
    """Return a path in `os.fsdecode` form as valid Unicode, for display only."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def metadata_fields(metadata: Mapping[str, str | tuple[str, ...]]) -> Json:
    """Return front matter as strings and lists of strings."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in metadata.items()}


def keep_sendable(result: Json, after: int) -> Json:
    """Leave out the first `after` hits, and those at the end that one message could not carry (`truncated`)."""
    hits = result["hits"]
    assert isinstance(hits, list)
    rest = hits[after:]
    fitting = _fitting(rest)
    result["hits"] = rest[:fitting]
    if fitting < len(rest):
        result["truncated"] = True
    return result


def _fitting(hits: Sequence[Mapping[str, object]]) -> int:
    if len(hits) <= _FEW_HITS and sum(len(str(hit["text"])) for hit in hits) < _SURELY_SMALL:
        return len(hits)
    room = _MAX_HIT_BYTES
    for count, hit in enumerate(hits):
        room -= len(json.dumps(hit, ensure_ascii=False).encode())
        # One hit always goes: a single one beyond the limit is refused by the connection with the reason.
        if room < 0 and count > 0:
            return count
    return len(hits)
