"""What a look means for the index."""

from indexerd.digests import content_hash
from indexerd.model import Root, SourcePath
from indexerd.ports import SourceStat
from indexerd.sync.fingerprint import FingerprintCache
from indexerd.sync.look import Held, Look, Place, Skipped, merge_looks, nearest_above
from indexerd.sync.plan import next_places, plan

ROOT = Root(label="docs", path="/docs")
DOCS = Root(label="docs", path="/docs", prefixed=True)
NOTES = Root(label="notes", path="/notes", prefixed=True)
LOOKED = 10**18
HASH = content_hash(b"text")


def stat(age_seconds=1000, size=4):
    time = LOOKED - age_seconds * 10**9
    return SourceStat(dev=1, ino=1, size=size, mtime_ns=time, ctime_ns=time)


def look(files=(), scope=("",), held=(), skipped=(), places=None):
    found = {SourcePath(path): stat() for path in files} if not isinstance(files, dict) else files
    held = tuple(Held(*entry) for entry in held)
    return Look(scope=scope, files=found, held=held, skipped=skipped, roots={"docs": "ok"}, places=places or {})


def decide(seen, indexed=(), believed=(), roots=(ROOT,), **options):
    cache = FingerprintCache()
    for path in believed:
        cache.record(SourcePath(path), seen.files.get(path, stat()), HASH, LOOKED)
    return plan(look=seen, indexed=dict.fromkeys(indexed, HASH), cache=cache, roots=roots, **options)


def test_new_and_changed_files_are_read_newest_first():
    """The file saved last is read first; equal times go by name; believed files are not read."""
    files = {"old.md": stat(900), "new.md": stat(10), "b.md": stat(50), "a.md": stat(50), "same.md": stat(5)}
    decided = decide(look(files), indexed=["old.md", "same.md"], believed=["same.md"])
    assert decided.read == ("new.md", "a.md", "b.md", "old.md")
    assert decided.unchanged == ("same.md",)
    assert (decided.tombstones, decided.held) == ((), {})


def test_what_is_not_seen_any_more_is_gone():
    """Deleted, or ignored since a rule changed: the look does not show it, so it goes."""
    assert decide(look(["a.md"]), indexed=["b.md", "a.md", "sub/c.md"], believed=["a.md"]).tombstones == (
        "b.md",
        "sub/c.md",
    )


def test_the_last_file_can_go():
    """A root without files is an observation: its documents go."""
    assert decide(look(), indexed=["a.md"]).tombstones == ("a.md",)


def test_a_folder_that_was_never_looked_into_is_listed():
    """With no document known beneath it nothing is held: it would be missed without a word."""
    shut = (Held("shut", "EACCES"), Held("known", "EACCES"), Held("", "EIO"))
    seen = look(held=shut, skipped=(Skipped(SourcePath("b.md"), "binary"),))
    assert decide(seen, indexed=["known/a.md"]).skipped == (("b.md", "binary"), ("shut", "EACCES"))


def test_a_look_lists_no_folder_outside_of_its_scope():
    """What lies above a file that was looked at is told by the look that has it in its scope."""
    seen = look(scope=("shut/a.md",), held=[("shut", "EACCES"), ("shut/a.md", "EACCES")])
    assert decide(seen).skipped == (("shut/a.md", "EACCES"),)


def test_what_cannot_be_looked_at_is_held():
    """Documents beneath an unreadable folder stay; those beside it go."""
    decided = decide(look(held=[("sub", "EACCES")]), indexed=["sub/a.md", "sub", "subway.md"])
    assert decided.held == {"sub/a.md": "EACCES", "sub": "EACCES"}
    assert decided.tombstones == ("subway.md",)


def test_a_held_root_loses_nothing():
    """Everything below a missing root is held, and only that root's."""
    seen = look(["notes/a.md"], scope=("docs", "notes"), held=[("docs", "missing")])
    decided = decide(seen, indexed=["docs/a.md", "notes/b.md"], roots=(DOCS, NOTES))
    assert (decided.held, decided.tombstones) == ({"docs/a.md": "missing"}, ("notes/b.md",))


def test_a_held_folder_may_still_show_files():
    """Where a device changed, what is there is read, and only what is absent is held."""
    decided = decide(look(["sub/a.md"], held=[("sub", "device_changed")]), indexed=["sub/b.md"])
    assert (decided.read, decided.held) == (("sub/a.md",), {"sub/b.md": "device_changed"})


def test_a_look_at_some_paths_touches_no_others():
    """Refreshing named files leaves all others, and removes a named one that is gone."""
    seen = look(["a.md"], scope=("a.md", "gone.md", "sub"))
    decided = decide(seen, indexed=["a.md", "b.md", "gone.md", "sub/x.md", "subway/y.md"])
    assert (decided.read, decided.tombstones) == (("a.md",), ("gone.md", "sub/x.md"))


def test_a_root_that_left_the_configuration_takes_its_documents():
    """They belong to no root, whatever the scope."""
    seen = look(["docs/a.md"], scope=("docs",))
    decided = decide(seen, indexed=["docs/a.md", "old/b.md"], believed=["docs/a.md"], roots=(DOCS,))
    assert decided.tombstones == ("old/b.md",)


def test_a_change_of_settings_reads_everything():
    """A believed fingerprint says that the bytes are the same, not that the document is."""
    decided = decide(look(["a.md", "b.md"]), indexed=["a.md"], believed=["a.md", "b.md"], redo=True)
    assert (sorted(decided.read), decided.unchanged) == (["a.md", "b.md"], ())


def test_the_sample_is_read_though_believed():
    """Files chosen for a second look are read."""
    decided = decide(look(["a.md", "b.md"]), indexed=["a.md", "b.md"], believed=["a.md", "b.md"], sample=["b.md"])
    assert (decided.read, decided.unchanged) == (("b.md",), ("a.md",))


def test_a_file_that_cannot_be_indexed_any_more_is_gone():
    """Grown too large, or replaced by a link: it is listed as skipped, and its document goes."""
    decided = decide(look(skipped=(Skipped("a.md", "too_large"),)), indexed=["a.md"])
    assert (decided.tombstones, decided.skipped) == (("a.md",), (Skipped("a.md", "too_large"),))


def test_a_file_that_only_the_cache_knows_is_read():
    """The cache may know a file that the index has lost: it is read."""
    assert decide(look(["a.md"]), believed=["a.md"]).read == ("a.md",)


def test_places_outside_the_scope_stay_as_known():
    """A look at one root says nothing of another's mounts."""
    known = {SourcePath("docs"): Place(1, mount=False), SourcePath("notes"): Place(2, mount=True)}
    seen = look(scope=("docs",), places={SourcePath("docs"): Place(3, mount=False)})
    assert next_places(known, seen, ()) == {"docs": Place(3, mount=False), "notes": Place(2, mount=True)}


def test_a_doubted_place_waits_for_its_documents():
    """As long as a document beneath is held, whatever the nearer reason, the place stays as it was."""
    known = {SourcePath("disk"): Place(1, mount=True)}
    held = [("disk", "device_changed"), ("disk/sub", "EACCES")]
    seen = look(scope=("",), held=held, places={SourcePath("disk"): Place(2, mount=True)})
    assert next_places(known, seen, {SourcePath("disk/sub/a.md")}) == known
    assert next_places(known, seen, ()) == {"disk": Place(2, mount=True)}


def test_a_look_at_one_file_leaves_a_doubted_place_as_it_was():
    """One document that is there says nothing of the others beneath a place whose device changed."""
    known = {SourcePath(""): Place(1, mount=False)}
    seen = look(["m.md"], scope=("m.md",), held=[("", "device_changed")], places={SourcePath(""): Place(2, mount=True)})
    assert next_places(known, seen, ()) == known


def test_looks_can_be_joined():
    """Several looks say together what each says."""
    joined = merge_looks(
        [look(["docs/a.md"], scope=("docs",)), look(["notes/b.md"], scope=("notes",), held=[("notes/x", "EIO")])]
    )
    assert (joined.scope, sorted(joined.files)) == (("docs", "notes"), ["docs/a.md", "notes/b.md"])
    assert joined.held == (Held("notes/x", "EIO"),)
    assert merge_looks([]).scope == ()


def test_the_nearest_folder_above_is_found_by_whole_components():
    """`ab` is not above `abc`; the empty path is above everything."""
    assert nearest_above("a/b/c", frozenset({"a", "a/b"})) == "a/b"
    assert nearest_above("abc", frozenset({"ab"})) is None
    assert nearest_above("abc", frozenset({""})) == ""
