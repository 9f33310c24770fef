"""What the writer remembers of the sources."""

from indexerd.model import ContentHash, SourcePath
from indexerd.ports import SourceStat
from indexerd.sync.fingerprint import FingerprintCache
from indexerd.sync.ledger import Known, Ledger, Stored, is_within
from indexerd.sync.look import Look
from indexerd.sync.plan import SyncPlan

STAT = SourceStat(1, 2, 3, 4, 5)
HASH = ContentHash(b"h" * 32)
LATER_NS = 10**18


def make_ledger(*paths):
    known = Known([(SourcePath(path), HASH) for path in paths], FingerprintCache())
    return Ledger(lambda: known)


def look_at(*scope, files=()):
    return Look(scope=scope, files=dict.fromkeys(files, STAT), roots={}, places={})


def plan_with(held=None, skipped=()):
    return SyncPlan(read=(), tombstones=(), held=held or {}, unchanged=(), skipped=skipped)


def test_the_documents_below_a_folder_are_found_by_range():
    """A folder's documents and the path itself, not its namesakes; the empty path is everything."""
    ledger = make_ledger("a", "a/x.md", "a/y/z.md", "a.md", "ab/x.md", "b.md")
    assert set(ledger.within(["a"])) == {"a", "a/x.md", "a/y/z.md"}
    assert set(ledger.within(["a/y", "b.md", "none"])) == {"a/y/z.md", "b.md"}
    assert len(ledger.within([""])) == 6


def test_a_publish_moves_documents_in_and_out():
    """Stored documents are known with their fingerprint, deleted ones are forgotten with theirs."""
    ledger = make_ledger("a.md", "b.md")
    ledger.note_stored({SourcePath("c.md"): Stored(HASH, STAT, LATER_NS)}, ["a.md", "never.md"])
    assert sorted(ledger.indexed) == ["b.md", "c.md"]
    assert set(ledger.within([""])) == {"b.md", "c.md"}
    assert ledger.cache.believes(SourcePath("c.md"), STAT, HASH)
    assert ledger.cache.get(SourcePath("a.md")) is None


def test_many_changes_keep_the_ranges_right():
    """The order holds for changes one by one and by the thousand."""
    ledger = make_ledger()
    many = {SourcePath(f"d{n % 7}/{n}.md"): Stored(HASH, STAT, LATER_NS) for n in range(1000)}
    ledger.note_stored(many, [])
    for number in range(10):
        ledger.note_stored(
            {SourcePath(f"d3/new{number}.md"): Stored(HASH, STAT, LATER_NS)}, [f"d3/{7 * number + 3}.md"]
        )
    expected = {path for path in ledger.indexed if path.startswith("d3/")}
    assert set(ledger.within(["d3"])) == expected
    assert len(expected) == 143


def test_a_look_replaces_what_was_held_and_skipped_within_its_scope_only():
    """Entries outside the scope stay, those inside are what the look says."""
    ledger = make_ledger("a/x.md", "b/y.md")
    ledger.note_look(look_at(""), plan_with({"a/x.md": "EACCES", "b/y.md": "EACCES"}))
    assert ledger.held_paths == {"a/x.md", "b/y.md"}
    ledger.note_look(look_at("a"), plan_with())
    assert dict(ledger.held) == {"b/y.md": "EACCES"}
    ledger.note_look(look_at("b"), plan_with())
    assert ledger.held_paths == frozenset()


def test_an_unusable_file_is_known_while_it_stays_as_it_is():
    """The same stat is not read again and stays listed; a new one is."""
    ledger = make_ledger()
    ledger.note_unusable(SourcePath("blob.md"), STAT, "binary")
    assert ledger.is_known_unusable(SourcePath("blob.md"), STAT)
    assert not ledger.is_known_unusable(SourcePath("blob.md"), STAT._replace(size=9))
    ledger.note_look(look_at("", files=["blob.md"]), plan_with())
    assert dict(ledger.skipped) == {"blob.md": "binary"}
    ledger.note_look(look_at(""), plan_with())
    assert dict(ledger.skipped) == {}


def test_reading_a_held_document_takes_it_off_the_list():
    """A document found equal, or stored anew, is held no longer; one redone from kept text stays held."""
    ledger = make_ledger("a.md", "b.md", "c.md")
    for path in ("a.md", "b.md", "c.md"):
        ledger.note_held(SourcePath(path), "EACCES")
    ledger.note_equal(SourcePath("a.md"), STAT, LATER_NS)
    ledger.note_stored(
        {SourcePath("b.md"): Stored(HASH, STAT, LATER_NS), SourcePath("c.md"): Stored(HASH, None, 0)}, []
    )
    assert ledger.held_paths == {"c.md"}


def test_being_within_a_scope_is_a_matter_of_whole_components():
    """A path is within itself and its folders, and everything is within the empty path."""
    assert is_within(SourcePath("a/b/c.md"), {"a"})
    assert is_within(SourcePath("a"), {"a"})
    assert is_within(SourcePath("x"), {""})
    assert not is_within(SourcePath("ab/c.md"), {"a"})
