"""Let atheris look for inputs that break a target: `python -m tests.fuzz.look TARGET [libFuzzer's flags] CORPUS`.

What it finds is written to a file whose name it prints; add its kind to a test, then mend it.
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["indexerd"]):
    from tests.fuzz.targets import TARGETS


def main(words: list[str]) -> None:
    """Write the seeds of a target to its corpus, and fuzz it."""
    program, name, *flags, corpus = words
    Path(corpus).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name].seeds):
        (Path(corpus) / f"seed-{number}").write_bytes(seed)
    atheris.Setup([program, *flags, corpus], TARGETS[name].run)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
