"""How a result looks in each of its forms."""

import base64
import json
import re

import pytest

from indexerd.cli.hits import notes, notes_beside, path_bytes, render

ESCAPE = "\x1b[2J"
FULL = {"code": "publish_failed", "detail": "ENOSPC: '/state'"}


def hit(**changes):
    return {
        "n": 1,
        "title": "Setup",
        "source_path": "guide/setup.md",
        "path": "/docs/guide/setup.md",
        "citation": "guide/setup.md#L3-L5",
        "start_line": 3,
        "end_line": 5,
        "line": 4,
        "column": 7,
        "heading_path": ["Setup", "Linux"],
        "text": "# Linux\nThen, install it.\nDone.\n",
        "excerpt": "Then, install it.",
        "highlights": [[6, 13]],
        "unsafe": None,
        "score": 1.5,
        **changes,
    }


def result(*hits, **changes):
    return {"hits": list(hits), "freshness": {"state": "current"}, "rejected_counts": {}, "unmatched": [], **changes}


def shown(*hits, form="people", nul=False, cwd="/docs", colour=False, **changes):
    encode = json.JSONEncoder().encode
    return render(result(*hits, **changes), form, nul=nul, cwd=cwd, colour=colour, encode=encode).decode()


def test_people_see_number_title_citation_and_excerpt():
    """A hit is its number, its title with headings, its citation and the lines around the match."""
    assert shown(hit()) == " 1. Setup › Linux\n    guide/setup.md#L3-L5\n    Then, install it.\n\n"


def test_matches_are_marked_in_colour_only():
    """With colour the match stands out; without, not a byte is added."""
    assert "\x1b[1;31minstall\x1b[0m" in shown(hit(), colour=True)
    assert "\x1b" not in shown(hit())


@pytest.mark.parametrize("form", ["people", "list", "vimgrep"])
def test_no_form_for_people_lets_control_characters_through(form):
    """Titles, headings, names and text are escaped in a pipe too."""
    hostile = hit(
        title=f"a{ESCAPE}",
        heading_path=[f"h{ESCAPE}\u202e"],
        citation=f"c{ESCAPE}#L1-L1",
        path=f"/docs/p{ESCAPE}\n",
        text=f"x{ESCAPE}\ny\u202e{ESCAPE}\tz\r\n",
        excerpt=f"e{ESCAPE}\rf",
        highlights=[],
        unsafe={"line": 4, "pattern": f"p{ESCAPE}"},
    )
    text = shown(hostile, form=form)
    assert "\x1b" not in text
    assert "\r" not in text
    assert "\u202e" not in text


def test_a_citation_is_a_link_to_its_file_when_asked():
    """The address holds the exact bytes of the name, none of which can end it; the text stays what it was."""
    odd = hit(path=None, path_b64=base64.b64encode(b"/docs/a b\x1b\xff.md").decode())
    plain = shown(odd)
    linked = render(result(odd), "people", nul=False, cwd="/docs", colour=False, links=True).decode()
    assert "\x1b]8;;file:///docs/a%20b%1B%FF.md\x1b\\" in linked
    assert re.sub(r"\x1b\]8;;[^\x1b]*\x1b\\", "", linked) == plain


def test_vimgrep_is_path_line_column_and_the_best_line():
    """Vim's quickfix reads the matching line, flattened, with its byte column."""
    assert shown(hit(), form="vimgrep") == "guide/setup.md:4:7:Then, install it.\n"
    tabbed = hit(line=3, column=1, text="a\tb\r\n")
    assert shown(tabbed, form="vimgrep", cwd="/other") == "/docs/guide/setup.md:3:1:a b\n"


def test_a_list_names_each_file_once():
    """Two hits of one file are one line."""
    assert shown(hit(), hit(n=2, line=9), form="list") == "guide/setup.md\n"


def test_names_between_nul_are_exact():
    """A name with a line end or bytes that are not UTF-8 comes out as it is on disk."""
    raw = b"/docs/odd\n\xff.md"
    odd = hit(path=None, path_b64=base64.b64encode(raw).decode())
    assert path_bytes(odd) == raw
    assert render(result(odd), "list", nul=True, cwd="/docs", colour=False) == b"odd\n\xff.md\0"
    assert shown(odd, form="list") == "odd\\x0a\\xff.md\n"


def test_json_lines_end_with_a_summary():
    """Each hit is a line; the rest of the result is the last."""
    first, last = map(json.loads, shown(hit(), form="jsonl").splitlines())
    assert (first["type"], first["n"], last["type"], "hits" in last) == ("hit", 1, "summary", False)


def test_an_unsafe_hit_is_marked_with_its_line():
    """People see what was found, with a warning."""
    assert "! line 4 tries to instruct a model" in shown(hit(unsafe={"line": 4, "pattern": "override"}))


def test_an_explanation_shows_each_part_of_the_score():
    """`--explain` lists words with their figures, and a boost that is not one."""
    part = {"word": "install", "kind": "word", "df": 3, "idf": 1.25, "weight": 1.0, "frequency": 2.0, "score": 1.5}
    text = shown(hit(explain={"parts": [part], "boost": 2.0}))
    assert "score 1.500000 (boost 2)" in text
    assert "install  in 3 chunks, idf 1.2500" in text


def test_what_was_withheld_is_one_line():
    """Withheld chunks are counted by reason, on one line; ordinary selection is not mentioned."""
    counts = {"unsafe_content": 2, "source_changed": 1, "document_limit": 7}
    text = notes(result(hit(), rejected_counts=counts), colour=False)
    assert text == "withheld: 1 changed since it was indexed, 2 trying to instruct a model\n"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"freshness": {"state": "building"}}, "first index is still being built"),
        ({"unmatched": ["xyzzy"]}, "in no document: xyzzy"),
        ({"rejected_counts": {"source_unreadable": 1}}, "withheld: 1 not readable"),
        ({"freshness": {"state": "pending"}}, "not indexed yet"),
        ({"freshness": {"state": "pending"}, "unmatched": ["x"]}, "in no document that the index has: x"),
        ({"freshness": {"state": "building", "problem": FULL}}, "first index could not be built so far"),
    ],
)
def test_nothing_found_says_why(changes, expected):
    """Not in the documents, still building, withheld and not yet indexed look different."""
    assert expected in notes(result(**changes), colour=False)


def test_a_standing_problem_is_named_where_waiting_would_not_help():
    """What was saved last is missing for a reason that has a place and a remedy, with hits and without."""
    for hits in ((), (hit(),)):
        told = notes(result(*hits, freshness={"state": "pending", "problem": FULL}), colour=False)
        assert "indexed, see `indexerd doctor`: ENOSPC: '/state'" in told
        assert "--wait" not in told


def test_a_root_that_cannot_be_looked_at_is_named_and_nothing_is_said_of_its_words():
    """What lies in a root that is away may have the word, also where none of it was ever indexed."""
    away = {"state": "current", "problem": {"code": "root_unavailable", "detail": "docs: bad_settings"}}
    told = notes(result(unmatched=["xyzzy"], freshness=away), colour=False)
    assert "in no document that can be looked at now: xyzzy" in told
    assert "a root cannot be looked at, see `indexerd doctor`: docs: bad_settings" in told
    assert "passes" not in notes(result(no_document=True, freshness=away), colour=False, narrowed=True)


def test_flags_that_leave_no_document_are_named():
    """A glob or a tag that nothing has is told apart from a word that nothing has, unless it may have come to be."""
    request = {"paths": ["[", "a\x1b"], "tags": ["t"], "where": {"k": ["v"]}, "since": "2030", "until": None}
    none = {"no_document": True, "request": request, "unmatched": ["x"]}
    flags = r"-g '[' -g 'a\x1b' --tag 't' --where 'k=v' --since '2030'"
    told = f"nothing found: no document passes {flags}; `indexerd documents` lists what there is\n"
    assert notes(result(**none), colour=False, narrowed=True) == told
    assert "passes" not in notes(result(**none, freshness={"state": "pending"}), colour=False, narrowed=True)


def test_close_words_are_offered_and_those_that_were_used_are_named():
    """Nobody takes the hits of another word for those of what was typed; control characters stay harmless."""
    close = {"close_terms": {"quoka": ["quokka", "quo\x1bkas"]}}
    assert "did you mean: quokka, quo" in notes(result(**close, unmatched=["quoka"]), colour=False)
    assert "\x1b" not in notes_beside(result(**close))
    used = notes(result(hit(), **close, searched="quokka", weak=True, unmatched=["quoka"]), colour=False)
    assert used == "in no document: quoka; these are the hits for: quokka\n"


def test_a_good_result_needs_no_notes():
    """Nothing withheld, nothing pending: standard error stays empty."""
    assert notes(result(hit()), colour=False) == ""


def test_a_query_without_a_word_is_told_why_it_finds_nothing():
    """Signs and pictures are no words: that is not the same as words that are nowhere."""
    assert "letters or digits" in notes(result(query="🎉 !!"), colour=False)


def test_filters_are_named_where_they_may_be_why_nothing_was_found():
    """A word that the filters leave out may well be in the index."""
    assert notes(result(unmatched=["x"], query="x"), colour=False, narrowed=True) == (
        "nothing found; in no document that the filters let through: x\n"
    )
    assert notes(result(query="x"), colour=False, narrowed=True).startswith("nothing found among the documents that")


@pytest.mark.parametrize(
    ("narrowed", "where"),
    [(False, "that can be looked at now"), (True, "that can be looked at now and that the filters let through")],
)
def test_nothing_is_said_of_what_a_held_document_may_hold(narrowed, where):
    """A word that is nowhere else may be in it."""
    freshness = {"state": "current", "held": 1}
    told = notes(result(unmatched=["x"], query="x", freshness=freshness), colour=False, narrowed=narrowed)
    assert told.startswith(f"nothing found; in no document {where}: x\n1 document cannot be looked at now")
    told = notes(result(query="x", freshness=freshness), colour=False, narrowed=narrowed)
    assert told.startswith(f"nothing found among the documents {where}\n")


def test_beside_a_reason_only_news_is_told():
    """Evidence that is refused says why itself: no word about hits that there are not."""
    assert notes_beside(result(weak=True, freshness={"state": "building"}, unmatched=["x"])) == ""
    assert notes_beside(result(freshness={"state": "pending"})).startswith("some files changed just now")
    assert notes_beside(result(rejected_counts={"source_missing": 1})) == "withheld: 1 gone\n"
