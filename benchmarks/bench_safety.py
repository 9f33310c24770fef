"""What the safety gate finds and what it holds back by mistake: recall, false alarms, speed.

Usage: python benchmarks/bench_safety.py --data DIR

DIR holds `deepset`, `bipia`, `notinject`, `benign-security-docs` and ordinary corpora (`tldr`, `tidb-docs-zh`,
`rust-rfcs`, `rust-book`, `win32`, `cpp-docs`); an absent one is said to be. The phrases were tuned on the even-numbered
injections of deepset, the training part of bipia, and what they held back of ordinary corpora; the odd ones and the
test part were never looked at, and are printed apart.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from indexerd.access import scan_text, scan_texts

ORDINARY = ("tldr", "tidb-docs-zh", "rust-rfcs", "rust-book", "win32", "cpp-docs")
# What a writer could send to make the gate slow: cues without end, with and without marks between them.
HOSTILE = (
    "ignore ",
    "ignore all ",
    "ignore.",
    "ignore all previous ",
    "your ",
    "add x your answer ",
    "忽略",
    "\u200b",
    "a",
)


def main():
    """Print a line for each collection, then the speed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    print(f"{'collection':34} {'held back':>16} {'%':>7}  what it should be")
    for rows in (deepset(data), bipia(data), notinject(data), security(data), ordinary(data)):
        for name, texts, wanted in rows:
            report(name, texts, wanted)
    speed(data)


def report(name, texts, wanted):
    """Print how many texts of a collection are held back."""
    if not texts:
        print(f"{name:34} {'absent':>16}")
        return
    found = scan_texts(texts)
    held = sum(map(bool, found))
    print(f"{name:34} {f'{held} of {len(texts)}':>16} {100 * held / len(texts):7.2f}  {wanted}")
    for text, findings in zip(texts, found, strict=True):
        if findings and name.endswith(", documents"):
            line = text.split("\n")[findings[0].line - 1].strip()
            print(f"    {findings[0].pattern}: {line[:100]}")


def deepset(data):
    """Prompt injections and harmless questions."""
    rows = [json.loads(line) for path in sorted(data.glob("deepset/**/t*.jsonl"), reverse=True) for line in path.open()]
    injections = [row["text"] for row in rows if row["label"]]
    yield "deepset injections, tuned on", injections[::2], "high"
    yield "deepset injections, held out", injections[1::2], "high"
    yield "deepset harmless questions", [row["text"] for row in rows if not row["label"]], "0"


def bipia(data):
    """Instructions planted in texts; most read like anybody's request."""
    for part, note in (("train", "tuned on"), ("test", "held out")):
        found = sorted(data.glob(f"bipia/**/text_attack_{part}.json"))
        groups = json.loads(found[0].read_text()) if found else {}
        yield f"bipia text attacks, {note}", [text for texts in groups.values() for text in texts], "high"


def notinject(data):
    """Harmless requests with words that filters trip over."""
    for name in ("NotInject_one", "NotInject_two", "NotInject_three", "wildguard"):
        found = sorted(data.glob(f"notinject/**/{name}.json"))
        rows = json.loads(found[0].read_text()) if found else []
        yield f"notinject {name}", [row["prompt"] for row in rows], "0"


def security(data):
    """Documents about injections, many of which quote some."""
    yield "benign-security-docs", files(data / "benign-security-docs"), "low"


def ordinary(data):
    """Documentation, by document, each of which that is held back is shown, and by paragraph."""
    for name in ORDINARY:
        texts = files(data / name)
        yield f"{name}, documents", texts, "0"
        yield f"{name}, paragraphs", [part for text in texts for part in text.split("\n\n") if part.strip()], "0"


def files(folder):
    """Return the Markdown texts below a folder."""
    return [path.read_text(errors="replace") for path in sorted(folder.rglob("*.md"))] if folder.is_dir() else []


def speed(data):
    """Print throughput on ordinary text, and time for hostile text."""
    texts = [text for name in ORDINARY for text in files(data / name)]
    if texts:
        size = sum(len(text.encode()) for text in texts)
        start = time.process_time()
        scan_texts(texts)
        print(f"\nordinary text: {size / (time.process_time() - start) / 1e6:.0f} MB/s of CPU time")
    worst = max((hostile_ms(unit), unit) for unit in HOSTILE)
    print(f"slowest of {len(HOSTILE)} hostile texts of 100 KB: {worst[0]:.0f} ms of CPU time ({worst[1]!r})")


def hostile_ms(unit):
    """Return the CPU time for 100,000 characters of one unit."""
    text = unit * (100_000 // len(unit))
    scan_text(unit)
    start = time.process_time()
    scan_text(text)
    return 1000 * (time.process_time() - start)


if __name__ == "__main__":
    main()
