"""The ranking against the slow one: the same bits, the same order, however passages lie in segments."""

import random

import numpy as np
import pytest

from indexerd.search.bm25 import WordList, tables_of
from indexerd.search.eligibility import base_view
from indexerd.search.rank import Ranking, threshold
from indexerd.search.rights import Caller
from indexerd.search.words import query_words
from tests.fakes.searching import DAY, Library, live_segment, snapshot_of
from tests.reference import slow_search

WORDS = [
    "run", "running", "runs", "runner", "index", "indexes", "indexed", "query", "queries", "row_group_size",
    "row", "group", "size", "v6.2.8", "6.2.8", "C++", "the", "of", "and", "data", "base", "database",
    "数据库", "数据", "检索系统", "备份", "café", "cafe", "getUserName", "user", "name", "universe", "university",
    "FnOnce", "fnonce", "fnonces", "runX", "run_", "low-fat", "low", "fat", "data-base",
    "什么是数据库", "数据库的备份在哪里", "如何", "和平",
]  # fmt: skip


def ranking_of(segments, text, *, prefix=False):
    library = Library({"x.md": "x"})
    view = base_view(segments, Caller(frozenset(), DAY, False), library.rules, frozenset())
    return Ranking(view, query_words(text, ("english",), prefix=prefix))


def rows(ranking, candidates):
    segments = [view.segment for view in ranking.view.segments]
    return [
        (c.score, segments[c.segment].paths[c.document], int(segments[c.segment].start_lines[c.chunk]))
        for c in candidates
    ]


def random_library(choose, count):
    files = {}
    for number in range(count):
        title = " ".join(choose.choices(WORDS, k=choose.randint(1, 2)))
        body = "\n\n".join(
            " ".join(choose.choices(WORDS, k=choose.randint(1, 30))) for _ in range(choose.randint(1, 3))
        )
        tags = f"tags: [{choose.choice(['data', 'query', 'x/y'])}]\n" if choose.random() < 0.3 else ""
        front = f"---\n{tags}---\n" if tags else ""
        files[f"{choose.choice('abc')}/{choose.choice(WORDS).replace('/', '')}-{number}.md"] = (
            f"{front}# {title}\n\n{body}\n"
        )
    return files


def random_query(choose):
    return " ".join(choose.choices(WORDS, k=choose.randint(1, 5)))


@pytest.mark.parametrize("seed", range(12))
def test_ranking_equals_the_slow_one_bit_for_bit_under_any_segmentation(seed):
    """Scores, order and every prefix of the ranking equal those of the formula written out, for random libraries."""
    choose = random.Random(seed)
    files = random_library(choose, choose.randint(1, 60))
    paths = list(files)
    dead = frozenset(choose.sample(paths, choose.randint(0, len(paths) // 3)))
    library = Library(files)
    groups = [[] for _ in range(choose.randint(1, 4))]
    for path in paths:
        choose.choice(groups).append(path)
    segments = [live_segment(library.build(group), dead) for group in groups if group]
    living = slow_search.passages_of(library.build([path for path in paths if path not in dead]))
    for _ in range(25):
        text = random_query(choose)
        ranking = ranking_of(segments, text)
        expected = slow_search.rank(living, text)
        assert rows(ranking, ranking.candidates(choose.randint(1, 9))) == expected
        limit = choose.randint(1, 12)
        assert rows(ranking, ranking.top(limit)) == expected[:limit]
        assert ranking.count() == len(expected)


@pytest.mark.slow
def test_pruning_of_long_lists_changes_nothing():
    """With lists long enough to be skipped, the first ten are those of the whole ranking."""
    choose = random.Random(5)
    rare = [f"rare{number}" for number in range(200)]
    common = ["alpha", "beta", "gamma", "delta", "running"]
    files = {
        f"d{n % 7}/n{n:05d}.md": " ".join([*choose.choices(common, k=choose.randint(1, 40)), choose.choice(rare)])
        + "\n"
        for n in range(6000)
    }
    library = Library(files)
    paths = list(files)
    segments = [live_segment(library.build(paths[:5000])), live_segment(library.build(paths[5000:]))]
    passages = slow_search.passages_of(library.build(paths))
    for text in (
        "rare7 alpha",
        "rare1 rare2 beta gamma",
        "alpha beta",
        "alpha",
        "run delta rare9",
        "alpha beta gamma delta",
    ):
        ranking = ranking_of(segments, text)
        assert rows(ranking, ranking.top(10)) == slow_search.rank(passages, text)[:10]


def test_an_identifier_is_found_by_its_word_though_it_is_never_stemmed():
    """`fnonce` finds `FnOnce`, and inflected words beside it, in one list."""
    library = Library({"a.md": "takes FnOnce here\n", "b.md": "fnonces\n", "c.md": "once\n"})
    ranking = ranking_of(library.snapshot.segments, "fnonce")
    assert {row[1] for row in rows(ranking, ranking.top(9))} == {"a.md", "b.md"}
    assert ranking.figures[0].df == 2


def test_a_name_comes_first():
    """A document whose file name, title or alias is the query is the first, whatever the others say."""
    files = {f"n{n}.md": "meeting anna meeting anna meeting with anna\n" for n in range(5)}
    files["Meeting with Anna.md"] = "Nothing of it here.\n"
    ranking = ranking_of(Library(files).snapshot.segments, "meeting anna")
    (first,) = ranking.top(1)
    assert rows(ranking, [first])[0][1] == "Meeting with Anna.md"
    ((found, bonus),) = ranking.parts([first])
    assert bonus > 0
    assert sum(score for _, _, score in found) < bonus


def test_parts_add_up_to_the_score():
    """The parts of an explanation, added in order, are the score."""
    library = Library({"a.md": "alpha beta beta\n", "b.md": "beta gamma\n"})
    ranking = ranking_of(library.snapshot.segments, "alpha beta gamma")
    for candidate in ranking.top(9):
        ((found, bonus),) = ranking.parts([candidate])
        assert sum(score for _, _, score in found) + bonus == candidate.score


def test_equal_scores_stand_by_path_then_line():
    """Equal passages are ordered by path and line, across segments too."""
    files = {f"{name}.md": "same words here\n" for name in "dbca"}
    library = Library(files)
    segments = [live_segment(library.build(["d.md", "a.md"])), live_segment(library.build(["c.md", "b.md"]))]
    ranking = ranking_of(segments, "same")
    assert [row[1] for row in rows(ranking, ranking.top(4))] == ["a.md", "b.md", "c.md", "d.md"]
    assert [row[1] for row in rows(ranking, ranking.top(3))] == ["a.md", "b.md", "c.md"]


def test_a_prefix_finds_every_word_that_begins_with_it():
    """With `prefix` the last word stands for all words it begins, the others for themselves."""
    library = Library({"a.md": "reconcile\n", "b.md": "reconnect other\n", "c.md": "rec\n", "d.md": "other\n"})
    ranking = ranking_of(library.snapshot.segments, "rec", prefix=True)
    assert {row[1] for row in rows(ranking, ranking.top(9))} == {"a.md", "b.md", "c.md"}
    assert ranking.figures[0].df == 3


def test_threshold_is_reached_by_that_many_scores():
    """Exact for few scores, a lower bound for many, 0 when there are too few."""
    np = pytest.importorskip("numpy")
    generator = np.random.default_rng(1)
    for size in (3, 50, 5000):
        scores = generator.random(size)
        for count in (1, 10, 40):
            lowest = threshold(scores, count)
            assert (scores >= lowest).sum() >= min(count, size)
            if size == 50 and count <= 50:
                assert lowest == np.sort(scores)[-count]


def test_an_empty_snapshot_ranks_nothing():
    """No segment, no candidate, no error."""
    ranking = ranking_of([], "anything")
    assert ranking.top(5) == []
    assert ranking.count() == 0
    assert snapshot_of([]).segments == ()


def test_a_part_is_the_same_bits_looked_up_alone_or_with_the_whole_list():
    """Whatever was worked out before, for this average or another, some parts are those of all at their places."""
    segment = (
        Library({f"{n}.md": "word " * (n + 1) + "and others " * (n % 3) for n in range(20)}).snapshot.segments[0].data
    )
    counts, places = np.arange(1.0, segment.chunk_count + 1), np.array([0, 3, 7, 19])
    tables = tables_of(segment)
    for average in (3.0, 7.0):
        words = WordList(np.arange(segment.chunk_count, dtype=np.int32), counts)
        before = words.parts_at(places, tables, average, 1.7)
        whole = words.parts(tables, average, 1.7)
        after = words.parts_at(places, tables, average, 1.7)
        other = words.parts_at(places, tables, average + 1.0, 1.7)
        assert before.tolist() == whole[places].tolist() == after.tolist()
        assert other.tolist() == words.parts(tables, average + 1.0, 1.7)[places].tolist()
    assert counts.tolist() == list(range(1, segment.chunk_count + 1))
