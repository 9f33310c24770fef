"""`documents` and `generations`: what the store holds, page by page.

Owns: the shape and order of these lists, and their paging.
Knows nothing of: ranking, files.
Invariants: 1. a page is from one generation; the next begins behind the last path of this one. 2. hidden documents are
    in no list.
Purity: shell (through its parts).
See: docs/protocol.md (documents, generations).
"""

import datetime
import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from indexerd.access.rights import admits, effective_metadata, rights
from indexerd.digests import document_id
from indexerd.errors import RequestError
from indexerd.model import Document, SourcePath
from indexerd.protocol import PROTOCOL_VERSION
from indexerd.protocol.fields import Fields
from indexerd.protocol.messages import Payload
from indexerd.search.filters import carrying
from indexerd.service.callers import Caller
from indexerd.service.parts import Parts
from indexerd.service.rendering import Json, metadata_fields, moment, path_fields
from indexerd.service.visibility import Visibility
from indexerd.store import Changes, GenerationInfo, LiveSegment, Snapshot

_PAGE, _LARGEST_PAGE = 1000, 5000
# Front matter may have 64 KiB a document: a page is bounded by its size too.
_PAGE_BYTES = 4 << 20


class _Wanted(NamedTuple):
    roles: frozenset[str]
    as_of: datetime.date
    tags: tuple[str, ...]
    where: tuple[tuple[str, str], ...]
    prefix: str
    after: str
    limit: int


class Listing:
    """Answers `documents` and `generations`."""

    def __init__(self, parts: Parts, visibility: Visibility) -> None:
        self._parts = parts
        self._visibility = visibility

    def documents(self, caller: Caller, params: Payload) -> Json:
        """List documents in the order of their source paths.

        Raises:
            RequestError: A parameter is wrong.
        """
        fields = Fields(params)
        wanted = self._wanted(fields, caller)
        deleted = fields.flag("deleted")
        fields.close()
        if deleted and (wanted.tags or wanted.where):
            raise RequestError("of deleted documents neither tags nor fields are known: leave out tags and where")
        snapshot = self._parts.store.snapshot()
        found = self._deleted(caller, wanted) if deleted else self._living(snapshot, wanted)
        page, more = _page(found, wanted.limit)
        return {
            "protocol": PROTOCOL_VERSION,
            "generation": self._generation(caller, snapshot),
            "documents": page,
            "next": page[-1]["source_path"] if more else None,
        }

    def _generation(self, caller: Caller, snapshot: Snapshot) -> int:
        if caller.is_owner:
            return snapshot.generation
        return self._visibility.number(snapshot, caller.roles, self._parts.clock.today())

    def _wanted(self, fields: Fields, caller: Caller) -> _Wanted:
        return _Wanted(
            roles=caller.acting_roles(fields.maybe_texts("roles")),
            as_of=fields.date("as_of") or self._parts.clock.today(),
            tags=fields.texts("tags"),
            where=fields.pairs("where"),
            prefix=fields.text("prefix", "") or "",
            after=fields.text("after", "") or "",
            limit=fields.integer("limit", _PAGE, low=1, high=_LARGEST_PAGE) or _PAGE,
        )

    def _living(self, snapshot: Snapshot, wanted: _Wanted) -> Iterator[Json]:
        held = self._parts.sync.held()
        after, access = wanted.after.encode(), self._parts.access
        # By the same function as a query's filters: what the one finds the other lists.
        chosen = {one.key: carrying(one.data, wanted.tags, wanted.where, access) for one in snapshot.segments}
        for segment, index in snapshot.documents():
            path = segment.data.paths[index]
            if (after and path.encode() <= after) or not path.startswith(wanted.prefix):
                continue
            document = segment.data.document(index)
            if chosen[segment.key][index] and admits(rights(document, access), wanted.roles, wanted.as_of):
                yield self._row(segment, index, document, held)

    def _row(self, segment: LiveSegment, index: int, document: Document, held: frozenset[SourcePath]) -> Json:
        path = document.source_path
        first, behind = segment.data.first_chunks[index : index + 2].tolist()
        return {
            "source_path": path,
            **path_fields(self._parts.sources.absolute(path)),
            "document_id": document_id(path),
            "title": document.title,
            "format": document.format,
            "size_bytes": document.size_bytes,
            "line_count": document.line_count,
            "chunks": behind - first,
            "tags": list(document.tags),
            "metadata": metadata_fields(effective_metadata(document, self._parts.access)),
            "document_hash": document.content_hash.hex(),
            "unsafe": [finding._asdict() for finding in document.unsafe],
            "problems": list(document.problems),
            "held": path in held,
        }

    def _deleted(self, caller: Caller, wanted: _Wanted) -> Iterator[Json]:
        """List tombstones; they carry no rights any more, so only an owner sees them."""
        caller.require_owner("the list of deleted documents")
        after = wanted.after.encode()
        for gone in self._parts.store.past().deleted():
            path = gone.source_path
            if path.startswith(wanted.prefix) and (not after or path.encode() > after):
                last = gone.content_hash.hex() if gone.content_hash is not None else None
                yield {"source_path": path, "document_hash": last, "generation": gone.generation}

    def generations(self, caller: Caller, params: Payload) -> Json:
        """List every kept generation, oldest first; or one, with the documents that it changed.

        Raises:
            ForbiddenError: The caller is no owner.
            GenerationError: The one that is asked for is not kept, or damaged.
        """
        fields = Fields(params)
        caller.require_owner("generations")
        number = fields.integer("generation")
        fields.close()
        past = self._parts.store.past()
        if number is None:
            return {"protocol": PROTOCOL_VERSION, "generations": [_generation(info) for info in past.generations()]}
        one = _generation(past.info(number)) | {"changes": _changes(past.changes(number))}
        return {"protocol": PROTOCOL_VERSION, "generations": [one]}


def _generation(info: GenerationInfo) -> Json:
    return {
        "generation": info.generation,
        "durable": info.durable,
        "published_at": moment(info.published_at_ns),
        "added": info.added,
        "updated": info.updated,
        "deleted": info.deleted,
    }


def _changes(changes: Changes | None) -> Json | None:
    """Return the names, of each kind as many as one message carries."""
    if changes is None:
        return None
    kinds = {"added": changes.added, "updated": changes.updated, "deleted": changes.deleted}
    shown = {kind: _fitting(paths, _PAGE_BYTES // len(kinds)) for kind, paths in kinds.items()}
    return {"since": changes.since, **shown, "truncated": any(len(shown[kind]) < len(kinds[kind]) for kind in kinds)}


def _fitting(paths: Sequence[SourcePath], room: int) -> list[SourcePath]:
    behind = accumulate(len(json.dumps(path)) for path in paths)
    return [path for path, used in zip(paths, behind, strict=True) if used <= room]


def _page(rows: Iterator[Json], limit: int) -> tuple[list[Json], bool]:
    """Take at most `limit` rows and no more than one message carries; tell whether there are more."""
    page: list[Json] = []
    room = _PAGE_BYTES
    for row in rows:
        room -= len(json.dumps(row))
        if len(page) == limit or (room < 0 and page):
            return page, True
        page.append(row)
    return page, False
