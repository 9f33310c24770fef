"""When an equal stat may be believed, and a cache that is right or empty."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexerd.digests import content_hash
from indexerd.model import SourcePath
from indexerd.ports import SourceStat
from indexerd.sync.fingerprint import FingerprintCache, is_racy
from indexerd.sync.saved import RACY_NS

NOW = 1_700_000_000_000_000_000
OLD = SourceStat(dev=1, ino=2, size=3, mtime_ns=NOW - 10**12, ctime_ns=NOW - 10**12)
HASH = content_hash(b"text")


def cache_of(*paths, stat=OLD, looked_ns=NOW):
    cache = FingerprintCache()
    for path in paths:
        cache.record(SourcePath(path), stat, HASH, looked_ns)
    return cache


def test_an_unchanged_old_file_is_believed():
    """Equal stat, equal hash, long untouched: no need to read."""
    assert cache_of("a.md").believes("a.md", OLD, HASH)


@pytest.mark.parametrize("field", SourceStat._fields)
def test_any_other_stat_is_not_believed(field):
    """Each part of the stat counts: a swapped inode or a mtime put back shows in another part."""
    assert not cache_of("a.md").believes("a.md", OLD._replace(**{field: 99}), HASH)


def test_another_hash_or_path_is_not_believed():
    """The cache must speak of the very version that is indexed."""
    assert not cache_of("a.md").believes("a.md", OLD, content_hash(b"other"))
    assert not cache_of("a.md").believes("b.md", OLD, HASH)


@pytest.mark.parametrize("field", ["mtime_ns", "ctime_ns"])
@pytest.mark.parametrize(("age_ns", "racy"), [(0, True), (RACY_NS, True), (RACY_NS + 1, False), (-RACY_NS, True)])
def test_a_file_touched_just_before_the_look_is_racy(field, age_ns, racy):
    """Within two seconds of the look another write may carry the same time."""
    stat = OLD._replace(**{field: NOW - age_ns})
    assert is_racy(stat, NOW) is racy
    assert cache_of("a.md", stat=stat).believes("a.md", stat, HASH) is not racy


def test_a_time_far_ahead_is_not_racy_for_ever():
    """A file dated next year would be read at each look otherwise; its next write changes the date."""
    assert not is_racy(OLD._replace(mtime_ns=NOW + 10**16), NOW)


def test_the_sample_goes_round():
    """The files unread for longest come first, and reading them puts them last."""
    cache = FingerprintCache()
    paths = [SourcePath(f"{number}.md") for number in range(10)]
    for age, path in enumerate(paths):
        cache.record(path, OLD, HASH, NOW + age)
    seen = []
    for turn in range(5):
        for path in cache.sample(paths, 2):
            seen.append(path)
            cache.record(path, OLD, HASH, NOW + 100 + turn)
    assert seen == paths
    assert cache.sample(paths, 0) == []
    assert cache.sample(["unknown.md"], 5) == []


numbers = st.integers(0, 2**64 - 1)
times = st.integers(-(2**62), 2**62)
stats = st.builds(SourceStat, dev=numbers, ino=numbers, size=st.integers(0, 2**62), mtime_ns=times, ctime_ns=times)
names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=12).map(SourcePath)
entries = st.dictionaries(names, st.tuples(stats, st.binary(min_size=32, max_size=32), times), max_size=8)


def filled(known, mounts=(), sampled_ns=0):
    cache = FingerprintCache()
    for path, (stat, digest, looked_ns) in known.items():
        cache.record(path, stat, digest, looked_ns)
    cache.mounts, cache.sampled_ns = frozenset(mounts), sampled_ns
    return cache


@given(entries, st.sets(names | st.just(SourcePath("")), max_size=3), st.integers(0, 2**62))
def test_the_bytes_say_everything(known, mounts, sampled_ns):
    """What is written is what is read back, and equal caches have equal bytes."""
    data = filled(known, mounts, sampled_ns).encode()
    back = FingerprintCache.decode(data)
    assert {path: tuple(back.get(path)) for path in known} == known
    assert (len(back), back.mounts, back.sampled_ns) == (len(known), mounts, sampled_ns)
    assert filled(dict(reversed(known.items())), mounts, sampled_ns).encode() == data


def test_a_cache_is_written_down_in_portions():
    """Others come in between every few hundred files; what changes meanwhile is written as it was or as it is."""
    known = {SourcePath(f"{number:04d}.md"): (OLD, HASH, NOW) for number in range(1200)}
    cache, paths, pauses = filled(known), sorted(known), []

    def pause():
        pauses.append(len(pauses))
        cache.forget(paths[-1])
        cache.record(paths[0], OLD, HASH, NOW + 1)

    back = FingerprintCache.decode(cache.encode(paths, pause))
    assert len(pauses) == 3
    assert [path for path in paths if back.get(path) is None] == [paths[-1]]


@given(entries, st.data())
def test_damaged_bytes_are_an_empty_cache(known, data):
    """A flipped bit, a cut, or foreign bytes: nothing is believed, nothing is raised."""
    whole = filled(known).encode()
    at = data.draw(st.integers(0, len(whole) - 1))
    bit = data.draw(st.sampled_from([1, 128]))
    assert len(FingerprintCache.decode(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])) == 0
    assert len(FingerprintCache.decode(whole[:at])) == 0
    assert len(FingerprintCache.decode(data.draw(st.binary(max_size=80)))) == 0


def test_what_is_forgotten_is_gone():
    """Forgetting one or all but some leaves the others."""
    cache = cache_of("a.md", "b.md", "c.md")
    cache.forget(SourcePath("a.md"))
    cache.forget(SourcePath("never.md"))
    cache.keep_only([SourcePath("b.md"), SourcePath("z.md")])
    assert [path for path in ("a.md", "b.md", "c.md", "z.md") if cache.get(path)] == ["b.md"]


def test_a_cache_knows_whether_it_was_changed():
    """What was read from bytes is as saved until something in it differs; forgetting nothing is no change."""
    cache = FingerprintCache.decode(filled({SourcePath("a.md"): (OLD, HASH, NOW)}, ["m"]).encode())
    cache.forget(SourcePath("never.md"))
    cache.keep_only([SourcePath("a.md")])
    cache.mounts = frozenset({SourcePath("m")})
    assert not cache.unsaved
    changes = (
        lambda: cache.record(SourcePath("a.md"), OLD, HASH, NOW + 1),
        lambda: setattr(cache, "mounts", frozenset()),
        lambda: cache.forget(SourcePath("a.md")),
    )
    for change in changes:
        cache.unsaved = False
        change()
        assert cache.unsaved
