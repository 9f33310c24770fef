"""Rights that change on disk hold at once, also where no event tells of them."""

import json
import mmap

import pytest

from tests.fakes.watched_notes import Notes

pytestmark = pytest.mark.slow

OPEN = "---\nacl: [staff]\nvalid_to: 2999-01-01\n---\nquokka merger\n"


@pytest.fixture
def watched(tmp_path):
    """A daemon over two notes, one of which is for the staff."""
    made = Notes(tmp_path)
    made.write("deal.md", OPEN)
    made.write("open.md", "quokka\n")
    yield made.start()
    made.close()


def rewrite_unseen(path, text):
    """Change bytes of a file through a mapping: the kernel sends no event for it."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), len(OPEN)) as area:
        area[:] = text.encode()


@pytest.mark.parametrize(
    "edit",
    [("[staff]", "[board]"), ("[staff]", "[]     "), ("2999-01-01", "2000-01-01"), ("acl: [", "acl: {")],
    ids=str,
)
@pytest.mark.parametrize("method", ["query", "evidence"])
def test_an_edit_that_made_no_event_hides_the_document_from_the_next_answer(watched, edit, method):
    """It vanishes without a trace, as a hit, as rejected, as a count; `verify` and `documents` do not know it."""
    assert "deal.md" in watched.found("quokka merger", roles=["staff"])
    hit = watched.best("merger", roles=["staff"])
    rewrite_unseen(watched.root / "deal.md", OPEN.replace(*edit))
    reply = watched.ask("quokka merger", method, roles=["staff"], trace=True)
    assert [one["source_path"] for one in reply["hits"]] == ["open.md"]
    assert (reply["candidates"], reply["rejected_counts"], reply["unmatched"]) == (1, {}, ["merger"])
    assert "deal.md" not in json.dumps(reply)
    cited = f"{hit['citation']}@sha256:{hit['content_hash']}"
    assert watched.daemon.call("verify", citation=cited, roles=["staff"])["state"] == "gone"
    assert "deal.md" not in watched.documents(roles=["staff"])


def test_an_edit_that_opens_a_document_is_found_by_its_next_reader(watched):
    """What was granted on disk is granted once it is published, and not a moment before its bytes say so."""
    assert watched.found("merger") == []
    watched.save("deal.md", OPEN.replace("acl: [staff]\n", ""))
    assert watched.found("merger") == ["deal.md"]
