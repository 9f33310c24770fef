"""Any history of publishes, merges, restarts and kills ends where indexing from scratch would."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexerd.store import compaction, merging, parts, retelling
from indexerd.store.layout import parse_name
from indexerd.store.verify import fsck
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, killed_process
from tests.fakes.small_stores import content, opened, publish, rebuilt_content

PATHS = [f"{name}.md" for name in "abcde"]
TEXTS = [
    "# One\n\nalpha\n",
    "beta gamma\n",
    "# One\n\nalpha\n\n## Two\n\nalpha delta\n",
    "---\ntags: [t]\n---\nepsilon\n",
]


def run(seed: int, steps: int) -> None:
    rng, fs, files = random.Random(seed), ForgetfulFilesystem(), {}
    store = opened(fs)
    published = {}
    for _ in range(steps):
        step = rng.random()
        if step < 0.6:
            changed = {path: rng.choice(TEXTS) for path in rng.sample(PATHS, rng.randint(0, 3))}
            deleted = [path for path in rng.sample(PATHS, rng.randint(0, 2)) if path not in changed]
            files = {path: text for path, text in files.items() if path not in deleted} | changed
            published[publish(store, changed, deleted).generation] = files
        elif step < 0.75:
            store.merge_once()
        elif step < 0.85:
            store.checkpoint()
            store.collect()
        elif step < 0.95:
            fs = killed_process(fs)
            store = opened(fs)
        else:
            store.close()
            fs = ForgetfulFilesystem(fs.disk)
            store = opened(fs)
    assert content(store.snapshot()) == rebuilt_content(files)
    for one in store.generations():
        assert content(store.past().open(one.generation)) == rebuilt_content(published[one.generation])
    assert not [finding for finding in fsck(fs) if finding.kind == "problem"]


@pytest.mark.parametrize("seed", range(25))
def test_any_history_ends_where_indexing_from_scratch_would(seed, monkeypatch):
    """After random publishes, merges, checkpoints, kills and restarts the content equals a fresh index."""
    monkeypatch.setattr(merging, "MAX_STORED", 3)
    run(seed, 30)


@pytest.mark.parametrize("seed", range(200, 240))
def test_any_history_of_large_files_does_too(seed, monkeypatch):
    """The same, with every file large enough that a merge tells all kept generations anew."""
    monkeypatch.setattr(merging, "MAX_STORED", 2)
    monkeypatch.setattr(retelling, "LARGE_BYTES", 0)
    monkeypatch.setattr(retelling, "WORTH_BYTES", 0)
    if seed % 2:
        monkeypatch.setattr(retelling, "MAX_TOLD", 4)
    monkeypatch.setattr(parts, "RECENT_CHUNKS", 2)
    for module in (parts, merging, compaction):
        monkeypatch.setattr(module, "SMALL_CHUNKS", 3)
    run(seed, 40)


@pytest.mark.parametrize("seed", range(100, 130))
def test_any_history_of_large_parts_does_too(seed, monkeypatch):
    """The same, with parts that count as large from three chunks on: merges begin anywhere and tombstones matter."""
    monkeypatch.setattr(merging, "MAX_STORED", 2)
    monkeypatch.setattr(parts, "RECENT_CHUNKS", 2)
    for module in (parts, merging, compaction):
        monkeypatch.setattr(module, "SMALL_CHUNKS", 3)
    run(seed, 40)


@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_no_foreign_name_is_taken_for_ours(name):
    """A name either is exactly what we would write, or is not ours."""
    parsed = parse_name(name)
    assert parsed is None or str(parsed) == name
