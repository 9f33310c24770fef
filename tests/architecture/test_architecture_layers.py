"""The layers of the house, read from the sources: a module imports only from below, and every module has a place."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "indexerd"

# Lowest first. A module may import from rows above its own in this list (lower layers), from its own room, and, where a
# row is ordered, from modules left of it. Every module must be placed: a new one fails until it is.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("model",),
    ("digests", "ports", "naming", "postings", "clock"),
    ("documents", "analysis", "access", "protocol", "config"),
    ("store",),
    ("sources", "indexing"),
    ("sync", "search", "grounding", "evaluation"),
    ("service",),
    ("server", "client", "agents"),
    ("wiring",),
    ("daemon",),
    ("cli",),
    ("api",),
    ("adapters",),
    ("_entry", "__init__"),
    ("__main__",),
)
# Imports inside one row that are decided and explained in docs/adr/0009.
ALLOWED_BESIDE = {("config", "access")}
RANK = {room: rank for rank, row in enumerate(LAYERS) for room in row}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "indexerd":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("indexerd.")}
    return {room for room in found if not room.startswith("__")}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_below(path):
    """A module imports its own room and the rooms below it, never beside or above."""
    room = room_of(path)
    assert room in RANK, f"place {room} in LAYERS"
    for other in imported_rooms(path) - {room}:
        assert other in RANK, f"{path.name} imports {other}, which has no layer"
        assert RANK[other] < RANK[room] or (room, other) in ALLOWED_BESIDE, f"{room} must not import {other}"
