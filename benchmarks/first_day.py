"""A new user's first day: from `pip install` to the first right answer, on a made vault of notes; print each step."""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from corpus import SEED
from measuring import seconds

ENGLISH = ("ba be di do fa ga ho in ka lo ma ne or pe ra si ta un ve wo", "abcdefghilmnoprstuvw")
RUSSIAN = ("ба ве га до жи за ил ко ла мо не ор по ра си та ук фе хо ча", "абвгдежзиклмнопрстуфх")
FIRST = (
    "Anna Boris Clara David Elena Felix Greta Hugo Irina Jonas Karin Lev Maria Nils Olga Pavel Rosa Simon Tanja Viktor"
)
KINDS = ("meeting", "idea", "book", "recipe", "project", "trip", "person")
PATIENCE_SECONDS = 600


def words(choose: random.Random, language: tuple[str, str], count: int) -> list[str]:
    syllables, ends = language[0].split(), language[1]
    return ["".join(choose.choices(syllables, k=choose.randint(1, 4))) + choose.choice(ends) for _ in range(count)]


def vault(root: Path, count: int, seed: int = SEED) -> None:
    """Write notes as people keep them: names as titles, front matter, wiki links, days, tags, two languages."""
    choose = random.Random(seed)
    stock = [words(choose, language, 12_000) for language in (ENGLISH, ENGLISH, RUSSIAN)]
    weights = [1 / (rank + 10) for rank in range(12_000)]
    surnames = [word.capitalize() for word in words(choose, ENGLISH, 900)]
    names: list[str] = []
    for number in range(count):
        if number % 6 == 0:
            day = time.strftime("%Y-%m-%d", time.gmtime(1_400_000_000 + number * 14_400))
            folder, name = f"Daily/{day[:4]}", day
        elif number % 11 == 0:
            folder, name = "People", f"{choose.choice(FIRST.split())} {choose.choice(surnames)} {number}"
        else:
            folder, name = (
                f"Notes/{choose.choice(KINDS)}",
                f"{' '.join(choose.choices(stock[number % 3], k=3)).title()} {number}",
            )
        path = root / folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(note(choose, stock[number % 3], weights, names), encoding="utf-8")
        names.append(name)
    (root / "People" / "Meeting with Wilhelmina Quarck.md").write_text("Notes of what was said there, in short.\n")
    for hidden, text in (
        (".obsidian/workspace.json", '{"main": {}}\n'),
        (".trash/Old quarck.md", "Wilhelmina Quarck\n"),
    ):
        (root / hidden).parent.mkdir(exist_ok=True)
        (root / hidden).write_text(text)


def note(choose: random.Random, stock: list[str], weights: list[float], names: list[str]) -> str:
    lines = []
    if choose.random() < 0.7:
        tags = ", ".join(choose.choices(KINDS, k=2))
        lines += ["---", f"type: {choose.choice(KINDS)}", f"tags: [{tags}]", "created: 2024-05-06T07:08", "---", ""]
    for section in range(choose.randint(1, 4)):
        lines += [f"## {' '.join(choose.choices(stock, k=2))}", ""] if section else []
        links = " ".join(f"[[{name}]]" for name in choose.choices(names, k=choose.randint(0, 2))) if names else ""
        lines += [f"{' '.join(choose.choices(stock, weights, k=60))} {links} #{choose.choice(KINDS)}/{section}", ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=30_000)
    parser.add_argument("--install", default=str(Path(__file__).parents[1]), help="what pip installs")
    asked = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="indexerd-first-day-") as place:
        day(Path(place), asked.notes, asked.install)
    print(f"\ncommand: python benchmarks/first_day.py --notes {asked.notes}")
    return 0


def day(place: Path, notes: int, install: str) -> None:
    """Do what a new user does, and say how long each step took."""
    root, program = place / "Vault", place / "venv" / "bin" / "indexerd"
    vault(root, notes)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    own = {**os.environ, "HOME": str(place)} | {f"XDG_{name}_HOME": f"{place}/{name}" for name in ("STATE", "CONFIG")}
    own["XDG_RUNTIME_DIR"] = str(place)

    def call(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([program, *arguments], env=own, capture_output=True, check=False)

    def step(what: str, taken: float) -> float:
        print(f"{what:60} {taken:8.2f} s", flush=True)
        return taken

    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    pip = [place / "venv/bin/pip", "install", "--quiet", install]
    total = step("pip install", seconds(lambda: subprocess.run(pip, check=True, **quiet)))
    total += step("indexerd --help, the first call", seconds(lambda: call("--help")))
    began = time.perf_counter()
    step("indexerd watch Vault --detach", seconds(lambda: call("watch", str(root), "--detach")))
    while True:
        answer = call("query", "wilhelmina quarck", "--json")
        hits = json.loads(answer.stdout)["hits"] if answer.stdout else []
        if hits and hits[0]["title"] == "Meeting with Wilhelmina Quarck":
            break
        if time.perf_counter() - began > PATIENCE_SECONDS:
            raise TimeoutError(answer)
    total += step("from watch to the first right answer, by the note's name", time.perf_counter() - began)
    assert all(".trash" not in hit["source_path"] for hit in hits)
    while json.loads(call("status", "--json").stdout)["state"] == "building":
        time.sleep(0.05)
    step("from watch to the whole index", time.perf_counter() - began)
    step("indexerd query, asked again", min(seconds(lambda: call("query", "wilhelmina quarck")) for _ in range(5)))
    call("stop")
    began = time.perf_counter()
    call("watch", str(root), "--detach")
    call("query", "wilhelmina quarck")
    step("the next day: from watch to the first answer", time.perf_counter() - began)
    call("stop")
    print(f"{'from pip install to the first right answer':60} {total:8.2f} s")


if __name__ == "__main__":
    sys.exit(main())
