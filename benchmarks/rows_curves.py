"""Cost against size: the same work on 1,000 to 100,000 documents, a million passages, beside tantivy and FTS5."""

from pathlib import Path
from statistics import median

import corpus
from measuring import Line, percentile, processor_seconds, seconds
from peers import Fts5, Tantivy, folder_bytes
from rows_daemon import save_atomic
from rows_engine import publish_one, searching, settled
from running import Daemon

from indexerd.clock import SystemClock
from indexerd.store import open_store
from indexerd.store.fsio import RealStoreFilesystem

SIZES = (1_000, 10_000, 100_000)
QUERIES, ROUNDS, SAVES = 100, 2, 30
INDEX = "First index, MB of text a second of processor time"
PEERS = {"tantivy": Tantivy, "FTS5": Fts5}


def row_curves(_files, place):
    """First index, disk, memory, queries and one edit against the number of documents, as plots."""
    for count in SIZES:
        here = place / str(count)

        def point(plot, line, value, count=count):
            return Line(f"{plot}, {count:,} documents", f"{value:.4g}", line, point=(plot, line, count, value))

        size = corpus.write(here / "root", map(corpus.zipf_document, range(count)))
        asked = corpus.queries([text_of(number) for number in range(0, count, count // 100)], QUERIES)
        yield from daemon_points(here, size, asked, point)
        yield from engine_points(here, size, asked, point)


def text_of(number: int) -> str:
    return corpus.zipf_document(number)[1].decode()


def daemon_points(here, size, asked, point):
    """Measure the running program."""
    daemon = Daemon(here / "root", here)
    daemon.wait_current(7200)
    yield point(INDEX, "indexerd, all processes", size / 1e6 / daemon.spent_seconds())
    daemon.wait_at_rest(7200)
    yield point("Memory, MB", "daemon at rest", daemon.memory_bytes() / 1e6)
    connection, saved = daemon.connect(), []
    for text in asked * 3:
        connection.call("query", text=text)
    yield point("Memory, MB", f"after {len(asked) * 3} queries", daemon.memory_bytes() / 1e6)
    yield point("Memory, MB", "peak up to rest, all processes", daemon.peak / 1e6)
    for number in range(SAVES):

        def save(word=f"zq{number}x"):
            save_atomic(here / "root" / "measured.md", f"# Measured\n\nthe word {word}\n")
            while not connection.call("query", text=word, k=1, must=[word])["hits"]:
                pass

        saved.append(seconds(save))
    yield point("One document edited, ms", "indexerd: saved, then found over the socket", median(saved) * 1e3)
    connection.close()
    daemon.stop()


def engine_points(here, size, asked, point):
    """Measure in this process what the daemon has left, beside peers that get its passages."""
    store = open_store(RealStoreFilesystem.open_directory(str(here / "state"), create=False), SystemClock())
    yield point("Index beside the text, bytes a byte", "indexerd", folder_bytes(here / "state") / size - 1)
    settled(store)
    parts = [part.data for part in store.snapshot().segments]
    texts = [part.chunk_text(number) for part in parts for number in range(part.chunk_count)]
    engines = {"indexerd": searching(store)}
    edits = {"indexerd": lambda number: (publish_one(store, *changed(number)), settled(store))}
    for name, kind in PEERS.items():
        peer = kind(here / name)
        yield point(INDEX, name, size / 1e6 / processor_seconds(lambda peer=peer: peer.ingest(texts)))
        beside = peer.disk() / size - (name == "FTS5")
        yield point("Index beside the text, bytes a byte", name, beside)
        engines[name] = peer.query
        edits[name] = lambda number, peer=peer: peer.replace(number, text_of(number))
    taken = {name: [] for name in engines}
    for text in asked * (ROUNDS + 1):
        for name, search in engines.items():
            taken[name].append(processor_seconds(lambda search=search, text=text: search(text)))
    for name, times in taken.items():
        for share in (0.5, 0.99):
            value = percentile(times[len(asked) :], share) * 1e3
            yield point(f"Query in the engine, p{share * 100:.0f}, ms of processor time", name, value)
    for name, edit in edits.items():
        before, took = written(), [seconds(lambda edit=edit, number=number: edit(number)) for number in range(SAVES)]
        size_of, calls = ((after - b) / SAVES for after, b in zip(written(), before, strict=True))
        yield point("One document edited, ms", f"{name}: published", median(took) * 1e3)
        yield point("One document edited, KB written", name, size_of / 1e3)
        yield point("One document edited, write calls", name, calls)
    store.close()


def changed(number: int) -> tuple[str, bytes]:
    name, data = corpus.zipf_document(number)
    return name, data + b"\nedited\n"


def written() -> tuple[int, int]:
    """Return the bytes that this process has written, and by how many calls."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["wchar"]), int(fields["syscw"])


ROWS = {"curves": row_curves}
