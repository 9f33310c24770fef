"""What a caller may see is the same whether it is worked out anew or from what an earlier generation left."""

import datetime
import random
from types import SimpleNamespace

import numpy as np
import pytest

from indexerd.access.rights import AccessRules, PathRule, Rights, rights
from indexerd.model import FrontMatterKeys
from indexerd.search.eligibility import ViewCache, base_view
from indexerd.search.rights import Caller, rights_of
from tests.fakes.searching import Library, live_segment

DAY = datetime.date(2026, 9, 6)
FILES = {
    f"d{number}.md": f"---\nseries: s{number % 3}\nversion: {number}\nacl: [{'staff' if number % 4 == 0 else 'all'}]\n"
    f"---\n# D{number}\n\nneedle {number}\n"
    for number in range(12)
}
OPEN = AccessRules()
SERIES = AccessRules(rules=(PathRule(match="**", supersede_by="series"),))


def figures(view):
    return [(part.eligible.tolist(), part.excluded.tolist(), part.n, part.total_length) for part in view.segments]


@pytest.mark.parametrize("rules", [OPEN, SERIES])
@pytest.mark.parametrize("seed", range(5))
def test_a_view_made_from_an_earlier_one_is_the_view_made_anew(rules, seed):
    """Through publishes, deletions, held documents and several callers."""
    choose, cache, library = random.Random(seed), ViewCache(), Library(FILES)
    names, held = sorted(FILES), frozenset()
    segments = [live_segment(library.build(names[:4]))]
    for _ in range(30):
        match choose.randrange(3):
            case 0:
                segments.append(live_segment(library.build(choose.sample(names, 2))))
            case 1:
                at = choose.randrange(len(segments))
                segments[at] = live_segment(segments[at].data, dead=frozenset(choose.sample(names, 6)))
            case 2:
                held = frozenset(choose.sample(names, choose.randrange(2)))
        caller = Caller(frozenset(choose.sample(["staff", "all"], choose.randrange(3))), DAY, choose.random() < 0.5)
        snapshot = SimpleNamespace(segments=tuple(segments))
        anew = base_view(segments, caller, rules, held)
        cached = cache.base_view(snapshot, caller, rules, held)
        assert figures(cached) == figures(anew)
        assert (cached.n, cached.average_length) == (anew.n, anew.average_length)


def test_a_publish_leaves_what_is_known_of_the_other_segments():
    """Only the new segment is looked at: an edit costs the next query what it changed."""
    library, cache, caller = Library(FILES), ViewCache(), Caller(frozenset({"all"}), DAY, False)
    first, second = (live_segment(library.build(names)) for names in (sorted(FILES)[:6], sorted(FILES)[6:]))
    before = cache.base_view(SimpleNamespace(segments=(first,)), caller, OPEN, frozenset())
    after = cache.base_view(SimpleNamespace(segments=(first, second)), caller, OPEN, frozenset())
    assert after.segments[0] is before.segments[0]
    assert after.n == before.n + int(np.count_nonzero(after.segments[1].eligible))


@pytest.mark.parametrize(
    "key", ["acl", "ACL", "VALID_TO", "ver\u017fion", "\u0414\u041e\u0421\u0422\u0423\u041f", "a: [acl]\nacl"]
)
def test_a_key_in_any_case_decides_among_much_front_matter_that_does_not(key):
    """What is passed over because its record names no deciding key has the rights that reading it would give."""
    rules = AccessRules(FrontMatterKeys(acl=("acl", "\u0434\u043e\u0441\u0442\u0443\u043f")))
    files = {
        f"{n}.md": f"---\nsummary: a note {n}\nstatus: \u0447\u0435\u0440\u043d\u043e\u0432\u0438\u043a\n---\ntext\n"
        for n in range(3)
    }
    files["spoken.md"] = f"---\nsummary: more\n{key}: 2026\n---\ntext\n"
    segment = live_segment(Library(files).build(sorted(files))).data
    every = {index: rights(segment.document(index), rules) for index in range(segment.document_count)}
    assert rights_of(segment, rules) == {index: own for index, own in every.items() if own != Rights()}
    assert rights_of(segment, rules)
