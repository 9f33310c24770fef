"""Topics, judgements and runs in the forms of TREC."""

import pytest

from indexerd.errors import InputError
from indexerd.evaluation.trec import graded, read_qrels, read_topics, run_lines


def test_topics_are_read_in_both_forms():
    """JSON lines and tab-separated lines."""
    assert read_topics('{"_id": "1", "text": "what"}\n\n2\twhy\n', "t") == {"1": "what", "2": "why"}
    with pytest.raises(InputError, match="line 1 is no query"):
        read_topics("no tab here", "t")
    with pytest.raises(InputError, match="holds no query"):
        read_topics("\n", "t")


def test_judgements_are_read_with_and_without_iteration_and_header():
    """Tabs or blanks."""
    assert read_qrels("query-id\tcorpus-id\tscore\n1\td1\t2\n", "q") == {"1": {"d1": 2}}
    assert read_qrels("1 0 d1 1\n1 0 d2 0\n", "q") == {"1": {"d1": 1, "d2": 0}}
    with pytest.raises(InputError, match="line 2"):
        read_qrels("1 0 d1 1\nnonsense\n", "q")
    with pytest.raises(InputError, match="holds no judgement"):
        read_qrels("1 0 d1\n", "q")


def test_a_run_keeps_its_order_by_falling_scores():
    """And its names hold no white space."""
    assert list(run_lines({"1": ["a b.md", "c.md"]}, "x")) == ["1 Q0 a%20b.md 1 2 x\n", "1 Q0 c.md 2 1 x\n"]


def test_a_topic_without_ranking_counts_as_nothing_found():
    """The denominator is what was judged; a topic with nothing relevant is not judged."""
    found = graded({"1": {"a": 1}, "2": {"b": 1}, "3": {"c": 0}}, {"1": ["x/a.md"]}, {"x/a.md": "a"})
    assert found == {"ndcg_at_10": 0.5, "mrr": 0.5, "recall_at_100": 0.5}
