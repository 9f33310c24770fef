"""The index as programs in Python see it: one that this process keeps, a daemon's, and retrievers over them."""

import importlib
import os
import subprocess
import sys

import pytest

import indexerd
from indexerd.errors import RequestError, UnreachableError
from tests.fakes.daemon_process import DaemonProcess

TEXT = "# Travel\n\nLodging is paid up to 300 yuan a night.\n"
ANSWER = "Lodging is paid up to 300 yuan a night [S1]."


pytestmark = pytest.mark.slow


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """A folder with one document, in a home of its own."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "travel.md").write_text(TEXT)
    (folder / "other.md").write_text("# Other\n\nMeals are paid up to 100 yuan.\n")
    for name, place in {
        "HOME": "home", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"
    }.items():  # fmt: skip
        (tmp_path / place).mkdir(mode=0o700)
        monkeypatch.setenv(name, str(tmp_path / place))
    monkeypatch.delenv("INDEXERD_SOCKET", raising=False)
    return folder


def asked(index):
    """Go once from a question to a checked answer."""
    reply = index.evidence("what is paid for lodging")
    block = reply["evidence"]["blocks"][0]
    citation = f"{block['citation']}@sha256:{block['content_hash']}"
    return {
        "hits": [hit["source_path"] for hit in index.query("lodging")["hits"]],
        "verdict": index.check(ANSWER, reply)["verdict"],
        "state": index.verify(citation)["state"],
        "text": index.show("travel.md")["text"],
        "status": index.status()["documents"],
    }


EXPECTED = {"hits": ["travel.md"], "verdict": "pass", "state": "fresh", "text": TEXT, "status": 2}


def test_a_folder_without_a_daemon_is_kept_by_this_process(notes, capfd):
    """The index is made where there is none, brought up to date where there is one, and nothing is printed."""
    with indexerd.open(str(notes)) as index:
        assert asked(index) == EXPECTED
    (notes / "new.md").write_text("the quokka\n")
    with indexerd.open(str(notes)) as index:
        assert index.query("quokka")["hits"][0]["source_path"] == "new.md"
        (notes / "new.md").unlink()
        assert index.sync()["documents_deleted"] == 1
    assert capfd.readouterr() == ("", "")


def test_a_daemon_answers_the_same(notes, tmp_path):
    """By its socket; a folder that is not its own is refused."""
    daemon = DaemonProcess([notes], tmp_path / "daemon").ready()
    try:
        with indexerd.open(socket=str(daemon.socket)) as index:
            assert asked(index) == EXPECTED
        with indexerd.Client(str(daemon.socket)) as client:
            assert client.call("query", {"text": "lodging"})["hits"]
        with pytest.raises(UnreachableError, match="no root of that daemon"):
            indexerd.open(str(tmp_path / "home"), socket=str(daemon.socket))
    finally:
        daemon.close()


def test_what_is_no_folder_is_refused(notes):
    """A file, and nothing at all."""
    with pytest.raises(RequestError, match="not a folder"):
        indexerd.open(str(notes / "travel.md"))
    with pytest.raises(RequestError, match="no such file"):
        indexerd.open(str(notes / "nothing"))


def test_a_claim_is_held_to_passages_without_an_index():
    """The same as a line of `check --jsonl`."""
    found = indexerd.check("It takes 30 days.", ["It takes 20 days."])
    assert (found["band"], found["reasons"]) == ("partial", [{"code": "numbers", "missing": ["30 days"]}])
    with pytest.raises(RequestError, match="language"):
        indexerd.check("It takes 30 days.", ["It takes 20 days."], language="klingon")
    for claim, passages in ((5, ["It takes 20 days."]), ("It takes 30 days.", "It takes 20 days.")):
        with pytest.raises(RequestError, match="must be a"):
            indexerd.check(claim, passages)


def test_importing_the_package_loads_nothing_else():
    """Names are looked up when they are used; one that is not there is told."""
    code = "import sys, indexerd; print(sorted(name for name in sys.modules if name.startswith('indexerd.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == "[]\n"
    assert set(indexerd.__all__) <= {*dir(indexerd), *indexerd._PLACES}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = indexerd.nothing


def test_langchain_gets_documents(notes):
    """A retriever of LangChain's own class, with exact lines and full citations."""
    pytest.importorskip("langchain_core", reason="this package index does not have langchain-core")
    retriever = importlib.import_module("indexerd.adapters.langchain").IndexerdRetriever
    with indexerd.open(str(notes)) as index:
        found = retriever(index=index, params={"k": 1}).invoke("what is paid for lodging")
        assert [one.page_content for one in found] == [TEXT]
        assert found[0].metadata["source"] == "travel.md"
        assert index.verify(found[0].metadata["citation"])["state"] == "fresh"
        assert retriever(index=index).invoke("what does the wombat eat") == []


def test_llamaindex_gets_nodes(notes):
    """A retriever of LlamaIndex's own class; what is not for a model is kept from it."""
    pytest.importorskip("llama_index.core", reason="this package index does not have llama-index-core")
    retriever = importlib.import_module("indexerd.adapters.llamaindex").IndexerdRetriever
    with indexerd.open(str(notes)) as index:
        (found,) = retriever(index, k=1).retrieve("what is paid for lodging")
        assert (found.node.text, found.node.metadata["label"]) == (TEXT, "S1")
        assert found.score > 0
        assert index.verify(found.node.metadata["citation"])["state"] == "fresh"
        assert "guard" not in found.node.get_metadata_str("llm")
        assert retriever(index).retrieve("what does the wombat eat") == []
