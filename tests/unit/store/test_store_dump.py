"""The canonical dump: the same for equal content, different for anything that a query could tell apart."""

import pytest

from indexerd.indexing import build_segment
from indexerd.model import Settings, SourcePath
from indexerd.store import Change
from indexerd.store.dump import canonical_digest, canonical_dump
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem
from tests.fakes.small_stores import FINGERPRINT, content, make_segment, opened, publish, rebuilt_content

FILES = {"a.md": "# A\n\none two\n", "b.md": "---\ntags: [x]\nacl: [r]\n---\n# B\n\ntwo three\n", "c.txt": "four\n"}


def test_segments_do_not_show():
    """One segment or one a document, in any order, in one generation or many: the lines are equal."""
    store = opened(ForgetfulFilesystem())
    for path in ("c.txt", "a.md", "b.md"):
        publish(store, {path: "first version\n"})
        publish(store, {path: FILES[path]})
    publish(store, {"d.md": "gone\n"})
    snapshot = publish(store, {}, ["d.md"])
    fresh = publish(opened(ForgetfulFilesystem()), FILES)
    assert list(canonical_dump(snapshot)) == list(canonical_dump(fresh))
    assert canonical_digest(snapshot) == rebuilt_content(FILES)


def test_an_emptied_store_equals_a_new_one():
    """When every document is gone the dump is that of a store that never had one."""
    store = opened(ForgetfulFilesystem())
    publish(store, FILES)
    assert content(publish(store, {}, list(FILES))) == rebuilt_content({})


@pytest.mark.parametrize(
    "changed",
    [
        {"a.md": "# A\n\none two \n"},
        {"a.md": "# A\n\none two\n\n"},
        {"b.md": FILES["b.md"].replace("[r]", "[s]")},
        {"d.md": "new\n"},
    ],
)
def test_any_difference_shows(changed):
    """A changed space, blank line, metadata value or document changes the digest."""
    assert rebuilt_content(FILES | changed) != rebuilt_content(FILES)


def test_hidden_documents_leave_no_trace():
    """A dump without a document equals the dump of a store that never had it."""
    snapshot = publish(opened(ForgetfulFilesystem()), FILES)
    without = {path: text for path, text in FILES.items() if path != "b.md"}
    assert canonical_digest(snapshot, frozenset({SourcePath("b.md")})) == rebuilt_content(without)


def test_every_line_is_one_line_of_ascii():
    """Whatever documents hold, each record is one printable line."""
    snapshot = publish(opened(ForgetfulFilesystem()), {"x.md": "# T\u2028itle \x1b[31m\n\n日本 \x85 words\n"})
    assert all(line.isascii() and line.isprintable() for line in canonical_dump(snapshot))


def test_other_settings_show():
    """The same text chunked otherwise is other content."""
    files = [(SourcePath("a.md"), b"words " * 100)]
    digests = set()
    for max_chars in (120, 900):
        store = opened(ForgetfulFilesystem())
        segment = build_segment(files, Settings(max_chars=max_chars))
        prepared = store.prepare([segment], settings=segment.settings, change=Change(1, 0, 0))
        digests.add(content(store.publish(prepared)))
    assert len(digests) == 2
    assert make_segment({}).settings == FINGERPRINT
