"""What of an answer is a claim, and which marks cite for it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexerd.grounding.claims import abstains, spoken, statements
from indexerd.grounding.marks import is_in, links, marks, quotations, quotes


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
        (
            "Alpha is one.[S1] Beta is two.[2]Gamma.",
            [("Alpha is one.", ("S1",)), ("Beta is two.", ("S2",)), ("Gamma.", ())],
        ),
        ("It is so. [S1] Alpha is one.", [("It is so.", ("S1",)), ("Alpha is one.", ())]),
        ("Is it so? [S1] Alpha is one.", [("Alpha is one.", ("S1",))]),
        ("Bed[S1]is 400.", [("Bed is 400.", ("S1",))]),
        ("See [x][1] now [2].\n\n[1]: https://a.example/x\n[2]: b.md 'B'", [("See [x][1] now.", ("S2",))]),
        ("See [x][1] now.", [("See [x] now.", ("S1",))]),
        ("Alpha.[^1] Beta [S1].\n\n[^1]: Gamma is 3.", [("Alpha.", ()), ("Beta.", ("S1",)), ("Gamma is 3.", ())]),
        ("[S1]: Alpha is one.", [("Alpha is one.", ("S1",))]),
        ("It says [S1]:\n\n> Alpha\n> is one. Beta.", [("Alpha\nis one.", ("S1",)), ("Beta.", ("S1",))]),
        ("> Alpha. Beta.\n> [S1]\n> — a.md", [("Alpha.", ()), ("Beta.", ("S1",))]),
        ("It says [S1]:\n\n> Alpha.\n\nBeta.", [("Alpha.", ("S1",)), ("Beta.", ())]),
        ("[unsupported] Alpha is one. [S2] Beta is two.", [("Alpha is one.", ()), ("Beta is two.", ("S2",))]),
        ("1、甲是一。[S1]\n2、乙是二。[2]", [("甲是一。", ("S1",)), ("乙是二。", ("S2",))]),
        ('It said "[S1]" once [S1].', [('It said "" once.', ("S1",))]),
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


@pytest.mark.parametrize(
    "text",
    [
        "### 步骤 4.", "### 步骤 4. 安装。配置", "### Step 4.", "## 达标要求 3 项", "## 第3章 行为准则",
        "## 一、概述；二、安装",
        "## What to do. And what not", "Overview\n========", "Set up 3\n---", "**Installation**", "**安装步骤**\n\n",
        "[1]: https://a.example", "Source: a/b.md#L1-L3", "- [S1] guide.md",
    ],
)  # fmt: skip
def test_headings_of_each_form_and_names_of_sources_are_no_claims(text):
    """In both languages, with numbers and full stops in them, underlined or in bold: one statement, and no claim."""
    assert not cited(text)
    assert len({one.text for one in statements(text)} - {"========", "---"}) == 1


@pytest.mark.parametrize(
    "text", ["**The limit is 400 yuan.**", "**Backups run.**", "# 温度达到 30 度", "# 上限为 400 元"]
)
def test_what_states_in_bold_or_as_a_heading_is_a_claim(text):
    """It can be right or wrong."""
    assert len(cited(text)) == 1


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
    assert [text[mark.start : mark.end] for mark in beta.marks] == ["[S2]"]


def test_links_images_and_bare_addresses_are_found():
    """Without the full stop behind them."""
    text = (
        "[a](http://x/1) ![i](img.png 'title') https://y.example/z. [![b](c.png)](http://d/) <www.e.org>, "
        "HTTPS://f.org/ 见https://g.org/h了解。联系i@j.org。[k](mailto:l@m.org) n@1.2.3 @o\n\n[p]: q/r.md"
    )
    assert [link.target for link in links(text)] == [
        "http://x/1", "img.png", "https://y.example/z", "c.png", "http://d/", "www.e.org", "HTTPS://f.org/",
        "https://g.org/h", "i@j.org", "l@m.org", "q/r.md",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "text", "known"),
    [
        ("https://a.org", "see https://a.org/b.", True),
        ("https://a.org/b", "see https://a.org/bc", False),
        ("www.a.org", "http://www.a.org", True),
        ("www.a.org", "www.a.org.evil.example", False),
        ("b@a.org", "cb@a.org", False),
        ("a.md", "x/a.md", True),
    ],
)
def test_an_address_is_known_if_it_stands_in_a_source_whole(target, text, known):
    """Not if another only begins or ends like it; what lies below it in a source is enough."""
    assert is_in(target, text) == known


@pytest.mark.parametrize(
    ("claim", "source", "held"),
    [
        ("It is “up to 300 yuan a night.”", "paid up to 300 yuan\n  a night and", True),
        ("It is “up to 300 … night”", "up to 300 yuan a night", True),
        ("It is “up to night ... 300”", "up to 300 yuan a night", False),
        ('It is "up to 400 yuan".', "up to 300 yuan or 400", False),
        ("写明「上限。四百」", "上限。四百元", True),
        ("写明“上限五百”", "上限四百", False),
        ('Run `echo "no"` on 5" disks', "else", True),
    ],
)
def test_a_quotation_is_held_to_the_words_of_a_source(claim, source, held):
    """White space, dots for what is left out and the last mark do not count; code and inches are no quotations."""
    assert all(quotes(claim[one.start : one.end], source) for one in quotations(claim)) == held


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
    assert [(mark.start, mark.end) for mark in marks("`[S1]` a [S2]")] == [(9, 13)]


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
