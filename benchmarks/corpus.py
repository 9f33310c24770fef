"""The corpora: `mixed` and `win32` from a data folder, synthetic ones from fixed seeds."""

import functools
import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np

CORPORA = {"mixed": ("tldr", "tidb-docs-zh", "rust-rfcs", "rust-book"), "win32": ("win32",)}
SEED = 20260906
STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)


def documents(
    data: Path | None, limit: int | None = None, corpus: str = "mixed"
) -> tuple[str, list[tuple[str, bytes]]]:
    """Return a name and the (relative path, bytes) of every Markdown file, sorted by path."""
    wanted = CORPORA[corpus]
    folders = [data / name for name in wanted if (data / name).is_dir()] if data else []
    if not folders:
        return "synthetic", synthetic(limit or 20_000)
    found = [
        (str(path.relative_to(data)), path.read_bytes())
        for folder in folders
        for path in sorted(folder.rglob("*.md"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(data).parts)
    ]
    missing = sorted(set(wanted) - {folder.name for folder in folders})
    name = corpus if not missing else f"{corpus} without {', '.join(missing)}"
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


@functools.cache
def _vocabulary() -> list[str]:
    """Return 2^19 words, the commonest first: stop words, as in life, then made ones of two to four syllables."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvzhjcwqx" for vowel in "aeiou"]
    made = [*STOP_WORDS.split()]
    for rank in range(100, (1 << 19) + 100 - len(made)):
        word, rest = "", rank
        while rest:
            rest, syllable = divmod(rest, 100)
            word += syllables[syllable]
        made.append(word)
    return made


def zipf_document(number: int) -> tuple[str, bytes]:
    """Return path and bytes of one document of a corpus of any size: ten sections of 90 words by Zipf's law, 5 KB.

    It depends on its number alone, so that a million passages can be written without being held.
    """
    known = _vocabulary()
    ranks = (len(known) ** np.random.default_rng([SEED, number]).random(900)).astype(int) - 1
    words = [known[rank] for rank in ranks.tolist()]
    parts = [f"## {words[at]} {words[at + 1]}\n\n{' '.join(words[at : at + 90])}.\n" for at in range(0, 900, 90)]
    return f"{number % 500:03d}/doc{number:06d}.md", "\n".join([f"# Document {number}\n", *parts]).encode()


def write(root: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """Write the files beneath `root`; return their bytes."""
    size = 0
    for name, data in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        size += len(data)
    return size


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
