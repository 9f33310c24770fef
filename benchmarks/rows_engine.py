"""Rows measured in one process: the first index, the engine, one edited document."""

import datetime
import time
from pathlib import Path
from statistics import median

from corpus import queries, synthetic
from measuring import Line, interleaved, milliseconds, percentile, ratio, seconds
from peers import Bm25s, Fts5, Tantivy

from indexerd.access import AccessRules, PathRule
from indexerd.clock import SystemClock
from indexerd.documents.parse import parse_document
from indexerd.indexing import build_segment, settings_fingerprint
from indexerd.model import Root, Settings, SourcePath
from indexerd.search.eligibility import ViewCache
from indexerd.search.rank import Ranking
from indexerd.search.rights import Caller
from indexerd.search.words import query_words
from indexerd.store import Change, open_store
from indexerd.store.compaction import LOADING_SECONDS
from indexerd.store.fsio import RealStoreFilesystem

SETTINGS = Settings()
BATCH = 4_000_000
# Of more than this the first index is measured once.
LARGE_BYTES = 100_000_000
QUERY_COUNT = 200
EDITS = 10_000
VIEWS, RULES = ViewCache(), AccessRules()
CALLER = Caller(frozenset(), datetime.date(2026, 1, 1), False)


def batches(files):
    """Cut the files into batches of about four megabytes, as the daemon does."""
    batch, size = [], 0
    for name, data in files:
        batch.append((SourcePath(name), data))
        size += len(data)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def store_at(folder: Path):
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    root = Root(label="bench", path=str(folder.parent))
    return open_store(
        RealStoreFilesystem.open_directory(str(folder), create=True),
        SystemClock(),
        durability="checkpoint",
        roots=[root],
    )


def index(folder: Path, files):
    """Index all files into a store of their own, on one core, without the merges that follow; return the store."""
    store = store_at(folder)
    segments = [build_segment(batch, SETTINGS) for batch in batches(files)]
    change = Change(added=len(files), updated=0, deleted=0)
    store.publish(store.prepare(segments, settings=settings_fingerprint(SETTINGS), change=change))
    return store


def settled(store):
    """Merge what is due, as the daemon does in the background; return the store."""
    while store.merge_due():
        store.merge_once()
    return store


def at_rest(folder: Path, files):
    """Index all files, and merge what is due once they count as loaded; return the store."""
    store = index(folder, files)
    time.sleep(LOADING_SECONDS)
    return settled(store)


def chunk_texts(files) -> list[str]:
    return [chunk.text for name, data in files for chunk in parse_document(SourcePath(name), data, SETTINGS).chunks]


def row_index(files, place):
    """First index on one core (parse, hash, chunk, analyse, publish) beside peers that get ready chunks."""
    texts, size = chunk_texts(files), sum(len(data) for _, data in files)
    number = iter(range(1000))

    def fresh(kind):
        return place / f"{kind}{next(number)}"

    taken = interleaved(
        {
            "ours": lambda: index(fresh("ours") / "state", files).close(),
            "tantivy": lambda: Tantivy(fresh("tantivy")).ingest(texts),
            "tantivy2": lambda: Tantivy(fresh("tantivy"), threads=2).ingest(texts),
            "fts5": lambda: Fts5(fresh("fts5")).ingest(texts),
            "bm25s": lambda: Bm25s(fresh("bm25s")).ingest(texts),
        },
        3 if size < LARGE_BYTES else 1,
    )
    ours = f"{size / 1e6 / taken['ours']:.1f} MB/s"
    for peer in ("tantivy", "tantivy2", "fts5", "bm25s"):
        beside = f"{peer} {size / 1e6 / taken[peer]:.1f} MB/s"
        yield Line(f"first index, one core, {len(texts)} chunks", ours, beside, ratio(taken["ours"], taken[peer]))


def searching(store):
    """Return what ranks the first `k` passages for a text, by nobody in particular."""

    def search(text: str, k: int = 10) -> None:
        view = VIEWS.base_view(store.snapshot(), CALLER, RULES, frozenset())
        Ranking(view, query_words(text, SETTINGS.all_languages(), prefix=False)).top(k)

    return search


def engine_times(search, asked):
    return [seconds(lambda text=text: search(text)) for text in asked]


def row_engine(files, place):
    """Query in the engine, k = 10, without proof, beside the peers; then after 10,000 single edits."""
    texts = chunk_texts(files)
    asked = queries(texts, QUERY_COUNT)
    store = at_rest(place / "ours" / "state", files)
    peers = {"tantivy": Tantivy(place / "t"), "fts5": Fts5(place / "f"), "bm25s": Bm25s(place / "b")}
    for peer in peers.values():
        peer.ingest(texts)
    ours = searching(store)
    searches = {"ours": ours} | {name: peer.query for name, peer in peers.items()}
    for search in searches.values():
        engine_times(search, asked[:20])
    taken = {name: [] for name in searches}
    for text in asked * 3:
        for name, search in searches.items():
            taken[name].append(seconds(lambda search=search, text=text: search(text)))
    for share, label in ((0.5, "p50"), (0.99, "p99")):
        mine = percentile(taken["ours"], share)
        for peer in peers:
            theirs = percentile(taken[peer], share)
            yield Line(
                f"query, k=10, {label}", milliseconds(mine), f"{peer} {milliseconds(theirs)}", ratio(mine, theirs)
            )
    before = percentile(taken["ours"], 0.5)
    for number in range(EDITS):
        edit(store, number, f"# Edited {number}\n\n{asked[number % QUERY_COUNT]}\n")
        settled(store)
    after = percentile(engine_times(ours, asked * 3), 0.5)
    yield Line(
        f"the same after {EDITS} single edits, p50",
        milliseconds(after),
        f"before {milliseconds(before)}",
        ratio(after, before),
    )
    store.close()


def edit(store, number: int, text: str):
    return publish_one(store, f"d{number % 100:02d}/doc{number:06d}.md", text.encode())


def publish_one(store, name: str, data: bytes):
    segment = build_segment([(SourcePath(name), data)], SETTINGS)
    change = Change(added=0, updated=1, deleted=0)
    return store.publish(store.prepare([segment], settings=settings_fingerprint(SETTINGS), change=change))


def row_restricted(files, place):
    """The first query after one document was edited, by one who sees half of all, beside one whom no rule binds."""
    halves = [
        PathRule(match=f"**/[{letters}]*", acl=roles) for letters, roles in (("a-m", ("red",)), ("n-z", ("blue",)))
    ]
    versions = PathRule(match="**/[ab]*", supersede_by="series", metadata={"series": "all", "version": "1"})
    asked = queries(chunk_texts(files), QUERY_COUNT)
    store = at_rest(place / "ours" / "state", files)
    kinds = {"none": [], "roles": halves, "roles and versions": [*halves, versions]}
    taken = {kind: first_after_edits(store, files, asked, kinds[kind]) for kind in kinds}
    free = median(taken.pop("none"))
    for kind, times in taken.items():
        mine = median(times)
        beside = f"without rules {milliseconds(free)}"
        yield Line(f"first query after an edit, {kind}, p50", milliseconds(mine), beside, ratio(mine, free))
    store.close()


def first_after_edits(store, files, asked, rules):
    """Edit a document, and measure the next query of somebody with one of two roles; for each question."""
    views, access, caller = ViewCache(), AccessRules(rules=(*rules,)), CALLER._replace(roles=frozenset({"red"}))
    taken = []
    for number, text in enumerate(asked):
        name, data = files[number * 7 % len(files)]
        publish_one(store, name, data + f"\nedited {number}\n".encode())
        settled(store)

        def ask(text=text) -> None:
            view = views.base_view(store.snapshot(), caller, access, frozenset())
            Ranking(view, query_words(text, SETTINGS.all_languages(), prefix=False)).top(10)

        taken.append(seconds(ask))
    return taken


def row_edit(_files, place):
    """One document edited: time to publish in a small and a large corpus, beside tantivy's commit and reload."""
    taken, stores = {}, {}
    made = synthetic(100_000)
    for count in (1_000, 100_000):
        stores[count] = at_rest(place / str(count) / "state", made[:count])
        taken[count] = []
    peer = Tantivy(place / "t")
    peer.ingest(chunk_texts(made[:20_000]))
    theirs = []
    for number in range(100):
        text = f"# Edited {number}\n\nwords of the edited document number {number}\n"
        for count, store in stores.items():
            taken[count].append(seconds(lambda store=store, number=number, text=text: edit(store, number, text)))
            settled(store)
        theirs.append(seconds(lambda number=number, text=text: peer.replace(number, text)))
    for store in stores.values():
        store.close()
    small, large = median(taken[1_000]), median(taken[100_000])
    beside = f"1,000 documents {milliseconds(small)}"
    yield Line("publish one edited document among 100,000, p50", milliseconds(large), beside, ratio(large, small))
    yield Line(
        "publish one edited document, p50",
        milliseconds(large),
        f"tantivy {milliseconds(median(theirs))}",
        ratio(large, median(theirs)),
    )


ROWS = {"index": row_index, "engine": row_engine, "restricted": row_restricted, "edit": row_edit}
