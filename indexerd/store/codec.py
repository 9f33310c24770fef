"""Values to bytes and back, and the envelope that proves bytes whole.

Owns: the wire form of small values (MessagePack) and the envelope: magic, format version, length, payload, checksum.
Knows nothing of: what the values mean, where the bytes lie.
Invariants: 1. equal values give equal bytes. 2. every byte of an envelope is covered: a flipped, missing or added
    one is noticed. 3. decoding raises `CorruptionError` or `FormatVersionError`, nothing else, and needs memory in
    proportion to the bytes given.
Purity: pure.
See: docs/on-disk-format.md (envelope).
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgpack  # type: ignore[import-untyped]  # it ships no type information

from indexerd.digests import fast_digest
from indexerd.errors import CorruptionError, FormatVersionError

Value = TypeVar("Value")

_HEAD = struct.Struct("<8sIQ")
_CHECKSUM_BYTES = 16
ENVELOPE_BYTES = _HEAD.size + _CHECKSUM_BYTES
# Room for 12,000 kept generations, or 20,000 segments of a first index; decoded it takes at most 50 times as much.
SEALED_LIMIT_BYTES = 1 << 20


def pack(value: object) -> bytes:
    """Return the MessagePack form of a value made of None, bool, int, float, str, bytes, lists, tuples and dicts."""
    return bytes(msgpack.packb(value, use_bin_type=True))


def pack_each(values: Iterable[object]) -> list[bytes]:
    """Return what `pack` gives for each value; for many small ones in less than half the time."""
    packer = msgpack.Packer(use_bin_type=True)
    return [bytes(packer.pack(value)) for value in values]


def unpack(data: bytes | memoryview, where: str) -> Any:
    """Return the value that `pack` wrote; lists come back as lists.

    Args:
        data: Exactly one packed value.
        where: Name of the file, for the error.

    Raises:
        CorruptionError: The bytes are not one whole value. Fall back or rebuild.
    """
    try:
        return msgpack.unpackb(data, raw=False, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError) as error:
        raise CorruptionError(where, f"not a packed value ({type(error).__name__})") from error


def seal(magic: bytes, version: int, payload: bytes) -> bytes:
    """Return `payload` in an envelope.

    Args:
        magic: Eight bytes that name the kind of file.
        version: Format version of the payload.
        payload: Any bytes, within the limit.
    """
    assert len(payload) <= SEALED_LIMIT_BYTES, "an envelope that nobody would open"
    body = _HEAD.pack(magic, version, len(payload)) + payload
    return body + fast_digest(body)


def unseal(data: bytes | memoryview, magic: bytes, version: int, where: str) -> memoryview:
    """Return the payload of an envelope, proved whole.

    The checksum is looked at before the version: damage in the version field is damage, not an older format.

    Raises:
        CorruptionError: Too short, another kind of file, wrong length, or wrong checksum.
        FormatVersionError: Whole, but of another format version.
    """
    view = memoryview(data)
    if len(view) > SEALED_LIMIT_BYTES + ENVELOPE_BYTES:
        raise CorruptionError(where, f"{len(view)} bytes, more than any envelope has")
    if len(view) < ENVELOPE_BYTES:
        raise CorruptionError(where, f"{len(view)} bytes, an envelope has at least {ENVELOPE_BYTES}")
    found_magic, found_version, length = _HEAD.unpack_from(view)
    if found_magic != magic:
        raise CorruptionError(where, f"begins with {found_magic!r}, expected {magic!r}")
    if length != len(view) - ENVELOPE_BYTES:
        raise CorruptionError(where, f"payload of {len(view) - ENVELOPE_BYTES} bytes, the head says {length}")
    if fast_digest(view[:-_CHECKSUM_BYTES]) != bytes(view[-_CHECKSUM_BYTES:]):
        raise CorruptionError(where, "checksum differs")
    if found_version != version:
        raise FormatVersionError(where, found_version, version)
    return view[_HEAD.size : -_CHECKSUM_BYTES]


def decode(  # noqa: PLR0913 - the kind of file, by name
    data: bytes | memoryview,
    where: str,
    *,
    magic: bytes,
    version: int,
    build: Callable[[Any], Value],
    problems: Callable[[Value], Sequence[str]],
) -> Value:
    """Return what an envelope holds.

    Args:
        data: The file.
        where: Its name.
        magic: The kind of file.
        version: The format version that is known.
        build: Makes the value; `TypeError` and `ValueError` say that this is none.
        problems: Its broken invariants.

    Raises:
        CorruptionError: Damaged, or whole but breaking an invariant.
        FormatVersionError: Of another format version.
    """
    packed = unpack(unseal(data, magic, version, where), where)
    try:
        value = build(packed)
    except (TypeError, ValueError) as error:
        raise CorruptionError(where, f"not of its kind: {error}") from error
    for problem in problems(value):
        raise CorruptionError(where, problem)
    return value
