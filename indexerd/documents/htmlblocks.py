"""HTML blocks of CommonMark: where one opens, and what ends it.

Owns: the seven kinds of HTML block.
Knows nothing of: other blocks, headings.
Invariants: 1. linear time.
Purity: pure.
See: docs/search.md (chunks); the CommonMark specification, "HTML blocks".
"""

import re

_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|iframe|legend|li|link|"
    "main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|"
    "title|tr|track|ul"
)
_ATTRIBUTE = r"""\s+[A-Za-z_:][A-Za-z0-9_.:-]*+(?:\s*=\s*(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?"""
_HTML_START = re.compile(
    r"<(?:(?P<raw>(?:script|pre|style|textarea)(?=[\s>]|\Z))|(?P<comment>!--)|(?P<instruction>\?)"
    r"|(?P<declaration>![A-Za-z])|(?P<cdata>!\[CDATA\[)"
    rf"|(?P<block>/?(?:{_BLOCK_TAGS})(?=\s|/?>|\Z))"
    rf"|(?P<tag>(?:[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*+\s*/?>|/[A-Za-z][A-Za-z0-9-]*+\s*>)\s*\Z))",
    re.IGNORECASE,
)
HTML_ENDS = {
    "raw": re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    "comment": re.compile("-->"),
    "instruction": re.compile(r"\?>"),
    "declaration": re.compile(">"),
    "cdata": re.compile(r"\]\]>"),
}


def html_kind(line: str) -> str:
    """Return which of the seven kinds of HTML block a line that begins with `<` opens; empty for none."""
    match = _HTML_START.match(line)
    return match.lastgroup or "" if match else ""
