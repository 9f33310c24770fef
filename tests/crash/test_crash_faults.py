"""The tests are tested: faults put back on purpose, one at a time, each turn the tests that are meant to see it red.

A fault is applied to a copy of the package and the tests, never to the working tree. Text that is no longer in the
source fails the test, so that the table stays true; so does a test that is red without any fault.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.fault_table import FAULTS
from tests.crash.gate_faults import GATE_FAULTS

ALL = [*FAULTS, *GATE_FAULTS]

REPOSITORY = Path(__file__).parents[2]
# All take ten minutes; by default every eighth is put back, and the architecture tests hold the text of each.
CHOSEN = ALL if os.environ.get("INDEXERD_TEST_SIZE") == "large" else ALL[::8]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package and its tests, in which every test named in the table is green."""
    place = tmp_path_factory.mktemp("faults")
    for name in ("indexerd", "tests"):
        shutil.copytree(REPOSITORY / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", place)
    done = run(place, sorted({test for fault in CHOSEN for test in fault.tests}), compiled=True)
    assert done.returncode == 0, done.stdout
    return place


def run(place, tests, *, compiled=False):
    """Run tests in the copy; only what is whole may leave compiled files behind."""
    environment = {**os.environ, "PYTHONPATH": str(place), "INDEXERD_TEST_SIZE": ""}
    if not compiled:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=1800
    )


@pytest.mark.slow
@pytest.mark.parametrize("fault", CHOSEN, ids=lambda fault: fault.name)
def test_a_fault_turns_the_tests_red(copy, fault):
    """With the fault in place each of the named tests fails: none passes, and none is missing."""
    path = copy / "indexerd" / fault.file
    whole = path.read_text()
    assert whole.count(fault.old) == 1, f"{fault.file} does not have the text once: mend the table"
    before = path.stat()
    try:
        path.write_text(whole.replace(fault.old, fault.new))
        # Another time than that of the compiled file, or the fault would not be seen.
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns - 10**10))
        for test in fault.tests:
            done = run(copy, [test])
            assert done.returncode == 1, f"{test} is not red\n{done.stdout}{done.stderr}"
    finally:
        path.write_text(whole)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
