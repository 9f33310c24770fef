"""The peers, each behind the same four calls: ingest chunks, query, replace one chunk, size on disk."""

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import bm25s
import tantivy


def folder_bytes(folder: Path) -> int:
    """Return the bytes of all files beneath a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Tantivy:
    """tantivy's binding, `en_stem`, text indexed with frequencies and not stored."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("id", stored=True, tokenizer_name="raw")
        schema.add_text_field("text", stored=False, tokenizer_name="en_stem")
        self.folder, self.threads = folder, threads
        self.index = tantivy.Index(schema.build(), path=str(folder))

    def ingest(self, texts: Sequence[str]) -> None:
        writer = self.index.writer(heap_size=256_000_000, num_threads=self.threads)
        for number, text in enumerate(texts):
            writer.add_document(tantivy.Document(id=str(number), text=text))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def query(self, text: str, k: int = 10) -> int:
        # Words alone: what the query language reads as operators is taken out.
        words = " ".join(re.findall(r"[^\W_]+", text.lower()))
        return len(self.searcher.search(self.index.parse_query(words, ["text"]), k, count=False).hits)

    def replace(self, number: int, text: str) -> None:
        writer = self.index.writer(heap_size=32_000_000, num_threads=1)
        writer.delete_documents("id", str(number))
        writer.add_document(tantivy.Document(id=str(number), text=text))
        writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()

    def disk(self) -> int:
        return folder_bytes(self.folder)


class Fts5:
    """SQLite FTS5, `porter unicode61`, text stored (its plain form), one transaction."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.connection = sqlite3.connect(folder / "fts5.db")
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("CREATE VIRTUAL TABLE chunks USING fts5(text, tokenize='porter unicode61')")

    def ingest(self, texts: Sequence[str]) -> None:
        with self.connection:
            self.connection.executemany("INSERT INTO chunks(text) VALUES (?)", ((text,) for text in texts))

    def query(self, text: str, k: int = 10) -> int:
        terms = " OR ".join('"' + word.replace('"', '""') + '"' for word in text.split())
        sql = "SELECT rowid FROM chunks WHERE chunks MATCH ? ORDER BY bm25(chunks) LIMIT ?"
        return len(self.connection.execute(sql, (terms, k)).fetchall())

    def replace(self, number: int, text: str) -> None:
        with self.connection:
            self.connection.execute("UPDATE chunks SET text = ? WHERE rowid = ?", (text, number + 1))

    def disk(self) -> int:
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return folder_bytes(self.folder)


class Bm25s:
    """bm25s, no stemming, in memory; it cannot replace one document, so it has no `replace`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = bm25s.BM25(k1=1.5, b=0.75)

    def ingest(self, texts: Sequence[str]) -> None:
        self.model.index(bm25s.tokenize(list(texts), show_progress=False), show_progress=False)

    def query(self, text: str, k: int = 10) -> int:
        tokens = bm25s.tokenize([text], show_progress=False)
        return len(self.model.retrieve(tokens, k=k, show_progress=False)[0][0])

    def disk(self) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.model.save(str(self.folder))
        return folder_bytes(self.folder)
