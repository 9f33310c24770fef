"""History, replay and erasure on the installed command line, with a daemon and without."""

import contextlib
import hashlib
import json
import zlib

import pytest
from test_integration_cli import make_home

pytestmark = pytest.mark.slow

SECRET = "plans/xylocarp.md"
TEXT = "# Quinquereme\n\nThe zyzzyva sleeps below the stairs.\n"


@pytest.fixture(params=["daemon", "alone"])
def home(request, tmp_path):
    made = make_home(tmp_path)
    made.write(SECRET, TEXT)
    assert made.run("sync", made.docs).returncode == 0
    if request.param == "daemon":
        assert made.run("watch", made.docs, "--detach").returncode == 0
    yield made
    for socket in made.sockets():
        made.run("stop", "--socket", socket)


def saved(home, name, *arguments):
    done = home.run(*arguments, "--json")
    path = home.base / name
    path.write_bytes(done.stdout)
    return path


def traces(home, text):
    """Return every file below state and runtime directory that holds a trace of the secret document."""
    raw = text.encode()
    document = hashlib.sha256(SECRET.encode()).digest()
    found = [
        b"xylocarp",
        b"zyzzyva",
        b"Quinquereme",
        b"quinquerem",
        raw,
        hashlib.sha256(raw).digest(),
        document[:8][::-1],
    ]
    traced = []
    for path in (path for folder in ("state", "run") for path in (home.base / folder).rglob("*") if path.is_file()):
        # A daemon replaces files meanwhile.
        with contextlib.suppress(FileNotFoundError):
            data = unpacked(path.read_bytes())
            traced += [(path.name, piece) for piece in found if piece in data]
    return traced


def unpacked(data):
    """Return the bytes of a file, followed by what is compressed in it."""
    places = [at for at in range(min(len(data), 256)) if data[at] == 0x78]
    streams = []
    for at in places:
        with contextlib.suppress(zlib.error):
            streams.append(zlib.decompress(data[at:]))
    return b"".join([data, *streams])


def test_a_saved_result_is_replayed_after_edits(home):
    """Evidence and hits come out identical after edits and deletions; a doctored or foreign result does not."""
    evidence = saved(home, "evidence.json", "evidence", "where does the zyzzyva sleep")
    hits = saved(home, "hits.json", "query", "daemon zyzzyva", "-n", "0")
    home.write("setup.md", "# Setup\n\nAll is new here: daemon, daemon.\n")
    (home.docs / SECRET).unlink()
    assert home.json("query", "zyzzyva", status=1)["hits"] == []
    for file in (evidence, hits):
        done = home.run("replay", file)
        assert (done.returncode, done.stdout) == (0, b"identical (generation 1)\n"), done
    shown = home.run("query", "zyzzyva", "--generation", "1")
    assert b"The zyzzyva sleeps below the stairs." in shown.stdout
    assert b"as of generation 1, published 20" in shown.stderr
    assert home.json("replay", evidence)["verdict"] == "identical"
    doctored = json.loads(hits.read_bytes())
    doctored["hits"][0]["text"] = "another"
    hits.write_text(json.dumps(doctored))
    done = home.run("replay", hits)
    assert done.returncode == 1
    assert b'hits[0].text: "another" was saved' in done.stdout
    hits.write_text(json.dumps(doctored | {"store_id": "st_0"}))
    done = home.run("replay", hits)
    assert (done.returncode, b"not st_0" in done.stderr) == (2, True)


def test_generations_tell_what_changed(home):
    """The list is oldest first with counts; one of them has names."""
    home.write("new.md", "new\n")
    (home.docs / SECRET).unlink()
    assert home.run("sync", home.docs).returncode == 0
    listed = home.json("generations")
    assert [set(one) for one in listed] == [
        {"generation", "durable", "published_at", "added", "updated", "deleted"}
    ] * len(listed)
    assert (listed[0]["generation"], listed[0]["added"]) == (1, 4)
    names = [
        name for one in listed[1:] for name in home.json("generations", one["generation"])[0]["changes"]["deleted"]
    ]
    assert names == [SECRET]
    assert b"+ new.md" in b"".join(home.run("generations", one["generation"]).stdout for one in listed[1:])
    done = home.run("generations", "99")
    assert (done.returncode, b"not kept" in done.stderr) == (2, True)
    (gone,) = home.json("documents", "--deleted")
    assert (gone["source_path"], gone["document_hash"]) == (SECRET, hashlib.sha256(TEXT.encode()).hexdigest())


def test_a_forgotten_document_leaves_no_trace(home):
    """Refused while it is indexed; afterwards no byte of it is in state or runtime directory, and replay says so."""
    evidence = saved(home, "evidence.json", "evidence", "where does the zyzzyva sleep")
    assert home.run("query", "zyzzyva").returncode == 0
    refused = home.run("forget", SECRET)
    assert (refused.returncode, b"--exclude" in refused.stderr) == (2, True)
    (home.docs / SECRET).unlink()
    assert "fingerprints" in {name for name, _ in traces(home, TEXT)} or home.sockets()
    assert traces(home, TEXT)
    done = home.run("forget", SECRET)
    assert (done.returncode, done.stdout) == (0, f"{SECRET} is erased from 1 generation\n".encode()), done
    assert traces(home, TEXT) == []
    replayed = home.run("replay", evidence)
    assert (replayed.returncode, replayed.stdout.split(b":")[0]) == (1, b"erased")
    assert home.run("fsck").returncode == 0
    again = home.run("forget", SECRET)
    assert (again.returncode, again.stdout) == (1, b"")
    assert f"nothing of {SECRET} is kept: `indexerd documents --deleted`".encode() in again.stderr


def test_the_older_versions_alone_can_be_forgotten(home):
    """With --history the current version is found, and no earlier one is kept."""
    home.write(SECRET, "# Quinquereme\n\nIt is awake.\n")
    done = home.run("forget", SECRET, "--history")
    assert done.returncode == 0, done
    assert not [name for name, piece in traces(home, TEXT) if piece in {b"zyzzyva", TEXT.encode()}]
    assert len(home.json("query", "awake")["hits"]) == 1
    assert home.json("query", "zyzzyva", "--generation", "1", status=1)["hits"] == []


def test_what_is_excluded_stays_out(home):
    """With --exclude a document is erased though its file stays, and no look at the folder brings it back."""
    name = "odd [x] #1!.md"
    home.write(name, TEXT)
    assert len(home.json("query", "zyzzyva", "--all-words")["hits"]) == 1
    for path in (SECRET, name):
        done = home.run("forget", path, "--exclude")
        assert done.returncode == 0, done
    assert traces(home, TEXT) == []
    assert (home.docs / ".indexerdignore").read_text() == f"/{SECRET}\n/odd\\ \\[x\\]\\ \\#1\\!.md\n"
    home.run("stop")
    assert home.run("sync", home.docs).returncode == 0
    assert home.json("query", "zyzzyva", status=1)["hits"] == []
