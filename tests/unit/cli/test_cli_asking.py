"""The flags of `query`, read without click: the same as click reads them, or not at all."""

import pytest
from click.testing import CliRunner

from indexerd.cli import querying
from indexerd.cli.asking import Asking, read_flags
from indexerd.errors import RequestError

UNDERSTOOD = [
    ["setup"],
    ["two", "words"],
    ["-n", "3", "setup"],
    ["setup", "--number=0"],
    ["-l", "-n", "0", "setup"],
    ["-0", "setup"],
    ["-l", "-0", "-l", "setup"],
    ["--json", "setup"],
    ["--jsonl", "setup"],
    ["--vimgrep", "setup"],
    ["--tag", "a", "--tag=b", "--where", "k=v", "x"],
    ["--since", "7d", "--until", "2026-01-01", "--as-of", "2026-01-01", "x"],
    ["--all-words", "two", "words", "--phrase", "a b", "--not", "c"],
    ["-g", "*.md", "--glob", "!x", "--role", "r", "--generation", "7", "x"],
    ["--hyperlink", "x"],
    ["--prefix", "--explain", "--wait", "0", "--color", "never", "x"],
    ["--", "--not-a-flag"],
    ["don't", "@nasa", "16-3", '"'],
]
TWO_FORMS = [
    [*two, "x"]
    for two in (("-l", "--vimgrep"), ("--json", "--jsonl"), ("--json", "-0"), ("-0", "--vimgrep"), ("-o", "--json"))
]
LEFT_ALONE = [
    [],
    ["  "],
    ["--help"],
    ["--nope", "x"],
    ["-n"],
    ["-n", "many", "x"],
    ["-n", "-1", "x"],
    ["--json=yes", "x"],
    ["--color", "pink", "x"],
    ["--here", "x"],
    ["-o", "x"],
    *TWO_FORMS,
    ["-ln", "0", "x"],
    ["--state-dir", "/x", "x"],
    ["caf\udce9"],
]


def by_click(arguments, monkeypatch):
    seen = []

    def catch(text, form, flags):
        asking = original(text, form, flags)
        seen.append(asking)
        raise SystemExit(0)

    original = querying.make_asking
    monkeypatch.setattr(querying, "make_asking", catch)
    CliRunner().invoke(querying.query_command, arguments)
    return seen[0] if seen else None


@pytest.mark.parametrize("arguments", UNDERSTOOD, ids=" ".join)
def test_both_readers_agree(arguments, monkeypatch):
    """What the fast reader understands, click understands alike."""
    fast, full = read_flags(arguments), by_click(arguments, monkeypatch)
    assert fast is not None
    assert fast.params() == full.params()
    assert (fast.format, fast.nul, fast.color, fast.hyperlink) == (full.format, full.nul, full.color, full.hyperlink)


@pytest.mark.parametrize("arguments", LEFT_ALONE, ids=lambda a: " ".join(a).encode("ascii", "replace").decode())
def test_anything_unusual_is_left_to_the_full_command_line(arguments):
    """Help, mistakes and rare flags are not guessed at."""
    assert read_flags(arguments) is None


def test_only_what_was_given_is_sent():
    """A plain query sends its text and nothing else."""
    asking = Asking()
    asking.text = "x"
    assert asking.params() == {"text": "x"}


def test_nought_means_all_and_is_sent():
    """`-n 0` and `--wait 0` are values, not absences."""
    assert read_flags(["-n", "0", "--wait", "0", "x"]).params() == {"text": "x", "k": 0, "wait_ms": 0}


@pytest.mark.parametrize("arguments", TWO_FORMS, ids=" ".join)
def test_two_forms_of_one_answer_are_refused_by_name(arguments):
    """Whoever reads the answer would get the other one."""
    done = CliRunner().invoke(querying.query_command, arguments)
    assert done.exit_code == 2
    assert all(flag in done.output for flag in arguments[:2])


@pytest.mark.parametrize("flag", ["-l", "-0"])
def test_listing_files_asks_for_every_file_once(flag):
    """For names, one hit a file is enough, and files of equal text are all wanted."""
    params = read_flags([flag, "x"]).params()
    assert (params["max_per_document"], params["distinct"]) == (1, False)


@pytest.mark.parametrize("command", [querying.query_command, querying.evidence_command])
def test_without_words_the_command_says_how_it_is_called(command):
    """Each command names itself, and where a list can be had that needs no words."""
    told = CliRunner().invoke(command, ["--tag", "ops"]).output
    assert f"{command.name} TEXT" in told
    assert "indexerd documents" in told


def test_a_phrase_is_words_enough(monkeypatch):
    """Who asks for a phrase has said what to look for."""
    assert by_click(["--phrase", "two words"], monkeypatch).params() == {"text": "two words", "phrase": ["two words"]}


@pytest.mark.parametrize("pair", ["owner", "=alice", " =alice", ""])
def test_a_filter_that_is_no_pair_is_refused_by_the_name_of_its_flag(pair):
    """Neither reader takes it, and the message shows how it is written."""
    assert read_flags(["--where", pair, "x"]) is None
    assert "is not KEY=VALUE" in CliRunner().invoke(querying.query_command, ["--where", pair, "x"]).output


@pytest.mark.parametrize("arguments", [["caf\udce9"], ["--tag", "\udcff", "x"], ["-g", "\udcff*", "x"]])
def test_what_is_no_text_is_refused_before_anybody_is_asked(arguments):
    """Bytes that are not UTF-8 cannot travel to the daemon, in whichever flag they stand."""
    assert read_flags(arguments) is None
    raised = CliRunner().invoke(querying.query_command, arguments).exception
    assert isinstance(raised, RequestError)
    assert "UTF-8" in str(raised)


def test_a_refusal_names_the_flag_that_was_typed():
    """The socket's parameter has another name than the flag; its values are left as they are."""
    with pytest.raises(RequestError, match=r"^--wait must be from 0 to 9$"), querying.speaking_of_flags():
        raise RequestError("'wait_ms' must be from 0 to 9")
    with (
        pytest.raises(RequestError, match=r"^give --budget-chars or --budget-tokens, not"),
        querying.speaking_of_flags(),
    ):
        raise RequestError("give 'budget_chars' or 'budget_tokens', not both")
    with pytest.raises(RequestError, match=r"^'where' is neither an age"), querying.speaking_of_flags():
        raise RequestError("'where' is neither an age such as 7d nor a date")


def test_flags_that_leave_documents_out_are_known_as_such():
    """Only with them may words that were not found be somewhere else."""
    assert not read_flags(["-n", "3", "--role", "r", "x"]).is_narrowed
    assert all(read_flags([*flag, "x"]).is_narrowed for flag in (["--tag", "a"], ["-g", "*"], ["--since", "7d"]))


@pytest.mark.parametrize(("text", "flags"), [("caf\udce9", {}), ("x", {"paths": ("caf\udce9",)})])
def test_bytes_that_are_no_text_are_named_with_what_to_type_instead(text, flags):
    """As a word they cannot be searched for; as a glob they stand for a name, which is spelled in text everywhere."""
    with pytest.raises(RequestError, match=r"^caf\\xe9 is no UTF-8 text: .* names as `documents` spells them$"):
        querying.make_asking(text, "people", flags)
