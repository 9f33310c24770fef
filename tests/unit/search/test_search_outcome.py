"""What a search says of what it does not give."""

import typing

from indexerd.search.outcome import REASONS, RejectionCode


def test_every_code_has_a_reason():
    """Whatever is rejected is explained in words."""
    assert REASONS.keys() == set(typing.get_args(RejectionCode))


def test_reasons_call_a_chunk_a_chunk():
    """One word for one thing: `passage` is kept for what is said to models."""
    assert not [reason for reason in REASONS.values() if "passage" in reason]
