"""The systemd units are what the commands write, are valid, restricted, and start a daemon by its socket."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from indexerd.cli.integrating import service_unit, socket_unit, unit_name
from indexerd.client import Client, call
from tests.fakes.daemon_process import PATIENCE_SECONDS, wait_for

SHIPPED = Path(__file__).parents[2] / "systemd"
PROGRAM = str(Path(sys.executable).parent / "indexerd")

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd's own programs")


@pytest.fixture
def home(tmp_path):
    """A user's home with two profiles in config.toml; `run` runs the program there."""
    (tmp_path / "run").mkdir(mode=0o700)
    (tmp_path / "config" / "indexerd").mkdir(parents=True)
    roots = "".join(f'[profile.{name}]\nroots = ["{tmp_path}"]\n' for name in ("default", "notes"))
    (tmp_path / "config" / "indexerd" / "config.toml").write_text(roots)
    return tmp_path


def install(home, *words):
    environ = os.environ | {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}
    return subprocess.run(
        [PROGRAM, "install-service", *words], env=environ, capture_output=True, text=True, check=False
    )


def units_of(home):
    folder = home / "config" / "systemd" / "user"
    return {path.name: path.read_text() for path in folder.iterdir()} if folder.exists() else {}


def verify(home, *words):
    """Run `systemd-analyze` over units; every complaint is on its standard error."""
    environ = os.environ | {"XDG_RUNTIME_DIR": str(home / "run")}
    return subprocess.run(["systemd-analyze", *words], env=environ, capture_output=True, text=True, check=False)


def test_the_shipped_user_units_are_those_that_are_written():
    """One text, in the program and beside it."""
    assert (SHIPPED / "indexerd.service").read_text() == service_unit("default", "indexerd")
    assert (SHIPPED / "indexerd.socket").read_text() == socket_unit("default")


@pytest.mark.parametrize("profile", ["default", "notes"])
def test_written_units_are_valid_and_name_the_program(home, profile):
    """Nothing is to be said against what is written, and it starts this very program for the profile."""
    done = install(home, "--profile", profile)
    assert (done.returncode, done.stderr) == (0, "")
    name = unit_name(profile)
    assert f"systemctl --user enable --now {name}.socket {name}.service" in done.stdout
    assert units_of(home).keys() == {f"{name}.service", f"{name}.socket"}
    assert f"ExecStart={PROGRAM} watch --profile {profile}\n" in units_of(home)[f"{name}.service"]
    for unit in units_of(home):
        checked = verify(home, "--user", "verify", str(home / "config" / "systemd" / "user" / unit))
        assert (checked.returncode, checked.stderr) == (0, ""), unit


def test_system_units_are_valid(home):
    """Nothing is to be said against the units for a machine either."""
    for unit in ("indexerd@.service", "indexerd@.socket"):
        text = (SHIPPED / unit).read_text().replace("ExecStart=indexerd", f"ExecStart={PROGRAM}")
        (home / unit).write_text(text)
    for unit in ("indexerd@.service", "indexerd@.socket"):
        checked = verify(home, "verify", str(home / unit))
        assert (checked.returncode, checked.stderr) == (0, ""), unit


@pytest.mark.parametrize(("unit", "most"), [("indexerd.service", 6.0), ("indexerd@.service", 1.0)])
def test_exposure_is_at_most_what_the_documents_say(home, unit, most):
    """The measure is that of systemd, and it does tell a unit without restrictions apart."""
    threshold = f"--threshold={most * 10:.0f}"
    assert verify(home, "security", "--offline=true", threshold, str(SHIPPED / unit)).returncode == 0
    plain = [line for line in (SHIPPED / unit).read_text().splitlines() if not line.startswith(("Restrict", "Protect"))]
    (home / unit).write_text("\n".join(plain))
    assert verify(home, "security", "--offline=true", threshold, str(home / unit)).returncode != 0


def test_a_unit_with_other_content_is_left_alone(home):
    """Whoever has changed a unit keeps it, and nothing else is written beside it; the same content is no change."""
    assert install(home).returncode == 0
    before = units_of(home)
    again = install(home)
    assert again.returncode == 0
    assert again.stdout.count(": as it was\n") == 2
    changed = home / "config" / "systemd" / "user" / "indexerd.socket"
    changed.write_text("[Socket]\nListenStream=/elsewhere\n")
    refused = install(home)
    assert refused.returncode == 2
    assert f"{changed} exists with other content" in refused.stderr
    assert units_of(home) == before | {"indexerd.socket": "[Socket]\nListenStream=/elsewhere\n"}


def test_print_writes_nothing(home):
    """`--print` shows both units."""
    shown = install(home, "--print")
    assert shown.returncode == 0
    assert service_unit("default", PROGRAM) in shown.stdout
    assert socket_unit("default") in shown.stdout
    assert units_of(home) == {}


def test_a_profile_without_roots_is_refused_with_what_to_write(home):
    """A unit that could not start anything is not written."""
    done = install(home, "--profile", "unknown")
    assert done.returncode == 78
    assert "[profile.unknown]" in done.stderr
    assert units_of(home) == {}


@pytest.mark.parametrize(
    ("program", "word"),
    [
        ("/usr/bin/indexerd", "/usr/bin/indexerd"),
        ("/opt/my tools/indexerd", '"/opt/my tools/indexerd"'),
        ("/a%b/$c/indexerd", "/a%%b/$$c/indexerd"),
    ],
)
def test_an_odd_path_of_the_program_is_one_word(program, word):
    """White space, `%` and `$` mean something in a unit."""
    assert f"ExecStart={word} watch" in service_unit("default", program)


def test_a_client_starts_the_daemon_by_its_socket_and_the_socket_outlives_it(home):
    """By socket activation the first client is answered, the manager is told, and the file stays for the next start.

    The socket lies elsewhere than the settings say: the status names the one that clients reach, they find it from any
    folder, and its loss is told.
    """
    (home / "notes").mkdir()
    (home / "notes" / "a.md").write_text("# A\n\nactivated\n")
    path, notify = str(home / "run" / "d.sock"), str(home / "run" / "n")
    command = [PROGRAM, "watch", str(home / "notes"), "--state-dir", str(home / "state")]
    runtime = {"XDG_RUNTIME_DIR": str(home / "runtime")}
    environ = {"HOME": str(home), "NOTIFY_SOCKET": notify, "WATCHDOG_USEC": "2000000", **runtime}
    passed = [word for name, value in environ.items() for word in ("-E", f"{name}={value}")]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(notify)
        manager.settimeout(PATIENCE_SECONDS)
        process = subprocess.Popen(
            ["systemd-socket-activate", "-l", path, *passed, *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(lambda: Path(path).is_socket())
            status = call(path, "status", timeout_seconds=60)
            assert status["socket"] == path
            # It turned into the daemon: LISTEN_PID is its own.
            assert status["pid"] == process.pid
            assert manager.recv(4096).startswith(b"READY=1")
            while b"WATCHDOG=1" not in manager.recv(4096):
                pass
            hits = call(path, "query", {"text": "activated", "wait_ms": 20_000}, timeout_seconds=60)["hits"]
            assert [hit["source_path"] for hit in hits] == ["a.md"]
            found = subprocess.run(
                [PROGRAM, "status", "--json"], env=os.environ | runtime, capture_output=True, check=True
            )
            assert json.loads(found.stdout)["socket"] == path
            with Client(path) as connected:
                Path(path).rename(f"{path}.away")
                wait_for(lambda: [one["code"] for one in connected.call("status")["problems"]] == ["socket_lost"])
                Path(f"{path}.away").rename(path)
                wait_for(lambda: not connected.call("status")["problems"])
            process.terminate()
            assert process.wait(PATIENCE_SECONDS) == 0
            assert Path(path).is_socket()
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE_SECONDS)
