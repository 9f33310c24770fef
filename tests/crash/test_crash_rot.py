"""Bytes change at rest: whatever is damaged, swapped, taken away or forged is never used, and costs little memory."""

import itertools
import os
import struct
import tracemalloc
from functools import cache

import pytest

from indexerd.digests import fast_digest
from indexerd.errors import CorruptionError, FormatVersionError, GenerationError
from indexerd.store import open_reader
from indexerd.store.codec import ENVELOPE_BYTES, pack, unpack, unseal
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.layout import Kind, SlotName
from indexerd.store.manifest import FORMAT_VERSION as MANIFEST_VERSION
from indexerd.store.manifest import MAGIC as MANIFEST_MAGIC
from indexerd.store.manifest import FileRef
from indexerd.store.recover import read_manifest, read_slot
from indexerd.store.segment_codec import _ENTRY, _HEAD, SEGMENT_FORMAT, _entries
from indexerd.store.slots import FORMAT_VERSION as SLOT_VERSION
from indexerd.store.slots import MAGIC as SLOT_MAGIC
from indexerd.store.slots import encode_slot
from indexerd.store.verify import fsck
from tests.fakes.crash_shapes import LARGE
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, Inode
from tests.fakes.small_stores import content, opened, publish

MEMORY_BYTES = 64 << 20
# Of every file each so many bytes are flipped beside the beginning and end of every region: all of them when large.
STRIDE = 1 if LARGE else 23


@cache
def whole():
    """Return a disk with three generations in both slots, of which the last shares a segment with the second."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    publish(store, {"a.md": "# A\n\none two\n\n## More\n\nthree\n", "b.md": "---\ntags: [x]\n---\nfour five\n"})
    publish(store, {"a.md": "# A\n\nother words\n", "c.md": "six\n"}, replace_all=True)
    publish(store, {"d.md": "seven\n"}, ["c.md"])
    known = {one.generation: content(store.past().open(one.generation)) for one in store.past().generations()}
    store.close()
    assert sorted(known) == [1, 2, 3]
    return fs.disk, known


def contents():
    return whole()[0].contents()


def changed(name, data):
    """Return the whole disk with one file of other bytes; without it if there are none."""
    disk = whole()[0].copy()
    if data is None:
        del disk.names[name]
    else:
        disk.names[name] = Inode(data)
    return disk


def flipped(data, place, mask=0x41):
    return data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]


@cache
def users(name):
    """Return the generations that cannot be opened without a file, the slots not counted."""
    fs = ForgetfulFilesystem(whole()[0].copy())
    found = set()
    for kept in read_slot(fs, SlotName.LATEST).kept:
        names = {kept.manifest.name(Kind.MANIFEST), *(ref.name for ref in read_manifest(fs, kept).segments)}
        found |= {kept.generation} if name in names else set()
    return found


def check(disk, name, *, findings=True):
    """Open a disk on which one file is damaged: what is shown is whole and known, and only what needs it is gone."""
    known, broken = whole()[1], users(name)
    store = opened(ForgetfulFilesystem(disk.copy()))
    now = store.snapshot().generation
    # One of two equal slots may be lost: the other one says the same.
    assert now == (0 if 3 in broken else 3)
    assert store.opening.state == ("healthy" if now else "damaged")
    assert store.opening.fell_back == (now == 3 and name in tuple(SlotName) and name in disk.names)
    assert not now or content(store.snapshot()) == known[now]
    for generation in known if now else ():
        assert past_content(store, generation) == (None if generation in broken else known[generation])
    check_reader(disk, now)
    if findings:
        assert [finding for finding in fsck(ForgetfulFilesystem(disk)) if finding.where == name], name


def past_content(store, generation):
    """Return the content of a kept generation, None if it cannot be replayed."""
    try:
        return content(store.past().open(generation))
    except GenerationError:
        return None


def check_reader(disk, now):
    try:
        snapshot = open_reader(ForgetfulFilesystem(disk))
    except CorruptionError:
        assert not now
    else:
        assert snapshot.generation == now


def edges(name, data):
    """Return where the regions of a file begin and end."""
    if not name.endswith(".segment"):
        head = ENVELOPE_BYTES - 16
        return {0, 8, 12, head, len(data) - 16, len(data)}
    entries = _entries(memoryview(data), name)
    table = {_HEAD.size + _ENTRY.size * number for number in range(len(entries) + 1)}
    bounds = {bound for _, offset, length, _ in entries for bound in (offset, offset + length)}
    return {0, 8, 12, 16, len(data)} | table | bounds


def around(name, data):
    return {place for edge in edges(name, data) for place in (edge - 1, edge, edge + 1) if 0 <= place < len(data)}


@pytest.mark.parametrize("kind", ["segment", "manifest", "latest", "durable"])
def test_a_flipped_byte_is_never_used(kind, tally):
    """In every region of every file: what it belongs to is not shown, all else is as it was, and fsck names it."""
    for name, data in contents().items():
        if not name.endswith(kind):
            continue
        for number, place in enumerate(sorted(around(name, data) | set(range(0, len(data), STRIDE)))):
            check(changed(name, flipped(data, place)), name, findings=number % 5 == 0)
            tally("flipped bytes")


@pytest.mark.parametrize("kind", ["segment", "manifest", "latest", "durable"])
def test_a_file_cut_short_or_grown_is_never_used(kind, tally):
    """Cut at every edge of a segment, and anywhere in the small files; or with something behind its end."""
    for name, data in contents().items():
        if not name.endswith(kind):
            continue
        lengths = around(name, data) if kind == "segment" else set(range(0, len(data), 1 if LARGE else 3))
        for cut in [*(data[:length] for length in sorted(lengths)), data + b"\0", data + data]:
            check(changed(name, cut), name, findings=len(cut) % 5 == 0)
            tally("cut files")


def test_a_file_in_the_place_of_another_is_never_used(tally):
    """Every file with the bytes of every other, with halves swapped, zeroed, or gone."""
    files = contents()
    for name, data in files.items():
        half = len(data) // 2
        # One slot's bytes in the other's place are a slot as good as any.
        others = [other for key, other in files.items() if key != name and {key, name} != set(SlotName)]
        for bad in [*others, data[half:] + data[:half], bytes(len(data)), data[:half] + bytes(len(data) - half)]:
            check(changed(name, bad), name)
            tally("swapped files")
        check(changed(name, None), name, findings=name != SlotName.DURABLE)


def test_only_the_loss_of_both_slots_is_damage_of_the_whole():
    """Without slots, but with the files that they named, the store is damaged; it is never taken for absent."""
    for kinds in itertools.product([None, b"", b"torn", bytes(200)], repeat=2):
        disk = changed(SlotName.LATEST, kinds[0])
        disk.names.pop("durable")
        if kinds[1] is not None:
            disk.names["durable"] = Inode(kinds[1])
        store = opened(ForgetfulFilesystem(disk))
        assert (store.opening.state, store.snapshot().generation) == ("damaged", 0)
        assert store.opening.detail
        publish(store, {"a.md": "made anew\n"}, replace_all=True)
        store.checkpoint()
        store.collect()
        assert not [finding for finding in fsck(ForgetfulFilesystem(disk)) if finding.kind == "problem"]


KINDS = ["folder", "link", "link to its own bytes", "dangling link", "link to itself", "fifo", "sparse"]


@pytest.fixture
def directory(tmp_path):
    """A real state directory with the bytes of the whole store, and a folder beside it."""
    state = tmp_path / "state"
    state.mkdir()
    for name, data in contents().items():
        (state / name).write_bytes(data)
    (tmp_path / "beside").mkdir()
    return state


def put(path, beside, kind):
    """Put something else in a file's place."""
    own = beside / "own"
    own.write_bytes(path.read_bytes())
    path.unlink()
    match kind:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "sparse":
            path.touch()
            os.truncate(path, 8 << 30)
        case _:
            target = {"link": beside / "other", "link to its own bytes": own, "link to itself": path}
            path.symlink_to(target.get(kind, beside / "nothing"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_of_ours_is_never_opened_as_one(directory, kind):
    """A folder, link, FIFO or giant in a file's place is damage: no link is followed, nothing waits, no memory goes."""
    beside = directory.parent / "beside"
    (beside / "other").write_bytes(b"other")
    for name in contents():
        data = (directory / name).read_bytes()
        put(directory / name, beside, kind)
        with bounded():
            fs = RealStoreFilesystem.open_directory(directory, create=False)
            store = opened(fs)
            now = store.snapshot().generation
            assert now == (0 if 3 in users(name) else 3), (name, store.opening)
            assert store.opening.state == ("healthy" if now else "damaged")
            assert [finding for finding in fsck(fs) if finding.where == name]
            fs.close()
        (directory / name).rmdir() if kind == "folder" else (directory / name).unlink()
        (directory / name).write_bytes(data)
    assert (beside / "other").read_bytes() == b"other"


class bounded:  # noqa: N801 - reads as a context
    """Hold a block to the memory that damage may cost."""

    def __enter__(self):
        tracemalloc.start()

    def __exit__(self, kind, *_):
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert kind or peak < MEMORY_BYTES


# Forged: every checksum right, all the way up.

HUGE = 1 << 62


def forge(manifest=None, segment=None, slot=None):
    """Return a disk whose newest segment, manifest and slots were changed and sealed again."""
    disk = whole()[0].copy()
    fs = ForgetfulFilesystem(disk)
    newest = read_slot(fs, SlotName.LATEST).newest
    ref = newest.manifest
    if segment is not None:
        old = read_manifest(fs, newest).segments[-1]
        new = written(disk, Kind.SEGMENT, old.file.serial, segment(disk.names[old.name].data))
        manifest = lambda value: [*value[:1], [*value[1][:-1], [list(new), value[1][-1][1]]], *value[2:]]  # noqa: E731
    if manifest is not None:
        value = unpack(unseal(disk.names[ref.name(Kind.MANIFEST)].data, MANIFEST_MAGIC, MANIFEST_VERSION, ""), "")
        sealed = sealed_as_is(MANIFEST_MAGIC, MANIFEST_VERSION, pack(manifest(value)))
        ref = written(disk, Kind.MANIFEST, ref.serial, sealed)
    for name in SlotName:
        found = read_slot(fs, name)
        data = encode_slot(found._replace(kept=(*found.kept[:-1], found.newest._replace(manifest=ref))))
        if slot is not None:
            value = unpack(unseal(data, SLOT_MAGIC, SLOT_VERSION, ""), "")
            data = sealed_as_is(SLOT_MAGIC, SLOT_VERSION, pack(slot(value)))
        disk.names[name] = Inode(data)
    return disk


def sealed_as_is(magic, version, payload):
    """Return an envelope, also one that is larger than any of ours."""
    body = struct.pack("<8sIQ", magic, version, len(payload)) + payload
    return body + fast_digest(body)


def written(disk, kind, serial, data):
    ref = FileRef(serial, fast_digest(data), len(data))
    disk.names[ref.name(kind)] = Inode(data)
    return ref


def kept(change):
    """Return what changes the last generation that a slot names."""
    return lambda value: [*value[:3], [*value[3][:-1], change(value[3][-1])]]


def numbers(**given):
    """Return what changes the numbers of a slot."""
    names = ("revision", "ceiling", "next_serial", "closed")
    return lambda v: [v[0], [given.get(n, old) for n, old in zip(names, v[1], strict=True)], *v[2:]]


SLOTS = {
    "nothing": lambda value: None,
    "a number": lambda value: 7,
    "a word": lambda value: "slot",
    "too short": lambda value: value[:-1],
    "nested": lambda value: [[[[[value]]]]],
    "identity is a number": lambda value: [7, *value[1:]],
    "revision below zero": numbers(revision=-1),
    "revision huge": numbers(revision=1 << 63),
    "ceiling below": numbers(ceiling=1),
    "serials below": numbers(next_serial=1),
    "closed is a number": numbers(closed=1),
    "roots are a number": lambda value: [*value[:2], 9, value[3]],
    "a root is a word": lambda value: [*value[:2], ["/docs"], value[3]],
    "keeps nothing": lambda value: [*value[:3], []],
    "keeps one twice": lambda value: [*value[:3], [*value[3], value[3][-1]]],
    "descends": lambda value: [*value[:3], value[3][::-1]],
    "keeps a million": lambda value: [*value[:3], value[3] * 300_000],
    "generation zero": kept(lambda one: [0, *one[1:]]),
    "generation is a word": kept(lambda one: ["../3", *one[1:]]),
    "manifest is a path": kept(lambda one: [one[0], "../x", *one[2:]]),
    "serial is a path": kept(lambda one: [one[0], ["../x", *one[1][1:]], *one[2:]]),
    "digest is a path": kept(lambda one: [one[0], [one[1][0], "/etc/passwd", one[1][2]], *one[2:]]),
    "digest is short": kept(lambda one: [one[0], [one[1][0], bytes(15), one[1][2]], *one[2:]]),
    "manifest huge": kept(lambda one: [one[0], [*one[1][:2], HUGE], *one[2:]]),
    "manifest elsewhere": kept(lambda one: [one[0], [one[1][0], bytes(16), one[1][2]], *one[2:]]),
}


def refs(change):
    return lambda value: [value[0], change(value[1]), value[2]]


MANIFESTS = {
    "nothing": lambda value: None,
    "a mapping": lambda value: {"generation": 3},
    "another generation": lambda value: [[2, *value[0][1:]], *value[1:]],
    "generation huge": lambda value: [[1 << 63, *value[0][1:]], *value[1:]],
    "settings are a number": lambda value: [[value[0][0], 5, *value[0][2:]], *value[1:]],
    "segments are a number": refs(lambda some: 10**9),
    "a segment twice": refs(lambda some: [*some, some[0]]),
    "a segment too few": refs(lambda some: some[:-1]),
    "no segments": refs(lambda some: []),
    "other order": refs(lambda some: some[::-1]),
    "a segment is a path": refs(lambda some: ["../x", *some[1:]]),
    "an absolute path": refs(lambda some: [[["/etc/passwd", bytes(16), 1], 1]]),
    "a segment huge": refs(lambda some: [[[*some[0][0][:2], HUGE], some[0][1]], *some[1:]]),
    "a segment of no generation": refs(lambda some: [[some[0][0], 0], *some[1:]]),
    "a million segments": refs(lambda some: [[[number, bytes(16), 1], 1] for number in range(10, 1_000_000)]),
    "counts huge": lambda value: [*value[:2], [HUGE] * len(value[2])],
    "counts below zero": lambda value: [*value[:2], [-1] * len(value[2])],
    "counts of another": lambda value: [*value[:2], [value[2][0] + 1, *value[2][1:]]],
}


def sections_of(data):
    entries = _entries(memoryview(data), "")
    return {name: data[offset : offset + length] for name, offset, length, _ in entries}


def built(sections, *, magic=b"idxd-seg", count=None, length=None, shift=0):
    """Return a segment file of some sections, with every checksum right."""
    offset = _HEAD.size + len(sections) * _ENTRY.size + 16
    entries, parts = [], []
    for name, data in sections.items():
        padded = data + bytes(-len(data) % 8)
        entries.append(
            _ENTRY.pack(name.encode("latin-1"), offset + (shift if parts else 0), len(data), fast_digest(padded))
        )
        parts.append(padded)
        offset += len(padded)
    count, length = len(sections) if count is None else count, offset if length is None else length
    head = _HEAD.pack(magic, SEGMENT_FORMAT, count, length) + b"".join(entries)
    return head + fast_digest(head) + b"".join(parts)


def meta(place, number):
    def change(data):
        found = sections_of(data)
        value = unpack(found["meta"], "")
        value[place] = number
        return built({**found, "meta": pack(value)})

    return change


def section(**given):
    return lambda data: built({**sections_of(data), **given})


def wide(*values):
    """Return a column of eight bytes a number."""
    return struct.pack(f"<{len(values)}Q", *values) + b"\x08"


SEGMENTS = {
    "nothing": lambda data: b"",
    "a head alone": lambda data: data[: _HEAD.size],
    "a billion sections": lambda data: built(sections_of(data), count=10**9),
    "no sections": lambda data: built({}),
    "a section too few": lambda data: built(dict(list(sections_of(data).items())[:-1])),
    "overlapping sections": lambda data: built(sections_of(data), shift=-8),
    "sections apart": lambda data: built(sections_of(data), shift=8),
    "length huge": lambda data: built(sections_of(data), length=HUGE),
    "length short": lambda data: built(sections_of(data), length=64),
    "names that are no text": lambda data: built({"\xff\xfe": b"x", **sections_of(data)}),
    "other magic": lambda data: built(sections_of(data), magic=b"idxd-xxx"),
    "no counts": section(meta=pack(["s"])),
    "counts are words": section(meta=pack(["s", *["x"] * 6])),
    "settings are a number": meta(0, 9),
    **{f"count {place} huge": meta(place, HUGE) for place in range(1, 7)},
    **{f"count {place} of a billion": meta(place, 10**9) for place in range(1, 7)},
    **{f"count {place} below zero": meta(place, -1) for place in range(1, 7)},
    "chunks of one document huge": section(chunks=wide(0xFFFFFFFF)),
    "a document huge": section(size=wide(1 << 63)),
    "a path huge": section(path_len=wide(1 << 63)),
    "postings huge": lambda data: built({**sections_of(data), "term_n": huge_column(data)}),
    "a chunk behind the end": section(byte=wide(1 << 31)),
    "a heading that is not there": section(heading=wide(77)),
    "a first chunk that is not there": lambda data: built({**sections_of(data), "first": huge_column(data)}),
}


def huge_column(data):
    terms = unpack(sections_of(data)["meta"], "")[3]
    return wide(*[0x7FFFFFFF] * terms)


FORGED = {
    **{f"slot: {name}": {"slot": change} for name, change in SLOTS.items()},
    **{f"manifest: {name}": {"manifest": change} for name, change in MANIFESTS.items()},
    **{f"segment: {name}": {"segment": change} for name, change in SEGMENTS.items()},
}


@pytest.mark.parametrize("name", FORGED)
def test_what_is_forged_with_right_checksums_is_refused(name):
    """Paths, giants, duplicates, overlaps, nonsense: damage, told as such by opening, reading and fsck alike."""
    disk = forge(**FORGED[name])
    with bounded():
        store = opened(ForgetfulFilesystem(disk.copy()))
        assert (store.opening.state, store.snapshot().generation) == ("damaged", 0)
        check_reader(disk, 0)
        assert [finding for finding in fsck(ForgetfulFilesystem(disk)) if finding.kind == "problem"]


@pytest.mark.parametrize("version", [0, 2**31])
def test_another_format_version_is_no_damage(version):
    """Whole files of a version that this program does not know are `older_format`, and are not opened."""
    disk = whole()[0].copy()
    for name in SlotName:
        body = disk.names[name].data[:-16]
        body = body[:8] + struct.pack("<I", version) + body[12:]
        disk.names[name] = Inode(body + fast_digest(body))
    store = opened(ForgetfulFilesystem(disk.copy()))
    assert (store.opening.state, store.snapshot().generation) == ("older_format", 0)
    with pytest.raises(FormatVersionError):
        open_reader(ForgetfulFilesystem(disk))
