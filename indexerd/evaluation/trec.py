"""Relevance judgements and run files in the forms of TREC.

Owns: reading topics and qrels, writing runs, the measures over graded judgements.
Knows nothing of: who ranks.
Invariants: 1. a topic without a ranking counts as nothing found. 2. a run's scores fall strictly, so that every reader
    keeps its order.
Purity: pure.
See: docs/evaluation.md (trec).
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from indexerd.errors import InputError
from indexerd.evaluation.measures import ndcg

Qrels = dict[str, dict[str, int]]


def read_topics(text: str, name: str) -> dict[str, str]:
    """Read queries: JSON lines with `_id` (or `id`) and `text`, or lines `id<TAB>text`.

    Raises:
        InputError: A line is neither, or there is none.
    """
    topics: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        topic, query = _topic(line)
        if not topic or not query:
            raise InputError([f"{name}: line {number} is no query: needs _id and text, or id<TAB>text"])
        topics[topic] = query
    if not topics:
        raise InputError([f"{name}: holds no query"])
    return topics


def _topic(line: str) -> tuple[str, str]:
    if line.lstrip().startswith("{"):
        try:
            row = json.loads(line)
        except ValueError:
            return "", ""
        return str(row.get("_id", row.get("id", ""))), str(row.get("text", ""))
    topic, _, query = line.partition("\t")
    return topic.strip(), query.strip()


def read_qrels(text: str, name: str) -> Qrels:
    """Read judgements: `topic iteration document grade`, or `topic document grade`, with or without a header line.

    Raises:
        InputError: A line has another form, or there is no judgement.
    """
    qrels: Qrels = {}
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not fields or (number == 1 and not fields[-1].lstrip("-").isdigit()):
            continue
        if len(fields) not in (3, 4) or not fields[-1].lstrip("-").isdigit():
            raise InputError([f"{name}: line {number} is no judgement: needs topic [iteration] document grade"])
        qrels.setdefault(fields[0], {})[fields[-2]] = int(fields[-1])
    if not qrels:
        raise InputError([f"{name}: holds no judgement; a line is topic [iteration] document grade"])
    return qrels


def run_lines(rankings: Mapping[str, Sequence[str]], tag: str) -> Iterator[str]:
    """Return a run file: `topic Q0 document rank score tag`. White space in a document's name is written `%20`."""
    for topic, ranked in rankings.items():
        for place, source in enumerate(ranked, 1):
            yield f"{topic} Q0 {source.replace(' ', '%20')} {place} {len(ranked) - place + 1} {tag}\n"


def graded(qrels: Qrels, rankings: Mapping[str, Sequence[str]], document_of: Mapping[str, str]) -> dict[str, float]:
    """Return nDCG@10, MRR and recall at 100 over the judged topics.

    Args:
        qrels: The judgements; grades of nought and below are not relevant.
        rankings: Source paths by topic, best first.
        document_of: The judged document's name for a source path where it is another one.
    """
    judged = {topic: {doc: grade for doc, grade in own.items() if grade > 0} for topic, own in qrels.items()}
    judged = {topic: own for topic, own in judged.items() if own}
    sums = {"ndcg_at_10": 0.0, "mrr": 0.0, "recall_at_100": 0.0}
    for topic, gains in judged.items():
        ranked = [document_of.get(source, source) for source in rankings.get(topic, ())]
        sums["ndcg_at_10"] += ndcg(gains, ranked)
        sums["mrr"] += next((1 / place for place, one in enumerate(ranked, 1) if one in gains), 0.0)
        sums["recall_at_100"] += len(set(gains) & set(ranked[:100])) / len(gains)
    return {name: total / len(judged) if judged else 0.0 for name, total in sums.items()}
