"""Lists page without gaps, and nobody sees in them what he may not see."""

import pytest

from indexerd.access import AccessRules, PathRule
from indexerd.errors import ForbiddenError, RequestError
from tests.fakes.service_parts import SmallHouse, guest

FILES = {f"d{n:02}.md": f"---\ntags: [t{n % 2}, sub/x]\nkind: [k{n}, k]\n---\ntext {n}\n" for n in range(7)}


@pytest.fixture
def house():
    return SmallHouse({**FILES, "secret.md": "---\nacl: [board]\n---\nx\n"})


def listed(result):
    return [row["source_path"] for row in result["documents"]]


def test_documents_come_in_path_order_page_by_page(house):
    """The pages joined are the whole, without repetition."""
    found, after = [], ""
    while after is not None:
        page = house.call("documents", limit=3, after=after)
        found += listed(page)
        after = page["next"]
    assert found == sorted(FILES)
    assert listed(house.call("documents")) == found


def test_a_row_says_what_is_known_of_a_document(house):
    """Names and shapes are those that scripts rely on."""
    row = house.call("documents", limit=1)["documents"][0]
    assert row["source_path"] == "d00.md"
    assert row["path"] == "/docs/d00.md"
    assert row["tags"] == ["t0", "sub/x"]
    assert row["metadata"]["kind"] == ["k0", "k"]
    assert (row["chunks"], row["held"], row["unsafe"]) == (1, False, [])


def test_filters_narrow_the_list(house):
    """By tag, nested tag, metadata and beginning of the path."""
    assert listed(house.call("documents", tags=["T1"])) == ["d01.md", "d03.md", "d05.md"]
    assert len(listed(house.call("documents", tags=["sub"]))) == 7
    assert listed(house.call("documents", where={"kind": ["k3", "k4"]})) == ["d03.md", "d04.md"]
    assert listed(house.call("documents", where=["kind=k", "tags=t0"])) == ["d00.md", "d02.md", "d04.md", "d06.md"]
    assert listed(house.call("documents", prefix="d0", limit=2, after="d04.md")) == ["d05.md", "d06.md"]


def test_filters_mean_what_they_mean_in_a_query():
    """Without case, with or without `#`, and values that a rule gives to documents that have none count."""
    rules = AccessRules(rules=(PathRule(match="**", metadata={"kind": "note"}),))
    files = {
        "a.md": "---\ntags: [Deep/Down]\nKind: Plan\n---\nword one\n",
        "b.md": "---\ntags: [deeper]\n---\nword two\n",
        "c.md": "word #deep three\n",
    }
    house = SmallHouse(files, access=rules)
    for params, expected in (
        ({"tags": ["#DEEP"]}, ["a.md", "c.md"]),
        ({"where": ["kind=plan"]}, ["a.md"]),
        ({"where": ["Kind= NOTE "]}, ["b.md", "c.md"]),
        ({"where": ["kind=plan", "KIND=note"]}, ["a.md", "b.md", "c.md"]),
        ({"tags": ["deep"], "where": {"kind": "note"}}, ["c.md"]),
    ):
        hits = house.call("query", text="word", **params)["hits"]
        assert listed(house.call("documents", **params)) == sorted(hit["source_path"] for hit in hits) == expected
    assert [row["metadata"].get("kind") for row in house.call("documents")["documents"]] == [None, "note", "note"]


def test_hidden_documents_are_in_no_list(house):
    """An acl admits to the list whom it admits to the text."""
    assert "secret.md" not in listed(house.call("documents"))
    assert "secret.md" in listed(house.call("documents", roles=["board"]))
    assert "secret.md" in listed(house.call("documents", caller=guest("board")))
    assert "secret.md" not in listed(house.call("documents", caller=guest()))


def test_deleted_documents_are_listed_with_what_was_known_for_the_owner(house):
    """Path, last hash and generation; nobody else learns what was deleted."""
    (row,) = house.call("documents", limit=1)["documents"]
    house.save({}, deleted=["d00.md"])
    (gone,) = house.call("documents", deleted=True)["documents"]
    with pytest.raises(RequestError, match="leave out tags"):
        house.call("documents", deleted=True, tags=["a"])
    assert gone == {"source_path": "d00.md", "document_hash": row["document_hash"], "generation": 2}
    with pytest.raises(ForbiddenError):
        house.call("documents", deleted=True, caller=guest())


def test_generations_are_listed_oldest_first_for_the_owner(house):
    """Number, time and what changed."""
    house.save({"new.md": "x\n"})
    kept = house.call("generations")["generations"]
    assert [entry["generation"] for entry in kept] == [1, 2]
    assert (kept[1]["added"], kept[1]["deleted"], kept[1]["durable"]) == (1, 0, False)
    assert kept[0]["published_at"].endswith("Z")
    with pytest.raises(ForbiddenError):
        house.call("generations", caller=guest())


@pytest.mark.parametrize("params", [{"limit": 0}, {"limit": 10**6}, {"tags": 3}, {"nonsense": 1}])
def test_wrong_parameters_are_refused(house, params):
    """As everywhere."""
    with pytest.raises(RequestError):
        house.call("documents", params)
