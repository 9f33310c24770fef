"""A socket shared with a group: a real daemon, asked by other users of the machine."""

import functools
import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from tests.fakes.another_user import as_user, line_from
from tests.fakes.daemon_process import wait_for
from tests.fakes.watched_notes import begun_program, ended

pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")]

# Numbers that no user or group of a machine has; a group lets in, a role is what it sees.
GROUP, OTHER_GROUP = 47_001, 47_002
MEMBER, STRANGER, NAMED = 48_001, 48_002, 48_003

CONFIG = f"""
[profile.shared]
roots = ["ROOT"]

[socket]
path = "PLACE/run/shared.sock"
mode = "0660"
group = "{GROUP}"

[roles]
owner = ["board"]
users = {{ "{NAMED}" = ["audit"] }}
groups = {{ "{GROUP}" = ["staff"] }}

[[rules]]
match = "audit/**"
acl = ["audit"]
"""
FILES = {
    "open.md": "quokka everywhere\n",
    "staff.md": "---\nacl: [staff]\n---\nquokka at work\n",
    "board.md": "---\nacl: [board]\n---\nquokka merger\n",
    "audit/a.md": "quokka accounts\n",
}


class Shared:
    """A daemon with a socket for a group, and what other users hear from it."""

    def __init__(self, place):
        self.place, self.root, self.home = place, place / "notes", place / "home"
        (self.home / "indexerd").mkdir(parents=True)
        self.home.chmod(0o700)
        for name, text in FILES.items():
            self.write(name, text)
        (place / "run").mkdir()
        os.chown(place / "run", 0, GROUP)
        (place / "run").chmod(0o750)
        text = CONFIG.replace("ROOT", str(self.root)).replace("PLACE", str(place))
        (self.home / "indexerd" / "config.toml").write_text(text)
        self.socket = str(place / "run" / "shared.sock")
        self.process = begun_program(self.home, "watch", "--profile", "shared")
        # There before it listens, and before others may use it.
        wait_for(lambda: os.path.exists(self.socket) and isinstance(self.ask(0, "status"), dict))
        wait_for(lambda: self.ask(0, "status")["result"].get("documents") == len(FILES))

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def ask(self, uid, method, *, groups=(GROUP,), **params):
        """Ask once as somebody who reached the socket; return the answer, or the name of what refused."""
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"
        act = functools.partial(line_from, self.socket, line)
        said = as_user(uid, act, gid=uid, groups=groups) if uid else act()
        return json.loads(said) if said.startswith(b"{") else said.decode()

    def found(self, uid, **more):
        reply = self.ask(uid, "query", text="quokka", wait_ms=1000, **more)["result"]
        return sorted(hit["source_path"] for hit in reply["hits"])


@pytest.fixture(scope="module")
def shared():
    """One daemon for all of these tests. Outside of the tests' own folder, whose parents nobody else may enter."""
    place = Path(tempfile.mkdtemp(prefix="indexerd-test-"))
    place.chmod(0o755)
    made = Shared(place)
    yield made
    made.process.send_signal(signal.SIGTERM)
    assert ended(made.process).returncode == 0
    shutil.rmtree(place)


def test_everybody_sees_what_his_groups_and_his_name_admit(shared):
    """The kernel says who asks; roles add up, and the owner's are not a guest's."""
    assert shared.found(0) == ["board.md", "open.md"]
    assert shared.found(MEMBER) == ["open.md", "staff.md"]
    assert shared.found(NAMED) == ["audit/a.md", "open.md", "staff.md"]


def test_who_is_not_mapped_is_refused(shared):
    """The file's mode keeps strangers out; one who could reach it all the same is told so once and learns nothing."""
    assert shared.ask(STRANGER, "query", groups=(), text="quokka") == "PermissionError"
    for path in (Path(shared.socket), Path(shared.socket).parent):
        path.chmod(path.stat().st_mode | 0o007)
    try:
        refused = shared.ask(STRANGER, "query", groups=(OTHER_GROUP,), text="quokka")
        assert (refused["error"]["data"]["code"], "quokka" in str(refused)) == ("forbidden", False)
    finally:
        Path(shared.socket).parent.chmod(0o750)
        Path(shared.socket).chmod(0o660)


def test_roles_are_narrowed_and_never_widened(shared):
    """Naming somebody else's role is refused in the same words as one that does not exist."""
    assert shared.found(NAMED, roles=["audit"]) == ["audit/a.md", "open.md"]
    assert shared.found(NAMED, roles=[]) == ["open.md"]
    refusals = [shared.ask(MEMBER, "query", text="quokka", roles=[role])["error"] for role in ("board", "no such role")]
    assert refusals[0] == refusals[1]


def test_what_is_the_owners_stays_the_owners(shared):
    """No list of generations, no counts, no erasing, no stopping for anybody else."""
    for method in ("generations", "sync", "forget", "shutdown"):
        params = {"source_path": "open.md"} if method == "forget" else {}
        assert shared.ask(MEMBER, method, **params)["error"]["data"]["code"] == "forbidden"
    assert shared.ask(MEMBER, "status")["result"].keys() == {"protocol", "state", "generation", "today", "time_zone"}
    assert shared.ask(0, "status")["result"]["needs_role"] == 2


def test_a_guests_number_moves_with_what_he_sees_alone(shared):
    """Publishing what needs another role is not seen by him who has not got it."""
    number = shared.ask(MEMBER, "status")["result"]["generation"]
    for text in ("one", "two"):
        before = shared.ask(0, "status")["result"]["generation"]
        shared.write("board.md", f"---\nacl: [board]\n---\nquokka merger {text}\n")
        wait_for(lambda before=before: shared.ask(0, "query", text="quokka")["result"]["generation"] > before)
    assert shared.ask(MEMBER, "query", text="quokka")["result"]["generation"] == number
    shared.write("staff.md", "---\nacl: [staff]\n---\nquokka at play\n")
    wait_for(lambda: shared.ask(MEMBER, "query", text="play")["result"]["hits"])
    assert shared.ask(MEMBER, "status")["result"]["generation"] != number
