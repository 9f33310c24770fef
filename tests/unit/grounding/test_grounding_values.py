"""Quantities, dates, names and polarity, read from English and Chinese."""

import pytest

from indexerd.grounding.numbers import quantities
from indexerd.grounding.polarity import denies, directions, names
from indexerd.grounding.values import agree, dates, exact_values


def read(text):
    return [(one.value, one.unit) for one in quantities(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,361 people", [(1361, "人")]),
        ("1361万", [(13_610_000, "")]),
        ("10-20% of them", [(10, "%"), (20, "%")]),
        ("between 5 and 7 kg", [(5, "kg"), (7, "kg")]),
        ("$3.5 million", [(3_500_000, "USD")]),
        ("3.5 million dollars", [(3_500_000, "USD")]),
        ("上限是500元", [(500, "CNY")]),
        ("twenty-five percent", [(25, "%")]),
        ("two hundred thousand", [(200_000, "")]),
        ("三百二十一元", [(321, "CNY")]),
        ("一万二千人", [(12_000, "人")]),
        ("-3 °C", [(-3, "C")]),
        ("八成五，百分之十二，三分之二", [(85, "%"), (12, "%"), (67, "%")]),
        ("half of it, a third of them, a third season", [(50, "%"), (33, "%")]),
        ("an hour", [(1, "h")]),
        ("version 6.2.8", []),
        ("p53 and x86", []),
        ("one of them", []),
        ("一个十分好的", [(1, "个")]),
    ],
)
def test_a_number_is_read_with_its_magnitude_and_unit(text, expected):
    """Thousands marks, magnitudes, ranges, currencies, number words, Chinese numerals; no versions, no identifiers."""
    assert read(text) == expected


@pytest.mark.parametrize(
    "text", ["9 March 2020", "March 9, 2020", "2020-03-09", "2020/3/9", "2020年3月9日", "the 9th of March 2020"]
)
def test_one_day_is_one_date_in_every_notation(text):
    """Also with the day's ending and `of`."""
    assert [one.date for one in dates(text)] == [(2020, 3, 9)]


def test_dates_agree_where_both_say_something_and_nothing_differs():
    """A month of a year agrees with a day in it, not with another month."""
    day, month, other = dates("9 March 2020, then in March 2020, then in May 2020")
    assert agree(day, month)
    assert not agree(day, other)


def test_names_are_capitalised_words_inside_a_sentence():
    """The first word of a sentence is none."""
    assert names("Yesterday the painter Vermeer met Anna in 《小时代》.") == ("Vermeer", "Anna", "小时代")


@pytest.mark.parametrize(("text", "expected"), [("It does not work", True), ("不能写回", True), ("It works", False)])
def test_denial_is_told_by_its_words(text, expected):
    """In both languages."""
    assert denies(text) is expected


def test_directions_are_told_apart():
    """Up, down, both, neither."""
    assert directions("It increased") == (True, False)
    assert directions("价格下跌") == (False, True)
    assert directions("It is blue") == (False, False)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("凌晨 2 点 30 分", "2:30"), ("凌晨2点30分", "2:30"),
        ("02:30", "2:30"), ("2点半", "2:30"), ("下午三点十五分", "15:15"),
        ("晚上9点", "21:00"), ("2:30 p.m.", "14:30"),
    ],
)  # fmt: skip
def test_a_time_of_day_is_the_same_in_each_notation(text, time):
    """With blanks between its parts and without, to the minute."""
    assert [one.key for one in exact_values(text) if one.kind == "clock"] == [time]
