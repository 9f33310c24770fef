"""`detach` returns when the daemon answers, or with the status and the words of its failure."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from indexerd.client import call
from tests.fakes.daemon_process import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from indexerd.access.rights import AccessRules
from indexerd.config import Config, Socket
from indexerd.daemon import detach, run
from indexerd.errors import IndexerdError
from indexerd.model import Root, Settings
root, place = sys.argv[1:]
config = Config(profile="t", roots=(Root(label="r", path=root),), state_dir=place + "/state", settings=Settings(),
                access=AccessRules(), socket=Socket(path=place + "/run/s"))
def work(answering):
    try:
        return run(config, on_answering=answering)
    except IndexerdError as error:
        print(error, file=sys.stderr)
        return 78
sys.exit(detach(work, place + "/log"))
"""


def start(root, place):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(root), str(place)],
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        env=environment,
        check=False,
    )


def test_it_returns_once_the_socket_answers_and_leaves_nothing_open(tmp_path):
    """The caller's pipes reach their end although the daemon lives; its errors go to the log."""
    docs = tmp_path / "docs"
    docs.mkdir()
    done = start(docs, tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    status = call(str(tmp_path / "run" / "s"), "status")
    assert os.getsid(status["pid"]) == status["pid"]
    assert os.readlink(f"/proc/{status['pid']}/cwd") == "/"
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
    os.kill(status["pid"], signal.SIGTERM)
    wait_for(lambda: not (tmp_path / "run" / "s").exists())


def test_a_failure_keeps_its_status_and_its_words(tmp_path):
    """Who starts a daemon that cannot work sees why."""
    done = start(tmp_path / "missing", tmp_path)
    assert done.returncode == 78
    assert b"missing does not exist" in done.stderr
