"""One turn of the sync: look, decide, read, and take what was read into the draft of the next generation.

Owns: how a look becomes files to read and deletions, and what each outcome of a read means for the index.
Knows nothing of: threads, when a turn is due, when to publish, what failed before.
Invariants: 1. a path named by an event is always read, whatever its stat says. 2. a document is deleted only when its
    absence was seen, or the file as it is would not be indexed by a fresh index. 3. a folder is watched before it is
    listed.
Purity: shell (scans and reads through what it is given).
See: docs/consistency.md (looking and reading).
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

from indexerd.errors import CorruptionError
from indexerd.model import ContentHash, Root, Settings, SourcePath
from indexerd.naming import source_path, split_source_path
from indexerd.ports import Clock, Sources
from indexerd.sources import tells_of_shortage
from indexerd.store import Snapshot, Store
from indexerd.sync.apply import Draft, kept_text
from indexerd.sync.bulk import Sized
from indexerd.sync.ledger import Ledger, is_within
from indexerd.sync.look import Look, merge_looks
from indexerd.sync.pending import Taken
from indexerd.sync.plan import SyncPlan, plan, plan_quietly
from indexerd.sync.reading import Outcome, Slice, Wanted, build_files
from indexerd.sync.scan import Scanner, ruled_by

# Why a file cannot be opened or read, where that means "a fresh index would not have it" and not "cannot look now".
_NOT_FOR_US = frozenset({"too_large", "not_regular", "foreign_link"})
# So many deletions are looked at twice; more are a folder gone, which no listing misses file by file.
_CONFIRMED_AT_MOST = 2000
# After so many files of a survey, some milliseconds of work, other things come in between.
_PORTION = 1000


def _go_on() -> None:
    """Do nothing in between."""


class FolderWatch(Protocol):
    """The part of the watcher that a look needs."""

    @property
    def polled(self) -> frozenset[bytes]:
        """Return the roots that are not to be watched."""
        ...

    def watch(self, folder: bytes, names: frozenset[bytes] = frozenset()) -> None:
        """Watch one folder, or of it these names alone."""
        ...

    def keep_only(self, tops: frozenset[bytes], folders: frozenset[bytes]) -> None:
        """Watch nothing at or below `tops` but these folders."""
        ...


class Work(NamedTuple):
    """What a look leads to: files to read in this order, documents that are gone; its scope; files of several names."""

    read: tuple[Sized, ...]
    tombstones: tuple[SourcePath, ...]
    scope: tuple[SourcePath, ...]
    linked: frozenset[SourcePath] = frozenset()


class Cycle(NamedTuple):
    """Looks and reads for one store; holds no state of its own."""

    roots: tuple[Root, ...]
    scanner: Scanner
    sources: Sources
    store: Store
    ledger: Ledger
    settings: Settings
    clock: Clock
    watcher: FolderWatch | None

    def survey(self, hints: Iterable[Taken], draft: Draft, between: Callable[[], None], *, redo: bool = False) -> Work:
        """Look at everything below every root; what the hints name is read whatever its stat says.

        Args:
            hints: What to read in any case.
            draft: What the next generation will change.
            between: Called every few milliseconds; it may look at single paths, read and publish. Let `look_again` at
                what it did follow.
            redo: Read every file.
        """
        entered: set[bytes] = set()
        look = self.scanner.scan(self.ledger.places, self._entering(entered, between))
        self._watch_only((os.fsencode(root.path) for root in self.roots), entered)
        between()
        named = {source_path(*place) for place in self._places(hints)}
        doubted = None if redo or draft else self.ledger.doubted(look.files)
        if doubted is not None:
            decided = plan_quietly(look=look, doubted=doubted, roots=self.roots, sample=named)
        else:
            decided = plan(
                look=look,
                indexed=self._known(self.ledger.indexed, draft),
                cache=self.ledger.cache,
                roots=self.roots,
                redo=redo,
                sample=named,
            )
        between()
        return self._confirmed(self._work(look, decided, draft, between, redo=redo), draft)

    def look_again(self, work: Work, hints: Iterable[Taken], draft: Draft) -> Work:
        """Look at what was looked at amid a survey once more, after it: of two looks the later counts."""
        second = self.look(hints, draft)
        scope = frozenset(second.scope)
        read = [file for file in work.read if not is_within(file.want.source_path, scope)]
        tombstones = [path for path in work.tombstones if not is_within(path, scope)]
        return Work((*read, *second.read), tuple(sorted({*tombstones, *second.tombstones})), work.scope)

    def look(self, hints: Iterable[Taken], draft: Draft, between: Callable[[], None] | None = None) -> Work:
        """Look at what some hints name: files themselves, folders with all below them.

        Arguments as of `survey`; with `between` what is found gone is looked at twice as well.
        """
        work = self._look_at(self._places(hints), draft, between or _go_on)
        return work if between is None else self._confirmed(work, draft)

    def _known(self, indexed: Mapping[SourcePath, ContentHash], draft: Draft) -> Mapping[SourcePath, ContentHash]:
        """Return what is indexed, or will be unless it is found gone."""
        added = draft.added(self.ledger) if draft else {}
        return {**added, **indexed} if added else indexed

    def _look_at(
        self, places: Mapping[tuple[Root, bytes], bytes], draft: Draft, between: Callable[[], None] = _go_on
    ) -> Work:
        trees = [tree for tree in places.values() if tree]
        entered: set[bytes] = set()
        look = self.scanner.look(places, self.ledger.places, self._entering(entered, between))
        self._watch_only(trees, entered)
        if look.linked:
            look = merge_looks([look, self._other_names(look)])
        decided = plan(
            look=look,
            indexed=self._known(self.ledger.within(look.scope), draft),
            cache=self.ledger.cache,
            roots=self.roots,
            sample={source_path(*place) for place in places},
        )
        return self._work(look, decided, draft, between)

    def _other_names(self, look: Look) -> Look:
        """Look at the other indexed names of files with several: a write through one is told of that name alone."""
        names = set(self.ledger.cache.same_files(look.files[path] for path in look.linked)) - look.files.keys()
        places = [place for path in sorted(names) if (place := split_source_path(self.roots, path)) is not None]
        return self.scanner.look(places, self.ledger.places)

    def _confirmed(self, work: Work, draft: Draft) -> Work:
        """Look once more at what a survey found gone: a listing can miss a name that is being replaced meanwhile."""
        if not 0 < len(work.tombstones) <= _CONFIRMED_AT_MOST:
            return work
        places = {path: split_source_path(self.roots, path) for path in work.tombstones}
        second = self._look_at({place: b"" for place in places.values() if place is not None}, draft)
        rootless = {path for path, place in places.items() if place is None}
        known = {file.want.source_path for file in work.read}
        found = [file for file in second.read if file.want.source_path not in known]
        return Work((*work.read, *found), tuple(sorted(rootless.union(second.tombstones))), work.scope)

    def _places(self, hints: Iterable[Taken]) -> dict[tuple[Root, bytes], bytes]:
        """Return what the hints name, each with the absolute path of the tree it stands for (empty for a file)."""
        places: dict[tuple[Root, bytes], bytes] = {}
        for hint in hints:
            place = self.scanner.locate(hint.path)
            if place is not None:
                places[place] = hint.path if hint.tree or not place[1] else b""
            folder = None if place is None else ruled_by(place[1])
            if place is not None and folder is not None:
                # What it ignores is not to be watched any more, what it does not is.
                places[place] = b"/".join(filter(None, (os.fsencode(place[0].path), folder)))
        return places

    def _watch_only(self, trees: Iterable[bytes], folders: set[bytes]) -> None:
        """After a walk of some trees: watch nothing at or below them but these folders."""
        tops = frozenset(trees)
        if self.watcher is not None and tops:
            # All at once: each question goes through all watches, and a removal of many folders names each of them.
            self.watcher.keep_only(tops, frozenset(folders))

    def receive(
        self, part: Slice, draft: Draft, looked_ns: int, overtaken: Collection[SourcePath] = ()
    ) -> list[SourcePath]:
        """Take a slice into the draft and the ledger; return the files that must be read again.

        What it found of files that were `overtaken`, by a newer read of each, counts for nothing; the draft gives way.
        """
        draft.store(part, looked_ns)
        again: list[SourcePath] = []
        gone: list[SourcePath] = []
        for outcome in part.outcomes:
            match outcome.result:
                case "stored":
                    pass
                case _ if outcome.source_path in overtaken:
                    pass
                case "unchanged" if outcome.stat is not None and outcome.source_path in self.ledger:
                    self.ledger.note_equal(outcome.source_path, outcome.stat, looked_ns)
                case "source_changed" | "unchanged":
                    again.append(outcome.source_path)
                case _ if tells_of_shortage(outcome.detail):
                    again.append(outcome.source_path)
                case _ if _is_held(outcome):
                    self._hold(outcome, draft)
                case _:
                    gone.append(outcome.source_path)
                    self._note_unusable(outcome)
        # All at once: each deletion is a segment of its own.
        draft.delete(gone, self.ledger)
        return again

    def keep_held(self, draft: Draft) -> None:
        """Redo documents that cannot be looked at now from the text that the store has kept of them."""
        snapshot = self.store.snapshot()
        files = [(path, _kept_text(snapshot, path)) for path in sorted(self.ledger.held) if not draft.holds(path)]
        segment, _ = build_files([(path, data) for path, data in files if data is not None], self.settings)
        if segment is not None:
            draft.keep(segment)

    def absolute(self, path: SourcePath) -> bytes:
        """Return the absolute path of a document that a look has found."""
        found = self.sources.absolute(path)
        assert found is not None, "a document of a look lies below a root"
        return found

    def _entering(self, entered: set[bytes], between: Callable[[], None] = _go_on) -> Callable[[Root, bytes], None]:
        def enter(root: Root, relative: bytes) -> None:
            between()
            top = os.fsencode(root.path)
            if self.watcher is not None and top not in self.watcher.polled:
                folder = top + b"/" + relative if relative else top
                entered.add(folder)
                # Git is busy in there: of its folder it matters alone that the one for its rules comes or goes.
                only = frozenset({b"info"}) if relative.endswith(b"/.git") else frozenset[bytes]()
                self.watcher.watch(folder, only)

        return enter

    def _work(
        self,
        look: Look,
        decided: SyncPlan,
        draft: Draft,
        between: Callable[[], None] = _go_on,
        *,
        redo: bool = False,
    ) -> Work:
        # A file that is only being read is no document yet, so there is nothing to hold.
        held = {path: why for path, why in decided.held.items() if path in self.ledger or draft.holds(path)}
        self.ledger.note_look(look, replace(decided, held=held))
        snapshot = self.store.snapshot()
        read = []
        for number, path in enumerate(decided.read):
            if not number % _PORTION:
                between()
                # What was published in between is what the files are compared with, or it would be published again.
                snapshot = self.store.snapshot()
            stat = look.files.get(path)
            if redo or not self.ledger.is_known_unusable(path, stat):
                size = stat.size if stat is not None else 0
                read.append(Sized(_wanted(path, snapshot, draft, redo=redo), size))
        return Work(tuple(read), tuple(decided.tombstones), look.scope, look.linked)

    def _hold(self, outcome: Outcome, draft: Draft) -> None:
        path = outcome.source_path
        if path in self.ledger or draft.holds(path):
            self.ledger.note_held(path, outcome.detail)
        else:
            self.ledger.note_unusable(path, None, outcome.detail)

    def _note_unusable(self, outcome: Outcome) -> None:
        if outcome.result not in {"source_missing", "source_escapes_root"}:
            self.ledger.note_unusable(outcome.source_path, outcome.stat, outcome.detail or outcome.result)


def _is_held(outcome: Outcome) -> bool:
    """Return whether a file may be there as it was and only cannot be looked at now."""
    return outcome.result == "source_unreadable" and outcome.detail not in _NOT_FOR_US


def _wanted(path: SourcePath, snapshot: Snapshot, draft: Draft, *, redo: bool) -> Wanted:
    """Return what to compare the file with: nothing where it is redone, or where the draft has a newer word on it."""
    found = None if redo or draft.touches(path) else snapshot.find(path)
    if found is None:
        return Wanted(path)
    live, index = found
    data = live.data
    return Wanted(path, data.digests[index].tobytes(), data.content_hashes[index].tobytes(), int(data.sizes[index]))


def _kept_text(snapshot: Snapshot, path: SourcePath) -> bytes | None:
    try:
        return kept_text(snapshot, path)
    except CorruptionError:
        # Nothing is left of it, neither its file nor what was kept.
        return None
