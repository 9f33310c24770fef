"""The log of a daemon or a one-shot command on standard error: text for people and journals, or JSON lines.

Owns: the form of a log line.
Knows nothing of: what is logged.
Invariants: 1. a log line is one line without control or bidi characters, whatever a file is called.
Purity: shell (sets up logging).
See: docs/operations.md (log).
"""

import json
import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from indexerd.cli.printing import flatten
from indexerd.config import Log

# What the journal takes a `<N>` at the beginning of a line for (syslog priorities).
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


# What a line is about, in front of the message as it is written in the source.
_EVENT = re.compile(r"(\w+)(?:: |$)")


class TextLines(logging.Formatter):
    """`indexerd: event: message`, with the priority in front where the journal reads."""

    def __init__(self, *, for_journal: bool) -> None:
        super().__init__()
        self._for_journal = for_journal

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; of an exception its last line, the rest only where debugging is on."""
        priority = f"<{_PRIORITIES.get(record.levelno, 6)}>" if self._for_journal else ""
        return f"{priority}indexerd: {flatten(_message(record))}"


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return time, level, part of the program, event, the event's own fields, and message."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event = _EVENT.match(str(record.msg))
        fields = {
            "at": at,
            "level": record.levelname.lower(),
            "part": record.name,
            "event": event[1] if event else "unnamed",
            **getattr(record, "fields", {}),
            "message": flatten(_message(record)[event.end() if event else 0 :]),
        }
        return json.dumps(fields, default=dict)


def is_for_people(record: logging.LogRecord) -> bool:
    """Tell whether a line is worth a person's time; lines with fields are for programs that count."""
    return not hasattr(record, "fields")


def _message(record: logging.LogRecord) -> str:
    text = record.getMessage()
    error = record.exc_info[1] if record.exc_info else None
    return text if error is None else f"{text}: {type(error).__name__}: {error}{_where(error)}"


def _where(error: BaseException) -> str:
    """Return where an unexpected error arose: the innermost place, enough to find it and short enough for a line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" ({trace.tb_frame.f_code.co_qualname}, line {trace.tb_lineno})"


def start_log(log: Log, environ: Mapping[str, str]) -> None:
    """Send the program's log to standard error in the form that the settings ask for."""
    handler = logging.StreamHandler()
    journal = "JOURNAL_STREAM" in environ
    handler.setFormatter(JsonLines() if log.format == "json" else TextLines(for_journal=journal))
    if log.format == "text":
        handler.addFilter(is_for_people)
    logger = logging.getLogger("indexerd")
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(log.level.upper())
