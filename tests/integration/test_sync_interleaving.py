"""Whatever is done to the files at whatever moment of the sync, what it calls current is so, and nothing is lost.

`INDEXERD_TEST_SIZE=large` does each operation at each point, and thousands of pairs and triples; it takes hours. One
that fails names its schedule, which is all there is to it: run it alone with `-k "SCENARIO and breaks"`.
"""

import itertools
import os
import random
import shutil

import pytest

from tests.fakes.interleaving import OPERATIONS, SCENARIOS, World, limits

LARGE = os.environ.get("INDEXERD_TEST_SIZE") == "large"
SINGLE, SEVERAL = (None, 3_000) if LARGE else (6, 3)
GAPS = (0, 1, 3, 10)
TELLING = ("late", "told", "asked")
# What once went wrong: the scenario, when events are read, the operation, the points between its steps.
BROKEN = [
    ("first", "told", "ignore and not", 5, range(4, 12)),
    ("first in bulk", "told", "link", 1, range(47, 54, 3)),
    ("first by workers", "told", "sync all", 1, range(8, 24, 4)),
    ("events in bulk", "told", "tree anew", 10, range(1, 20, 6)),
    ("events in bulk", "told", "save in a folder", 10, range(26, 50, 4)),
    ("scan", "told", "save in a folder", 10, range(58, 70, 4)),
    ("scan by workers", "late", "sync all", 2, range(70, 82, 3)),
]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """Gives the digest of an index made from nothing of the same tree; each tree is indexed once."""
    known = {}

    def digest_of(rig):
        files = sorted((str(path), path.read_bytes()) for path in rig.root.rglob("*") if path.is_file())
        key = repr((rig._settings, [(path.removeprefix(str(rig.root)), data) for path, data in files]))
        if key not in known:
            known[key] = rig.scratch_digest(tmp_path_factory.mktemp("scratch"))
        return known[key]

    return digest_of


@pytest.fixture
def play(tmp_path, monkeypatch, scratch):
    """Runs a scenario with some operations: each a name, the point of its first step, the points between two steps."""

    def run(name, telling="told", *operations):
        limits(monkeypatch, **SCENARIOS[name])
        schedule = {}
        for operation, start, gap in operations:
            for number, step in enumerate(OPERATIONS[operation]):
                schedule.setdefault(start + number * gap, []).append(step)
        try:
            return World(tmp_path / "world", SCENARIOS[name], schedule, telling).run(scratch)
        except AssertionError as error:
            raise AssertionError(f"{name}, {telling}, {operations}: {error}") from error
        finally:
            shutil.rmtree(tmp_path / "world")

    return run


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_done_at_any_point_breaks_a_promise(play, name):
    """One operation: what is current is so, a generation comes with a change, the end is that of a fresh index."""
    points = range(1, play(name) + 1)
    choose = random.Random(name)
    every = itertools.product(TELLING, OPERATIONS, points, GAPS)
    chosen = (
        every if LARGE else (tuple(map(choose.choice, (TELLING, [*OPERATIONS], points, GAPS))) for _ in range(SINGLE))
    )
    for telling, operation, start, gap in chosen:
        play(name, telling, (operation, start, gap))


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_several_things_done_at_any_points_break_a_promise(play, name):
    """Two or three operations, one amid the other or behind it: as above."""
    points = range(1, play(name) + 1)
    choose = random.Random(f"{name} several")
    for _ in range(SEVERAL):
        operations = [
            (choose.choice([*OPERATIONS]), choose.choice(points), choose.choice(GAPS))
            for _ in range(choose.choice((2, 2, 3)))
        ]
        play(name, choose.choice(TELLING), *operations)


@pytest.mark.parametrize(("name", "telling", "operation", "gap", "points"), BROKEN)
def test_what_once_broke_a_promise_does_not(play, name, telling, operation, gap, points):  # noqa: PLR0917
    """As above, where something was once found."""
    for start in points:
        play(name, telling, (operation, start, gap))
