"""What of an answer is a claim, and which marks cite for it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexerd.grounding.claims import abstains, links, mark_spans, spoken, statements


def cited(text):
    return [(one.text, one.labels) for one in statements(text) if one.is_claim]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alpha is one [S1]. Beta is two [S2].", [("Alpha is one.", ("S1",)), ("Beta is two.", ("S2",))]),
        ("Alpha is one. [S1] Beta is two. [2]", [("Alpha is one.", ("S1",)), ("Beta is two.", ("S2",))]),
        ("[S1] Alpha is one. [S2] Beta is two.", [("Alpha is one.", ("S1",)), ("Beta is two.", ("S2",))]),
        ("Alpha is one [S1, S3][4].", [("Alpha is one.", ("S1", "S3", "S4"))]),
        ("上限是400元[S1]。餐饮是100元。[S2]", [("上限是400元。", ("S1",)), ("餐饮是100元。", ("S2",))]),
        ("- Alpha is one\n  [S1]\n- Beta", [("Alpha is one", ("S1",)), ("Beta", ())]),
        ("Alpha is one.\n[S1] Beta is two.", [("Alpha is one.", ()), ("Beta is two.", ("S1",))]),
        ("| Item | Limit |\n|---|---|\n| Bed | 400 [S1] |", [("Bed | 400", ("S1",))]),
        ("Run this [S4]:\n\n```sh\nls [S9]\n```", [("```sh\nls [S9]\n```", ("S4",))]),
        ("See [1](https://a.example) now.", [("See [1](https://a.example) now.", ())]),
        ('It said "[S1]" once [S1].', [('It said "" once.', ("S1", "S1"))]),
    ],
)
def test_marks_cite_for_the_statement_they_belong_to(text, expected):
    """Before and behind full stops, in lists, tables and code, in both languages; a link is no mark."""
    assert cited(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Sure!", "Hello there.", "# A heading", "Is that all?", "这是全部吗？", "Here are the facts:", "---",
        "I hope this helps.", "Let me know if you need more.", "Based on the provided evidence,", "您好！",
        "希望对您有帮助。", "根据以上资料，", "The sources do not say.", "文档中没有相关信息。",
    ],
)  # fmt: skip
def test_courtesies_questions_headings_and_remarks_are_no_claims(text):
    """Nothing in them can be held to a source."""
    assert [one.is_claim for one in statements(text)] in ([False], [])


@pytest.mark.parametrize("text", ["Sure, the limit is 400 yuan and applies to all staff of the house.", "It helps."])
def test_a_statement_that_begins_like_a_courtesy_is_still_a_claim(text):
    """What follows says something."""
    assert [one.is_claim for one in statements(text)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "# The port is 4711.", "# The port is 4711", "## 端口是4711", "# Released on 5 March 2024.",
        "Sure, the port is 4711.", "Yes, the port is 4711!", "Here is the answer: the port is 4711.",
        "好的，端口是4711。",
    ],
)  # fmt: skip
def test_a_value_does_not_slip_through_as_a_heading_or_behind_a_courtesy(text):
    """A sentence that gives one can be right or wrong wherever it stands."""
    assert [one.is_claim for one in statements(text)] == [True]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Backups are disabled by default", "Backups are disabled by default"),
        ("## 备份是默认关闭的", "备份是默认关闭的"),
        ("Hello, backups are disabled by default.", "backups are disabled by default."),
        ("Sure! Backups are disabled.", "Backups are disabled."),
        ("Here is the answer: backups are disabled by default.", "backups are disabled by default."),
        ("The sources do not say it, but backups are disabled by default.", "backups are disabled by default."),
        ("I cannot find it; however, backups are disabled by default.", "backups are disabled by default."),
        ("您好，系统存储密码。", "系统存储密码。"),
        ("来源没有说明，但系统默认关闭备份。", "系统默认关闭备份。"),
    ],
)
def test_a_statement_does_not_slip_through_as_a_heading_or_behind_other_words(text, said):
    """What a heading states, or what follows a greeting, a lead, or a "but", is the claim, and held to the sources."""
    (claim,) = (one for one in statements(text) if one.is_claim)
    assert spoken(claim.text) == said
    assert not abstains(text)


@pytest.mark.parametrize(
    "text",
    [
        "No backups are made by this system on its own, so the disks of all the others stay as empty as they were.",
        "Certainly backups are made by this system every night, so the disks of all others are as full as they were.",
        "The document does not hold 5 pages, but the settings can be changed.",
    ],
)
def test_what_states_something_itself_is_judged_whole(text):
    """A statement that only begins like a courtesy, or that gives a value before its "but", loses no word."""
    assert (cited(text), spoken(text)) == ([(text, ())], text)


@pytest.mark.parametrize(
    "text",
    [
        "Hello, happy to help you!", "Sure, I can help with that.", "Yes, it does.", "Thanks, dear reader!",
        "您好，很高兴为您服务。", "好的，我来回答。", "# How backups are made", "# Things that are new", "# 什么是备份",
        "Sure, see the list above.", "来源没有说明，但您可以参考其他资料。",
        "# Is it safe", "# All there is to know",
        "The sources do not say, but I can help with other questions.",
        "The sources do not say, but neither do the documents answer it, which do not speak of it.",
    ],
)  # fmt: skip
def test_a_courtesy_that_goes_on_and_a_heading_that_names_are_no_claims(text):
    """They say nothing of the subject."""
    assert [one.is_claim for one in statements(text)] == [False] * len(statements(text))


@pytest.mark.parametrize(
    "text", ["# 3 ways to have fun", "# Step 2", "# 1. Overview", "# How the 3 parts are made", "Here are the 3 facts:"]
)
def test_a_number_alone_makes_no_claim_of_a_heading(text):
    """Nor of a line that leads to a list."""
    assert [one.is_claim for one in statements(text)] == [False]


def test_offsets_are_those_of_the_answer():
    """A statement's span holds its text and its marks."""
    text = "Intro:\n\n- Alpha is one [S1]. Beta. [S2]\n"
    alpha, beta = (one for one in statements(text) if one.is_claim)
    assert text[alpha.start : alpha.end] == "- Alpha is one [S1]."
    assert text[beta.start : beta.end] == "Beta. [S2]"
    assert [text[span.start : span.end] for span in mark_spans(text, beta.start, beta.end)] == ["[S2]"]


def test_links_images_and_bare_addresses_are_found():
    """Without the full stop behind them."""
    text = "[a](http://x/1) ![i](img.png 'title') https://y.example/z."
    assert [link.target for link in links(text)] == ["http://x/1", "img.png", "https://y.example/z"]


def test_an_answer_that_declines_is_told_from_one_that_denies():
    """Speaking of the sources is declining; a negative statement about the subject is a claim."""
    assert abstains("No relevant evidence was found.")
    assert not abstains("The tool does not write back.")


@given(st.text(alphabet="aB1 .[]S,。\n`-#|?()", max_size=80))
def test_any_text_is_parted_with_spans_in_order(text):
    """Whatever stands in it, spans lie in the text and do not overlap."""
    found = statements(text)
    assert all(0 <= one.start <= one.end <= len(text) for one in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('It said "It ends. Really." Then more came [S1].', ['It said "It ends. Really."', "Then more came."]),
        ("He wrote “Stop. Go. Now.” on it [S1]. It was 3.5 m.", ["He wrote “Stop. Go. Now.” on it.", "It was 3.5 m."]),
        ("他说：“第一句。第二句。”[S1]价格为3.5元[S2]。", ["他说：“第一句。第二句。”", "价格为3.5元。"]),
        ("文件写明「甲。乙」两项[S1]。另见附件。", ["文件写明「甲。乙」两项。", "另见附件。"]),
        ("Run `a.b [S1]. C d` first [S2]. Then stop.", ["Run `a.b [S1]. C d` first.", "Then stop."]),
        ("Use e.g. v6.2.8, Dr. Li [S1]! The U.S. grew 2.3%.", ["Use e.g. v6.2.8, Dr. Li!", "The U.S. grew 2.3%."]),
        ("- One, i.e. this [S1]\n- Two: 5.5 kg [S2]\n\n1. Three.", ["One, i.e. this", "Two: 5.5 kg", "Three."]),
        ('A 5" disk is old [S1]. A 3" disk is newer.', ['A 5" disk is old.', 'A 3" disk is newer.']),
        ('It is "open. And never closed [S1]. So it is.', ['It is "open.', "And never closed.", "So it is."]),
        ("> It ends here [S1].\n> It goes on [S2].", ["It ends here.", "It goes on."]),
    ],
)  # fmt: skip
def test_what_is_whole_is_not_parted(answer, expected):
    """Quotations in three scripts, code, abbreviations, lists; a mark without its other half holds nothing together."""
    assert [one.text for one in statements(answer)] == expected


def test_marks_in_code_cite_nothing_and_are_left_as_they_are():
    """In a line of its own and inside a line."""
    (one,) = statements("Run `a.b [S1]` first [S2].")
    assert one.labels == ("S2",)
    assert [tuple(span) for span in mark_spans("`[S1]` a [S2]", 0, 13)] == [(9, 13)]


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("See [the guide](https://x.example/a) now.", "See the guide now."),
        ("![a map](m.png) of it", "a map of it"),
        ("It is at https://x.example/a today.", "It is at  today."),
        ("https://x.example/a", "https://x.example/a"),
        ("No link [S1] here.", "No link [S1] here."),
    ],
)
def test_a_claim_says_its_words_and_no_address(claim, said):
    """Unless there is nothing else."""
    assert spoken(claim) == said
