"""Measure every figure the project states, beside its peers, in one run on one machine; print a table of ratios."""

import argparse
import datetime
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

import corpus
import plots
import rows_abuse
import rows_curves
import rows_daemon
import rows_engine
import rows_fresh
import rows_kinds

ROOMS = (rows_engine, rows_kinds, rows_daemon, rows_fresh, rows_abuse, rows_curves)
ROWS = {name: row for room in ROOMS for name, row in room.ROWS.items()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder that holds tldr, tidb-docs-zh, rust-rfcs and rust-book, or win32")
    parser.add_argument("--corpus", choices=corpus.CORPORA, default="mixed", help="which of them is measured")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="run this row (may be repeated)")
    parser.add_argument("--list", action="store_true", help="name the rows")
    parser.add_argument("--limit", type=int, help="use at most this many documents")
    parser.add_argument(
        "--page", metavar="FILE", help="put tables and plots into this page, where it has marks for them"
    )
    parser.add_argument("--json", metavar="FILE", help="keep the figures")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    if asked.list:
        print("\n".join(f"{name:16} {row.__doc__.splitlines()[0]}" for name, row in ROWS.items()))
        return 0
    unknown = [name for name in asked.only if name not in ROWS]
    if unknown:
        print(f"no row named {', '.join(unknown)}; --list names them", file=sys.stderr)
        return 2
    # An installed program has its bytecode; where it may not be written, each start would compile all of the sources.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    name, files = corpus.documents(Path(asked.data) if asked.data else None, asked.limit, asked.corpus)
    size = sum(len(data) for _, data in files)
    print(f"{datetime.date.today()}  {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"corpus: {name}, {len(files)} files, {size / 1e6:.1f} MB\n")
    kept = []
    for each in asked.only or ROWS:
        with tempfile.TemporaryDirectory(prefix="indexerd-bench-") as place:
            for line in ROWS[each](files, Path(place)):
                print(f"{each:12} {line.what:58} {line.ours:>16}  {line.beside:>34}  {line.ratio:>8}", flush=True)
                kept.append((each, line))
        if asked.page:
            plots.put(Path(asked.page), f"{each} {asked.corpus}", [line for row, line in kept if row == each])
    print(f"\ncommand: make bench DATA={asked.data or 'DIR'}")
    if asked.json:
        Path(asked.json).write_text(
            json.dumps({"corpus": name, "lines": [{"row": each, **line._asdict()} for each, line in kept]}, indent=1)
            + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
