"""The documents, the commands and files that they show, and whether an output is as promised."""

import re
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE_BLOCK = re.compile(r"^```(?:markdown|toml|json|python) (?P<name>\S+)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)


class Command(NamedTuple):
    """A command line that a document shows, and the output lines it promises."""

    line: str
    output: tuple[str, ...]


def documents() -> list[Path]:
    """Return every document that shows commands."""
    pages = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md")]
    pages += sorted((REPOSITORY / "docs").rglob("*.md")) + sorted((REPOSITORY / "systemd").rglob("*.md"))
    return [page for page in pages if page.exists()]


def commands(page: Path) -> list[Command]:
    """Return the commands of a page in order; a line that ends in a backslash goes on in the next."""
    found: list[tuple[str, list[str]]] = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
    return [Command(line, tuple(output)) for line, output in found]


def matches(expected: tuple[str, ...], actual: list[str]) -> bool:
    """Tell whether output is as promised; `...` in a line stands for anything, alone on a line for any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else ".*?".join(map(re.escape, line.split("..."))) + r"\n" for line in expected
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in actual)) is not None
