"""A plan never loses what may exist, never touches what was not looked at, and leads to the index of a fresh start."""

from hypothesis import given
from hypothesis import strategies as st

from indexerd.digests import content_hash
from indexerd.model import Root, SourcePath
from indexerd.ports import SourceStat
from indexerd.sync.fingerprint import FingerprintCache
from indexerd.sync.look import Held, Look
from indexerd.sync.plan import plan

ROOTS = (Root(label="r", path="/r", prefixed=True), Root(label="s", path="/s", prefixed=True))
LOOKED = 10**18

paths = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
in_roots = st.tuples(st.sampled_from(["r", "s"]), paths).map("/".join)
anywhere = st.tuples(st.sampled_from(["r", "s", "left"]), paths).map("/".join)
versions = st.integers(0, 2)
disks = st.dictionaries(in_roots, versions, max_size=8)
indexes = st.dictionaries(anywhere, versions, max_size=8)
places = st.sets(in_roots | st.sampled_from(["r", "s"]), max_size=4)


def hash_of(version):
    return content_hash(str(version).encode())


def stat_of(path, version):
    time = LOOKED - 10**13 + version
    return SourceStat(dev=1, ino=hash(path) & 0xFFFF, size=version, mtime_ns=time, ctime_ns=time)


def is_at_or_below(path, tops):
    return any(path == top or path.startswith(top + "/") for top in tops)


def look_at(disk, scope, held):
    """What an honest look would report: files in scope, none beneath what cannot be looked at."""
    files = {
        SourcePath(path): stat_of(path, version)
        for path, version in disk.items()
        if is_at_or_below(path, scope) and not is_at_or_below(path, held)
    }
    doubts = tuple(Held(SourcePath(path), "EACCES") for path in sorted(held))
    return Look(scope=tuple(map(SourcePath, sorted(scope))), files=files, held=doubts, roots={}, places={})


def cache_knowing(known):
    cache = FingerprintCache()
    for path, version in known.items():
        cache.record(SourcePath(path), stat_of(path, version), hash_of(version), LOOKED)
    return cache


def decide(look, index, known):
    return plan(
        look=look, indexed={path: hash_of(v) for path, v in index.items()}, cache=cache_knowing(known), roots=ROOTS
    )


@given(disks, indexes, indexes, places, places)
def test_every_document_and_file_in_scope_has_one_fate(disk, index, known, scope, held):
    """Read, unchanged, tombstone and held do not overlap; they are all that is in scope, and nothing beyond it."""
    look = look_at(disk, scope, held)
    decided = decide(look, index, known)
    fates = [*decided.read, *decided.unchanged, *decided.tombstones, *decided.held]
    assert len(fates) == len(set(fates))
    strays = {path for path in index if path.startswith("left/")}
    inside = {path for path in index if is_at_or_below(path, scope)}
    assert set(fates) == set(look.files) | inside | strays


@given(disks, indexes, indexes, places, places)
def test_a_tombstone_needs_an_absence_seen(disk, index, known, scope, held):
    """No document that may exist is given up: not one on disk, not one beneath what cannot be looked at."""
    for path in decide(look_at(disk, scope, held), index, known).tombstones:
        assert path.startswith("left/") or (path not in disk and not is_at_or_below(path, held))


@given(disks, indexes, indexes)
def test_carrying_out_a_whole_plan_gives_a_fresh_index(disk, index, known):
    """Whatever the index and the cache held, after reading and deleting as planned the index is that of the disk."""
    decided = decide(look_at(disk, {"r", "s"}, set()), index, known)
    after = {path: version for path, version in index.items() if path not in decided.tombstones}
    after.update({path: disk[path] for path in decided.read})
    assert after == disk


@given(disks, indexes, st.sets(in_roots | st.sampled_from(["r", "s"]), max_size=4))
def test_looks_at_parts_add_up_to_a_look_at_all(disk, index, parts):
    """Looking at parts one after the other, and then at the rest, ends where one look at everything ends."""
    index = {path: version for path, version in index.items() if not path.startswith("left/")}
    for scope in [*({part} for part in sorted(parts)), {"r"}, {"s"}]:
        decided = decide(look_at(disk, scope, set()), index, index)
        index = {path: version for path, version in index.items() if path not in decided.tombstones}
        index.update({path: disk[path] for path in decided.read})
    assert index == disk
