"""Passages that disagree on one thing are told; those that speak of two things are not."""

import random

import pytest

from indexerd.grounding.conflicts import MAX_SENTENCES, conflicts

DISAGREE = [
    ("number", "Lodging is paid up to 300 yuan a night.", "Lodging is paid up to 350 yuan a night.", "300 yuan"),
    ("number", "The timeout defaults to 30 seconds.", "The timeout defaults to 1 minute and 30 seconds.", None),
    ("number", "The limit is 5 MB.", "The limit is 10 MB.", "5 MB"),
    ("number", "2019年军运会共有9308名军人报名参加。", "2019年军运会共有9380名军人报名参加。", "9308名"),
    ("date", "The service ends on 12 May 2026.", "The service ends on 13 May 2026.", "12 May 2026"),
    ("date", "汶川地震发生于2008年5月12日下午。", "汶川地震发生于2008年5月13日下午。", "2008年5月12日"),
    ("version", "The setting was added in v6.2.0.", "The setting was added in v6.1.0.", "v6.2.0"),
    ("yes_no", "Compression is enabled by default.", "Compression is disabled by default.", "enabled"),
    (
        "yes_no",
        "The daemon keeps backups of every file it removes.",
        "The daemon never keeps backups of every file it removes.",
        "",
    ),
    ("yes_no", "该功能默认启用，无需配置。", "该功能默认禁用，无需配置。", "启用"),
    (
        "name",
        "第七届世界军人运动会将于2019年10月18日在中国武汉举行开幕仪式。",
        "第七届世界军人运动会将于2019年10月18日在中国成都举行开幕仪式。",
        "武汉",
    ),
    (
        "name",
        "The seventh games were opened in the city of Wuhan on that day.",
        "The seventh games were opened in the city of Chengdu on that day.",
        "Wuhan",
    ),
]
AGREE = [
    ("It takes 1,000 ms to start the service.", "It takes 1000 ms to start the service."),
    ("Growth was 6.1 % in 2019.", "Growth was 6.6 % in 2018."),
    ("The default port of PD is 2379.", "The default port of TiKV is 20160."),
    ("The most columns of a table is 10.", "The most rows of a table is 20."),
    ("Sep 13, 2016 ...", "Sep 4, 2016 ..."),
    ("1. Start the program and choose New.", "2. Start the program and choose New."),
    ("| port | 2379 |", "| port | 2380 |"),
    ("```\nport = 2379\n```", "```\nport = 2380\n```"),
    ("This command is an alias of `Get-History`.", "This command is an alias of `Get-Clipboard`."),
    ("See https://example.org/2019/10 for more of that.", "See https://example.org/2020/11 for more of that."),
    ("It opened on 12 May.", "It opened on 12 May 2026."),
    ("It holds between 5 and 10 people.", "It holds 10 people."),
    ("", "Lodging is paid up to 300 yuan a night."),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "one", "other", "value"), DISAGREE)
def test_another_value_of_the_same_thing_is_a_conflict(kind, one, other, value):
    """Each kind, in English and Chinese, in both orders; the span is exact."""
    if value is None:
        assert conflicts([one, other]) == ()
        return
    (found,) = conflicts([f"A line before.\n\n{one}", other])
    assert (found.kind, found.one.quote, found.other.quote, found.one.value) == (kind, one, other, value)
    assert found.one.start_char == 16
    (turned,) = conflicts([other, one])
    assert (turned.kind, turned.other.value) == (kind, value)


@pytest.mark.parametrize(("one", "other"), AGREE)
def test_other_notations_and_other_things_are_none(one, other):
    """Sentences that agree, that differ in two things, and what is no prose."""
    assert conflicts([one, other]) == ()


def test_passages_of_one_document_are_not_compared():
    """Its parallel statements are of different things."""
    passages = ["The limit is 5 MB.", "The limit is 10 MB."]
    assert conflicts(passages, ["a.md", "a.md"]) == ()
    assert len(conflicts(passages, ["a.md", "b.md"])) == 1


def test_agreeing_passages_change_nothing():
    """Conflicts of a list are those of its pairs; further passages only move the numbers."""
    choose = random.Random(4)
    texts = [f"The limit of {name} is {choose.choice((5, 10))} MB." for name in ("reads", "writes", "reads", "writes")]
    whole = conflicts(texts)
    by_pairs = [(a, b) for a in range(4) for b in range(a + 1, 4) if conflicts([texts[a], texts[b]])]
    assert sorted((one.one.passage, one.other.passage) for one in whole) == by_pairs
    assert len(conflicts([*texts, "Something else."])) == len(whole)


def test_the_work_is_bounded(monkeypatch):
    """Whatever is handed in, so many pairs are compared and no more: also where every sentence is like every other."""
    monkeypatch.setattr("indexerd.grounding.conflicts.MAX_PAIRS", 50)
    passages = [f"The most parts of a thing is {number} here." for number in range(60)]
    assert len(conflicts(passages)) == 50
    assert len(conflicts([f"{passage} " * (MAX_SENTENCES + 1) for passage in passages[:2]])) == 0


def test_a_time_of_day_is_one_value():
    """Named whole; the same time in another notation is no conflict."""
    (found,) = conflicts(["Backups run every night at 04:00.", "Backups run every night at 02:00."])
    assert (found.kind, found.one.value, found.other.value) == ("number", "04:00", "02:00")
    assert not conflicts(["Backups run every day at 14:00.", "Backups run every day at 2 p.m."])
