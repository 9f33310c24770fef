"""Stale answers, holes and misses under one edit load: ours beside what can be driven the same way.

The load: one document whose every line carries a stamp is saved ten times a second, whole each time, by rename and in
place in turn. Meanwhile one client asks in turn for its stable term and for the stamp that was saved last. An answer is
stale if the text it shows carries a stamp older than the last save that was complete before the question; a hole if the
document is not in it. A miss is a stamp that was saved before the question, and not replaced before the answer, and
was not found. The lag is the time from the end of a save to the end of the first answer that shows it or a later one.

The engines have no watcher of their own: a process of ours walks the folder over and over and replaces what has
changed, as a program that embeds them would. recoll runs its own monitor and shows the file as it is. The client takes
the text as each tool gives it.
"""

import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import corpus
from measuring import Line, milliseconds, percentile
from running import Daemon

EDITS_SECONDS, EVERY_SECONDS = 20, 0.1
AROUND = 2000
LINES = 8


class Editor(threading.Thread):
    """Saves the document until told to stop; `saved` is the last complete stamp, `saving` whether one is on its way."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.saved, self.saving, self.ended = path, 0, False, threading.Event()
        self.waiting: dict[int, float] = {}
        self.lags: list[float] = []
        self.save(0)

    def save(self, stamp: int) -> None:
        self.saving = True
        text = "# Edited\n\n" + "".join(f"stableterm line {line} stamp{stamp}\n" for line in range(LINES))
        if stamp % 2:
            self.path.write_text(text)
        else:
            temporary = self.path.with_name(f".{self.path.name}.tmp")
            temporary.write_text(text)
            temporary.replace(self.path)
        self.waiting[stamp] = time.perf_counter()
        self.saved = stamp
        self.saving = False

    def shown(self, text: str | None) -> list[int]:
        """Return the stamps of a text, and note how long each save that it covers has waited to be shown."""
        words = (text or "").split()
        stamps = [int(word[5:]) for word in words if word.startswith("stamp") and word[5:].isdigit()]
        now, newest = time.perf_counter(), max(stamps, default=-1)
        for stamp in [one for one in list(self.waiting) if one <= newest]:
            self.lags.append(now - self.waiting.pop(stamp))
        return stamps

    def run(self) -> None:
        while not self.ended.wait(EVERY_SECONDS):
            self.save(self.saved + 1)


class Ours:
    """The daemon, asked over its socket with the default wait."""

    name = "indexerd"
    said_so = False

    def __init__(self, root: Path, place: Path) -> None:
        self.daemon = Daemon(root, place)
        self.daemon.wait_current()
        self.connection = self.daemon.connect()

    def ask(self, word: str) -> str | None:
        reply = self.connection.call("query", text=word, k=3)
        self.said_so = reply["freshness"]["state"] != "current"
        return next((hit["text"] for hit in reply["hits"] if hit["source_path"].endswith("edited.md")), None)

    def close(self) -> None:
        self.connection.close()
        self.daemon.stop()


class Looped:
    """An engine with a process that walks the folder and replaces what has changed."""

    said_so = False

    def __init__(self, root: Path, place: Path) -> None:
        self.folder = place / self.name
        self.folder.mkdir()
        ready = self.folder / "ready"
        self.process = subprocess.Popen([sys.executable, __file__, self.name, str(root), str(self.folder)])
        while not ready.exists():
            time.sleep(0.05)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Fts5Loop(Looped):
    """SQLite FTS5, WAL, one transaction a pass."""

    name = "fts5"

    def ask(self, word: str) -> str | None:
        if not hasattr(self, "database"):
            self.database = sqlite3.connect(self.folder / "index.db", timeout=10)
        sql = "SELECT text FROM chunks WHERE chunks MATCH ? ORDER BY bm25(chunks) LIMIT 3"
        return next((text for (text,) in self.database.execute(sql, (word,))), None)


class TantivyLoop(Looped):
    """tantivy's binding, one commit a pass, text stored; the reader is reloaded before each question."""

    name = "tantivy"

    def ask(self, word: str) -> str | None:
        if not hasattr(self, "index"):
            self.index = tantivy_index(self.folder / "index")
        self.index.reload()
        searcher = self.index.searcher()
        hits = searcher.search(self.index.parse_query(word, ["text"]), 3).hits
        return next((searcher.doc(address)["text"][0] for _, address in hits), None)


class Recoll:
    """recoll with its own monitor, asked by `recollq`."""

    name = "recoll"
    said_so = False

    def __init__(self, root: Path, place: Path) -> None:
        self.folder = place / "recoll"
        self.folder.mkdir()
        (self.folder / "recoll.conf").write_text(f"topdirs = {root}\nmonauxinterval = 1\n")
        subprocess.run(["recollindex", "-c", self.folder], check=True, capture_output=True)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(["recollindex", "-c", self.folder, "-m", "-D", "-x", "-w", "0"], **quiet)
        time.sleep(5)

    def ask(self, word: str) -> str | None:
        command = ["recollq", "-c", str(self.folder), "-d", "-n", "3", word]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return found if "edited.md" in found else None

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def tantivy_index(folder: Path):
    """Open or make the index that the loop writes."""
    import tantivy

    folder.mkdir(exist_ok=True)
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
    return tantivy.Index(schema.build(), path=str(folder))


def row_fresh(files, place):
    """Ten edits a second on one document: stale answers, holes and lag, beside FTS5, tantivy and recoll."""
    tools = [Ours, Fts5Loop, TantivyLoop] + ([Recoll] if shutil.which("recollindex") else [])
    for tool in tools:
        own = place / f"place-{tool.name}"
        own.mkdir()
        yield from measure(tool, files[:AROUND], own)
    if Recoll not in tools:
        yield Line("recoll", "absent", "")


def measure(tool, files, place):
    """Run one tool under the load."""
    root = place / "root"
    corpus.write(root, files)
    editor = Editor(root / "edited.md")
    running = tool(root, place)
    editor.start()
    counts = {"asked": 0, "stale": 0, "holes": 0, "wanted": 0, "misses": 0, "said": 0}
    taken = []
    until = time.perf_counter() + EDITS_SECONDS
    while time.perf_counter() < until:
        ask_once(running, editor, counts)
        taken.append(ask_newest(running, editor, counts))
    editor.ended.set()
    editor.join()
    running.close()
    lags, never = editor.lags or [float("nan")], len(editor.waiting)
    yield Line(
        f"{tool.name}: of {counts['asked']} answers stale / without the document",
        f"{counts['stale']} / {counts['holes']}",
        f"of {counts['wanted']} just saved words missed {counts['misses']}, said so {counts['said']}",
    )
    yield Line(
        f"{tool.name}: lag of a save, p50 / p99 ({len(editor.lags)} saves, {never} not shown by the end)",
        f"{milliseconds(percentile(lags, 0.5))} / {milliseconds(percentile(lags, 0.99))}",
        f"an answer takes {milliseconds(percentile(taken, 0.5))}",
    )


def ask_once(running, editor, counts):
    """Ask for the stable term."""
    before = editor.saved
    stamps = editor.shown(running.ask("stableterm"))
    counts["asked"] += 1
    counts["holes"] += not stamps
    counts["stale"] += bool(stamps) and min(stamps) < before
    counts["said"] += not stamps and running.said_so


def ask_newest(running, editor, counts):
    """Ask for the stamp that was saved last; return how long the answer took."""
    before, start = editor.saved, time.perf_counter()
    shown = running.ask(f"stamp{before}")
    took = time.perf_counter() - start
    editor.shown(shown)
    if editor.saved == before and not editor.saving:
        counts["wanted"] += 1
        is_missed = shown is None or f"stamp{before}" not in shown.split()
        counts["misses"] += is_missed
        counts["said"] += is_missed and running.said_so
    return took


def loop(kind: str, root: Path, folder: Path) -> None:
    """Walk the folder for ever and put what has changed into the index."""
    put = putting_fts5(folder) if kind == "fts5" else putting_tantivy(folder)
    known: dict[str, tuple[int, int, int]] = {}
    while True:
        changed = {}
        for path in root.rglob("[!.]*.md"):
            try:
                found = path.stat()
                stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
                if known.get(str(path)) != stamp:
                    changed[str(path)] = (stamp, path.read_text(encoding="utf-8", errors="replace"))
            except OSError:
                continue
        if changed:
            put({path: text for path, (_, text) in changed.items()})
            known |= {path: stamp for path, (stamp, _) in changed.items()}
        (folder / "ready").touch()


def putting_fts5(folder: Path):
    """Return what replaces documents in one transaction."""
    database = sqlite3.connect(folder / "index.db", timeout=10)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("CREATE VIRTUAL TABLE chunks USING fts5(path UNINDEXED, text, tokenize='porter unicode61')")

    def put(texts: dict[str, str]) -> None:
        with database:
            known = len(texts) > 1
            if not known:
                database.executemany("DELETE FROM chunks WHERE path = ?", ((path,) for path in texts))
            database.executemany("INSERT INTO chunks VALUES (?, ?)", texts.items())

    return put


def putting_tantivy(folder: Path):
    """Return what replaces documents in one commit."""
    import tantivy

    writer = tantivy_index(folder / "index").writer(heap_size=64_000_000, num_threads=1)

    def put(texts: dict[str, str]) -> None:
        for path, text in texts.items():
            writer.delete_documents_by_term("id", path)
            writer.add_document(tantivy.Document(id=path, text=text))
        writer.commit()

    return put


ROWS = {"fresh": row_fresh}

if __name__ == "__main__":
    loop(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
