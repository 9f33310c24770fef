"""Words that are spelt like one that nothing holds."""

import pytest

from indexerd.access.rights import AccessRules, PathRule
from indexerd.search.reply import as_json
from indexerd.search.suggesting import edits
from tests.fakes.searching import Library, paths

FILES = {
    "a.md": "The quokka sleeps beneath the bush.\n",
    "b.md": "A quokka and another quokka, replication of both.\n",
    "c.md": "quokkat is misspelt here, once.\n",
    "secret/d.md": "The quokke knows the replicants.\n",
}
CLOSED = AccessRules(rules=(PathRule(match="secret/**", acl=("board",)),))


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("quokka", "quokka", 0), ("quoka", "quokka", 1), ("qoukka", "quokka", 1), ("wombat", "combats", 2), ("", "ab", 2)],
)
def test_edits_counts_what_a_slip_of_the_hand_does(one, other, distance):
    """Put in, left out, replaced, swapped with the next."""
    assert (edits(one, other), edits(other, one)) == (distance, distance)


def test_a_misspelt_word_is_replaced_where_nothing_else_matches_and_that_is_said():
    """The hits are those of the likeliest word; what was asked stays what was asked."""
    library = Library(FILES, rules=CLOSED)
    outcome = library.query("the quokkaa")
    assert paths(outcome) == paths(library.query("the quokka"))
    assert (outcome.searched, outcome.close_terms) == ("the quokka", {"quokkaa": ("quokka", "quokkat")})
    assert (outcome.request.text, outcome.unmatched, outcome.weak) == ("the quokkaa", ("quokkaa",), True)
    reply = as_json(outcome, library.snapshot)
    assert (reply["query"], reply["searched"]) == ("the quokkaa", "the quokka")


def test_where_another_word_matches_close_terms_are_only_offered():
    """The nearest first, then those that more passages hold."""
    outcome = Library(FILES, rules=CLOSED).query("quokkaa bush")
    assert paths(outcome) == ["a.md"]
    assert (outcome.searched, outcome.close_terms) == (None, {"quokkaa": ("quokka", "quokkat")})


def test_evidence_is_never_for_another_word():
    """It abstains, and offers."""
    outcome = Library(FILES, rules=CLOSED).evidence("quokkaa")
    assert (outcome.abstained, outcome.searched, outcome.close_terms) == (
        True,
        None,
        {"quokkaa": ("quokka", "quokkat")},
    )


@pytest.mark.parametrize("text", ["quo", "q-12345", "v7", "6.2.9", "kuokko", "数据", "zzzzzzzz", "replxcamtzon"])
def test_short_words_numbers_and_words_far_from_all_others_get_no_offer(text):
    """A version that differs by a digit is another one, and three letters are near to everything."""
    library = Library({**FILES, "n.md": "quox q-12346 v8 6.2.8 数字 and replications\n"}, rules=CLOSED)
    assert not library.query(text).close_terms


def test_what_only_hidden_documents_hold_is_not_offered():
    """Neither the word nor how often it stands in them; to those who may see them it is."""
    hidden, gone = Library(FILES, rules=CLOSED), Library({k: v for k, v in FILES.items() if k != "secret/d.md"})
    for text in ("quokke", "replicantz", "quokke replicants"):
        assert hidden.query(text)._replace(request=None) == gone.query(text)._replace(request=None)
    assert hidden.query("replicantz", roles=frozenset({"board"})).searched == "replicants"


def test_offers_do_not_depend_on_how_documents_lie_in_segments():
    """Counts are sums over all of them."""
    names = list(FILES)
    apart = Library(FILES, rules=CLOSED, groups=[[name] for name in names])
    assert apart.query("quokkaa bush").close_terms == Library(FILES, rules=CLOSED).query("quokkaa bush").close_terms
