"""The faults that `tests/crash/test_crash_faults.py` puts back are still ones that can be put back."""

from pathlib import Path

import pytest

from tests.crash.fault_table import FAULTS

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_the_table_has_its_place_and_its_tests(fault):
    """Its text is in the source once, and the functions that are meant to see it exist: else mend the table."""
    assert (REPOSITORY / "indexerd" / fault.file).read_text(encoding="utf-8").count(fault.old) == 1
    for test in fault.tests:
        path, _, function = test.partition("::")
        assert f"def {function.partition('[')[0]}" in (REPOSITORY / path).read_text(encoding="utf-8")
