"""How well the ranking finds, and how seldom it refuses: nDCG@10 and refusals on judged collections.

Usage: python benchmarks/bench_quality.py --data DIR [--only NAME]

DIR holds the collections `scifact`, `cranfield`, `cmrc2018-zh` (BEIR layout) and `clapnq`; an absent one is said to be.
Documents become Markdown files of a heading and a text; a document's score is that of its best passage.
"""

import argparse
import datetime
import json
import math
import sys
import time
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from indexerd.access import AccessRules
from indexerd.indexing import build_segment
from indexerd.model import Settings, SourcePath
from indexerd.ports import SourceRead, SourceStat
from indexerd.search import evidence_request, search
from indexerd.search.eligibility import base_view
from indexerd.search.rank import Ranking
from indexerd.search.rights import Caller
from indexerd.search.words import query_words
from indexerd.store.parts import LiveSegment

SETTINGS = Settings()
DAY = datetime.date(2026, 1, 1)


class Memory:
    """Sources that are what was indexed."""

    def __init__(self, files):
        self.files = dict(files)

    def read(self, path):
        data = self.files[path]
        return SourceRead(data, SourceStat(1, 1, len(data), 0, 0))

    def absolute(self, path):
        return b"/" + path.encode()


class StillClock:
    """Time that does not pass, so that no limit on proof is reached."""

    def monotonic(self):
        return 0.0

    def now_ns(self):
        return 0

    def today(self):
        return DAY


def folder(data, name):
    """Return where a collection lies, or None."""
    return next((path for path in (data / name / name, data / name) if (path / "SOURCE.md").exists()), None)


def beir(place):
    """Return files, queries and judgements of a collection in BEIR layout."""
    rows = [json.loads(line) for line in (place / "corpus.jsonl").open(encoding="utf-8")]
    files = [(f"{row['_id']}.md", markdown(row["title"], row["text"])) for row in rows]
    queries = {row["_id"]: row["text"] for row in map(json.loads, (place / "queries.jsonl").open(encoding="utf-8"))}
    judged = {}
    for line in (place / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        judged.setdefault(query, {})[f"{document}.md"] = int(grade)
    return files, queries, judged


def markdown(title, text):
    """Return a document of one heading and one text."""
    return f"# {' '.join(title.split())}\n\n{text.strip()}\n".encode()


def snapshot_of(files):
    """Return the files as a snapshot of one segment."""
    data = build_segment([(SourcePath(path), raw) for path, raw in files], SETTINGS)
    count = data.document_count
    live = LiveSegment(data, np.ones(count, np.bool_), ("bench", id(data)), count, data.chunk_count, 0, 0)
    return SimpleNamespace(segments=(live,), store_id="bench", generation=1, durable=False, settings="")


def ranked_documents(snapshot, view, text, count):
    """Return the first documents of a ranking, best passage each."""
    paths = snapshot.segments[0].data.paths
    found = {}
    for candidate in Ranking(view, query_words(text, SETTINGS.all_languages())).candidates(4 * count):
        found.setdefault(paths[candidate.document], None)
        if len(found) == count:
            break
    return list(found)


def ndcg(ranked, grades):
    """Return nDCG@10 with exponential gain's linear form, as trec_eval computes it."""
    gain = sum(grades.get(path, 0) / math.log2(place + 2) for place, path in enumerate(ranked[:10]))
    ideal = sum(grade / math.log2(place + 2) for place, grade in enumerate(sorted(grades.values(), reverse=True)[:10]))
    return gain / ideal if ideal else 0.0


def outcome_of(snapshot, files, text):
    """Return what `evidence` says to a question."""
    return search(
        snapshot, evidence_request(text), rules=AccessRules(), held=frozenset(), sources=Memory(files),
        clock=StillClock(), settings=SETTINGS,
    )  # fmt: skip


def report(name, files, queries, judged):
    """Print nDCG@10 and the share of questions that are refused."""
    started = time.perf_counter()
    snapshot = snapshot_of(files)
    view = base_view(snapshot.segments, Caller(frozenset(), DAY, False), AccessRules(), frozenset())
    scores = [ndcg(ranked_documents(snapshot, view, queries[query], 10), grades) for query, grades in judged.items()]
    refused = [query for query in judged if outcome_of(snapshot, files, queries[query]).abstained]
    share = len(refused) / len(judged)
    seconds = time.perf_counter() - started
    print(f"{name:14} nDCG@10 {sum(scores) / len(scores):.4f}  refused {share:.2%} of {len(judged)}  ({seconds:.0f} s)")


def clapnq(place):
    """Print the share refused of answerable and of unanswerable questions, all passages in one collection."""
    rows = {}
    for kind in ("answerable", "unanswerable"):
        path = place / "annotated_data" / "dev" / f"clapnq_dev_{kind}.jsonl"
        rows[kind] = [json.loads(line) for line in path.open(encoding="utf-8")]
    passages = {(p["title"], p["text"]) for some in rows.values() for row in some for p in row["passages"]}
    files = [(f"p{n:04d}.md", markdown(title, text)) for n, (title, text) in enumerate(sorted(passages))]
    snapshot = snapshot_of(files)
    for kind, some in rows.items():
        refused = sum(outcome_of(snapshot, files, row["input"]).abstained for row in some)
        print(f"{'clapnq':14} {kind:12} refused {refused / len(some):.2%} of {len(some)}")


def main():
    """Run what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    for name in ("scifact", "cranfield", "cmrc2018-zh", "clapnq"):
        place = folder(arguments.data, name)
        if arguments.only not in (None, name):
            continue
        if place is None:
            print(f"{name:14} absent: not measured")
        elif name == "clapnq":
            clapnq(place)
        else:
            report(name, *beir(place))


if __name__ == "__main__":
    main()
