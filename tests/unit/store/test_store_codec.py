"""Values to bytes and back: nothing changed is ever believed."""

import struct

import pytest

from indexerd.digests import fast_digest
from indexerd.errors import CorruptionError, FormatVersionError
from indexerd.store.codec import SEALED_LIMIT_BYTES, pack, seal, unpack, unseal

MAGIC = b"TESTTEST"


def test_a_packed_value_comes_back():
    """What was packed is unpacked, tuples as lists."""
    value = {"a": [1, -1, 2**63 - 1], "b": b"\x00\xff", "c": ("x", None, True, 0.5)}
    assert unpack(pack(value), "here") == {**value, "c": ["x", None, True, 0.5]}


@pytest.mark.parametrize(
    "data",
    [b"", b"\xc1", b"\x92\x01", b"\x01\x02", b"\xdd\xff\xff\xff\xff", b"\xa1\xff", b"\x91" * 5000, b"\x81\x90\x00"],
)
def test_what_is_no_packed_value_is_corruption(data):
    """Rubbish, halves, tails, huge claims and deep nesting raise the one declared error."""
    with pytest.raises(CorruptionError) as caught:
        unpack(data, "here")
    assert caught.value.where == "here"


def test_a_sealed_payload_comes_back():
    """The payload is what was sealed."""
    assert bytes(unseal(seal(MAGIC, 3, b"payload"), MAGIC, 3, "here")) == b"payload"


def test_every_flipped_bit_of_an_envelope_is_noticed():
    """No single bit of an envelope can change unnoticed, and none makes damage look like an older format."""
    sealed = seal(MAGIC, 3, b"payload")
    for place in range(len(sealed)):
        for bit in range(8):
            damaged = bytearray(sealed)
            damaged[place] ^= 1 << bit
            with pytest.raises(CorruptionError):
                unseal(bytes(damaged), MAGIC, 3, "here")


def test_every_truncation_and_any_tail_is_noticed():
    """An envelope that is too short or too long is damage."""
    sealed = seal(MAGIC, 3, b"payload")
    for length in range(len(sealed)):
        with pytest.raises(CorruptionError):
            unseal(sealed[:length], MAGIC, 3, "here")
    with pytest.raises(CorruptionError):
        unseal(sealed + b"\0", MAGIC, 3, "here")


def test_a_length_that_lies_is_noticed_although_the_checksum_is_right():
    """The length is checked by itself, before anything is made of it."""
    body = bytearray(seal(MAGIC, 3, b"payload")[:-16])
    body[12] += 1
    with pytest.raises(CorruptionError):
        unseal(bytes(body) + fast_digest(bytes(body)), MAGIC, 3, "here")


def test_another_version_is_told_from_damage():
    """A whole envelope of another version says which."""
    with pytest.raises(FormatVersionError) as caught:
        unseal(seal(MAGIC, 2, b"payload"), MAGIC, 3, "here")
    assert (caught.value.found, caught.value.supported) == (2, 3)


def test_an_envelope_beyond_the_limit_is_not_even_looked_into():
    """A payload that would take much memory when decoded is damage, whole as it is; none is ever written."""
    payload = bytes(SEALED_LIMIT_BYTES + 1)
    with pytest.raises(AssertionError):
        seal(MAGIC, 3, payload)
    body = struct.pack("<8sIQ", MAGIC, 3, len(payload)) + payload
    with pytest.raises(CorruptionError):
        unseal(body + fast_digest(body), MAGIC, 3, "here")
    assert len(unseal(seal(MAGIC, 3, payload[1:]), MAGIC, 3, "here")) == SEALED_LIMIT_BYTES
