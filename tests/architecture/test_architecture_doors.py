"""One door per effect: each effect is used in the modules named here and nowhere else."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "indexerd"

# Imported module -> where it may be imported (prefix of the path inside the package).
IMPORT_DOORS = {
    "watchdog": ("sync/watcher",),
    "msgpack": ("store/codec.py", "protocol"),
    "xxhash": ("digests.py",),
    "yaml": ("documents/yaml_block.py",),
    "Stemmer": ("analysis/",),
    "pathspec": ("sync/wildmatch.py",),
    "click": ("cli/",),
    "socket": ("server", "client", "_entry.py", "daemon.py"),
    "_socket": ("_entry.py", "client"),
    "asyncio": ("server",),
    "fcntl": ("store/fsio.py", "sync/watcher"),
    "mmap": ("store/fsio.py",),
    "random": (),
    "pickle": (),
    "marshal": (),
    "time": ("clock.py",),
    "tomllib": ("cli/", "config", "wiring.py"),
    "ctypes": ("sources.py", "sync/upkeep.py", "sync/watcher"),
}
# Dotted use -> where it may stand.
USE_DOORS = {
    "os.replace": ("store/fsio.py",),
    "os.rename": (),
    "os.fsync": ("store/fsio.py",),
    "os.fdatasync": ("store/fsio.py",),
    "os.environ": ("cli/", "_entry.py", "__main__.py"),
    "os.getenv": ("cli/", "_entry.py"),
    "sys.exit": ("cli/", "_entry.py", "__main__.py"),
    "threading.Thread": ("sync/loop.py", "sync/watcher", "server", "daemon.py", "wiring.py", "sync/upkeep.py"),
    "datetime.now": ("clock.py",),
    "date.today": ("clock.py",),
}
PURE = (
    "errors.py", "model.py", "digests.py", "ports.py", "naming.py", "postings.py", "indexing.py",
    "documents/", "analysis/", "access/", "protocol",
    "store/layout.py", "store/codec.py", "store/manifest.py", "store/segment",
    "sync/ignore.py", "sync/patterns.py", "sync/wildmatch.py", "sync/look.py", "sync/fingerprint.py",
    "sync/plan.py", "sync/pending.py", "sync/problems.py", "sync/status.py",
    "sync/watches.py", "sync/timetable.py", "sync/ledger.py",
    "search/query.py", "search/bm25.py", "search/rank.py", "search/evidence.py",
)  # fmt: skip
IMPURE_MODULES = {"os", "time", "threading", "random", "logging", "socket", "subprocess", "asyncio"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def inside(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imports(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def dotted_uses(tree: ast.AST) -> set[str]:
    return {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    } | {name for name in imports(tree) if name in USE_DOORS}


@pytest.mark.parametrize("path", modules(), ids=inside)
def test_effects_pass_through_their_doors(path):
    """A module that is no door for an effect neither imports nor uses it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name in imports(tree):
        doors = IMPORT_DOORS.get(name.split(".")[0])
        assert doors is None or inside(path).startswith(doors), f"{inside(path)} imports {name}"
    for name in dotted_uses(tree):
        doors = USE_DOORS.get(name)
        assert doors is None or inside(path).startswith(doors), f"{inside(path)} uses {name}"


@pytest.mark.parametrize("path", modules(), ids=inside)
def test_only_the_command_line_prints(path):
    """`print` stands in the command line and nowhere else; files are opened for writing through the store's door."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "print" not in called or inside(path).startswith(("cli/", "_entry.py")), inside(path)
    assert not called & {"eval", "exec"}, inside(path)


@pytest.mark.parametrize("path", [path for path in modules() if inside(path).startswith(PURE)], ids=inside)
def test_pure_modules_touch_nothing_but_their_arguments(path):
    """A pure module imports no module through which the world could be read or changed."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not {name.split(".")[0] for name in imports(tree)} & IMPURE_MODULES


def test_broad_except_stands_only_at_the_borders():
    """`except Exception` stands where one request, one sync cycle or the process ends, and nowhere else."""
    borders = (
        "server",
        "service",
        "sync/loop.py",
        "sync/reading.py",
        "sync/upkeep.py",
        "daemon.py",
        "cli/",
        "_entry.py",
        "sync/watcher",
    )
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                broad = node.type is None or (
                    isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}
                )
                reraises = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
                assert not broad or reraises or inside(path).startswith(borders), f"{inside(path)}:{node.lineno}"
