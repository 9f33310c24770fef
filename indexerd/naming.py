"""The one spelling of a file's name: a bijection between path bytes below a root and source paths.

Owns: percent-encoding of names, and how a root's label goes in front.
Knows nothing of: the disk. A name here may name nothing.
Invariants: 1. `decode_name(encode_name(raw)) == raw` for any bytes, so no two names share a source path. 2. a source
    path is one printable line of valid Unicode. 3. what is not canonical is refused, so a file has exactly one source
    path.
Purity: pure.
See: docs/on-disk-format.md (identity).
"""

import re
from collections.abc import Sequence

from indexerd.model import Root, SourcePath

# C0, DEL and C1 would move a terminal's cursor; the line and paragraph separators end a line; bidi controls reorder
# what is read; surrogates stand for bytes that are no UTF-8. A `%` before two hex digits would read as one of our own
# escapes.
_ENCODED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]|%(?=[0-9A-Fa-f]{2})",
)
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_needs_encoding = _ENCODED.search


def encode_name(raw: bytes) -> str:
    """Return the printable form of one relative path.

    Args:
        raw: Path bytes, `/`-separated, as the kernel gives them.
    """
    return encode_text(raw.decode("utf-8", "surrogateescape"))


def is_printable(text: str) -> bool:
    """Whether every name in `text` (joined by `/`) is its own printable form, as nearly all names are."""
    return _needs_encoding(text) is None


def encode_text(text: str) -> str:
    """Return the printable form of a relative path already decoded as UTF-8 with `surrogateescape`."""
    return text if _needs_encoding(text) is None else _ENCODED.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape"))


def decode_name(text: str) -> bytes:
    """Return the path bytes that `text` names.

    Raises:
        ValueError: `text` is not what `encode_name` makes of any name; it names no file.
    """
    raw = text.encode("utf-8")  # a lone surrogate is a UnicodeEncodeError, which is a ValueError
    if b"%" in raw:
        raw = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), raw)
    elif _needs_encoding(text) is None:
        return raw
    if encode_name(raw) != text:
        raise ValueError(f"not a canonical name: {text!r}")
    return raw


def prefix_of(root: Root) -> str:
    """Return what every source path of `root` begins with: `label/`, or nothing."""
    return f"{root.label}/" if root.prefixed else ""


def source_path(root: Root, relative: bytes) -> SourcePath:
    """Return the source path of a file or folder below `root`; for `b""` that of the root itself (label or empty)."""
    if not relative:
        return SourcePath(root.label if root.prefixed else "")
    return SourcePath(prefix_of(root) + encode_name(relative))


def split_source_path(roots: Sequence[Root], path: SourcePath) -> tuple[Root, bytes] | None:
    """Return the root a source path belongs to and the path bytes below it; None if it can name nothing there.

    Refused are names that are not canonical, and `.`, `..`, empty or NUL-bearing components: a request can name such, a
    scan never does. A root with a prefix wins over one without.
    """
    root = root_of(roots, path)
    if root is None:
        return None
    try:
        relative = decode_name(path[len(prefix_of(root)) :])
    except ValueError:
        return None
    return (root, relative) if _is_plain(relative) else None


def root_of(roots: Sequence[Root], path: SourcePath) -> Root | None:
    """Return the root that a source path belongs to by its beginning; None if no root of the set has it."""
    label, separator, _ = path.partition("/")
    bare = None
    for root in roots:
        if not root.prefixed:
            bare = bare or root
        elif separator and root.label == label:
            return root
    return bare


# `.`, `..`, an empty component or a NUL anywhere: none of these is the name of a file below a root.
_ODD_COMPONENT = re.compile(rb"(?:\A|/)\.{0,2}(?:/|\Z)|\0")


def _is_plain(relative: bytes) -> bool:
    return _ODD_COMPONENT.search(relative) is None
