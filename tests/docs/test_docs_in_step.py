"""What the documents list is what the program has: keys, codes, statuses, fields, commands, references."""

import ast
import io
import json
import logging
import re
import tomllib
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from indexerd.access.phrases_english import PHRASES as ENGLISH
from indexerd.access.phrases_other import PHRASES as OTHER
from indexerd.agents.schemas import listed
from indexerd.agents.session import HANDSHAKE, MODERN
from indexerd.analysis.inversion import Unit, invert
from indexerd.cli import main
from indexerd.cli.agenting import read_served
from indexerd.cli.logs import JsonLines
from indexerd.config import schema
from indexerd.postings import Field
from indexerd.search import outcome
from indexerd.sync.look import RootState
from indexerd.sync.status import State
from tests.docs.pages import REPOSITORY, documents
from tests.fakes.service_parts import OWNER, SmallHouse

PACKAGE = REPOSITORY / "indexerd"
DOCS = REPOSITORY / "docs"
OPERATIONS = (DOCS / "operations.md").read_text(encoding="utf-8")
PROTOCOL = (DOCS / "protocol.md").read_text(encoding="utf-8")
SECTIONS = {
    "[profile.NAME]": schema.PROFILE_KEYS,
    "[front_matter]": schema.FRONT_MATTER_KEYS,
    "[[rules]]": schema.RULE_KEYS,
    "[roles]": schema.ROLE_KEYS,
    "[history]": schema.HISTORY_KEYS,
    "[socket]": schema.SOCKET_KEYS,
    "[log]": schema.LOG_KEYS,
}


def section(page, title):
    """Return what stands below a heading, up to the next one."""
    return re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)[1]


def first_cells(text):
    """Return the names in backticks in the first cells of a section's tables."""
    return {name for cell in re.findall(r"^\| (.*?) \|", text, re.MULTILINE) for name in re.findall(r"`([^`]+)`", cell)}


def sources(room):
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((PACKAGE / room).rglob("*.py")))


@pytest.mark.parametrize("title", SECTIONS)
def test_every_setting_has_its_row(title):
    """The table of a section names the keys that the program reads, and no others."""
    assert first_cells(section(OPERATIONS, title)) == set(SECTIONS[title])


def test_every_table_of_the_configuration_has_its_section():
    """Each table of the file is described, and so is the file of a root."""
    assert {title.strip("[]").partition(".")[0] for title in SECTIONS} == set(schema.TABLES)
    assert all(f"`{key}`" in section(OPERATIONS, ".indexerd.toml") for key in schema.PROJECT_KEYS)


def test_every_problem_has_its_row():
    """The table of problems names the codes that are reported."""
    calls = r'(?:problems\.(?:report|set)|self\._report)\(\s*"(\w+)"|_phase = "(\w+)"'
    codes = {code for pair in re.findall(calls, sources("sync") + sources("wiring")) for code in pair if code}
    assert len(codes) >= 7
    assert first_cells(section(OPERATIONS, "Problems and what to do")) == codes


def test_every_event_of_the_log_has_its_row_and_every_line_its_event():
    """The messages of the log begin with the events of the table; the fields of requests have theirs."""
    calls = re.findall(r"_log\.\w+\(\s*\"([^\"]*)\"", sources("."))
    events = {re.match(r"(\w+)(?:: |$)", message)[1] for message in calls}
    assert len(calls) == sources(".").count("_log.") - sources(".").count("_log.isEnabledFor")
    table, _, fields = section(OPERATIONS, "Log events").partition("| field |")
    assert first_cells(table) - {"event"} == events
    house = SmallHouse({"a.md": "# Title\n\nThe quokka.\n"})
    told = set()
    for name, text in (("evidence", "quokka"), ("query", "quokka")):
        told |= set(logged(house, name, text=text))
    told |= set(logged(house, "check", answer="It is [S1].", evidence=house.call("evidence", text="quokka")))
    assert told - {"at", "level", "part", "event", "message"} == first_cells(fields) - {"query"}


def logged(house, method, **params):
    """Return the line that a call leaves in a log of JSON lines."""
    lines, logger = io.StringIO(), logging.getLogger("indexerd.service.events")
    handler = logging.StreamHandler(lines)
    handler.setFormatter(JsonLines())
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel("DEBUG")
    try:
        house.call(method, **params)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    return json.loads(lines.getvalue().splitlines()[-1])


def test_every_exit_status_has_its_row():
    """The table of exit statuses names those that the command line returns."""
    source = (PACKAGE / "cli" / "main.py").read_text(encoding="utf-8")
    _, statuses, codes = zip(*main.FAMILIES, strict=True)
    returned = {*map(int, re.findall(r"return (\d+)", source)), *statuses, 0, 1, main.BROKEN_PIPE}
    shown = {int(number) for number in re.findall(r"^\| (\d+) \|", section(OPERATIONS, "Exit statuses"), re.MULTILINE)}
    assert shown == returned
    assert all(f"`{code}`" in section(OPERATIONS, "Exit statuses") for code in {*codes, "usage"})


def test_every_field_of_the_status_has_its_row():
    """The table of the status names every field of the owner's status, and every state."""
    house = SmallHouse()
    fields = set(house.service.call(OWNER, "status", {})) - {"protocol"}
    shown = first_cells(section(OPERATIONS, "Status"))
    assert shown - fields <= {"opening", "connections", "refused", "limit"}, "these the daemon adds"
    assert fields <= shown
    assert all(f"`{state}`" in section(OPERATIONS, "Status") for state in get_args(State))


def test_every_state_of_a_root_is_explained():
    """A root that is not `ok` is explained where held documents are."""
    shown = section(OPERATIONS, "What is ignored")
    assert all(f"`{state}`" in shown for state in set(get_args(RootState)) - {"ok", "unreadable"})
    assert {"`too_large`", "`symlink`", "`not_regular`", "`foreign_link`", "`binary`"} <= set(
        re.findall(r"`\w+`", shown)
    )


def test_every_rejection_and_abstention_is_explained():
    """Codes of rejected candidates and reasons of abstention have their rows."""
    assert first_cells(section(PROTOCOL, "Rejected")) == set(get_args(outcome.RejectionCode))
    reasons = set(get_args(outcome.AbstentionReason))
    assert all(f"`{reason}`" in PROTOCOL for reason in reasons)
    evidence = (DOCS / "evidence.md").read_text(encoding="utf-8")
    assert first_cells(section(evidence, "Abstention")) == reasons


def test_every_field_of_a_reply_is_explained():
    """The tables of the result and of its hits name every field."""
    house = SmallHouse({"a.md": "\ufeff# Title\n\nThe quokka.\n"})
    reply = house.service.call(OWNER, "query", {"text": "quokka", "explain": True})
    shown = first_cells(section(PROTOCOL, "The result of query and evidence"))
    assert shown - set(reply) == {"evidence", "truncated", "close_terms", "searched", "no_document"}
    assert set(reply) <= shown
    assert set(reply["hits"][0]) == first_cells(section(PROTOCOL, "Hits"))


@pytest.mark.parametrize("params", [("documents", "documents, generations"), ("show", "verify, show")])
def test_every_field_of_the_other_replies_is_explained(params):
    """Fields of a document, and of shown lines, stand in their section."""
    method, title = params
    house = SmallHouse({"a.md": "# Title\n\nThe quokka.\n"})
    reply = house.service.call(OWNER, method, {"citation": "a.md#L1-L1"} if method == "show" else {})
    fields = reply["documents"][0] if method == "documents" else reply
    assert all(f"`{field}`" in section(PROTOCOL, title) for field in set(fields) - {"protocol"})


def test_every_field_of_a_sync_is_explained():
    """Fields of a sync's report stand in its section."""
    report = SmallHouse().service.call(OWNER, "sync", {})
    assert all(f"`{field}`" in section(PROTOCOL, "status, sync, metrics") for field in set(report) - {"protocol"})


def test_every_kind_of_unsafe_text_is_explained():
    """The kinds that the safety gate reports are listed in the threat model."""
    page = (DOCS / "threat-model.md").read_text(encoding="utf-8")
    kinds = {phrase[0] for phrase in (*ENGLISH, *OTHER)} | {"hidden_text"}
    assert first_cells(section(page, "Safety gate")) == kinds


def test_the_terms_of_the_page_are_those_of_the_analyzer():
    """Each row of the table of terms is what the analyzer makes of the text."""
    page = (DOCS / "search.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.+?)` \| (`.*`) \|$", section(page, "Analysis"), re.MULTILINE)
    assert len(rows) > 5
    for text, terms in rows:
        found = invert([Unit(0, Field.TEXT, text)], 1, "english").names()
        assert list(found) == re.findall(r"`([^`]+)`", terms), text


def test_every_command_is_shown_or_named():
    """Each command stands somewhere in the documents, and none that is not there is shown."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in documents())
    commands = {name for group in main.GROUPS.values() for name, *_ in group}
    missing = {
        name
        for name in commands
        if not re.search(rf"`(?:indexerd )?{name}\b|^\$ indexerd {name}\b", text, re.MULTILINE)
    }
    assert not missing
    assert set(re.findall(r"^\$ (?:\w+=\S+ )*indexerd (\w+)", text, re.MULTILINE)) <= commands


def test_the_index_of_decision_records_is_whole():
    """The list names each record with its title."""
    listed = (DOCS / "adr" / "README.md").read_text(encoding="utf-8")
    for record in sorted((DOCS / "adr").glob("0*.md")):
        title = record.read_text(encoding="utf-8").splitlines()[0].removeprefix(f"# {record.name[:4]}: ")
        if record.name != "0000-template.md":
            assert f"- [{record.name[:4]}]({record.name}): {title}" in listed.splitlines()


@pytest.mark.parametrize("page", documents(), ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_link_leads_somewhere(page):
    """A link to a file of the repository names one that is there, with the heading it names."""
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith("http"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, link


@pytest.fixture(scope="module")
def names_of_tests():
    """Every function and file of the tests, by name."""
    files = list((REPOSITORY / "tests").rglob("*.py"))
    functions = {
        name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    return functions | {file.stem for file in files}


@pytest.mark.parametrize("page", documents(), ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_test_and_module_that_a_page_names_is_there(page, names_of_tests):
    """Tests, modules and folders named in a page exist, so that what it says can be followed."""
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"\b(test_\w+)(?:\.py)?`", text)) <= names_of_tests
    for path in re.findall(r"`((?:\w+/)+\w+\.(?:py|md))`", text):
        assert any((base / path).exists() for base in (REPOSITORY, PACKAGE, DOCS)), path


def test_the_map_is_short_enough_to_be_read():
    """ARCHITECTURE.md stays within 200 lines."""
    assert len((REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 200


def slug(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def references():
    """Yield (module, document, heading) for every "See:" of a module's header."""
    for path in sorted(PACKAGE.rglob("*.py")):
        header = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        see = re.search(r"^See: (.*?)(?:\n\n|\Z)", header, re.MULTILINE | re.DOTALL)
        flat = " ".join(see[1].split()) if see else ""
        for name, names in re.findall(r"([\w/.-]+\.md|docs/adr/\d+)(?: \(([^)]*)\))?", flat):
            for heading in (names or "").split(", "):
                yield path.relative_to(PACKAGE).as_posix(), name, heading


@pytest.mark.parametrize("reference", sorted(set(references())), ids=" ".join)
def test_what_a_module_refers_to_is_there(reference):
    """The document that a module's header names exists, and has the heading it names."""
    _, name, heading = reference
    if "/adr/" in name:
        assert list(REPOSITORY.glob(f"{name}-*.md"))
        return
    leads = " / ".join(
        re.findall(
            r"^(?:#+ (?:.*)$|\*\*(?:.*?)\*\*)", Path(REPOSITORY / name).read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    is_there = heading.replace("`", "").lower() in leads.replace("`", "").lower()
    assert is_there


def test_what_clients_of_agents_are_told_to_start_is_understood():
    """Each configuration of an agent's client names the program, with arguments that it takes."""
    started = []
    for page in (REPOSITORY / "README.md", DOCS / "agents.md"):
        text = page.read_text(encoding="utf-8")
        started += [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
        started += [
            tomllib.loads(block) for block in re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        ]
    assert len(started) == 5
    for configuration in started:
        (servers,) = configuration.values()
        (server,) = servers.values()
        assert server["command"] == "indexerd"
        assert server["args"][0] == "mcp"
        assert read_served(server["args"][1:]) is not None


def test_every_tool_of_agents_has_its_row():
    """The table of tools names each with all that it takes."""
    agents = (DOCS / "agents.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section(agents, "Tools"), re.MULTILINE))
    taken = {tool["name"]: set(tool["inputSchema"]["properties"]) for tool in listed()}
    assert {name: set(re.findall(r"`(\w+)`", cell)) for name, cell in rows.items()} == taken
    revisions = set(re.findall(r"`(\d{4}-\d\d-\d\d)`", section(agents, "Revisions")))
    assert revisions == {*MODERN, *HANDSHAKE}


def test_every_figure_of_the_performance_page_has_its_row_and_command():
    """Each mark names a row of the benchmarks that a command of the page runs; between marks there are figures."""
    page = (DOCS / "performance.md").read_text(encoding="utf-8")
    benchmarks = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "benchmarks").glob("rows_*.py"))
    marks = re.findall(r"<!-- figures: (\w+) (\w+) -->\n(.*?)<!-- end -->", page, re.DOTALL)
    assert page.count("<!-- figures: ") == len(marks) >= 6
    for row, corpus, figures in marks:
        assert f'"{row}": row_' in benchmarks
        assert f"--only {row}" in page
        assert corpus == "mixed" or f"--corpus {corpus}" in page
        assert figures.count("\n") > 2
    ElementTree.parse(DOCS / "images" / "curves.svg")
