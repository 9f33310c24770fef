"""Known items: the document whose name is the query comes first; the passage whose words are the query is not withheld.

Usage: python benchmarks/bench_known.py --data DIR [--count N]

DIR holds `mixed` (tldr, tidb-docs-zh, rust-rfcs, rust-book), and `cpp-docs` for the second part. A seed chooses all.

Names: for N documents of `mixed` the title (even ones) or the file name without ending (odd ones) is the query. Many of
them share a name (a command in forty languages): it counts when a document of that name comes first, and for names that
only one document has, when that one does. FTS5 and tantivy get the same documents with title, file name and text as
columns, the former two weighted five times.

The price of the promises: for N passages of each collection, eight words of the passage are the query. Where a bare
ranking has the passage among the first eight, `evidence` with its defaults (proof, safety gate, abstention, two a
document, no text twice) should give it too, or the same text; what is not given is counted by reason, as a share of all
queries. `moved`: the gate took other passages out, which changed the figures of words, and the passage fell behind the
eighth. Sources are those that were indexed; proof is made on each.
"""

import argparse
import random
import sqlite3
import sys
from collections import Counter
from pathlib import Path, PurePosixPath

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tantivy
from bench_quality import DAY, SETTINGS, Memory, StillClock, snapshot_of
from corpus import MIXED, SEED, documents

from indexerd.access import AccessRules
from indexerd.analysis import analyze_query, name_key
from indexerd.digests import chunk_id, document_id
from indexerd.search import evidence_request, search
from indexerd.search.eligibility import base_view
from indexerd.search.rank import Ranking
from indexerd.search.rights import Caller
from indexerd.search.words import query_words

NAME_WEIGHT = 5.0


def collection(data, folders):
    """Return the Markdown files beneath some folders."""
    found = [path for folder in folders for path in sorted((data / folder).rglob("*.md")) if path.is_file()]
    return [(str(path.relative_to(data)), path.read_bytes()) for path in found]


def stem(path):
    """Return a file name without its ending."""
    return PurePosixPath(path).stem


class Fts5:
    """Whole documents in three columns."""

    def __init__(self, rows):
        self.base = sqlite3.connect(":memory:")
        self.base.execute("CREATE VIRTUAL TABLE d USING fts5(title, name, text, tokenize='porter unicode61')")
        self.base.executemany("INSERT INTO d(rowid, title, name, text) VALUES (?, ?, ?, ?)", rows)

    def first(self, query):
        terms = " OR ".join('"' + word.replace('"', '""') + '"' for word in query.split())
        weights = f"{NAME_WEIGHT}, {NAME_WEIGHT}, 1.0"
        sql = f"SELECT rowid FROM d WHERE d MATCH ? ORDER BY bm25(d, {weights}), rowid LIMIT 1"
        row = self.base.execute(sql, (terms,)).fetchone()
        return row and row[0]


class Tantivy:
    """Whole documents in three fields."""

    def __init__(self, rows):
        schema = tantivy.SchemaBuilder()
        schema.add_unsigned_field("id", stored=True)
        for field in ("title", "name", "text"):
            schema.add_text_field(field, tokenizer_name="en_stem")
        self.index = tantivy.Index(schema.build())
        writer = self.index.writer(heap_size=128_000_000, num_threads=1)
        for number, title, name, text in rows:
            writer.add_document(tantivy.Document(id=number, title=title, name=name, text=text))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def first(self, query):
        boosts = {"title": NAME_WEIGHT, "name": NAME_WEIGHT, "text": 1.0}
        asked, _ = self.index.parse_query_lenient(query, ["title", "name", "text"], field_boosts=boosts)
        hits = self.searcher.search(asked, 1).hits
        return self.searcher.doc(hits[0][1])["id"][0] if hits else None


class Indexerd:
    """The ranking of the daemon."""

    def __init__(self, snapshot):
        self.view = base_view(snapshot.segments, Caller(frozenset(), DAY, False), AccessRules(), frozenset())

    def first(self, query):
        top = Ranking(self.view, query_words(query, SETTINGS.all_languages())).top(1)
        return top[0].document if top else None


def known_names(files, count):
    """Print how often the named document comes first."""
    snapshot = snapshot_of(files)
    segment = snapshot.segments[0].data
    named = [segment.document(number) for number in range(segment.document_count)]
    keys = [{name_key(name) for name in (one.title, stem(one.source_path), *one.aliases)} - {""} for one in named]
    shared = Counter(key for some in keys for key in some)
    raw = dict(files)
    rows = [
        (n, one.title, stem(one.source_path), raw[one.source_path].decode("utf-8", "replace"))
        for n, one in enumerate(named)
    ]
    chosen = random.Random(SEED).sample([n for n, some in enumerate(keys) if some], count)
    asked = [(n, named[n].title if place % 2 == 0 else stem(named[n].source_path)) for place, n in enumerate(chosen)]
    asked = [(n, query) for n, query in asked if name_key(query)]
    for engine in (Indexerd(snapshot), Fts5(rows), Tantivy(rows)):
        found = [(n, name_key(query), engine.first(query)) for n, query in asked]
        right = [first is not None and key in keys[first] for _, key, first in found]
        alone = [n == first for n, key, first in found if shared[key] == 1]
        for what, some in (("a document of that name", right), ("the only one of its name", alone)):
            share = sum(some) / len(some)
            print(f"names on mixed  {type(engine).__name__:9} {what} first {share:.2%} of {len(some)}")


def price(name, files, count):
    """Print how many passages that a bare ranking has among the first eight were withheld."""
    snapshot, sources, choose = snapshot_of(files), Memory(files), random.Random(SEED)
    segment = snapshot.segments[0].data
    bare = base_view(snapshot.segments, Caller(frozenset(), DAY, False), AccessRules(), frozenset())
    passages = choose.sample([n for n in range(segment.chunk_count) if segment.chunk_hit[n]], count)
    reasons, there = Counter(), 0
    for passage in passages:
        text = segment.chunk_text(passage) or ""
        words = {
            text[word.start : word.end] for word in analyze_query(text, SETTINGS.all_languages()) if not word.is_stop
        }
        query = " ".join(choose.sample(sorted(words), min(8, len(words))))
        top = Ranking(bare, query_words(query, SETTINGS.all_languages())).top(8)
        if all(one.chunk != passage for one in top):
            continue
        there += 1
        reason = withheld(snapshot, sources, query, segment, passage)
        if reason:
            reasons[reason] += 1
    share = reasons.total() / count
    print(f"price on {name:13} withheld {share:.2%} of {count} ({there} ranked)  {dict(reasons.most_common())}")


def withheld(snapshot, sources, query, segment, passage):
    """Return why `evidence` does not give a passage, or nothing."""
    found = search(
        snapshot, evidence_request(query, trace=True), rules=AccessRules(), held=frozenset(), sources=sources,
        clock=StillClock(), settings=SETTINGS,
    )  # fmt: skip
    stored, path = segment.chunk(passage), segment.paths[int(segment.document_of_chunk[passage])]
    if any(hit.content_hash == stored.content_hash for hit in found.hits):
        return None
    if found.abstained:
        return f"abstained: {found.abstention_reason}"
    if segment.document(int(segment.document_of_chunk[passage])).unsafe:
        return "unsafe_content"
    name = chunk_id(document_id(path), stored.content_hash, stored.occurrence)
    codes = {one.chunk_id: one.code for one in found.rejected}
    code = codes.get(name, "not named")
    return "moved" if code == "top_k_reached" else code


def main():
    """Run what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1000)
    arguments = parser.parse_args()
    name, mixed = documents(arguments.data)
    if name != "mixed":
        print(f"mixed: only {name} is there")
    known_names(mixed, arguments.count)
    price("mixed", mixed, arguments.count)
    for other in ("cpp-docs", MIXED[1]):
        files = collection(arguments.data, [other])
        if files:
            price(other, files, arguments.count)
        else:
            print(f"{other}: absent, not measured")


if __name__ == "__main__":
    main()
