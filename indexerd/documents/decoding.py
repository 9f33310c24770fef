"""Bytes to text, without losing a line.

Owns: how a byte-order mark and undecodable bytes are treated.
Knows nothing of: formats, chunks.
Invariants: 1. the text has exactly the LF bytes of the raw document. 2. decoding never fails.
Purity: pure.
See: docs/on-disk-format.md (identity).
"""

from typing import NamedTuple

from indexerd.documents.outline import new_tuple

_BOM = b"\xef\xbb\xbf"


class Decoded(NamedTuple):
    """A document as text.

    Attributes:
        text: The decoded source without its byte-order mark.
        bom_bytes: 3 if there was one, else 0.
        undecodable: Whether bytes were replaced, so that text and bytes have different lengths.
    """

    text: str
    bom_bytes: int
    undecodable: bool


def decode(raw: bytes) -> Decoded:
    """Decode UTF-8. Undecodable bytes become U+FFFD; none of them takes a line end with it."""
    bom_bytes = len(_BOM) if raw.startswith(_BOM) else 0
    body = raw[bom_bytes:] if bom_bytes else raw
    try:
        return new_tuple(Decoded, (body.decode(), bom_bytes, False))
    except UnicodeDecodeError:
        return Decoded(body.decode(errors="replace"), bom_bytes, undecodable=True)


def is_decoded(raw: bytes, first: int, last: int) -> bool:
    """Whether the text of some lines is not their bytes, so that its hash is not what `sha256sum` says of them."""
    if first == 1 and raw.startswith(_BOM):
        return True
    lines = b"\n".join(raw.split(b"\n", last)[first - 1 : last])
    text = lines.decode(errors="replace")
    return "\ufffd" in text and text.encode() != lines
