"""What `check` and `eval` refuse before anything is asked: files and thresholds that are none."""

import json

import pytest

from indexerd.cli.main import run

EVIDENCE = {"query": "q", "abstained": True, "evidence": None}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answer.md").write_text("Lodging is paid [S1].\n")
    (tmp_path / "whole.json").write_text(json.dumps({"answer": "x", "evidence": EVIDENCE}))
    (tmp_path / "evidence.json").write_text(json.dumps(EVIDENCE))
    (tmp_path / "cut.json").write_text('{"claims": [{"text": "Lodging')
    (tmp_path / "list.json").write_text('[{"text": "x"}]')
    (tmp_path / "reply.json").write_text('{"query": "q", "hits": []}')
    (tmp_path / "topics").write_text("1\tlodging\n")
    (tmp_path / "trace.json").write_text('{"trace": 1, "context": {}}')
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\0")
    (tmp_path / "deep").write_text('{"a":' * 100_000)
    (tmp_path / "lines.jsonl").write_text('{"claim": "It is.", "passages": ["It is."]}\n')


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("check cut.json --evidence evidence.json", "cut.json: begins as JSON does and is none: Unterminated string"),
        ("check list.json --evidence evidence.json", "list.json: must be an object, not a list"),
        ("check answer.md --evidence answer.md", "answer.md: is no evidence; save the output of `indexerd evidence"),
        ("check answer.md --evidence cut.json", "cut.json: begins as JSON does and is none"),
        ("check answer.md --evidence reply.json", "reply.json: is no evidence; save the output"),
        ("check answer.md --evidence trace.json", "trace.json: is no evidence; a trace is given with --trace"),
        ("check answer.md --evidence none.json", "none.json: No such file"),
        ("check whole.json --evidence evidence.json", "whole.json has its own evidence"),
        ("eval answer.md --require mrr>=0.5.1", "is no threshold"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_name(files, capfd, line, message):
    """One message that says what and where, nothing on standard output, exit status 2."""
    assert run(line.split()) == 2
    out, err = capfd.readouterr()
    assert (out, message in err) == ("", True), err


NAMED = (
    "check {} --evidence evidence.json",
    "check answer.md --evidence {}",
    "check answer.md --trace {}",
    "check --sent {} --trace t answer.md",
    "eval {}",
    "eval --topics {}",
    "eval --topics topics --qrels {}",
    "replay {}",
    "verify a.md#L1-L1@sha256:" + "0" * 64 + " --text {}",
    "verify a.md#L1-L1 --evidence {}",
)


@pytest.mark.parametrize("line", NAMED)
def test_a_file_of_other_bytes_is_told_whichever_flag_names_it(files, capfd, line):
    """What is no UTF-8 is one sentence everywhere, and nothing is asked first."""
    assert run([word.format("bytes") for word in line.split()]) == 2
    assert capfd.readouterr() == ("", "indexerd: bytes: is no UTF-8 text (invalid start byte at byte 0)\n")


@pytest.mark.parametrize("line", [line for line in NAMED if not {"--text", "--sent", "--topics"} & set(line.split())])
def test_json_that_is_nested_without_end_is_told_too(files, capfd, line):
    """Whichever file it is in, it ends no command with a traceback."""
    assert run([word.format("deep") for word in line.split()]) == 2
    assert "deep: " in capfd.readouterr().err


RESULT = {"hits": [{}], "request": {"method": "query", "text": "x"}, "generation": 1, "store_id": "s"}
TRACE = {
    **{name: RESULT[name] for name in ("request", "generation", "store_id")},
    **dict.fromkeys(("query", "as_of", "abstained", "abstention_reason", "context", "model", "citations")),
    "trace": 1,
    "sources": [],
    "candidates": {},
}


@pytest.mark.parametrize(
    "saved",
    [
        RESULT | {"hits": [1]},
        RESULT | {"hits": [None]},
        RESULT | {"request": {"method": ["query"]}},
        RESULT | {"conflicts": [3]},
        RESULT | {"conflicts": 0},
        TRACE | {"sources": None},
        TRACE | {"citations": {}, "model": "x"},
        TRACE | {"citations": {"conflicts": 0}, "model": {}},
    ],
    ids=str,
)
def test_a_saved_result_that_was_damaged_is_refused_by_its_name(files, tmp_path, capfd, saved):
    """Whatever of it is not as it was written; nobody is asked."""
    (tmp_path / "damaged").write_text(json.dumps(saved))
    assert run(["replay", "damaged"]) == 2
    assert capfd.readouterr().err.startswith("indexerd: damaged: ")


def test_lines_are_judged_from_a_file_too(files, capfdbinary):
    """With exit status 0 whatever they come to."""
    assert run(["check", "--jsonl", "lines.jsonl"]) == 0
    assert json.loads(capfdbinary.readouterr().out)["band"] == "supported"


def test_what_a_checker_writes_besides_its_lines_is_an_error_that_names_the_line(files, tmp_path, capfd):
    """Nothing that is no JSON object is handed on as a verdict, however many lines there are."""
    (tmp_path / "two.jsonl").write_bytes((tmp_path / "lines.jsonl").read_bytes() * 2)
    (tmp_path / "said.txt").write_text('{"band": "supported"}\nloading model\n')
    assert run(["check", "--jsonl", "two.jsonl", "--checker", "cat said.txt"]) == 2
    out, err = capfd.readouterr()
    assert (out, "line 2 of what it wrote is no JSON object: loading model" in err) == ("", True), err


def test_a_claim_too_long_to_be_judged_is_called_so(files, tmp_path, capfd):
    """Nothing of it was looked for, so nothing of it is said to be not found."""
    block = {"label": "S1", "chunk_id": "c", "citation": "a.md#L1-L1", "content_hash": "0" * 64, "text": "It is."}
    evidence = {"query": "q", "evidence": {"evidence_set_id": "", "blocks": [block]}}
    answer = {"claims": [{"text": "It is. " * 1000, "citations": [{"label": "S1"}]}]}
    (tmp_path / "notes").mkdir()
    (tmp_path / "long.json").write_text(json.dumps({"answer": answer, "evidence": evidence}))
    run(["sync", "notes", "--state-dir", "state"])
    assert run(["check", "long.json", "--state-dir", "state"]) == 1
    assert "    too long to be judged: It is." in capfd.readouterr().out
