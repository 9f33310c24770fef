"""From slices and deletions to one published generation, or to nothing changed at all.

Owns: the draft of the next generation, what a publish counts as added, updated and deleted.
Knows nothing of: hints, scans, threads, when to publish.
Invariants: 1. until `publish` returns nothing is visible and the ledger is untouched; a failed publish can be tried
    again and then reports what the first would have. 2. of two versions of a path in one draft the later wins. 3. a
    draft that changes nothing publishes nothing.
Purity: shell (through the store).
See: docs/consistency.md (publish).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from indexerd.errors import CorruptionError
from indexerd.indexing import build_segment
from indexerd.model import ContentHash, Settings, SourcePath
from indexerd.ports import SourceStat
from indexerd.store import Change, Snapshot, Store
from indexerd.store.parts import Stored as StoredSegment
from indexerd.store.segment import Segment
from indexerd.sync.ledger import Ledger, Stored
from indexerd.sync.reading import Slice


class Tally(NamedTuple):
    """Documents added, updated, deleted by a publish, and found unchanged on the way to it."""

    added: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0

    def changes(self) -> int:
        """Return how many documents were added, updated or deleted."""
        return self.added + self.updated + self.deleted

    def __add__(self, other: object) -> "Tally":
        if not isinstance(other, Tally):
            return NotImplemented
        return Tally(*(left + right for left, right in zip(self, other, strict=True)))


class Draft:
    """What the next generation will change.

    Attributes:
        text_bytes: Bytes of the documents of all slices taken in.
    """

    def __init__(self, settings: Settings, fingerprint: str, *, redone_in: Store | None = None) -> None:
        """`redone_in` is where the draft is to replace all there is; None for one that adds to it."""
        self._settings = settings
        self._fingerprint = fingerprint
        self._store = redone_in
        self._start_over()

    def _start_over(self) -> None:
        self._segments: list[Segment | StoredSegment] = []
        self.text_bytes = 0
        # The last word on each path: a new version, or None for a deletion.
        self._effects: dict[SourcePath, Stored | None] = {}
        # All that its segments say anything of.
        self._said: set[SourcePath] = set()

    def __bool__(self) -> bool:
        return bool(self._segments)

    def holds(self, path: SourcePath) -> bool:
        """Return whether the draft has a version of a path that is not published yet."""
        return self._effects.get(path) is not None

    def touches(self, path: SourcePath) -> bool:
        """Return whether the draft says anything about a path: what is published is then not the last word."""
        return path in self._effects

    def added(self, ledger: Ledger) -> dict[SourcePath, ContentHash]:
        """Return what the draft has a version of and the index has not: gone from the disk, it must leave the draft."""
        indexed = ledger.indexed
        return {
            path: effect.content_hash
            for path, effect in self._effects.items()
            if effect is not None and path not in indexed
        }

    def ready(self) -> bool:
        """Return whether publishing would change anything: an emptied set that is redone does, too."""
        return bool(self._segments) or self._store is not None

    def store(self, part: Slice, looked_ns: int) -> None:
        """Take in the segment of a slice, with the stats of the files in it."""
        if part.segment is None:
            return
        self._segments.append(self._staged(part.segment))
        self.text_bytes += int(part.segment.sizes.sum())
        stats = {outcome.source_path: outcome.stat for outcome in part.outcomes if outcome.stat is not None}
        for index in range(part.segment.document_count):
            path = part.segment.paths[index]
            known = ContentHash(part.segment.content_hashes[index].tobytes())
            self._effects[path] = Stored(known, stats[path], looked_ns)
            self._said.add(path)

    def _staged(self, segment: Segment) -> Segment | StoredSegment:
        """Have a segment of what is redone wait on the disk: nothing of it is published before all is there."""
        if self._store is None:
            return segment
        try:
            return self._store.stage(segment)
        except OSError:
            # It waits in memory, and publishing says what is wrong.
            return segment

    def give_way(self, paths: Iterable[SourcePath], snapshot: Snapshot) -> None:
        """Change nothing about some files after all: a newer read of each is published already, in this snapshot.

        Raises:
            CorruptionError: As `kept_text`; nothing changed.
        """
        overtaken = sorted(self._said.intersection(paths))
        if not overtaken:
            return
        kept = [(path, text) for path in overtaken if (text := kept_text(snapshot, path)) is not None]
        gone = set(overtaken).difference(path for path, _ in kept)
        # Said once more, behind the older word in this draft.
        self._segments.append(build_segment(kept, self._settings, sorted(gone)))
        for path in overtaken:
            self._effects.pop(path, None)

    def seen(self, segment: Segment, stats: Mapping[SourcePath, SourceStat]) -> None:
        """Take in documents as a query saw them, with their stats then: good for telling older from newer, no more."""
        self._segments.append(segment)
        for index in range(segment.document_count):
            path = segment.paths[index]
            # As if looked at in the moment of the change: such a stat is never believed.
            known = ContentHash(segment.content_hashes[index].tobytes())
            self._effects[path] = Stored(known, stats[path], stats[path].ctime_ns)

    def keep(self, segment: Segment) -> None:
        """Take in documents made anew from their kept text; no file was looked at for them."""
        self._segments.append(self._staged(segment))
        for index in range(segment.document_count):
            self._effects[segment.paths[index]] = Stored(ContentHash(segment.content_hashes[index].tobytes()), None, 0)

    def delete(self, paths: Iterable[SourcePath], ledger: Ledger) -> None:
        """Take in deletions; of paths neither indexed nor in the draft nothing is kept."""
        dead = sorted(path for path in set(paths) if path in ledger or self.holds(path))
        if dead:
            self._segments.append(build_segment((), self._settings, dead))
            self._effects.update(dict.fromkeys(dead))
            self._said.update(dead)

    def publish(self, store: Store, ledger: Ledger, *, partial: bool | None = None) -> tuple[Snapshot, Tally]:
        """Publish the draft as one generation and bring the ledger in step; the draft is empty then.

        Args:
            store: Where to.
            ledger: What is indexed so far.
            partial: Whether more of a first index is to come; None if that is as it was.

        Raises:
            OSError: Nothing changed; the draft is as it was. Try again later.
            StoreError: As `OSError`.
        """
        tally = self._tally(ledger)
        if not tally.changes() and self._store is None and partial in (None, store.is_partial):
            # Read twice, or changed and changed back while it waited.
            self._end(ledger)
            return store.snapshot(), tally
        segments = self._segments or [build_segment((), self._settings, sorted(ledger.indexed))]
        prepared = store.prepare(
            segments,
            settings=self._fingerprint,
            change=Change(added=tally.added, updated=tally.updated, deleted=tally.deleted),
            replace_all=self._store is not None,
            partial=partial,
        )
        try:
            snapshot = store.publish(prepared)
        except (OSError, CorruptionError):
            store.abort(prepared)
            raise
        self._end(ledger)
        return snapshot, tally

    def _end(self, ledger: Ledger) -> None:
        stored = {path: effect for path, effect in self._effects.items() if effect is not None}
        ledger.note_stored(stored, self._deleted(ledger))
        self._store = None
        self._start_over()

    def _tally(self, ledger: Ledger) -> Tally:
        indexed = ledger.indexed
        known = [
            effect.content_hash == indexed[path]
            for path, effect in self._effects.items()
            if effect is not None and path in indexed
        ]
        # A file that was changed and changed back while the draft waited is no update; new settings make all anew.
        updated = len(known) if self._store is not None else known.count(False)
        return Tally(len(self.added(ledger)), updated, len(self._deleted(ledger)))

    def _deleted(self, ledger: Ledger) -> list[SourcePath]:
        if self._store is not None:
            return [path for path in ledger.indexed if self._effects.get(path) is None]
        return [path for path, effect in self._effects.items() if effect is None and path in ledger]


def kept_text(snapshot: Snapshot, path: SourcePath) -> bytes | None:
    """Return the bytes of a document as they were indexed; None if it is not.

    Raises:
        CorruptionError: They are damaged. Try again when the store has healed.
    """
    found = snapshot.find(path)
    return bytes(found[0].data.raw(found[1])) if found is not None else None
