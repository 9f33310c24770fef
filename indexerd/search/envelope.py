"""The written form of one evidence block, and its reader.

Owns: headers, delimiters, and how document text is kept from forging either.
Knows nothing of: budgets, ranking, guards.
Invariants: 1. `parse_blocks(render_block(x))` gives x back for any strings. 2. every header is one printable line. 3.
    a block's text stands in it unchanged.
Purity: pure.
See: docs/evidence.md.
"""

import hashlib
import re
import unicodedata
from typing import Final, NamedTuple

_OPEN: Final = re.compile(r"<evidence(?P<token>(?:-[0-9a-f]{12})?)>")
_DELIMITER: Final = re.compile(r"<\s*/?\s*evidence", re.IGNORECASE)
_SOURCE: Final = re.compile(r"\[(?P<label>S[0-9]+)\] source: (?P<source>.*)")
_NO_NEWLINE: Final = "final newline: none"
# Joiners that scripts and emoji need; ideographic and other spaces are harmless.
_ALLOWED: Final = frozenset("\u200c\u200d")


class Passage(NamedTuple):
    """What one block shows: any strings."""

    label: str
    source: str
    heading_path: tuple[str, ...]
    columns: str
    text: str


def escape_line(text: str) -> str:
    r"""Return one printable line that `unescape_line` turns back: controls, line ends, bidi marks as `\u{X}`."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_escaped, text))


def _escaped(char: str) -> str:
    if char == "\\":
        return "\\\\"
    if char.isprintable() or char in _ALLOWED or unicodedata.category(char) == "Zs":
        return char
    return f"\\u{{{ord(char):x}}}"


_ESCAPE: Final = re.compile(r"\\(?:\\|>|u\{([0-9a-f]+)\})")


def unescape_line(text: str) -> str:
    """Undo `escape_line` and the escaping of `>` in headings."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[0][1], text)


def _heading_line(heading_path: tuple[str, ...]) -> str:
    # A `>` that stands alone would read as a step of the path.
    return " > ".join(re.sub(r"(?<![^ ])>(?![^ ])", r"\\>", escape_line(title)) for title in heading_path)


def _token(text: str) -> str:
    """Return nothing, or where the text holds something like a delimiter, a token that it does not contain."""
    if not _DELIMITER.search(text):
        return ""
    token, seed = "", text.encode("utf-8", "surrogatepass")
    while not token or token in text:
        seed = hashlib.sha256(seed).hexdigest().encode()
        token = "-" + seed[:12].decode()
    return token


def render_block(passage: Passage) -> str:
    """Return the block as it stands in a prompt, without a final newline."""
    lines = [f"[{passage.label}] source: {escape_line(passage.source)}"]
    if passage.heading_path:
        lines.append(f"heading: {_heading_line(passage.heading_path)}")
    if passage.columns:
        lines.append(f"columns: {escape_line(passage.columns)}")
    end = "" if passage.text.endswith("\n") else "\n"
    if end:
        lines.append(_NO_NEWLINE)
    token = _token(passage.text)
    return "\n".join(lines) + f"\n<evidence{token}>\n{passage.text}{end}</evidence{token}>"


def parse_blocks(prompt: str) -> tuple[Passage, ...]:
    """Read the blocks of a prompt back, whatever stands before the first."""
    passages, lines, at = [], prompt.split("\n"), 0
    while at < len(lines):
        source = _SOURCE.fullmatch(lines[at])
        at += 1
        if source is None:
            continue
        headers = {}
        while at < len(lines) and not (opened := _OPEN.fullmatch(lines[at])):
            name, _, value = lines[at].partition(": ")
            headers[name] = value
            at += 1
        close = f"</evidence{opened['token']}>" if at < len(lines) and opened else ""
        body = lines[at + 1 :]
        length = body.index(close) if close in body else len(body)
        text = "\n".join(body[:length]) + ("" if "final newline" in headers or not length else "\n")
        passages.append(_passage(source, headers, text))
        at += length + 2
    return tuple(passages)


def _passage(source: re.Match[str], headers: dict[str, str], text: str) -> Passage:
    titles = headers["heading"].split(" > ") if "heading" in headers else []
    return Passage(
        label=source["label"],
        source=unescape_line(source["source"]),
        heading_path=tuple(map(unescape_line, titles)),
        columns=unescape_line(headers.get("columns", "")),
        text=text,
    )
