"""The corpora: `mixed` from a data folder, or a synthetic stand-in from a fixed seed."""

import random
from pathlib import Path

MIXED = ("tldr", "tidb-docs-zh", "rust-rfcs", "rust-book")
SEED = 20260906
STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)


def documents(data: Path | None, limit: int | None = None) -> tuple[str, list[tuple[str, bytes]]]:
    """Return a name and the (relative path, bytes) of every Markdown file, sorted by path."""
    folders = [data / name for name in MIXED if (data / name).is_dir()] if data else []
    if not folders:
        return "synthetic", synthetic(limit or 20_000)
    found = [
        (str(path.relative_to(data)), path.read_bytes())
        for folder in folders
        for path in sorted(folder.rglob("*.md"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(data).parts)
    ]
    missing = sorted(set(MIXED) - {folder.name for folder in folders})
    name = "mixed" if not missing else f"mixed without {', '.join(missing)}"
    return name, found[:limit]


def synthetic(count: int, seed: int = SEED) -> list[tuple[str, bytes]]:
    """Return `count` documents of about 1 KB whose words follow a Zipf-like law."""
    choose = random.Random(seed)
    words = ["".join(choose.choices("abcdefghijklmnopqrstuvwxyz", k=choose.randint(3, 10))) for _ in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    made = []
    for number in range(count):
        paragraphs = [" ".join(choose.choices(words, weights, k=50)) for _ in range(3)]
        text = f"# Document {number}\n\n" + "\n\n".join(paragraphs) + "\n"
        made.append((f"d{number % 100:02d}/doc{number:06d}.md", text.encode()))
    return made


def write(root: Path, files: list[tuple[str, bytes]]) -> None:
    """Write the files beneath `root`."""
    for name, data in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def queries(texts: list[str], count: int, seed: int = SEED) -> list[str]:
    """Return random queries of one to three words that occur in the texts, stop words left out."""
    choose = random.Random(seed)
    stop = set(STOP_WORDS.split())
    made = []
    while len(made) < count:
        words = [word.strip(".,:;()`*_#[]\"'") for word in choose.choice(texts).split()]
        words = [
            word for word in words if word.isalpha() and word.isascii() and word.lower() not in stop and len(word) > 2
        ]
        if len(words) >= 3:
            made.append(" ".join(choose.sample(words, choose.randint(1, 3))))
    return made
