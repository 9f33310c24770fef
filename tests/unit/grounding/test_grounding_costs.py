"""What a check costs, whatever it is handed: time in proportion to the text."""

import pytest

from indexerd.grounding.answers import text_answer
from indexerd.grounding.sentences import sentences
from indexerd.grounding.support import MAX_CLAIM_CHARS, support_of
from tests.fakes.costs import costs_less_than, is_linear

SOURCE = "The limit is 10 MB, and a server of 中 has 3."
HOSTILE = [
    "a",
    "[",
    "`",
    "*",
    "|",
    '"',
    "7",
    ".",
    "中",
    "[S1]",
    "a.b.",
    "a_",
    "](",
    "no ",
    "“",
    "> ",
    "a@b.",
    "[a][1]",
    "a b ",
    "1) ",
    "`` ",
    "`a`[S1] ",
    "非常",
    "百分之一",
    "from to ",
    "1/1/2024 ",
    "| 5 EUR | 5\n",
    "v2.1 or at most ",
]


def of_length(unit, size):
    return (unit * size)[:size]


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_claim_that_repeats_itself_costs_time_in_proportion(unit):
    """However it is made: four times the text is not sixteen times the work."""
    assert is_linear(lambda size: support_of(of_length(unit, size), [SOURCE]), MAX_CLAIM_CHARS // 8)


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_passage_that_repeats_itself_costs_time_in_proportion(unit):
    """Evidence comes from the caller as the answer does."""
    assert is_linear(lambda size: support_of(SOURCE, [of_length(unit, size)]), 500)


@pytest.mark.parametrize("unit", HOSTILE)
def test_an_answer_that_repeats_itself_is_read_in_proportion(unit):
    """Its parts, its marks and its links."""
    assert is_linear(lambda size: text_answer(of_length(unit, size)), 1000)


def test_runs_of_ticks_that_nothing_closes_are_read_in_proportion():
    """Each run is of another length, so that none closes another."""
    assert is_linear(lambda size: sentences(" ".join("`" * length for length in range(size))), 25)


def test_a_claim_that_is_too_long_is_not_judged_and_says_so():
    """It costs nothing, and nothing is called supported unread."""
    claim = of_length("The limit is 10 MB ", 99_999)
    found = support_of(claim, [claim])
    assert (found.band, [reason.code for reason in found.reasons], found.spans) == ("not_found", ["length"], ())
    assert costs_less_than(0.02, lambda: support_of(claim, [SOURCE]))


def test_a_number_of_thousands_of_digits_is_read_as_any_other():
    """Python itself refuses to read one."""
    assert support_of(f"It is the {'7' * 3000}th and 第{'7' * 3000}.", [f"第{'7' * 5000}名"]).band in (
        "not_found",
        "partial",
    )
