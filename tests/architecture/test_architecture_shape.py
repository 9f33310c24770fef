"""The shape of the house: small modules, small functions, headers that say what a module owns."""

import ast
import statistics
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "indexerd"
FORBIDDEN_NAMES = {"utils", "util", "helpers", "common", "misc", "manager", "base", "core"}
HEADER_PARTS = ("Owns:", "Knows nothing of:", "Invariants:", "Purity:", "See:")
MODULE_LINES = 400
FUNCTION_LINES = 60


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.name != "__init__.py"]


def functions(path: Path) -> list[tuple[str, int]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            doc = ast.get_docstring(node, clean=False)
            found.append((node.name, node.end_lineno - node.lineno + 1 - (doc.count("\n") + 1 if doc else 0)))
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_is_small_and_says_what_it_owns(path):
    """A module keeps within 400 lines and 60 a function, has the five-part header and a name that says something."""
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MODULE_LINES
    assert path.stem not in FORBIDDEN_NAMES
    assert not [(name, size) for name, size in functions(path) if size > FUNCTION_LINES]
    header = ast.get_docstring(ast.parse(text)) or ""
    assert not [part for part in HEADER_PARTS if part not in header]


def test_functions_are_small_by_habit():
    """The median function has at most eight lines, and 97 of 100 at most forty."""
    sizes = [size for path in modules() for _, size in functions(path)]
    assert statistics.median(sizes) <= 8
    assert sum(size <= 40 for size in sizes) >= 0.97 * len(sizes)


def test_nothing_is_left_to_do_in_comments():
    """The sources carry no reminder of unfinished work."""
    for path in modules():
        text = path.read_text(encoding="utf-8")
        assert not [word for word in ("TODO", "FIXME", "XXX", "NotImplementedError") if word in text], path


def test_test_modules_have_distinct_names():
    """Test modules are found by name alone, so no two share one."""
    names = [path.name for path in (REPOSITORY / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names))
