"""fsck: each broken invariant is found, and what a power cut may leave is only a note."""

from dataclasses import replace

import numpy as np
import pytest

from indexerd.digests import fast_digest
from indexerd.indexing import text_problems
from indexerd.model import History
from indexerd.store import verify
from indexerd.store.layout import Kind
from indexerd.store.manifest import FileRef, SegmentRef, encode_manifest
from indexerd.store.recover import read_manifest, read_slot
from indexerd.store.segment import decode_segment, encode_segment
from indexerd.store.slots import encode_slot
from indexerd.store.tables import bytes_table
from indexerd.store.verify import Remade, fsck
from indexerd.store.verify_segment import segment_problems
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, Inode
from tests.fakes.small_stores import FINGERPRINT, SETTINGS, make_segment, opened, publish

FILES = {"a.md": "# A\n\none two\n\n## More\n\nthree\n", "b.md": "four five\n"}


@pytest.fixture
def fs():
    fs = ForgetfulFilesystem()
    store = opened(fs)
    publish(store, FILES)
    store.checkpoint()
    publish(store, {"c.md": "six\n"}, ["b.md"])
    store.close()
    return ForgetfulFilesystem(fs.disk)


def kinds(fs):
    return [finding.kind for finding in fsck(fs)]


REMADE = Remade(FINGERPRINT, lambda segment: text_problems(segment, SETTINGS))


def put(fs, name, data):
    fs.disk.names[name] = Inode(data)


def forge(fs, change):
    """Replace the newest manifest by a changed one, with good checksums all the way up."""
    for name in ("latest", "durable"):
        slot = read_slot(fs, name)
        data = encode_manifest(change(read_manifest(fs, slot.newest)))
        ref = FileRef(slot.newest.manifest.serial, fast_digest(data), len(data))
        put(fs, ref.name(Kind.MANIFEST), data)
        put(fs, name, encode_slot(slot._replace(kept=(*slot.kept[:-1], slot.newest._replace(manifest=ref)))))


def test_a_whole_store_has_no_finding(fs):
    """Nothing is said about a store that is as it should be, nor about an empty directory."""
    assert fsck(fs, REMADE) == ()
    assert fsck(ForgetfulFilesystem(), REMADE) == ()


@pytest.mark.parametrize("counts", [{"documents": 3}, {"chunks": 99}, {"text_bytes": 0}])
def test_a_count_that_does_not_follow_is_a_problem(fs, counts):
    """Forged counts are found although every checksum is right."""
    forge(fs, lambda manifest: manifest._replace(**counts))
    assert "problem" in kinds(fs)


def test_segments_of_other_settings_are_a_problem(fs):
    """A manifest that claims other settings than its segments have is found."""
    forge(fs, lambda manifest: manifest._replace(settings="other"))
    assert any("settings" in finding.detail for finding in fsck(fs))


def test_a_segment_that_is_not_there_is_a_problem(fs):
    """A manifest that names a missing segment is found once, not once for each generation."""
    missing = SegmentRef(FileRef(77, bytes(16), 10), 1)
    forge(fs, lambda manifest: manifest._replace(segments=(*manifest.segments, missing)))
    assert [finding.where for finding in fsck(fs)].count(missing.name) == 1


def test_leftovers_are_notes(fs):
    """Files that nothing names, half written or not, are what a killed process leaves."""
    put(fs, f"{99:016x}-{'0' * 32}.segment", b"half")
    put(fs, f"{98:016x}-{'0' * 32}.slot", b"")
    put(fs, "notes.txt", b"not ours")
    assert kinds(fs) == ["note", "note"]


@pytest.mark.parametrize("data", [None, b"", b"torn"])
def test_a_latest_slot_that_a_power_cut_took_is_a_note_beside_a_good_durable_one(fs, data):
    """`latest` is never flushed: its loss is legal; the durable slot's is not."""
    if data is None:
        del fs.disk.names["latest"]
    else:
        put(fs, "latest", data)
    assert kinds(fs) == ["note"]
    put(fs, "durable", b"torn")
    assert "problem" in kinds(fs)


def test_damage_in_what_is_durable_is_a_problem(fs):
    """A flushed file that changed is a problem even where an older generation alone names it."""
    oldest = min(name for name in fs.disk.names if name.endswith(".segment"))
    data = fs.disk.names[oldest].data
    put(fs, oldest, data[:-1] + bytes([data[-1] ^ 1]))
    [finding] = [finding for finding in fsck(fs) if finding.where == oldest]
    assert finding.kind == "problem"


def swapped(table):
    return bytes_table([bytes(table[index]) for index in reversed(range(len(table)))])


BROKEN = {
    "paths swapped": lambda s: {"path_table": replace(s.path_table, table=swapped(s.path_table.table))},
    "a key changed": lambda s: {"path_keys": s.path_keys + np.uint64(1)},
    "hashes changed": lambda s: {"content_hashes": s.content_hashes ^ np.uint8(1)},
    "digests changed": lambda s: {"digests": s.digests ^ np.uint8(1)},
    "texts swapped": lambda s: {"texts": swapped(s.texts)},
    "sizes changed": lambda s: {"sizes": s.sizes + np.uint64(1)},
    "unsafe flags changed": lambda s: {"unsafe": ~s.unsafe},
    "chunks shared out wrongly": lambda s: {"first_chunks": np.array([0, 2, 2], np.uint32)},
    "spans outside": lambda s: {"end_lines": s.end_lines + np.uint32(100)},
    "bytes outside": lambda s: {"byte_ends": s.byte_ends + np.uint32(1000)},
    "a chunk too few": lambda s: {"postings": replace(s.postings, lengths=s.postings.lengths[:-1])},
    "terms swapped": lambda s: {"postings": replace(s.postings, terms=tuple(reversed(s.postings.terms)))},
    "a posting of nothing": lambda s: {"postings": replace(s.postings, chunks=s.postings.chunks + np.int32(50))},
    "a row of nothing": lambda s: {"postings": replace(s.postings, codes=s.postings.codes + np.uint32(50))},
    "an empty row": lambda s: {"postings": replace(s.postings, frequencies=s.postings.frequencies * 0)},
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_invariant_of_a_segment_is_found(name):
    """A segment with one invariant broken has a finding; the whole one has none."""
    segment = make_segment(FILES)
    assert not list(segment_problems(segment))
    assert list(segment_problems(replace(segment, **BROKEN[name](segment))))


RICH = {
    "a.md": "---\ntitle: Named\ntags: [x]\n---\n# A\n\none two one\n\n## More\n\nthree\n\n## More\n\nthree\n",
    "b.md": "four five\n",
}


def postings(change):
    return lambda s: {"postings": replace(s.postings, **change(s.postings))}


def bumped(values, place=0):
    """Return an array with one number raised by one."""
    values = values.copy()
    values[place] += 1
    return values


def without_last(p):
    """Return postings without the last one of the longest list."""
    longest = int(np.argmax(p.sizes()))
    at, starts = int(p.starts[longest + 1]) - 1, p.starts.copy()
    starts[longest + 1 :] -= 1
    return {"starts": starts, "chunks": np.delete(p.chunks, at), "codes": np.delete(p.codes, at)}


# Each keeps every rule that can be checked without the text: spans in order, terms ascending, sums that agree.
UNLIKE_TEXT = {
    "terms": [
        postings(lambda p: {"terms": ("\x00aaa", *p.terms[1:])}),
        postings(lambda p: {"frequencies": bumped(p.frequencies, (0, 0))}),
        postings(without_last),
        postings(lambda p: {"codes": np.roll(p.codes, 1)}),
    ],
    "lengths": [postings(lambda p: {"lengths": bumped(p.lengths)})],
    "chunks": [
        lambda s: {"start_lines": s.start_lines - np.uint32(1)},
        lambda s: {"byte_starts": bumped(s.byte_starts, 1)},
        lambda s: {"chunk_hit": ~s.chunk_hit},
        lambda s: {"columns_lines": bumped(s.columns_lines)},
    ],
    "chunk ids": [lambda s: {"occurrences": bumped(s.occurrences)}],
    "heading paths": [lambda s: {"heading_numbers": np.roll(s.heading_numbers, 1)}],
    "title, tags or metadata": [
        lambda s: {"records": bytes_table([bytes(one).replace(b"Named", b"Nomad") for one in s.records.slices(BOTH)])},
        lambda s: {"has_metadata": ~s.has_metadata},
    ],
}
BOTH = np.arange(2)


@pytest.mark.parametrize(
    ("aspect", "number"),
    [(aspect, number) for aspect, changes in UNLIKE_TEXT.items() for number in range(len(changes))],
)
def test_what_the_text_does_not_give_is_found(aspect, number):
    """A segment that breaks no rule and whose terms, spans, ids or titles are not those of its text is named for it."""
    whole = make_segment(RICH)
    assert not list(text_problems(whole, SETTINGS))
    forged = replace(whole, **UNLIKE_TEXT[aspect][number](whole))
    found = list(text_problems(forged, SETTINGS))
    assert found
    assert all(aspect in problem for problem in found[:1])


def test_forged_postings_of_a_published_segment_are_a_problem(fs):
    """With every checksum right up to the slots, fsck names the segment whose postings its text does not give."""
    slot = read_slot(fs, "latest")
    ref = read_manifest(fs, slot.newest).segments[-1]
    data = decode_segment(memoryview(fs.read(ref.name)), ref.name, verify=True).postings.plain()
    whole = decode_segment(memoryview(fs.read(ref.name)), ref.name, verify=True)
    forged = replace(whole, postings=replace(data, lengths=data.lengths + np.uint32(1)))
    parts = b"".join(bytes(part) for part in encode_segment(forged))
    new = ref._replace(file=FileRef(ref.file.serial, fast_digest(parts), len(parts)))
    put(fs, new.name, parts)
    forge(fs, lambda manifest: manifest._replace(segments=(*manifest.segments[:-1], new)))
    assert "problem" not in kinds(fs)
    problems = [finding for finding in fsck(fs, REMADE) if finding.kind == "problem"]
    assert [(problem.where, "lengths" in problem.detail) for problem in problems] == [(new.name, True)]


def test_text_of_other_settings_is_only_noted(fs):
    """What other settings made cannot be made again: one note for each, and no problem."""
    other = Remade("other settings", lambda segment: iter(["never asked"]))
    assert [(finding.kind, finding.where) for finding in fsck(fs, other)] == [("note", "settings")]


def test_lost_slots_are_a_problem_and_a_first_publish_that_was_killed_is_none(fs):
    """Several manifests and nothing that names them: what was here cannot be opened."""
    for name in ("latest", "durable"):
        del fs.disk.names[name]
    (problem,) = [finding for finding in fsck(fs) if finding.kind == "problem"]
    assert problem.detail == "no slot, but 2 manifests; the index is rebuilt at the next start"
    manifest = min(name for name in fs.names() if name.endswith("manifest"))
    del fs.disk.names[manifest]
    assert set(kinds(fs)) == {"note"}


def test_what_a_writer_made_and_removed_meanwhile_is_no_finding(monkeypatch):
    """However quickly the slots move: files that they name no longer, or not yet, are nobody's business."""
    fs = ForgetfulFilesystem()
    store = opened(fs, history=History(max_ratio=0))
    publish(store, FILES)
    check, number = verify._check_newest, 0

    def moving(*args):
        nonlocal number
        number += 1
        publish(store, {"a.md": f"moved on {number}\n"})
        store.checkpoint()
        store.collect()
        return check(*args)

    monkeypatch.setattr(verify, "_check_newest", moving)
    assert fsck(fs) == ()
    assert number <= 4, "two passes are enough"


def test_damage_is_a_problem_however_the_slots_move(monkeypatch):
    """What the slots still name is held to its hash."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    segment = publish(store, FILES).stored[0].ref.name
    store.checkpoint()
    data = bytearray(fs.disk.names[segment].data)
    data[100] ^= 1
    put(fs, segment, bytes(data))
    check = verify._check_newest

    def moving(*args):
        publish(store, {"c.md": f"{len(fs.names())}\n"})
        return check(*args)

    monkeypatch.setattr(verify, "_check_newest", moving)
    assert {finding.where for finding in fsck(fs) if finding.kind == "problem"} == {segment}
