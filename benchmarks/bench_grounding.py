"""How well support is told from its absence: balanced accuracy, AUC, spans, precision of each reason.

Usage: python benchmarks/bench_grounding.py --data DIR [--fit]

DIR holds `wice`, `scifact-claims`, `begin`, `rgb-zh-fact` and `clapnq`; an absent one is said to be. Weights were
fitted on the training parts (wice dev, scifact-claims train, begin wow dev), as `--fit` does again; thresholds are
chosen on the same parts, and for rgb-zh-fact, which has none, on its first half. What is
printed is measured on the rest.
"""

import argparse
import csv
import itertools
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from indexerd.grounding.conflicts import conflicts
from indexerd.grounding.passages import Features
from indexerd.grounding.support import BIAS, WEIGHTS, features_of, support_of

TARGETS = {"wice": 0.68, "scifact-claims": 0.76, "begin": 0.88, "rgb-zh-fact": 0.75}


def main():
    """Print a line for each set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--fit", action="store_true", help="fit the weights again and print them")
    given = parser.parse_args()
    sets = {
        "wice": wice(given.data),
        "scifact-claims": scifact(given.data),
        "begin": begin(given.data),
        "rgb-zh-fact": rgb(given.data),
    }
    if given.fit:
        fit([sets[name][0] for name in ("wice", "scifact-claims", "begin") if sets[name]])
        return
    print(f"{'set':16} {'pairs':>6} {'BAcc':>6} {'AUC':>6} {'at 0.5':>7}  target BAcc")
    judged = [one for name, parts in sets.items() for one in report(name, parts)]
    spans(given.data)
    disagreement(given.data)
    precision(judged)


def lines(path):
    """Read a file of JSON lines."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def wice(data):
    """Claims of Wikipedia against the sentences of the cited page: supported, or partially or not."""
    files = {path.stem: path for path in data.glob("wice/**/entailment_retrieval/claim/*.jsonl")}
    if not files:
        return None
    return [
        [(row["claim"], row["evidence"], row["label"] == "supported") for row in lines(files[part])]
        for part in ("dev", "test")
    ]


def corpus(data):
    """Return the sentences of each abstract of scifact."""
    return {
        row["doc_id"]: row["abstract"] for row in lines(next(data.glob("scifact-claims/**/corpus_sentences.jsonl")))
    }


def scifact(data):
    """Scientific claims against abstracts: support, or refutation or nothing."""
    files = {path.stem: path for path in data.glob("scifact-claims/**/claims_*.jsonl")}
    return [scifact_part(data, files[f"claims_{part}"]) for part in ("train", "dev")] if files else None


def scifact_part(data, path):
    """Return the pairs of one part."""
    texts, pairs = corpus(data), []
    for row in lines(path):
        for document in sorted({*map(int, row["evidence"]), *row["cited_doc_ids"]}):
            evidence = row["evidence"].get(str(document))
            pairs.append((row["claim"], texts[document], bool(evidence) and evidence[0]["label"] == "SUPPORT"))
    return pairs


def begin(data):
    """Replies of dialogue models against the knowledge they were given: attributable or not."""
    files = {path.stem: path for path in data.glob("begin/**/wow/begin_*_wow.tsv")}
    if not files:
        return None
    parts = []
    for part in ("dev", "test"):
        with files[f"begin_{part}_wow"].open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        parts.append([(row["response"], [row["knowledge"]], row["begin_label"].startswith("Fully")) for row in rows])
    return parts


def rgb(data):
    """Chinese question and answer against a passage that holds it, and against the same with one fact changed."""
    path = next(data.glob("rgb-zh-fact/**/zh_fact.json"), None)
    if path is None:
        return None
    pairs = []
    for row in lines(path):
        answer = row["answer"]
        while isinstance(answer, list):
            answer = answer[0]
        claim = f"{row['query']} {answer}"
        for right, wrong in zip(row["positive"], row["positive_wrong"], strict=False):
            if right != wrong:
                pairs += [(claim, [right], True), (claim, [wrong], False)]
    half = len(pairs) // 4 * 2
    return [pairs[:half], pairs[half:]]


def report(name, parts):
    """Print accuracy at the threshold of the training part, and AUC; return what was said of the rest, with truth."""
    if parts is None:
        print(f"{name:16} {'absent':>6}")
        return []
    labels, truth = (np.array([pair[2] for pair in part]) for part in parts)
    measures = np.array([features_of(claim, texts) for claim, texts, _ in parts[0]])
    train = 1 / (1 + np.exp(-BIAS - measures @ np.array(WEIGHTS)))
    threshold = max(np.unique(train), key=lambda at: balanced(train, labels, at))
    judged = [support_of(claim, texts) for claim, texts, _ in parts[1]]
    test = np.array([one.score for one in judged])
    figures = balanced(test, truth, threshold), auc(test, truth), balanced(test, truth, 0.5)
    print(
        f"{name:16} {len(truth):6} {figures[0]:6.3f} {figures[1]:6.3f} {figures[2]:7.3f}  {TARGETS[name]}", flush=True
    )
    return list(zip(judged, truth, strict=True))


def balanced(values, labels, threshold):
    """Return balanced accuracy at a threshold."""
    return ((values >= threshold)[labels].mean() + (values < threshold)[~labels].mean()) / 2


def auc(values, labels):
    """Return the chance that a supported pair has the higher value; ties count half."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    positive = labels.sum()
    return (ranks[labels].sum() - positive * (positive + 1) / 2) / (positive * (~labels).sum())


def spans(data):
    """Print how often the best sentence is one that people chose."""
    rationales = []
    for path in data.glob("scifact-claims/**/claims_dev.jsonl"):
        texts = corpus(data)
        for row in lines(path):
            for document, evidence in row["evidence"].items():
                chosen = {at for one in evidence for at in one["sentences"]}
                rationales.append((row["claim"], texts[int(document)], chosen))
    if rationales:
        print(f"scifact-claims rationales: hit@1 {hit(rationales):.3f} of {len(rationales)} (target 0.55)")
        print(f"scifact-claims rationales: hit@3 {hit(rationales, 3):.3f} of {len(rationales)} (target 0.85)")
    answers = []
    for path in data.glob("clapnq/**/clapnq_dev_answerable.jsonl"):
        for row in lines(path):
            given, sentences = row["output"][0], row["passages"][0]["sentences"]
            chosen = {
                at
                for at, sentence in enumerate(sentences)
                for one in given["selected_sentences"]
                if sentence.strip() in one or one.strip() in sentence
            }
            answers.append((given["answer"], sentences, chosen))
    if answers:
        print(f"clapnq spans: hit@1 {hit(answers):.3f} of {len(answers)} (target 0.99)")


def hit(rows, most=1):
    """Return the share of rows of whose best passages one is a chosen one; each sentence is a passage."""
    found = (support_of(claim, sentences).spans[:most] for claim, sentences, _ in rows)
    return np.mean([any(span.passage in row[2] for span in spans) for spans, row in zip(found, rows, strict=True)])


def disagreement(data):
    """Print how many changed facts are found as conflicts, and how many pairs that agree are taken for one."""
    path = next(data.glob("rgb-zh-fact/**/zh_fact.json"), None)
    if path is None:
        return
    rows = lines(path)
    parts = {"chosen on": rows[: len(rows) // 2], "measured on": rows[len(rows) // 2 :]}
    for name, part in parts.items():
        changed = [
            pair
            for row in part
            for pair in zip(row["positive"], row["positive_wrong"], strict=False)
            if len({*pair}) > 1
        ]
        agreeing = [pair for row in part for pair in itertools.combinations(dict.fromkeys(row["positive"]), 2)]
        found, false = (sum(bool(conflicts(pair)) for pair in pairs) for pairs in (changed, agreeing))
        print(
            f"rgb-zh-fact conflicts ({name}): recall {found / len(changed):.3f} of {len(changed)}, "
            f"false alarms {false} of {len(agreeing)}, precision {found / max(found + false, 1):.3f} (target 0.8)"
        )


def precision(judged):
    """Print for each reason how often a pair that has it is indeed not supported."""
    seen = {}
    for support, is_supported in judged:
        for reason in support.reasons:
            seen.setdefault(reason.code, []).append(not is_supported)
    for code, right in sorted(seen.items()):
        print(f"reason {code:9} precision {np.mean(right):.3f} of {len(right)}")


def fit(parts):
    """Fit a logistic regression (ridge, classes and sets balanced, Newton's method) and print the weights."""
    rows, labels, weights = [], [], []
    for pairs, share in zip(parts, (1.0, 1.5, 1.0), strict=False):
        truth = np.array([pair[2] for pair in pairs])
        rows += [features_of(claim, texts) for claim, texts, _ in pairs]
        labels.append(truth)
        weights.append(np.where(truth, 0.5 / truth.mean(), 0.5 / (1 - truth.mean())) * share / len(truth) * 500)
    table, truth, weight = np.array(rows), np.concatenate(labels).astype(float), np.concatenate(weights)
    middle, spread = table.mean(0), table.std(0) + 1e-9
    scaled = np.c_[(table - middle) / spread, np.ones(len(table))]
    ridge = np.r_[np.ones(len(middle)), 1e-6]
    found = np.zeros(len(middle) + 1)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-scaled @ found))
        slope = scaled.T @ (weight * (chance - truth)) + ridge * found
        found -= np.linalg.solve(
            (scaled * (weight * chance * (1 - chance))[:, None]).T @ scaled + np.diag(ridge), slope
        )
    fitted = found[:-1] / spread
    print("fitted ", Features._make(np.round(fitted, 2).tolist()), round(float(found[-1] - (fitted * middle).sum()), 2))
    print("in use ", WEIGHTS, BIAS)


if __name__ == "__main__":
    main()
