"""Repair: publish the bytes that a query saw where the index holds others, so that the query can be answered from them.

Owns: which of these bytes may be published as they are, and which questions one generation can answer together.
Knows nothing of: threads, locks, hints, queries.
Invariants: 1. bytes are published only over a version that was read before them, never over a newer one. 2. what may be
    half of a save under way is not published. 3. only documents that are indexed, and not held, are repaired.
Purity: shell (publishes through the store).
See: docs/adr/0011.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from indexerd.digests import content_hash
from indexerd.model import SourcePath
from indexerd.ports import SourceFault, SourceRead
from indexerd.store import Snapshot
from indexerd.sync.apply import Draft, Tally
from indexerd.sync.cycle import Cycle
from indexerd.sync.pending import Writing
from indexerd.sync.reading import build_files, is_binary

Reads = Mapping[SourcePath, SourceRead | SourceFault]


@dataclass(slots=True, eq=False)
class Asked:
    """One query's wish, and what became of it.

    Attributes:
        reads: What the query saw of files whose proof failed.
        done: It was looked at: the rest of the fields is meant then.
        snapshot: A generation that holds these bytes, save for `left`; None if none could be made.
        left: Files that are looked at in the usual way instead.
        number: The hint that stands for these; 0 for none.
    """

    reads: Reads
    done: bool = False
    snapshot: Snapshot | None = None
    left: frozenset[SourcePath] = frozenset()
    number: int = 0


@dataclass(slots=True)
class Group:
    """Wishes that do not contradict one another: one generation answers them all."""

    asked: list[Asked] = field(default_factory=list)
    reads: dict[SourcePath, SourceRead | SourceFault] = field(default_factory=dict)

    def admits(self, reads: Reads) -> bool:
        """Return whether no file was seen in another state by those who are in it."""
        return all(self.reads.get(path, read) == read for path, read in reads.items())


class Repaired(NamedTuple):
    """The outcome of one group.

    Attributes:
        snapshot: Holds every read of the group, or newer ones, save for those `left`.
        tally: What was published.
        published: Documents that were published as they were seen.
        left: Files that must be looked at in the usual way.
    """

    snapshot: Snapshot
    tally: Tally
    published: tuple[SourcePath, ...]
    left: frozenset[SourcePath]


def grouped(wishes: Iterable[Asked]) -> list[Group]:
    """Put wishes together, in their order, into as few groups as they can be without looking ahead."""
    groups: list[Group] = []
    for asked in wishes:
        if not groups or not groups[-1].admits(asked.reads):
            groups.append(Group())
        groups[-1].asked.append(asked)
        groups[-1].reads.update(asked.reads)
    return groups


def holds(snapshot: Snapshot, path: SourcePath, read: SourceRead | SourceFault) -> bool:
    """Return whether a snapshot has a document in just the state that was seen."""
    if isinstance(read, SourceFault):
        return False
    found = snapshot.find(path)
    return found is not None and found[0].data.content_hashes[found[1]].tobytes() == content_hash(read.data)


def repair(
    reads: Reads, cycle: Cycle, fingerprint: str, writing: Callable[[bytes], Writing], limit: tuple[int, int]
) -> Repaired:
    """Publish what was seen, as one generation; publish nothing where all of it is indexed already.

    Args:
        reads: What was seen.
        cycle: Of the writer whose thread this is.
        fingerprint: Of the settings in force, which are those of the current generation.
        writing: What the events that wait say of a file (absolute path).
        limit: How many files and bytes may be published like this.

    Raises:
        OSError: Nothing changed.
        StoreError: As `OSError`.
    """
    snapshot = cycle.store.snapshot()
    differing = {path: read for path, read in reads.items() if not holds(snapshot, path, read)}
    if not differing:
        return Repaired(snapshot, Tally(), (), frozenset())
    found = {path: _judged(path, read, cycle, writing) for path, read in differing.items()}
    files = _within(limit, [(path, read) for path, read in differing.items() if found[path] is _Verdict.PUBLISH])
    segment, failed = build_files(files, cycle.settings)
    published = tuple(path for path, _ in files if path not in failed)
    tally = Tally()
    if segment is not None:
        draft = Draft(cycle.settings, fingerprint)
        draft.seen(segment, {path: read.stat for path, read in reads.items() if isinstance(read, SourceRead)})
        snapshot, tally = draft.publish(cycle.store, cycle.ledger)
    left = {path for path, verdict in found.items() if verdict is not _Verdict.OVERTAKEN}
    return Repaired(snapshot, tally, published, frozenset(left.difference(published)))


class _Verdict(Enum):
    """What is to be done with bytes: publish them, look at the file instead, or nothing: the index has newer ones."""

    PUBLISH = "publish"
    LOOK = "look"
    OVERTAKEN = "overtaken"


def _judged(
    path: SourcePath, read: SourceRead | SourceFault, cycle: Cycle, writing: Callable[[bytes], Writing]
) -> _Verdict:
    ledger = cycle.ledger
    if isinstance(read, SourceFault) or path not in ledger or path in ledger.held or is_binary(read.data):
        return _Verdict.LOOK
    known = ledger.cache.get(path)
    if known is not None and known.stat.ctime_ns > read.stat.ctime_ns:
        return _Verdict.OVERTAKEN
    # Within one tick of the file system's clock it is not known which is newer. An empty file is one being saved.
    if not read.data or (known is not None and known.stat.ctime_ns == read.stat.ctime_ns):
        return _Verdict.LOOK
    match writing(cycle.absolute(path)):
        case Writing.NO:
            return _Verdict.PUBLISH
        case Writing.WAS:
            # Saved in place, and closed: what was seen is whole if it is what stands there now.
            now = cycle.sources.read(path)
            return _Verdict.PUBLISH if isinstance(now, SourceRead) and now.data == read.data else _Verdict.LOOK
        case Writing.IS:
            return _Verdict.LOOK


def _within(
    limit: tuple[int, int], reads: Sequence[tuple[SourcePath, SourceRead | SourceFault]]
) -> list[tuple[SourcePath, bytes]]:
    """Return the first documents whose bytes together stay within a limit."""
    most_files, most_bytes = limit
    files: list[tuple[SourcePath, bytes]] = []
    for path, read in reads:
        if isinstance(read, SourceRead) and len(files) < most_files and len(read.data) <= most_bytes:
            most_bytes -= len(read.data)
            files.append((path, read.data))
    return files
