"""Options and fixtures that several folders share, and the count of what was skipped."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Begun in the background by a shell, the tests would ignore Ctrl-C, and so would each program that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes, or takes to be made, depends on what else the machine does: no reason to fail. The same
# examples each time: what is red is red again. The large run looks for others.
settings.register_profile(
    "any machine",
    deadline=None,
    derandomize=os.environ.get("INDEXERD_TEST_SIZE") != "large",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")

NEEDS_DATA = "needs --data DIR"
# A program can be installed and a right be given; a kernel is what it is, and no fault of the machine's owner.
NEEDS_KERNEL = "this kernel does not have"
# Other projects' packages, which a package index may not carry; `make test` asks for them.
NEEDS_PACKAGE = "this package index does not have"


def pytest_addoption(parser):
    """Let tests that need outside data say where it lies; without it they skip."""
    parser.addoption("--data", metavar="DIR", help="folder with evaluation data (CommonMark examples, corpora)")


@pytest.fixture
def data(request) -> Path:
    """The folder given with `--data`."""
    folder = request.config.getoption("--data")
    if folder is None:
        pytest.skip(NEEDS_DATA)
    return Path(folder)


def _lacking(reporter) -> list[str]:
    """Return why tests were skipped for want of something that a machine could have."""
    reasons = _reasons(reporter)
    return [
        reason for reason in reasons if not any(need in reason for need in (NEEDS_DATA, NEEDS_KERNEL, NEEDS_PACKAGE))
    ]


def _reasons(reporter) -> list[str]:
    return [str(report.longrepr[2]) for report in reporter.stats.get("skipped", []) if report.longrepr]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """On a CI machine a test that skips for want of a right or a program is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and exitstatus == 0 and reporter is not None and _lacking(reporter):
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    """Say how many tests this machine could not run."""
    lacking = _lacking(terminalreporter)
    if lacking:
        terminalreporter.write_line(f"{len(lacking)} tests were skipped for want of a right or a program")
    for reason in _reasons(terminalreporter):
        if NEEDS_KERNEL in reason or NEEDS_PACKAGE in reason:
            terminalreporter.write_line(f"1 test was skipped: {reason}")
