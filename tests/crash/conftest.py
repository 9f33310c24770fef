"""What the suites counted, printed at the end: the figures that README and docs quote."""

from collections import Counter

import pytest

_COUNTS = pytest.StashKey[Counter]()


@pytest.fixture
def tally(request):
    """Add to a count that is printed at the end: `tally("kills")`, `tally("disks", 60)`."""
    counts = request.config.stash.setdefault(_COUNTS, Counter())

    def count(what: str, number: int = 1) -> None:
        counts[what] += number

    return count


def pytest_terminal_summary(terminalreporter, config):
    """Print the counts."""
    for what, number in config.stash.get(_COUNTS, Counter()).items():
        terminalreporter.write_line(f"{number:>9,} {what}")
