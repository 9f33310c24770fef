"""Fingerprints that were written down answer for all files at once what a cache answers for each."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from indexerd.digests import content_hash, path_key
from indexerd.indexing import build_segment
from indexerd.model import Settings, SourcePath
from indexerd.ports import SourceStat
from indexerd.sync.fingerprint import FingerprintCache
from indexerd.sync.ledger import saved_of
from indexerd.sync.look import Look
from indexerd.sync.memory import load_ledger
from indexerd.sync.plan import plan, plan_quietly
from indexerd.sync.saved import RACY_NS, decode, documents_digest
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem
from tests.fakes.manual_clock import ManualClock
from tests.fakes.small_stores import opened, publish

NOW = 1_700_000_000_000_000_000
times = st.sampled_from([NOW - 10**12, NOW - RACY_NS, NOW - RACY_NS - 1, NOW, NOW + 10**16, -1])
stats = st.builds(SourceStat, st.just(1), st.integers(2, 3), st.just(2**62), times, times)
names = st.text("ab/é1", min_size=1, max_size=3).map(SourcePath)
HASH = content_hash(b"text")


def saved_from(known, mounts=()):
    cache = FingerprintCache()
    for path, (stat, looked_ns) in known.items():
        cache.record(path, stat, HASH, looked_ns)
    cache.mounts = frozenset(mounts)
    return cache, decode(cache.encode())


@given(
    st.dictionaries(names, st.tuples(stats, times), max_size=6), st.dictionaries(names, stats, max_size=6), st.data()
)
def test_all_at_once_is_what_each_would_be(known, others, data):
    """Of just the files that were known those are doubted that are not believed; of any others nothing is said."""
    cache, saved = saved_from(known)
    same = {path: data.draw(st.sampled_from([stat, *others.values()])) for path, (stat, _) in known.items()}
    for files in (same, dict(reversed(same.items())), others):
        doubted = saved.doubted(files)
        if files.keys() != known.keys():
            assert doubted is None
        else:
            believed = cache.believed(files, dict.fromkeys(files, HASH))
            assert doubted == sorted(files.keys() - set(believed))


@given(st.dictionaries(names, st.tuples(stats, times), min_size=1, max_size=6), st.data())
def test_a_quiet_plan_is_the_plan(known, data):
    """Where the files are just the documents, both decide alike, with files to be read in any case."""
    cache, saved = saved_from(known)
    files = {path: data.draw(st.sampled_from([stat, stat._replace(size=5)])) for path, (stat, _) in known.items()}
    look = Look(scope=(SourcePath(""),), files=files, roots={}, places={})
    sample = data.draw(st.sets(st.sampled_from([*files, SourcePath("never")])))
    indexed = dict.fromkeys(files, HASH)
    usual = plan(look=look, indexed=indexed, cache=cache, roots=(), sample=sample)
    assert plan_quietly(look=look, doubted=saved.doubted(files), roots=(), sample=sample) == usual


def test_a_time_that_no_number_here_can_hold_is_not_written_down():
    """A file of the year 2300 is read at each start; others are not for that."""
    late = SourceStat(1, 2, 3, 2**63, NOW - 10**12)
    old = late._replace(mtime_ns=NOW - 10**12)
    cache, saved = saved_from({SourcePath("a"): (late, NOW), SourcePath("b"): (old, NOW)})
    assert FingerprintCache.of(saved).get(SourcePath("a")) is None
    assert FingerprintCache.of(saved).get(SourcePath("b")) == cache.get(SourcePath("b"))
    assert saved.doubted({SourcePath("b"): late}) is None


@given(st.permutations(range(5)))
def test_documents_have_one_digest_in_any_order(order):
    """It is of paths and versions together: two that swap their versions are others."""
    keys = np.array([path_key(SourcePath(f"{n}.md")) for n in range(5)], np.uint64)
    hashes = np.array([content_hash(b"%d" % n) for n in range(5)], "V32")
    digest = documents_digest(keys, hashes)
    assert documents_digest(keys[order], hashes[order]) == digest
    assert documents_digest(keys[[1, 0, 2, 3, 4]], hashes) != digest


def test_what_was_written_down_counts_for_just_the_documents_that_are_indexed():
    """Another version, one document more or less: then files are looked at one by one."""
    fs = ForgetfulFilesystem()
    store = opened(fs, ManualClock())

    def speaks_of(texts) -> bool:
        cache = FingerprintCache()
        for path, text in texts.items():
            cache.record(SourcePath(path), SourceStat(1, 2, 3, 4, 5), content_hash(text.encode()), NOW)
        return saved_of(store.snapshot(), decode(cache.encode())) is not None

    assert speaks_of({})
    publish(store, {"a.md": "one", "b.md": "two"})
    publish(store, {"b.md": "three", "c.md": "gone"})
    publish(store, {}, deleted=["c.md"])
    assert speaks_of({"b.md": "three", "a.md": "one"})
    assert not speaks_of({"a.md": "one", "b.md": "two"})
    assert not speaks_of({"a.md": "three", "b.md": "one"})
    assert not speaks_of({"a.md": "one"})
    assert not speaks_of({"a.md": "one", "b.md": "three", "d.md": "x"})
    assert saved_of(store.snapshot(), None) is None


def test_a_start_on_which_nothing_changed_asks_for_no_document():
    """Roots, mounts and files as they were leave the ledger unmade; another mount, or a file, makes it."""
    fs = ForgetfulFilesystem()
    store = opened(fs, ManualClock())
    publish(store, {"a.md": "one"})
    path, stat = SourcePath("a.md"), SourceStat(1, 2, 3, NOW - 10**12, NOW - 10**12)
    cache = FingerprintCache()
    cache.record(path, stat, content_hash(b"one"), NOW)
    fs.write_new("fingerprints", [cache.encode()])
    ledger = load_ledger(store.snapshot(), fs)
    look = Look(scope=(SourcePath(""),), files={path: stat}, roots={"docs": "ok"}, places={})
    assert ledger.doubted(look.files) == []
    ledger.note_look(look, plan_quietly(look=look, doubted=[], roots=(), sample=()))
    assert (ledger.is_made, dict(ledger.places), ledger.roots) == (False, {}, {"docs": "ok"})
    assert ledger.within([SourcePath("")]) == {path: content_hash(b"one")}
    assert (ledger.is_made, ledger.doubted(look.files), ledger.cache.unsaved) == (True, None, False)


def test_the_segments_of_a_build_have_the_keys_of_their_paths():
    """What the digest relies on: the store and the file of fingerprints name a path alike."""
    segment = build_segment([(SourcePath("a/b.md"), b"text")], Settings(), ())
    assert segment.path_keys.tolist() == [path_key(SourcePath("a/b.md"))]
