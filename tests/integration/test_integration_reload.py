"""Roots and rules that change in `config.toml` while the daemon runs: taken in at SIGHUP, other roots undisturbed."""

import json
import os
import signal
from pathlib import Path

import pytest

from indexerd.client import call
from indexerd.errors import IndexerdError
from tests.fakes.daemon_process import wait_for
from tests.fakes.watched_notes import begun_program, program

pytestmark = pytest.mark.slow


class Home:
    """A user with a `config.toml`, some folders, and a daemon for them."""

    def __init__(self, place: Path) -> None:
        self.place, self.home = place, place / "home"
        (self.home / "indexerd").mkdir(parents=True, mode=0o700)
        self.home.chmod(0o700)
        self.process = None

    def folder(self, name: str, **texts: str) -> Path:
        folder = self.place / name
        folder.mkdir(exist_ok=True)
        for stem, text in texts.items():
            (folder / f"{stem}.md").write_text(f"{text}\n")
        return folder

    def settle_on(self, *roots: str, **keys) -> None:
        lines = [f"{key} = {json.dumps(value)}" for key, value in {"roots": list(roots), **keys}.items()]
        (self.home / "indexerd" / "config.toml").write_text("[profile.p]\n" + "\n".join(lines) + "\n")

    def start(self) -> None:
        self.process = begun_program(self.home, "watch", "--profile", "p")
        try:
            wait_for(lambda: (status := self.asked()) and status["state"] == "current")
        except AssertionError:
            self.process.kill()
            raise AssertionError(self.process.communicate()) from None

    def hang_up(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def asked(self):
        try:
            return call(str(self.home / "indexerd" / "p.sock"), "status", {})
        except IndexerdError:
            return None

    def status(self):
        return wait_for(self.asked)

    def found(self, text: str) -> list[str]:
        """Ask until the answer is current: while the watch is set up anew it may say that it is not."""

        def ask():
            given = {"text": text, "wait_ms": 20_000}
            reply = call(str(self.home / "indexerd" / "p.sock"), "query", given, timeout_seconds=60)
            return reply if reply["freshness"]["state"] == "current" else None

        return sorted({hit["source_path"] for hit in wait_for(ask)["hits"]})

    def digest(self) -> str:
        return program(self.home, "dump", "--canonical", "--digest", "--profile", "p").stdout.decode()

    def close(self, number=signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.communicate()
            self.process = None


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path)
    yield made
    made.close()


def test_roots_come_and_go_without_disturbing_the_others(home):
    """A root added has its label, one removed takes its documents along; the first keeps its form and is not redone."""
    one, two = home.folder("one", a="oneword"), home.folder("two", b="twoword")
    home.settle_on(str(one))
    home.start()
    generation = home.status()["generation"]
    home.settle_on(str(one), f"second={two}")
    home.hang_up()
    wait_for(lambda: len(home.status()["roots"]) == 2)
    assert home.found("twoword") == ["second/b.md"]
    assert home.found("oneword") == ["a.md"]
    # One publish for what came; what was there was not made anew.
    assert home.status()["generation"] == generation + 1
    (one / "a.md").write_text("oneedited\n")
    (two / "b.md").write_text("twoedited\n")
    assert (home.found("oneedited"), home.found("twoedited")) == (["a.md"], ["second/b.md"])
    home.settle_on(str(one))
    home.hang_up()
    wait_for(lambda: len(home.status()["roots"]) == 1)
    assert (home.found("twoedited"), home.found("oneedited")) == ([], ["a.md"])
    (two / "b.md").write_text("twoagain\n")
    assert home.found("twoagain") == []
    running = home.digest()
    home.close(signal.SIGTERM)
    home.start()
    assert home.digest() == running


def test_wrong_settings_change_nothing_and_are_told(home):
    """Settings that cannot be read, or name a root that is not there, leave all as it is, and the status says so."""
    one = home.folder("one", a="oneword")
    home.settle_on(str(one))
    home.start()
    for roots, keys in ((["/nowhere/at/all"], {}), ([str(one)], {"max_char": 5})):
        home.settle_on(*roots, **keys)
        home.hang_up()
        (problem,) = wait_for(lambda: home.status()["problems"])
        assert (problem["code"], problem["detail"].split("; the settings")[0] != "") == ("settings_refused", True)
        assert home.found("oneword") == ["a.md"]
        home.settle_on(str(one))
        home.hang_up()
        wait_for(lambda: not home.status()["problems"])


def test_patterns_and_rules_act_at_the_signal(home):
    """An `ignore` pattern and an access rule added to the file act without a restart."""
    one = home.folder("one", open="plainword one", secret="plainword two", old="plainword three")
    home.settle_on(str(one))
    home.start()
    assert home.found("plainword") == ["old.md", "open.md", "secret.md"]
    home.settle_on(str(one), ignore=["old.md"])
    with (home.home / "indexerd" / "config.toml").open("a") as file:
        file.write('\n[[rules]]\nmatch = "secret.md"\nacl = ["staff"]\n')
    home.hang_up()
    wait_for(lambda: home.found("plainword") == ["open.md"])


def test_a_root_in_trouble_never_stops_the_rest(home):
    """With one root gone and one unreadable file system place, the third is answered from and follows its edits."""
    one, two, three = (home.folder(name, n=f"{name}word") for name in ("one", "two", "three"))
    home.settle_on(*(f"{root.name}={root}" for root in (one, two, three)))
    home.start()
    # Moved, not removed: file by file it could be seen that they are gone, in a folder that can be read.
    os.rename(two, two.with_name("gone"))
    two.write_text("a file now")
    os.rename(three, three.with_name("elsewhere"))
    wait_for(lambda: home.status()["problems"])
    for number in range(5):
        (one / "n.md").write_text(f"oneedited{number}\n")
        assert home.found(f"oneedited{number}") == ["one/n.md"]
    assert {root["label"]: root["state"] for root in home.status()["roots"]} == {
        "one": "ok",
        "two": "not_a_directory",
        "three": "missing",
    }
    # A root's state is known a moment before what it held is: after that neither a signal nor time changes it.
    wait_for(lambda: home.status()["held"] == 2)
    home.hang_up()
    (one / "n.md").write_text("onefinal\n")
    assert home.found("onefinal") == ["one/n.md"]
    # The signal may come in now only, and nothing is known to be held while the watch is set up anew.
    wait_for(lambda: home.status()["held"] == 2)
    two.unlink()
    home.folder("two", n="twoback")
    os.rename(three.with_name("elsewhere"), three)
    wait_for(lambda: not home.status()["problems"])
    assert (home.found("twoback"), home.found("threeword")) == (["two/n.md"], ["three/n.md"])
