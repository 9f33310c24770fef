"""Options and fixtures that several folders share."""

from pathlib import Path

import pytest


def pytest_addoption(parser):
    """Let tests that need outside data say where it lies; without it they skip."""
    parser.addoption("--data", metavar="DIR", help="folder with evaluation data (CommonMark examples, corpora)")


@pytest.fixture
def data(request) -> Path:
    """The folder given with `--data`."""
    folder = request.config.getoption("--data")
    if folder is None:
        pytest.skip("needs --data DIR")
    return Path(folder)
