"""fsck: every invariant of a state directory, derived anew from its bytes.

Owns: what counts as a problem, and what a power cut may leave (a note).
Knows nothing of: repairing: it only looks.
Invariants: 1. one finding for each thing that is wrong. 2. nothing is believed because another file says it. 3. no
    damage makes it fail: it reports and goes on.
Purity: shell (reads the state directory, through the port).
See: docs/consistency.md (invariants), docs/operations.md (fsck).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from indexerd.errors import CorruptionError, FormatVersionError
from indexerd.ports import StoreFilesystem
from indexerd.store.layout import FileName, Kind, SlotName, parse_name
from indexerd.store.manifest import Manifest, SegmentRef
from indexerd.store.parts import Stored, live_masks
from indexerd.store.recover import lost_slots, newest_first, read_manifest, read_segment, read_slot, slot_marks
from indexerd.store.segment import Segment
from indexerd.store.slots import KeptGeneration, Slot
from indexerd.store.verify_segment import guarded, segment_problems

_TRIES = 20


class Remade(NamedTuple):
    """How the text of a segment is analysed again: the store itself does not know how.

    Attributes:
        settings: Fingerprint of the settings with which it can be done.
        problems: Yields what of a segment its text does not give.
    """

    settings: str
    problems: Callable[[Segment], Iterator[str]]


class Finding(NamedTuple):
    """Something that is not as it should be.

    Attributes:
        kind: `problem`, or `note` for what a power cut or a killed process may legally leave.
        where: Name of the file.
        detail: What is wrong.
    """

    kind: Literal["problem", "note"]
    where: str
    detail: str


@dataclass(slots=True)
class _Check:
    """One pass over a state directory."""

    fs: StoreFilesystem
    remade: Remade | None
    segments: dict[SegmentRef, Stored | None] = field(default_factory=dict)
    manifests: dict[KeptGeneration, Manifest | None] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def add(self, kind: Literal["problem", "note"], where: str, detail: str) -> None:
        if (where, detail) not in self.seen:
            self.seen.add((where, detail))
            self.findings.append(Finding(kind, where, detail))


def fsck(fs: StoreFilesystem, remade: Remade | None = None) -> tuple[Finding, ...]:
    """Check a state directory; may run beside the daemon.

    Args:
        fs: The state directory.
        remade: Analyses the text of each segment again, to compare; None leaves that out.

    Returns:
        What was found, problems first; empty when all is well.

    Raises:
        OSError: The directory cannot be read.
    """
    findings: tuple[Finding, ...] = ()
    for _ in range(_TRIES):
        before = slot_marks(fs)
        findings = _checked(_Check(fs, remade))
        if not findings or slot_marks(fs) == before:
            break
        # A writer that moved a slot meanwhile may have removed what was looked for, and made what nothing named yet.
        findings = _still_concerned(fs, findings)
        if not any(finding.kind == "problem" for finding in findings):
            break
    return findings


def _still_concerned(fs: StoreFilesystem, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings without those about files that no slot names any more, and without what the moves explain."""
    check = _Check(fs, None)
    names = fs.names()
    slots = [slot for name in SlotName if (slot := _slot(check, name, present=name in names)) is not None]
    check.manifests = {kept: _manifest(check, kept, "note") for slot in slots for kept in slot.kept}
    named = frozenset().union(*(_files_of(check, slot) for slot in slots))

    def concerns(finding: Finding) -> bool:
        parsed = parse_name(finding.where)
        is_of_store = isinstance(parsed, FileName) and not parsed.damaged
        return not is_of_store or (finding.kind == "problem" and finding.where in named)

    return tuple(filter(concerns, findings))


def _checked(check: _Check) -> tuple[Finding, ...]:
    names = check.fs.names()
    slots = {name: slot for name in SlotName if (slot := _slot(check, name, present=name in names)) is not None}
    good = [name for name in newest_first(slots) if _check_newest(check, slots[name], name)]
    _excuse_latest(check, slots, good)
    for name, slot in slots.items():
        for kept in slot.kept[:-1]:
            _check_generation(check, kept, newest_of=None, unflushed=_is_unflushed(slots, name, kept))
    _check_slots_together(check, slots, good, names)
    _check_leftovers(check, slots, names)
    return tuple(sorted(check.findings, key=lambda finding: finding.kind != "problem"))


def _slot(check: _Check, name: SlotName, *, present: bool) -> Slot | None:
    if not present:
        return None
    try:
        return read_slot(check.fs, name)
    except FormatVersionError as error:
        check.add("note", name, str(error))
    except CorruptionError as error:
        check.add("problem", name, error.detail)
    return None


def _check_newest(check: _Check, slot: Slot, name: SlotName) -> bool:
    before = len(check.findings)
    _check_generation(check, slot.newest, newest_of=name, unflushed=False)
    return len(check.findings) == before


def _excuse_latest(check: _Check, slots: Mapping[SlotName, Slot], good: Sequence[SlotName]) -> None:
    """Make what is wrong with `latest` alone a note: it is never flushed, and a power cut may take any of it."""
    if SlotName.DURABLE not in good or SlotName.LATEST in good:
        return
    durable = _files_of(check, slots[SlotName.DURABLE])
    check.findings = [
        finding._replace(kind="note") if finding.where not in durable else finding for finding in check.findings
    ]


def _is_unflushed(slots: Mapping[SlotName, Slot], name: SlotName, kept: KeptGeneration) -> bool:
    durable = slots.get(SlotName.DURABLE)
    return name is SlotName.LATEST and (durable is None or kept not in durable.kept)


def _check_generation(check: _Check, kept: KeptGeneration, *, newest_of: SlotName | None, unflushed: bool) -> None:
    kind: Literal["problem", "note"] = "note" if unflushed else "problem"
    if kept not in check.manifests:
        check.manifests[kept] = _manifest(check, kept, kind)
    manifest = check.manifests[kept]
    if manifest is None:
        return
    stored = [one for ref in manifest.segments if (one := _segment(check, ref, kind)) is not None]
    where = kept.manifest.name(Kind.MANIFEST)
    for one in stored:
        if one.data.settings != manifest.settings:
            check.add("problem", where, f"segment {one.ref.name} was made with other settings")
    if newest_of is not None and len(stored) == len(manifest.segments):
        for problem in _count_problems(manifest, stored):
            check.add("problem", where, problem)


def _manifest(check: _Check, kept: KeptGeneration, kind: Literal["problem", "note"]) -> Manifest | None:
    try:
        return read_manifest(check.fs, kept)
    except (CorruptionError, FormatVersionError) as error:
        check.add(kind, kept.manifest.name(Kind.MANIFEST), f"generation {kept.generation}: {_detail(error)}")
    return None


def _segment(check: _Check, ref: SegmentRef, kind: Literal["problem", "note"]) -> Stored | None:
    if ref not in check.segments:
        try:
            stored = read_segment(check.fs, ref)
        except (CorruptionError, FormatVersionError) as error:
            check.add(kind, ref.name, _detail(error))
            check.segments[ref] = None
            return None
        check.segments[ref] = stored
        _check_segment(check, ref.name, stored.data)
    return check.segments[ref]


def _check_segment(check: _Check, name: str, data: Segment) -> None:
    problems = list(segment_problems(data))
    if not problems and check.remade is not None and data.settings == check.remade.settings:
        problems = list(guarded(check.remade.problems, data))
    elif check.remade is not None and data.settings != check.remade.settings:
        check.add("note", "settings", f"what {data.settings} made cannot be made again with the settings in force")
    for problem in problems:
        check.add("problem", name, problem)


def _count_problems(manifest: Manifest, stored: Sequence[Stored]) -> Iterator[str]:
    masks = live_masks([one.data for one in stored])
    documents = chunks = text_bytes = 0
    for one, mask in zip(stored, masks, strict=True):
        documents += int(mask.sum())
        text_bytes += int(one.data.sizes[mask].sum())
        counts = one.data.first_chunks.astype("int64")
        chunks += int((counts[1:] - counts[:-1])[mask].sum())
    for word, said, found in (
        ("documents", manifest.documents, documents),
        ("chunks", manifest.chunks, chunks),
        ("bytes of text", manifest.text_bytes, text_bytes),
    ):
        if said != found:
            yield f"says {said} {word}, its segments hold {found}"


def _check_slots_together(
    check: _Check, slots: Mapping[SlotName, Slot], good: Sequence[SlotName], names: Sequence[str]
) -> None:
    latest, durable = slots.get(SlotName.LATEST), slots.get(SlotName.DURABLE)
    if latest and durable and latest.store_id != durable.store_id and SlotName.DURABLE in good:
        check.add("note", SlotName.DURABLE, "is of the store that was here before a rebuild")
    present = [name for name in SlotName if name in names]
    if not present and (lost := lost_slots(names)):
        check.add("problem", SlotName.LATEST, f"{lost}; the index is rebuilt at the next start")
    if present and not good:
        check.add("problem", present[0], "no generation can be opened; the index is rebuilt at the next start")
    if latest is None and durable is not None and SlotName.LATEST not in names:
        check.add("note", SlotName.LATEST, "is missing; the durable slot is used")


def _check_leftovers(check: _Check, slots: Mapping[SlotName, Slot], names: Sequence[str]) -> None:
    named = frozenset().union(*(_files_of(check, slot) for slot in slots.values()))
    for name in names:
        parsed = parse_name(name)
        if isinstance(parsed, FileName) and parsed.damaged:
            check.add("note", name, "was found damaged and is kept for a look")
        elif isinstance(parsed, FileName) and name not in named:
            check.add("note", name, "is named by nothing; it is removed by the next collection")


def _files_of(check: _Check, slot: Slot) -> frozenset[str]:
    manifests = [manifest for kept in slot.kept if (manifest := check.manifests.get(kept)) is not None]
    own = {kept.manifest.name(Kind.MANIFEST) for kept in slot.kept}
    return frozenset(own | {ref.name for manifest in manifests for ref in manifest.segments})


def _detail(error: CorruptionError | FormatVersionError) -> str:
    return error.detail if isinstance(error, CorruptionError) else str(error)
