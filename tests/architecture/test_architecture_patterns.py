"""No regular expression of ours can be made to try the same text in ever new ways: none repeats what repeats."""

import importlib
import pkgutil
import re
from re import _constants, _parser

import pytest

import indexerd

_FEW = 16
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)


def modules():
    return [one.name for one in pkgutil.walk_packages(indexerd.__path__, "indexerd.") if "adapters" not in one.name]


def patterns(value):
    """Yield the patterns of a module's constant."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from (found for one in value.values() for found in patterns(one))
    elif isinstance(value, tuple | list):
        yield from (found for one in value for found in patterns(one))


def groups(item):
    """Yield the alternatives that an item of a parsed pattern is made of."""
    operator, argument = item
    if operator is _constants.BRANCH:
        yield from argument[1]
    elif operator is _constants.SUBPATTERN:
        yield argument[3]
    elif operator in _REPEATS:
        yield argument[2]
    elif operator in (_constants.ASSERT, _constants.ASSERT_NOT):
        yield argument[1]


def is_many(item):
    return item[0] in _REPEATS and item[1][1] > _FEW


def ends_in_many(body):
    """Whether a body can be one long repetition alone: all else in it may be empty."""
    for at, item in enumerate(body):
        rest = [other for place, other in enumerate(body) if place != at]
        if all(_parser.SubPattern(body.state, [other]).getwidth()[0] == 0 for other in rest) and (
            is_many(item) or any(ends_in_many(inner) for inner in groups(item) if item[0] not in _REPEATS)
        ):
            return True
    return False


def faults(body):
    """Yield the repetitions whose one round can itself be a long repetition."""
    for item in body:
        if is_many(item) and ends_in_many(item[1][2]):
            yield item
        for inner in groups(item):
            yield from faults(inner)


def test_the_rule_tells_patterns_apart():
    """What backtracks without end is found; what has a mark between its rounds, or does not give back, is not."""
    for bad in (r"(a+)+$", r"(?:a*b?)*c", r"(?:(?:x|a+))*$", r"(\w+\s*)+!"):
        assert list(faults(_parser.parse(bad))), bad
    for good in (r"(?:a+b)+", r"(?:a++)+", r"(?>a+)+", r"(?:\s+\w+)*", r"(?:ab?)*", r"a+b+"):
        assert not list(faults(_parser.parse(good))), good


@pytest.mark.parametrize("name", modules())
def test_no_pattern_repeats_what_repeats(name):
    """Of a text written for it such a pattern takes time that doubles with each character."""
    constants = vars(importlib.import_module(name)).values()
    found = {one.pattern: one for value in constants for one in patterns(value)}
    for text, pattern in found.items():
        parsed = _parser.parse(text, pattern.flags & ~re.DEBUG)
        assert not list(faults(parsed)), text
