"""Names and source paths are the same set, spelled twice."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from indexerd.naming import decode_name, encode_name

ODD = st.sampled_from(
    [b"%", b"%4", b"%41", b"%c3", b"\xc3", b"\xa9", b"\xc3\xa9", b"\n", b"\xe2\x80", b"\xae", b"/", b"a", b"0", b"F"]
)
NAMES = st.binary(max_size=40) | st.lists(ODD, max_size=12).map(b"".join)


@given(NAMES, NAMES)
@example(b"%41", b"A")
@example(b"\xc3\xa9", b"%C3%A9")
def test_no_two_names_share_a_source_path(one, other):
    """Encoding leads back to the very bytes, so equal spellings mean equal names."""
    assert decode_name(encode_name(one)) == one
    assert (encode_name(one) == encode_name(other)) == (one == other)


@given(NAMES)
def test_a_source_path_is_one_printable_line(raw):
    """Nothing in a spelling moves a cursor, ends a line, reorders text or fails to encode."""
    text = encode_name(raw)
    text.encode("utf-8")
    assert not any(unicodedata.category(character) in {"Cc", "Zl", "Zp", "Cs"} for character in text)
    assert not any(unicodedata.bidirectional(character) in {"LRE", "RLE", "LRO", "RLO", "PDF"} for character in text)
    assert not any(unicodedata.bidirectional(character) in {"LRI", "RLI", "FSI", "PDI"} for character in text)


@given(st.text(max_size=30))
def test_what_is_decoded_is_canonical(text):
    """Any text either names exactly one file, or none."""
    try:
        raw = decode_name(text)
    except ValueError:
        return
    assert encode_name(raw) == text
