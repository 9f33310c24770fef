"""Every fuzzed target stands its seeds, and thousands of seeds changed at random."""

import random
from functools import partial

import pytest

from tests.fakes.costs import costs_less_than
from tests.fuzz.targets import TARGETS

ROUNDS = 400


def changed(seed, dice, others):
    """Return a seed with some bytes changed, repeated, cut, or taken from another."""
    data = bytearray(seed)
    for _ in range(dice.randint(1, 6)):
        at, length = dice.randrange(len(data) + 1), dice.choice((1, 1, 2, 4, 16))
        match dice.randrange(5):
            case 0:
                data[at : at + length] = dice.randbytes(length)
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = bytes(data[at : at + length]) * dice.choice((1, 3, 200))
            case 3:
                data[at:at] = dice.choice((b"\x00", b"\xff" * 4, b"[" * 50, b" " * 50, b"\n", b"\r\n", b"\xed\xa0\x80"))
            case 4:
                other = dice.choice(others)
                data[at:at] = other[dice.randrange(len(other)) :][: length * 4]
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_stands_its_seeds_however_they_are_changed(name):
    """Only declared errors, whatever the bytes, and none takes long."""
    run, seeds = TARGETS[name]
    dice = random.Random(20_261_130)
    everybody = [seed for target in TARGETS.values() for seed in target.seeds]
    for seed in (b"", b"\x00", *everybody):
        run(seed)
    for _ in range(ROUNDS):
        data = changed(dice.choice(seeds), dice, everybody)
        assert costs_less_than(1.0, partial(run, data)), data
