"""What people reported of the way from a file to its lines: numbers that drift, headings that are none, words lost.

Everything is asked of a daemon that runs with `LC_ALL=C`, and checked with `sed`, `grep` and `sha256sum`.
"""

import hashlib
import itertools
import os
import random

import pytest

from tests.fakes.watched_notes import grep, sed

pytestmark = pytest.mark.slow
OPTIONS = {"environ": {"LC_ALL": "C", "LANG": "C"}}

# name: (text, heading path of `inside…`, heading path of `behind…`); a line that looks like a heading stands in code.
FENCES = {
    "shell comment": ("## Setup\n\n```bash\n# install deps inside\n```\nbehind\n", ["Setup"], ["Setup"]),
    "three in four": (
        "# A\n\n````md\n```\n# no\n```\n# inside\n````\n\n# Real\n\nbehind\n",
        ["A"],
        ["Real"],
    ),
    "ticks in tildes": ("# A\n\n~~~\n```\n# inside\n~~~\n\n# Real\n\nbehind\n", ["A"], ["Real"]),
    "tildes in ticks": ("# A\n\n```\n~~~\n# inside\n```\n\n# Real\n\nbehind\n", ["A"], ["Real"]),
    "attributes": ("# A\n\n```{.py #id key=1}\n# inside\n```\n\n# Real\n\nbehind\n", ["A"], ["Real"]),
    "info is no end": ("# A\n\n```\n```py\n# inside\n```\n\n# Real\n\nbehind\n", ["A"], ["Real"]),
    "tick in info is no fence": ("# A\n\n``` a`b\n\n# Real\n\ninside\n\n# More\n\nbehind\n", ["Real"], ["More"]),
    "in a list item": ("# A\n\n1. item\n\n   ```\n   # inside\n   ```\n\n# Real\n\nbehind\n", ["A"], ["Real"]),
    "in a quote": ("# A\n\n> ```\n> # inside\n> ```\n\n# Real\n\nbehind\n", ["A"], ["Real"]),
    "the quote ends it": ("# A\n\n> ```\n> # inside\n\n# Real\n\nbehind\n", ["A"], ["Real"]),
    "longer end": ("# A\n\n```\n# inside\n``````\n\n# Real\n\nbehind\n", ["A"], ["Real"]),
    "never closed": ("# A\n\n```\n# inside\n\n# behind\n", ["A"], ["A"]),
}

WORDS = 1_000  # a word of its own in each of as many files
FUZZ = random.Random(5)
LINES = [
    "",
    "",
    "# One",
    "## Two",
    "words of a line",
    "- item",
    "    code",
    "```",
    "| a | b |",
    "\f",
    "a\u2028b",
    "é\r",
]


def fuzzed(number: int) -> str:
    """Return some lines with the file's own word in one of them."""
    lines = FUZZ.choices(LINES, k=FUZZ.randrange(1, 40))
    lines.insert(FUZZ.randrange(len(lines) + 1), f"here sought{number}x stands")
    return "\n".join(lines) + "\n" * FUZZ.randrange(2)


def long_text(*kilobytes: int) -> str:
    """Return a text with a marker at about so many kilobytes each."""
    text = ""
    for place in kilobytes:
        while len(text) < place * 1024:
            text += "Plain words of a paragraph that nobody looks for.\n\n"
        text += f"marker{place}kb\n\n"
    return text


FILES = {
    "odd-lines.md": "a\fb\u2028c\x0bd\u0085e\nTARGETFEED\n",
    **{
        f"fence/{n}.md": text.replace("inside", f"inside{n}z").replace("behind", f"behind{n}z")
        for n, (text, _, _) in enumerate(FENCES.values())
    },
    "bom-title.md": "\ufeff# Marktitle\n\nmarkbody\n",
    "bom-acl.md": "\ufeff---\nacl: [team]\n---\n\nmarksecret\n",
    "closing.md": "---\nalpha: 1\nkind: closing\n---\n# Closing\n\nclosingbody\n",
    "setext.md": "Overtitle\n=====\n\nSub\n-\nsettextbody\n\n---\n\nafterrule\n",
    "levels.md": "# Top\n### Deep\nlevelone\n## Second\nleveltwo\n",
    "line250.md": "".join(f"line {n}{' needletwofifty' if n == 250 else ''}\n" for n in range(1, 301)),
    "latin.md": b"# Latin\n\ncaf\xe9 latintarget\n\nlatinafter\n",
    "long.md": long_text(1, 5, 6, 50, 199),
    "crlf.md": b"# Windows\r\nwindowsword\r\n\r\n- item\r\n  - inner windowsinner\r\n",
    "mixed.md": b"# Mixed\r\nmixedone\nmixedtwo\r\nmixedthree",
    "closing-marks.md": "# Marks ##\n\nmarksbody\n\n## C#\n\nsharpbody\n",
    "rewritten.md": "# Lists\n\n* one\n\n\n  * listinner\n\n\n\n10) ten\n    listten\n",
    "sections.md": "".join(f"## Part {n}\n\nsectionword{n}x\n\n" for n in range(250)),
    "giant.md": "giant words without any heading\n" * 160_000,
    "cut.md": "…" * 2_000 + "\n" + "👩‍👩‍👧‍👦" * 400 + "\n\n" + "boxword ─│┌ " * 300 + "\n",
    os.fsdecode(b"odd-\xcf\xf0\n\x1b.md"): "oddnameword\n",
    "old-mac.md": b"one\rtwo macword\rthree\r",
    "open-end.md": b"one\n\ntwo openword",
    **{f"fuzz/{n}.md": fuzzed(n) for n in range(WORDS)},
}


def test_characters_that_editors_do_not_count_move_no_line(notes):
    """Form feed, VT, NEL and U+2028 were counted as line ends; the line is the one that grep names."""
    hit = notes.best("TARGETFEED")
    assert [hit["line"]] == grep("TARGETFEED", notes.root / "odd-lines.md") == [2]
    notes.assert_cited_exactly(hit)


@pytest.mark.parametrize("number", range(len(FENCES)), ids=list(FENCES))
def test_code_holds_no_headings_and_ends_where_it_should(notes, number):
    """A `#` comment in a fence became a section, or a fence was closed by the wrong mark; it is as CommonMark says."""
    _, inside, behind = list(FENCES.values())[number]
    found = [notes.best(f"{word}{number}z") for word in ("inside", "behind")]
    assert [hit["heading_path"] for hit in found] == [inside, behind]
    assert notes.found(f"inside{number}z") == [f"fence/{number}.md"]


def test_a_comment_in_a_shell_block_makes_no_chunk(notes):
    """The section with a comment in its code was torn in two; it is one chunk under its own heading."""
    hit = notes.best("install deps")
    assert (hit["source_path"], hit["start_line"], hit["end_line"]) == ("fence/0.md", 1, 6)


def test_a_byte_order_mark_hides_nothing(notes):
    """The first heading and the front matter behind a BOM were lost; both are read; digests are of the raw bytes."""
    hit = notes.best("markbody")
    assert (hit["heading_path"], hit["title"], hit["line"]) == (["Marktitle"], "Marktitle", 3)
    assert hit["document_hash"] == hashlib.sha256((notes.root / "bom-title.md").read_bytes()).hexdigest()
    assert notes.found("marksecret") == []
    assert notes.found("marksecret", roles=["team"]) == ["bom-acl.md"]


def test_the_end_of_front_matter_underlines_nothing(notes):
    """The closing `---` made a heading of the metadata; it is metadata, and the one heading is the text's."""
    hit = notes.best("closingbody")
    assert (hit["heading_path"], hit["start_line"]) == (["Closing"], 5)
    assert notes.found("closingbody", where={"kind": "closing", "alpha": "1"}) == ["closing.md"]
    assert notes.documents()["closing.md"]["chunks"] == 1


def test_underlined_headings_are_headings(notes):
    """Only `#` was known; underlines of any length count, and a rule behind a blank line does not."""
    assert notes.best("settextbody")["heading_path"] == ["Overtitle", "Sub"]
    assert notes.best("afterrule")["heading_path"] == ["Overtitle", "Sub"]


def test_a_sub_heading_ends_with_its_section(notes):
    """The old sub-heading leaked into the next section; that one stands under its own path."""
    assert notes.best("levelone")["heading_path"] == ["Top", "Deep"]
    assert notes.best("leveltwo")["heading_path"] == ["Top", "Second"]


def test_lines_are_those_of_the_document(notes):
    """Cited lines were counted within the chunk or from 0; they are the document's, from 1."""
    hit = notes.best("needletwofifty")
    assert (hit["line"], hit["start_line"] <= 250 <= hit["end_line"]) == (250, True)
    assert b"needletwofifty" in sed(notes.root / "line250.md", 250, 250)
    notes.assert_cited_exactly(hit)


def test_every_cited_line_of_a_thousand_odd_files_shows_its_word(notes):
    """Some citations led beside the text; here a word in each of a thousand made-up files is cited where it stands."""
    for number in range(WORDS):
        hit = notes.best(f"sought{number}x", k=1)
        lines = (notes.root / f"fuzz/{number}.md").read_bytes().split(b"\n")
        word = f"sought{number}x".encode()
        assert hit["source_path"] == f"fuzz/{number}.md"
        assert word in lines[hit["line"] - 1]
        cited = b"\n".join(lines[hit["start_line"] - 1 : hit["end_line"]])
        assert hit["text"].encode().removesuffix(b"\n") == cited.removesuffix(b"\n")


def test_a_byte_of_another_encoding_costs_one_character(notes):
    """One Latin-1 byte ended the run or lost the file; it is replaced and flagged, and lines and digest stay right."""
    hit = notes.best("latintarget")
    assert (hit["source_path"], hit["line"]) == ("latin.md", 3)
    assert "caf\ufffd latintarget" in hit["text"]
    assert hit["document_hash"] == hashlib.sha256((notes.root / "latin.md").read_bytes()).hexdigest()
    assert notes.best("latinafter")["line"] == 5
    assert notes.documents()["latin.md"]["problems"] == ["undecodable"]


@pytest.mark.parametrize("place", [1, 5, 6, 50, 199])
def test_long_notes_are_read_to_their_end(notes, place):
    """Text behind the first kilobytes was not findable; every marker of a long file is."""
    hit = notes.best(f"marker{place}kb")
    assert [hit["line"]] == grep(f"marker{place}kb", notes.root / "long.md")


@pytest.mark.parametrize(
    ("word", "name"),
    [("windowsword", "crlf.md"), ("windowsinner", "crlf.md"), ("mixedone", "mixed.md"), ("mixedthree", "mixed.md")],
)
def test_carriage_returns_are_kept(notes, word, name):
    """Hashes matched only a private copy with other line ends; they are those of the file, and `verify` says fresh."""
    hit = notes.best(word)
    assert [hit["line"]] == grep(word, notes.root / name)
    notes.assert_cited_exactly(hit)
    verdict = notes.daemon.call("verify", citation=f"{hit['citation']}@sha256:{hit['content_hash']}")
    assert verdict["state"] == "fresh"


def test_closing_marks_of_a_heading(notes):
    """`# Title ##` kept its marks or `## C#` lost its own; only a closing run behind a space is dropped."""
    assert notes.best("marksbody")["heading_path"] == ["Marks"]
    assert notes.best("sharpbody")["heading_path"] == ["Marks", "C#"]


def test_a_chunk_is_a_slice_of_its_source(notes):
    """Blank lines and list indents were rewritten; the text is what the cited lines hold, to the byte."""
    for word in ("listinner", "listten"):
        notes.assert_cited_exactly(notes.best(word))


def test_all_sections_of_a_long_file_are_there(notes):
    """Chunks of earlier batches were lost; of 250 sections every one is found."""
    assert notes.documents()["sections.md"]["chunks"] == 250
    for number in range(250):
        assert notes.best(f"sectionword{number}x", k=1)["heading_path"] == [f"Part {number}"]


def test_a_file_without_headings_is_cut(notes):
    """Five megabytes without a heading were one chunk; chunks stay below the limit and follow one another."""
    rows = notes.documents()["giant.md"]
    assert rows["size_bytes"] > 5_000_000
    hits = notes.ask("giant", k=50, max_per_document=50, distinct=False, sort="path")["hits"]
    spans = [(hit["start_line"], hit["end_line"]) for hit in hits if hit["source_path"] == "giant.md"]
    assert len(spans) == 50
    assert all(len(hit["text"]) <= 900 for hit in hits)
    assert all(second[0] == first[1] + 1 for first, second in itertools.pairwise(spans))
    assert rows["chunks"] == -(-rows["line_count"] // (spans[0][1] - spans[0][0] + 1))


def test_wide_characters_at_a_cut_stay_whole(notes):
    """Byte places taken for character places broke emoji; chunks are whole lines, excerpts whole letters."""
    hit = notes.best("boxword")
    notes.assert_cited_exactly(hit)
    for hit in notes.ask("cut", k=10, paths=["cut.md"], max_per_document=10)["hits"]:
        assert "\ufffd" not in hit["text"] + hit["excerpt"]
        assert not hit["excerpt"].startswith("\u200d")
        notes.assert_cited_exactly(hit)


def test_a_name_that_is_no_text_is_no_obstacle(notes):
    """A file name that is not UTF-8 ended the run; the file is indexed under one printable name."""
    hit = notes.best("oddnameword")
    assert hit["source_path"] == "odd-%CF%F0%0A%1B.md"
    assert (hit["path"], hit["path_b64"] is not None) == (None, True)
    assert notes.daemon.call("show", citation=hit["citation"])["text"] == "oddnameword\n"


@pytest.mark.parametrize(
    ("name", "word", "line", "count"), [("old-mac.md", "macword", 1, 1), ("open-end.md", "openword", 3, 3)]
)
def test_lines_are_counted_as_grep_counts_them(notes, name, word, line, count):
    """Tools disagreed about lone CR and a missing last line end; the numbers are grep's."""
    hit = notes.best(word)
    assert [hit["line"]] == grep(word, notes.root / name) == [line]
    assert notes.documents()[name]["line_count"] == len(grep("", notes.root / name)) == count
    notes.assert_cited_exactly(hit)
