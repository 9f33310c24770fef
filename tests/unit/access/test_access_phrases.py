"""Which literals a phrase needs, so that most texts are never searched for it."""

import pytest

from indexerd.access.phrases import Pattern, needed_literals


@pytest.mark.parametrize(
    ("expression", "needs"),
    [
        ("(?:ignore|forget) (?:rules?|orders)", (("forget", "ignore"), ("orders", "rule"))),
        ("(?:rules|orders)? of (?:this|that)", (("that", "this"),)),
        ("(?:this|that){0,2}(?:more|less){1,2}", (("less", "more"),)),
        ("(?:ab|cdef)", ()),
        ("(?:one|two)|three", ()),
        (r"(?:a\|bc|(?:x|y)z)(?:[)|]abc|[(]def)", ()),
        (r"(?<!\w)(?!none)(?:忽略|无视)", (("忽略", "无视"),)),
        ("(?:(?:the )?(?:one|two)|three)", ()),
    ],
)
def test_the_choices_that_every_match_makes_are_needed(expression, needs):
    """Of a group that is not optional one choice is in every match; its plain beginning is the literal."""
    assert needed_literals(expression) == needs


def test_a_pattern_may_match_only_with_a_literal_of_each_need():
    """One literal of every need suffices, and none may lack."""
    pattern = Pattern("kind", "", (("forget", "ignore"), ("order", "rule")))
    assert pattern.may_match("ignore this rule")
    assert not pattern.may_match("ignore this")
    assert Pattern("kind", "", ()).may_match("")
