"""A folder of notes under a daemon of its own, with the questions that people ask of it."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from indexerd.model import Root, Settings, parse_citation
from indexerd.store import open_reader
from indexerd.store.dump import canonical_digest
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.snapshot import empty_snapshot
from tests.fakes.daemon_process import PATIENCE_SECONDS, DaemonProcess, wait_for
from tests.fakes.sync_rig import Rig

REPOSITORY = Path(__file__).parents[2]

# Root without the capabilities that let it look everywhere: permissions mean something to the daemon then.
PERMISSIONS_COUNT = ("setpriv", "--inh-caps=-all", "--bounding-set=-all") if os.geteuid() == 0 else ()


class Notes:
    """The folder `root`, written before or after `start`; `close` ends the daemon."""

    def __init__(self, place: Path, **options) -> None:
        self.place, self.root, self.options = place, place / "notes", options
        self.daemon, self._all = None, []
        self.root.mkdir(exist_ok=True)

    def start(self, **options) -> "Notes":
        """Start the daemon, wait for its first index."""
        self.begin(**options).ready()
        return self

    def begin(self, **options) -> DaemonProcess:
        """Start the daemon; one that was started before is not ended by it."""
        self.daemon = DaemonProcess([options.pop("root", self.root)], self.place, **{**self.options, **options})
        self._all.append(self.daemon)
        return self.daemon

    def close(self) -> None:
        """Leave no daemon behind."""
        for daemon in self._all:
            daemon.close()

    def write(self, name, text) -> Path:
        """Write a file in place, making its folders; text is UTF-8 with its line ends as given."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def save(self, name, text, temporary=".saving.tmp") -> None:
        """Write a file beside it and rename that onto it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + temporary)
        beside.write_text(text)
        os.replace(beside, path)

    def ask(self, text, method="query", **params):
        """Ask until the answer is current: where events are lost again and again the look for them comes late."""

        def asked():
            reply = self.daemon.call(method, text=text, **params)
            return reply if reply["freshness"]["state"] == "current" else None

        return wait_for(asked)

    def found(self, text, **params) -> list[str]:
        """Return the files that an answer names, best first, each once."""
        return list(dict.fromkeys(hit["source_path"] for hit in self.ask(text, **params)["hits"]))

    def best(self, text, **params):
        """Return the first hit."""
        hits = self.ask(text, **params)["hits"]
        assert hits, text
        return hits[0]

    def status(self):
        """Return the owner's status."""
        return self.daemon.call("status")

    def settle(self):
        """Wait until all that was seen is published; return the status."""
        return wait_for(lambda: (now := self.status())["state"] == "current" and not now["pending"] and now)

    def documents(self, **params) -> dict:
        """Return what is indexed, by source path, once every change is in."""
        self.ask("anything")
        rows, after = {}, {}
        while after is not None:
            page = self.daemon.call("documents", **params, **after)
            rows |= {row["source_path"]: row for row in page["documents"]}
            after = {"after": page["next"]} if page["next"] else None
        return rows

    def digest(self) -> str:
        """Return the digest of what is published, as another process reads it: of nothing, if nothing ever was."""
        found = open_reader(RealStoreFilesystem.open_directory(self.daemon.state, create=False))
        return canonical_digest(found or empty_snapshot())

    def scratch_digest(self) -> str:
        """Return the digest of an index that is made from nothing now."""
        folder = self.place / f"scratch{len(os.listdir(self.place))}"
        folder.mkdir()
        with Rig(folder, self.root, watch=False, settings=Settings(**self.options.get("settings", {}))) as rig:
            assert rig.roots == (Root(label="r0", path=str(self.root), prefixed=False),)
            rig.loop.sync_once()
            return rig.digest()

    def assert_cited_exactly(self, hit, raw: bytes | None = None) -> None:
        """Check a hit with the tools that people have: `sed` for its lines, `sha256sum` for its hashes."""
        path = Path(hit["path"])
        cited = sed(path, hit["start_line"], hit["end_line"])
        assert hit["text"].encode() == cited, hit["citation"]
        assert hit["content_hash"] == hashlib.sha256(cited).hexdigest()
        assert hit["document_hash"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert hit["start_line"] <= hit["line"] <= hit["end_line"]
        assert parse_citation(hit["citation"]).source_path == hit["source_path"]


def sed(path, first, last) -> bytes:
    """Return lines as `sed -n` prints them."""
    environ = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(["sed", "-n", f"{first},{last}p", path], capture_output=True, check=True, env=environ).stdout


def grep(word, path) -> list[int]:
    """Return the numbers of the lines in which `grep` finds a word."""
    done = subprocess.run(
        ["grep", "-a", "-n", word, path], capture_output=True, check=True, env={**os.environ, "LC_ALL": "C"}
    )
    return [int(line.partition(b":")[0]) for line in done.stdout.split(b"\n") if line]


def begun_program(home: Path, *arguments) -> subprocess.Popen:
    """Start the installed program as a user whose folders all lie in `home`."""
    home.mkdir(mode=0o700, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG", "INDEXERD"))}
    places = {f"XDG_{name}": str(home) for name in ("RUNTIME_DIR", "STATE_HOME", "CONFIG_HOME")}
    return subprocess.Popen(
        [sys.executable, "-m", "indexerd", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=home,
        env={**kept, "HOME": str(home), "PYTHONPATH": str(REPOSITORY), **places},
    )


class Ran(NamedTuple):
    """What the program did."""

    returncode: int
    stdout: bytes
    stderr: bytes


def ended(process: subprocess.Popen) -> Ran:
    """Wait for the end of a program."""
    out, errors = process.communicate(timeout=PATIENCE_SECONDS)
    return Ran(process.returncode, out, errors)


def program(home: Path, *arguments) -> Ran:
    """Run the installed program to its end."""
    return ended(begun_program(home, *arguments))
