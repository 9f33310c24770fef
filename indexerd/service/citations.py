"""`verify` and `show`: what stands at a citation now, read from the source itself.

Owns: the shape of both results, and which lines are meant.
Knows nothing of: ranking, the index's own text (the source decides).
Invariants: 1. text and verdict come from one read. 2. a document that the caller may not see answers like one that is
    not there.
Purity: shell (reads sources).
See: docs/protocol.md (verify, show).
"""

import datetime
from typing import NamedTuple

from indexerd.access.globs import chooser
from indexerd.access.rights import may_see, rights
from indexerd.digests import content_hash
from indexerd.errors import NotFoundError, RequestError
from indexerd.model import Citation, LineSpan, SourcePath, parse_citation
from indexerd.ports import SourceFault, SourceRead
from indexerd.protocol import PROTOCOL_VERSION
from indexerd.protocol.fields import Fields
from indexerd.protocol.messages import Payload
from indexerd.search.outcome import REASONS
from indexerd.service.callers import Caller
from indexerd.service.lines import Lines
from indexerd.service.parts import Parts
from indexerd.service.paths import MISSING, named_source, read_as
from indexerd.service.rendering import Json, moment, path_fields
from indexerd.service.verdict import verdict_on_lines, verdict_on_source
from indexerd.store import LiveSegment


def full_citation(text: str) -> Citation:
    """Read a citation with a hash.

    Raises:
        RequestError: It is none.
    """
    cited = parse_citation(text)
    if cited is None:
        raise RequestError("a citation looks like path#L12-L18 or path#L12-L18@sha256:…")
    if cited.content_hash is None:
        raise RequestError("a citation without @sha256:… names lines, not text: nothing can be verified")
    return cited


class _Asker(NamedTuple):
    """For whom sources are read, and which of them.

    Attributes:
        paths: Globs that choose documents; none for all.
        safe: Whether unsafe documents are withheld.
    """

    roles: frozenset[str]
    as_of: datetime.date | None
    paths: tuple[str, ...]
    safe: bool


def _asker(caller: Caller, fields: Fields) -> _Asker:
    roles = caller.acting_roles(fields.maybe_texts("roles"))
    return _Asker(roles, fields.date("as_of"), fields.texts("paths"), fields.flag("safe"))


class Citations:
    """Answers `verify` and `show`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def verify(self, caller: Caller, params: Payload) -> Json:
        """Say whether a full citation still holds.

        Raises:
            RequestError: It is no citation with a hash.
        """
        fields = Fields(params)
        cited = self._with_named(full_citation(fields.required_text("citation")))
        asker, text = _asker(caller, fields), fields.text("text")
        fields.close()
        found = self._read(caller, cited.source_path, asker)
        result: Json = {"protocol": PROTOCOL_VERSION, "citation": str(cited), "source_path": cited.source_path}
        result |= path_fields(self._parts.sources.absolute(cited.source_path))
        verdict = verdict_on_source(cited, found, text)
        if verdict["state"] == "changed" and text is None and caller.is_owner:
            verdict = verdict_on_source(cited, found, self._cited_text(cited, asker))
        return result | verdict

    def _cited_text(self, cited: Citation, asker: _Asker) -> str | None:
        """Return what was cited, from a version of the document that is kept and that may be seen; None if none has it.

        A version that asked for a role then asks for it today.
        """
        for stored in self._parts.store.past().last_versions(0):
            number = stored.data.find(cited.source_path)
            if number < 0:
                continue
            own = rights(stored.data.document(number), self._parts.access)
            if not may_see(own, asker.roles) or (asker.safe and own.unsafe):
                continue
            lines = Lines(bytes(stored.data.raw(number)))
            if lines.has(cited.span) and lines.hash_of(cited.span) == cited.content_hash:
                return lines.cut(cited.span)
        return None

    def show(self, caller: Caller, params: Payload) -> Json:
        """Give the present text of a citation, or of a path and lines.

        Raises:
            NotFoundError: There is no such indexed document, or it has no such lines.
            RequestError: The parameters do not name lines.
        """
        fields = Fields(params)
        cited, whole = self._asked_lines(fields)
        asker = _asker(caller, fields)
        fields.close()
        found = self._read(caller, cited.source_path, asker)
        # Any file below a root can be read; only what is indexed is shown: ignore rules are a promise too.
        indexed = self._parts.store.snapshot().find(cited.source_path)
        if indexed is None or isinstance(found, SourceFault):
            raise NotFoundError(f"no document {cited.source_path!r}{_cause(found)}")
        lines = Lines(found.data)
        span = (
            LineSpan(1, max(lines.count, 1)) if whole else LineSpan(cited.span.first, min(cited.span.last, lines.count))
        )
        if span.first > lines.count and not whole:
            has = "1 line" if lines.count == 1 else f"{lines.count} lines"
            raise NotFoundError(f"{cited.source_path!r} has {has} now")
        return self._shown(cited, span, lines, found, self._title(cited.source_path, found.data, indexed))

    def _title(self, path: SourcePath, data: bytes, indexed: tuple[LiveSegment, int]) -> str:
        """Return the title of the present text: what was indexed may be a version that this caller may not see."""
        segment, index = indexed
        document = segment.data.document(index)
        if document.content_hash != content_hash(data):
            from indexerd.indexing import document_of  # noqa: PLC0415 - 30 ms of a start, for what just changed

            document = document_of(path, data, self._parts.settings)
        return document.title

    def _shown(self, cited: Citation, span: LineSpan, lines: Lines, found: SourceRead, title: str) -> Json:
        text = lines.cut(span) if lines.count else ""
        now = Citation(source_path=cited.source_path, span=span, content_hash=content_hash(text.encode()))
        verdict: Json = {"state": None, "moved_to": []}
        if cited.content_hash is not None:
            verdict = verdict_on_lines(cited, lines)
        return {
            "protocol": PROTOCOL_VERSION,
            "source_path": cited.source_path,
            **path_fields(self._parts.sources.absolute(cited.source_path)),
            "title": title,
            "citation": str(now),
            "start_line": span.first,
            "end_line": span.last,
            "line_count": lines.count,
            "text": text,
            "content_hash": content_hash(text.encode()).hex(),
            "document_hash": content_hash(found.data).hex(),
            "modified": moment(found.stat.mtime_ns),
            "validated_at": moment(self._parts.clock.now_ns()),
            **({"decoded": True} if lines.is_decoded(span) else {}),
            **verdict,
        }

    def _asked_lines(self, fields: Fields) -> tuple[Citation, bool]:
        """Return what to show, and whether it is the whole document."""
        text, path = fields.text("citation"), fields.text("source_path")
        first, last = fields.integer("start_line", low=1), fields.integer("end_line", low=1)
        if text is not None and (path, first, last) == (None, None, None):
            cited = parse_citation(text)
            if cited is None:
                return Citation(source_path=named_source(self._parts, text), span=LineSpan(1, 1)), True
            return self._with_named(cited), False
        if path is None or text is not None:
            raise RequestError("give citation, or source_path and perhaps start_line and end_line")
        span = LineSpan(first or 1, last or first or 1)
        if span.last < span.first:
            raise RequestError("end_line lies before start_line")
        return Citation(source_path=named_source(self._parts, path), span=span), first is None and last is None

    def _with_named(self, cited: Citation) -> Citation:
        return Citation(
            source_path=named_source(self._parts, cited.source_path), span=cited.span, content_hash=cited.content_hash
        )

    def _read(self, caller: Caller, path: SourcePath, asker: _Asker) -> SourceRead | SourceFault:
        """Read a source as this caller may: what is hidden from it, or not asked about, is missing."""
        if not chooser(asker.paths)(path):
            return MISSING
        found, own = read_as(self._parts, caller, path, asker.roles, asker.as_of or self._parts.clock.today())
        if asker.safe and own.unsafe and isinstance(found, SourceRead):
            return SourceFault(code="source_unreadable", detail=REASONS["unsafe_content"])
        return found


def _cause(found: SourceRead | SourceFault) -> str:
    return f" ({found.detail})" if isinstance(found, SourceFault) and found.code != "source_missing" else ""
