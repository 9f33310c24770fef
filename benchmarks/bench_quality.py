"""How well the ranking finds, how seldom evidence is refused, and how well `answerability` tells questions apart.

Usage: python benchmarks/bench_quality.py --data DIR [--only NAME] [--write OUT]

DIR holds the collections `scifact`, `nfcorpus-ecir`, `cranfield`, `cmrc2018-zh`, `rgb-zh` (BEIR layout) and `clapnq`;
an absent one is named. Documents become Markdown files of a heading and a text; a document's score is that of its best
passage. Figures stand for all questions, then for those of even and of odd place, so that constants can be chosen on
the ones and tried on the others. A question is made unanswerable by holding the documents judged relevant to it:
they are then not eligible. `first judged` is what a judge would reach who knows of the first document whether it is
relevant, and nothing else.
Questions that share no word with any document are not counted as refused.

All this runs in the process, with the engine that the daemon calls. `--write OUT` also writes each collection as a
folder of files with its topics, judgements and TREC run, so that the same can be had from a daemon or without one:
`indexerd sync OUT/NAME/files`, then
`indexerd eval --topics OUT/NAME/topics.jsonl --qrels OUT/NAME/qrels.txt --run RUN`.
"""

import argparse
import datetime
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from indexerd.access import AccessRules
from indexerd.indexing import build_segment
from indexerd.model import Settings, SourcePath
from indexerd.ports import SourceRead, SourceStat
from indexerd.search import SearchRequest, evidence_request, search
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
    """Return a document of one heading, if it has a title, and one text."""
    heading = f"# {' '.join(title.split())}\n\n" if title.strip() else ""
    return f"{heading}{text.strip()}\n".encode()


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


class Verdict(NamedTuple):
    """What `evidence` says to a question, and the plain values that `answerability` is compared with."""

    is_answerable: bool
    refused: bool
    answerability: float
    coverage: float
    score: float


def verdict(snapshot, files, text, *, is_answerable, held=frozenset()):
    """Ask for evidence; held documents are not there."""
    asked = {
        "rules": AccessRules(),
        "held": held,
        "sources": Memory(files),
        "clock": StillClock(),
        "settings": SETTINGS,
    }
    found = search(snapshot, evidence_request(text), **asked)
    best = search(snapshot, SearchRequest(text, k=1, explain=True), **asked).hits
    score = sum(part.score for hit in best for part in hit.explain if part.word)
    has_overlap = found.abstention_reason not in {"no_overlap", "no_searchable_terms"}
    return Verdict(is_answerable, found.abstained and has_overlap, found.answerability, found.coverage, score)


def auroc(verdicts, field):
    """Return how likely an answerable question has the larger value, equal ones counted half."""
    good, bad = ([getattr(one, field) for one in verdicts if one.is_answerable is kind] for kind in (True, False))
    places = np.searchsorted(np.sort(bad), good), np.searchsorted(np.sort(bad), good, side="right")
    return float(sum(map(np.sum, places)) / (2 * len(good) * len(bad))) if good and bad else math.nan


def halves(rows):
    """Return all rows, those of even and those of odd place."""
    return rows, rows[::2], rows[1::2]


def report_ranking(name, scores):
    """Print nDCG@10."""
    print(f"{name:14} nDCG@10        " + "  ".join(f"{np.mean(half):.4f}" for half in halves(scores)))


def report_refusals(name, pairs):
    """Print refusals of answerable and unanswerable questions, and AUROC beside plain values."""
    shares = [
        [
            100 * np.mean([one.refused for pair in half for one in pair if one.is_answerable is kind])
            for half in halves(pairs)
        ]
        for kind in (True, False)
    ]
    for kind, values in zip(("answerable", "unanswerable"), shares, strict=True):
        print(f"{name:14} refused {kind:12} " + "  ".join(f"{value:.1f} %" for value in values))
    for field in ("answerability", "coverage", "score"):
        values = [auroc([one for pair in half for one in pair], field) for half in halves(pairs)]
        print(f"{name:14} AUROC {field:14} " + "  ".join(f"{value:.3f}" for value in values))


def report(name, files, queries, judged, out):
    """Print what a judged collection shows."""
    snapshot = snapshot_of(files)
    view = base_view(snapshot.segments, Caller(frozenset(), DAY, False), AccessRules(), frozenset())
    ranked = {query: ranked_documents(snapshot, view, queries[query], 100 if out else 10) for query in judged}
    report_ranking(name, [ndcg(ranked[query], grades) for query, grades in judged.items()])
    if out:
        write(out / name, files, queries, judged, ranked)
    pairs = []
    for query, grades in judged.items():
        relevant = frozenset(path for path, grade in grades.items() if grade > 0)
        asked = ((True, frozenset()), (False, relevant))
        pairs.append([verdict(snapshot, files, queries[query], is_answerable=kind, held=held) for kind, held in asked])
    report_refusals(name, pairs)
    known = [bool(ranked[query]) and judged[query].get(ranked[query][0], 0) > 0 for query in judged]
    values = [0.5 + np.mean(half) / 2 for half in halves(known)]
    print(f"{name:14} AUROC first judged   " + "  ".join(f"{value:.3f}" for value in values))


def write(out, files, queries, judged, ranked):
    """Write a collection as a folder of files, with topics, judgements and the run."""
    (out / "files").mkdir(parents=True, exist_ok=True)
    for path, raw in files:
        (out / "files" / path).write_bytes(raw)
    stem = {path: path.removesuffix(".md") for path, _ in files}
    topics = [json.dumps({"_id": query, "text": queries[query]}, ensure_ascii=False) for query in judged]
    qrels = [f"{q} 0 {stem.get(path, path)} {grade}" for q, grades in judged.items() for path, grade in grades.items()]
    run = [
        f"{query} Q0 {stem[path]} {place} {1 / place:.6f} indexerd"
        for query, paths in ranked.items()
        for place, path in enumerate(paths, start=1)
    ]
    for name, rows in (("topics.jsonl", topics), ("qrels.txt", qrels), ("run.txt", run)):
        (out / name).write_text("\n".join(rows) + "\n", encoding="utf-8")


def clapnq(place):
    """Print the same for questions of which half have no answering passage, all passages in one collection."""
    rows = {}
    for kind in ("answerable", "unanswerable"):
        path = place / "annotated_data" / "dev" / f"clapnq_dev_{kind}.jsonl"
        rows[kind] = [json.loads(line) for line in path.open(encoding="utf-8")]
    passages = {(p["title"], p["text"]) for some in rows.values() for row in some for p in row["passages"]}
    files = [(f"p{n:04d}.md", markdown(title, text)) for n, (title, text) in enumerate(sorted(passages))]
    snapshot = snapshot_of(files)
    asked = zip(rows["answerable"], rows["unanswerable"], strict=True)
    pairs = [
        [verdict(snapshot, files, row["input"], is_answerable=kind) for kind, row in ((True, one), (False, other))]
        for one, other in asked
    ]
    report_refusals("clapnq", pairs)


def main():
    """Run what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    for name in ("scifact", "nfcorpus-ecir", "cranfield", "cmrc2018-zh", "rgb-zh", "clapnq"):
        place = folder(arguments.data, name)
        if arguments.only not in (None, name):
            continue
        if place is None:
            print(f"{name:14} absent: not measured")
        elif name == "clapnq":
            clapnq(place)
        else:
            report(name, *beir(place), arguments.write)


if __name__ == "__main__":
    main()
