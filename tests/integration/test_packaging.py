"""The wheel and the sdist install into an empty environment, work there, and leave nothing but the user's state."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.fakes.daemon_process import has_ended, wait_for

REPOSITORY = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13")

pytestmark = pytest.mark.slow


def interpreter(version):
    """Return a Python of this version: this one, one on PATH, or one that pyenv keeps; None if there is none."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    return str(kept[-1]) if kept else shutil.which(f"python{version}")


def run(*words, **options):
    """Run a program that must succeed; return what it prints."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Build the sdist from a copy of what is under version control, and the wheel from the sdist."""
    place = tmp_path_factory.mktemp("built")
    source, tools = place / "source", place / "tools"
    names = run("git", "-C", REPOSITORY, "ls-files", "-z").split("\0")
    for name in filter(None, names):
        if (REPOSITORY / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, source / name)
    run(sys.executable, "-m", "venv", tools)
    run(tools / "bin" / "pip", "install", "-q", "hatchling")
    run(tools / "bin" / "hatchling", "build", "-t", "sdist", "-d", place, cwd=source)
    (sdist,) = place.glob("*.tar.gz")
    run(tools / "bin" / "pip", "wheel", "-q", "--no-deps", "-w", place, sdist)
    (wheel,) = place.glob("*.whl")
    return {"sdist": sdist, "wheel": wheel}


def files_below(*folders):
    return {str(path) for folder in folders for path in folder.rglob("*") if path.is_file() or path.is_symlink()}


# Each version that is present here; at least this one.
PRESENT = [version for version in VERSIONS if interpreter(version)]


@pytest.mark.parametrize(("version", "kind"), [*((version, "wheel") for version in PRESENT), (PRESENT[0], "sdist")])
def test_an_installed_program_works_and_leaves_nothing_but_state(packages, tmp_path, version, kind):
    """Installed by pip alone: it watches, answers, stops; uninstalled, its environment is as empty as before."""
    python = interpreter(version)
    venv, home = tmp_path / "venv", tmp_path / "home"
    (home / "run").mkdir(parents=True, mode=0o700)
    (home / "notes").mkdir()
    (home / "notes" / "a.md").write_text("# A\n\npackagedword\n")
    run(python, "-m", "venv", venv)
    before = files_below(venv)
    run(venv / "bin" / "pip", "install", "-q", packages[kind])
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "LC_ALL": "C.UTF-8"}
    program = venv / "bin" / "indexerd"
    options = {"env": environ, "cwd": home}
    assert run(program, "--version", **options).startswith("indexerd, version ")
    run(program, "watch", home / "notes", "--detach", **options)
    pid = json.loads(run(program, "status", "--json", **options))["pid"]
    try:
        found = json.loads(run(program, "query", "packagedword", "--json", "--wait", "20000", **options))
        assert [hit["source_path"] for hit in found["hits"]] == ["a.md"]
        run(program, "stop", **options)
        wait_for(lambda: has_ended(pid))
    finally:
        if not has_ended(pid):
            os.kill(pid, signal.SIGKILL)
    installed = run(venv / "bin" / "pip", "list", "--format=freeze").split()
    names = [line.partition("==")[0] for line in installed if not line.startswith(("pip=", "setuptools="))]
    run(venv / "bin" / "pip", "uninstall", "-q", "-y", *names)
    assert {path for path in files_below(venv) - before if "__pycache__" not in path} == set()
    own = {path.removeprefix(f"{home}/").split("/")[0] for path in files_below(home)} - {"notes"}
    # The documents name these two places: state, and the socket's lock.
    assert own <= {".local", "run"}
    assert not list((home / "run").rglob("*.sock"))


def test_the_packages_hold_what_they_should(packages):
    """The sdist can be tested and built from; the wheel has no tests, and its program is the one of the sdist."""
    with tarfile.open(packages["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "tests/fakes/__init__.py", "systemd/indexerd.service"} <= names
    listed = run(sys.executable, "-m", "zipfile", "-l", packages["wheel"])
    assert "indexerd/py.typed" in listed
    assert "tests/" not in listed


def test_the_size_that_the_readme_states_is_that_of_an_installation(packages, tmp_path):
    """The program itself, byte code included, is no larger than the README says, and not much smaller."""
    stated = re.search(r"The program\s+itself is (\d+) MB", (REPOSITORY / "README.md").read_text())
    target = tmp_path / "target"
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", target, packages["wheel"])
    run(sys.executable, "-m", "compileall", "-q", target)
    size = sum(path.stat().st_blocks * 512 for path in target.rglob("*") if path.is_file()) / (1 << 20)
    assert 0.5 * int(stated[1]) <= size <= int(stated[1]) + 0.5
