"""Log lines are one line, safe to look at, in text or JSON."""

import json
import logging

from indexerd.cli.logs import JsonLines, TextLines


def make_record(message, *, error=None, level=logging.WARNING):
    info = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("indexerd.sync", level, __file__, 1, "%s", (message,), info)


def failure():
    try:
        int("broken\x1b")
    except ValueError as error:
        return error


def test_a_hostile_name_stays_on_one_harmless_line():
    """Control characters and line ends of a name are shown as codes and spaces."""
    line = TextLines(for_journal=False).format(make_record("cannot read a\x1b[2J\nb\u202e"))
    assert line == "indexerd: cannot read a\\x1b[2J b\\u202e"


def test_the_journal_gets_priorities():
    """Where the journal reads, each line begins with its syslog priority."""
    assert TextLines(for_journal=True).format(make_record("x", level=logging.ERROR)).startswith("<3>")


def test_an_exception_is_told_with_its_place():
    """Type, text and innermost place of an unexpected error are on the line."""
    error = failure()
    line = TextLines(for_journal=False).format(make_record("failed", error=error))
    assert "failed: ValueError: invalid literal" in line
    assert "\x1b" not in line
    assert "line" in line


def test_json_lines_are_objects():
    """Each line is one object with level and message."""
    fields = json.loads(JsonLines().format(make_record("x\ny")))
    assert (fields["level"], fields["message"], fields["part"]) == ("warning", "x y", "indexerd.sync")


def test_a_json_line_has_the_event_in_front_of_the_message_and_its_fields():
    """The event stands by itself; fields stand beside it."""
    record = logging.LogRecord("indexerd.sync", logging.INFO, __file__, 1, "drift: %d documents", (3,), None)
    record.fields = {"count": 3}
    line = json.loads(JsonLines().format(record))
    assert (line["event"], line["message"], line["count"]) == ("drift", "3 documents", 3)
    bare = json.loads(JsonLines().format(logging.LogRecord("x", 20, __file__, 1, "started", (), None)))
    assert (bare["event"], bare["message"]) == ("started", "")
