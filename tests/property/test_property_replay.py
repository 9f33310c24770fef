"""Any kept generation answers as it did, whatever was edited, merged, collected, restarted or erased since."""

import random

import pytest

from indexerd.errors import GenerationError
from indexerd.model import SourcePath
from indexerd.store import compaction, merging, parts
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, killed_process
from tests.fakes.service_parts import SmallHouse
from tests.fakes.small_stores import opened, publish

PATHS = [f"{name}.md" for name in "abcde"]
TEXTS = [
    "# One\n\nalpha words here\n",
    "beta gamma and alpha\n",
    "# One\n\nalpha\n\n## Two\n\nalpha delta words\n",
    "---\ntags: [t]\n---\nepsilon alpha\n",
    "---\nseries: s\nversion: 2\n---\n# Delta\n\ndelta delta beta\n",
]
QUESTIONS = [
    ("query", {"text": "alpha words", "k": 3}),
    ("evidence", {"text": "where is delta", "context": "section"}),
    ("query", {"text": "epsilon", "tags": ["t"], "explain": True}),
]
OUTSIDE = {"took_ms", "freshness", "durable", "historical"}
OUTSIDE_HITS = {"validated_at", "modified"}


def same(result):
    hits = [{key: value for key, value in hit.items() if key not in OUTSIDE_HITS} for hit in result["hits"]]
    return {key: value for key, value in result.items() if key not in OUTSIDE} | {"hits": hits}


def replayed(house, result):
    request = {key: value for key, value in result["request"].items() if key != "method"}
    return house.call(result["request"]["method"], {**request, "generation": result["generation"]})


def reopened(house, fs):
    house.fs = fs
    house.store = opened(fs, house.clock)
    house.rebuilt()


def edit(house, rng, files):
    changed = {path: rng.choice(TEXTS) for path in rng.sample(PATHS, rng.randint(1, 3))}
    deleted = [path for path in rng.sample(PATHS, rng.randint(0, 2)) if path not in changed and path in files]
    house.save(changed, deleted)
    return {path: text for path, text in files.items() if path not in deleted} | changed


def step(house, rng, files, chance):
    """Do one thing that may happen to a store; return the files that there are now."""
    house.clock.advance(rng.choice([0.1, 1.0, 61.0, 3601.0]))
    if chance < 0.5:
        return edit(house, rng, files)
    if chance < 0.65:
        house.store.merge_once()
    elif chance < 0.8:
        house.store.checkpoint()
        house.store.collect()
    elif chance < 0.9:
        reopened(house, killed_process(house.fs))
    else:
        house.store.close()
        reopened(house, ForgetfulFilesystem(house.fs.disk))
    return files


def check(house, answers):
    """Ask every answer again; return how many are of generations that are kept."""
    kept = {one.generation for one in house.store.generations()}
    for answer in answers:
        if answer["generation"] in kept:
            assert same(replayed(house, answer)) == same(answer)
        else:
            with pytest.raises(GenerationError, match="not kept"):
                replayed(house, answer)
    return sum(answer["generation"] in kept for answer in answers)


@pytest.fixture
def merging_early(monkeypatch):
    monkeypatch.setattr(merging, "MAX_STORED", 2)
    monkeypatch.setattr(parts, "RECENT_CHUNKS", 2)
    for module in (parts, merging, compaction):
        monkeypatch.setattr(module, "SMALL_CHUNKS", 3)


@pytest.mark.usefixtures("merging_early")
@pytest.mark.parametrize("seed", range(12))
def test_every_kept_generation_answers_as_it_did(seed):
    """After a random history each answer that was ever given comes again, or its generation is not kept."""
    rng, house, answers = random.Random(seed), SmallHouse({"a.md": TEXTS[0]}), []
    files = {"a.md": TEXTS[0]}
    for _ in range(25):
        files = step(house, rng, files, rng.random())
        answers += [house.call(method, params) for method, params in QUESTIONS]
    assert check(house, answers) > 10


@pytest.mark.usefixtures("merging_early")
@pytest.mark.parametrize("seed", range(8))
def test_an_erasure_touches_no_answer_without_the_document(seed):
    """Generations that never held an erased document answer as before; those that did say how many they lost."""
    rng, house, answers = random.Random(seed), SmallHouse({"z.md": "zyzzyva alpha\n"}), []
    files = {"z.md": "zyzzyva alpha\n"}
    for _ in range(10):
        files = step(house, rng, files, rng.random())
        answers += [(("z.md" in files), house.call(method, params)) for method, params in QUESTIONS]
        if rng.random() < 0.3 and "z.md" in files:
            house.save({}, ["z.md"])
            files = {path: text for path, text in files.items() if path != "z.md"}
    if "z.md" in files:
        house.save({}, ["z.md"])
    house.store.erase(SourcePath("z.md"))
    assert not [name for name, file in house.fs.disk.names.items() if b"zyzzyva" in bytes(file.data)]
    kept = {one.generation for one in house.store.generations()}
    for had, answer in answers:
        if answer["generation"] in kept:
            now = replayed(house, answer)
            assert now["historical"]["erased"] == had
            assert had or same(now) == same(answer)


@pytest.mark.slow
def test_the_first_evidence_of_an_hour_of_typing_can_be_replayed():
    """One save a second for an hour, with the upkeep of a daemon: the evidence of its first second comes again."""
    notes = {f"n{number}.md": f"# Note {number}\n\nalpha words of {number}\n" for number in range(20)}
    house = SmallHouse({**notes, "diary.md": "# Diary\n\nalpha begins\n"})
    first = house.call("evidence", text="alpha begins")
    plain = house.call("query", text="alpha begins")
    assert first["evidence"]["blocks"]
    for second in range(3600):
        publish(house.store, {"diary.md": f"# Diary\n\nalpha goes on for {second} seconds\n"})
        house.clock.advance(1)
        if second % 10 == 0:
            house.store.checkpoint()
            house.store.merge_once()
            house.store.collect()
    house.store.checkpoint()
    house.store.collect()
    assert same(replayed(house, first)) == same(first)
    assert same(replayed(house, plain)) == same(plain)
    kept = [one.generation for one in house.store.generations()]
    assert kept[0] == 1
    assert kept[-64:] == list(range(3601 - 63, 3602))
    assert 64 + 55 <= len(kept) <= 64 + 62
    reopened(house, killed_process(house.fs))
    assert same(replayed(house, first)) == same(first)
