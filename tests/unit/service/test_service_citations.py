"""`verify` and `show` speak of the bytes that stand there now."""

import hashlib

import pytest

from indexerd.errors import NotFoundError, RequestError
from indexerd.model import Citation, ContentHash, LineSpan
from indexerd.service.lines import Lines
from indexerd.service.verdict import ONLY_HASH, diff_of
from tests.fakes.service_parts import SmallHouse, guest

TEXT = "# Alpha\n\nfirst\nsecond\n\nlast without end"


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def house():
    return SmallHouse({"a.md": TEXT, "b.md": "# Beta\n"})


def cite(first, last, text, path="a.md"):
    return f"{path}#L{first}-L{last}@sha256:{sha(text)}"


def test_what_stands_where_it_stood_is_fresh(house):
    """The same lines with the same text."""
    found = house.call("verify", citation=cite(3, 4, "first\nsecond\n"))
    assert (found["state"], found["moved_to"]) == ("fresh", [])
    assert found["document_hash"] == sha(TEXT)


def test_moved_lines_are_found_nearest_first(house):
    """Lines pushed down, and a second copy farther away."""
    house.write("a.md", "new\n\n" + TEXT + "\nfirst\nsecond\n")
    found = house.call("verify", citation=cite(3, 4, "first\nsecond\n"))
    assert found["state"] == "moved"
    assert found["moved_to"] == [cite(5, 6, "first\nsecond\n"), cite(9, 10, "first\nsecond\n")]


@pytest.mark.parametrize("new", ["# Alpha\n\nfirst\nSECOND\n", "# Alpha\n", "", "first second\n"])
def test_a_text_that_is_nowhere_has_changed(house, new):
    """Neither there nor elsewhere in the document."""
    house.write("a.md", new)
    assert house.call("verify", citation=cite(3, 4, "first\nsecond\n"))["state"] == "changed"


def test_a_missing_file_is_gone_and_an_unreadable_one_is_not(house):
    """Not being able to look is no proof of absence."""
    house.sources.refuse("b.md", "source_unreadable", "EACCES")
    assert house.call("verify", citation=cite(1, 1, "# Beta\n", "b.md"))["state"] == "unreadable"
    house.sources.remove("a.md")
    assert house.call("verify", citation=cite(3, 4, "first\nsecond\n"))["state"] == "gone"
    assert house.call("verify", citation=cite(1, 1, "x\n", "never.md"))["state"] == "gone"


def test_verify_needs_no_index():
    """The source alone decides."""
    house = SmallHouse()
    house.write("a.md", TEXT)
    assert house.call("verify", citation=cite(3, 4, "first\nsecond\n"))["state"] == "fresh"


@pytest.mark.parametrize(
    "citation", ["a.md#L3-L4", "a.md", "", "a.md#L4-L3@sha256:" + "0" * 64, "#L1-L1@sha256:" + "0" * 64]
)
def test_what_is_no_full_citation_is_refused(house, citation):
    """Without a hash there is nothing to compare."""
    with pytest.raises(RequestError):
        house.call("verify", citation=citation)


@pytest.mark.parametrize("path", ["../etc/passwd", "/etc/passwd", "a/../../x", "a.md/../b.md", "%2e%2e/x"])
def test_a_path_outside_the_roots_is_never_read(house, path):
    """Whatever the spelling, it names nothing here."""
    for method in ("verify", "show"):
        try:
            found = house.call(method, citation=cite(1, 1, "x", path))
        except NotFoundError:
            continue
        assert found["state"] in {"gone", "unreadable"}


def test_show_gives_the_lines_as_they_are_now(house):
    """By citation, by path and lines, whole, and by absolute path."""
    shown = house.call("show", citation=cite(3, 4, "first\nsecond\n"))
    assert (shown["text"], shown["state"]) == ("first\nsecond\n", "fresh")
    assert shown["citation"] == cite(3, 4, "first\nsecond\n")
    assert house.call("show", source_path="a.md", start_line=6)["text"] == "last without end"
    assert house.call("show", source_path="a.md", start_line=3, end_line=99)["end_line"] == 6
    assert house.call("show", citation="a.md")["text"] == TEXT
    assert house.call("show", citation="/docs/a.md#L1-L1")["text"] == "# Alpha\n"
    assert house.call("show", citation="a.md#L1-L1")["state"] is None
    assert house.call("show", citation="a.md#L3") == house.call("show", citation="a.md#L3-L3")
    house.write("a.md", "changed\n")
    assert house.call("show", citation=cite(1, 1, "# Alpha\n"))["state"] == "changed"


def test_show_refuses_lines_and_files_that_are_not_there(house):
    """Beyond the end, not indexed, backwards, or named twice."""
    house.write("unindexed.md", "hidden by an ignore rule\n")
    for params in (
        {"source_path": "a.md", "start_line": 7},
        {"source_path": "unindexed.md"},
        {"citation": "no.md#L1-L1"},
    ):
        with pytest.raises(NotFoundError):
            house.call("show", params)
    for params in (
        {},
        {"citation": "a.md", "source_path": "a.md"},
        {"source_path": "a.md", "start_line": 3, "end_line": 2},
    ):
        with pytest.raises(RequestError):
            house.call("show", params)


def test_an_empty_document_can_be_shown():
    """Nothing is a text too."""
    house = SmallHouse({"a.md": "x\n"})
    house.save({"a.md": ""})
    shown = house.call("show", citation="a.md")
    assert (shown["text"], shown["line_count"]) == ("", 0)


def test_what_a_caller_may_not_see_answers_like_nothing():
    """The present bytes decide, before the index has seen them."""
    text = "---\nacl: [board]\n---\nmerger\n"
    house = SmallHouse({"a.md": text})
    citation = cite(4, 4, "merger\n")
    assert house.call("verify", citation=citation)["state"] == "gone"
    assert house.call("verify", citation=citation, roles=["board"])["state"] == "fresh"
    assert house.call("verify", citation=citation, caller=guest("board"))["state"] == "fresh"
    hidden = house.call("verify", citation=citation, caller=guest("staff"))
    missing = house.call("verify", citation=citation.replace("a.md", "z.md"), caller=guest("staff"))
    assert {**hidden, "citation": "", "source_path": "", "path": ""} == {
        **missing, "citation": "", "source_path": "", "path": ""
    }  # fmt: skip
    with pytest.raises(NotFoundError):
        house.call("show", citation=citation)
    house.write("a.md", "merger\n")
    assert house.call("show", citation="a.md#L1-L1")["text"] == "merger\n"


@pytest.mark.parametrize(
    ("raw", "count"),
    [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\n\n", 2), (b"\xef\xbb\xbfa\r\nb\x0c\xe2\x80\xa8c", 2)],
)
def test_lines_are_counted_as_grep_counts_them(raw, count):
    """Only LF ends a line."""
    lines = Lines(raw)
    assert lines.count == count
    if count:
        assert "".join(lines.cut(LineSpan(n, n)) for n in range(1, count + 1)) == lines.text


def test_looking_for_a_moved_text_is_bounded():
    """A huge document is not searched for ever, and the answer says that it was not searched whole."""
    lines = Lines(b"x" * 70_000_000 + b"\n" + b"y" * 70_000_000 + b"\n" + b"z" * 70_000_000 + b"\n" + b"w" * 70_000_000)
    places = lines.find(ContentHash(bytes(32)), LineSpan(1, 1))
    assert places == ((), False)


def test_changed_lines_come_with_a_diff_where_the_cited_text_is_known(house):
    """From the history to the owner, from `text` to anybody who has it, else only the hash is known."""
    citation = cite(3, 4, "first\nsecond\n")
    house.save({"a.md": TEXT.replace("second", "2nd")})
    found = house.call("verify", citation=citation)
    expected = "--- a.md#L3-L4\n+++ a.md#L3-L4\n@@ -1,2 +1,2 @@\n first\n-second\n+2nd\n"
    assert (found["state"], found["diff"], found["detail"]) == ("changed", expected, "")
    found = house.call("verify", citation=citation, caller=guest("x"))
    assert (found["state"], found["diff"], found["detail"]) == ("changed", None, ONLY_HASH)
    found = house.call("verify", citation=citation, text="first\nsecond\n", caller=guest("x"))
    assert (found["diff"], found["detail"]) == (expected, "")
    with pytest.raises(RequestError, match="its hash is another"):
        house.call("verify", citation=citation, text="other\n")


def test_a_version_that_asked_for_a_role_is_not_shown_to_those_who_do_not_name_it(house):
    """What was cited then is as hidden as it was."""
    house.save({"a.md": "---\nacl: [staff]\n---\nthe bonus is 9\n"})
    house.save({"a.md": "nothing of that\n"})
    citation = cite(4, 4, "the bonus is 9\n")
    assert house.call("verify", citation=citation)["diff"] is None
    assert "-the bonus is 9" in house.call("verify", citation=citation, roles=["staff"])["diff"]


@pytest.mark.parametrize(
    ("old", "new", "diff"),
    [
        ("a\nb\n", "x\na\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
        ("a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"),
    ],
)
def test_a_diff_leads_to_the_lines_in_their_place(old, new, diff):
    """Shifted lines, an empty file, a lost line end."""
    cited = Citation(source_path="a.md", span=LineSpan(1, old.count("\n")))
    assert diff_of(cited, old, Lines(new.encode())).split("\n", 2)[2] == diff


def test_it_is_said_where_the_hash_is_not_that_of_the_bytes():
    """A lost mark, replaced bytes: `sed | sha256sum` gives another hash of these lines, and the same of others."""
    raw = b"\xef\xbb\xbf# Quokka\n\nquokka \xf0\x9f\x98 lives\n\nquokka \xef\xbf\xbd eats\n"
    house = SmallHouse()
    house.save({"a.md": raw, "b.md": b"quokka\n"})
    lines = raw.split(b"\n")
    for number, decoded in ((1, True), (3, True), (5, False)):
        shown = house.call("show", source_path="a.md", start_line=number)
        by_hand = hashlib.sha256(lines[number - 1] + b"\n").hexdigest()
        assert shown.get("decoded", False) is decoded is (by_hand != shown["content_hash"])
        verdict = house.call("verify", citation=shown["citation"])
        assert (verdict["state"], bool(verdict["detail"])) == ("fresh", decoded)
    hits = house.call("query", text="quokka")["hits"]
    assert {(hit["source_path"], hit.get("decoded", False)) for hit in hits} == {("a.md", True), ("b.md", False)}
    for context in (0, "section"):
        blocks = house.call("evidence", text="quokka", context=context)["evidence"]["blocks"]
        assert {(one["citation"][:4], one.get("decoded", False)) for one in blocks} == {("a.md", True), ("b.md", False)}
