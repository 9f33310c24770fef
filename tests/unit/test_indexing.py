"""Files to a segment: what is searched where, and what decides the result."""

import os
import subprocess
import sys

import pytest

from indexerd.indexing import NAME_KEY_MARK, build_segment, settings_fingerprint
from indexerd.model import FrontMatterKeys, Settings, SourcePath
from indexerd.postings import Column
from indexerd.store.segment import encode_segment

NOTE = b"""---
title: Anna's plan
aliases: [Blue book]
tags: [work]
status: draft
---
# Setup

First text.

## Linux

Second text.
"""


def build(files, settings=None):
    return build_segment([(SourcePath(path), raw) for path, raw in files.items()], settings or Settings())


def row(segment, term, chunk):
    number = segment.postings.find(term)
    if number < 0 or chunk not in segment.postings.chunks_of(number):
        return {}
    code = segment.postings.codes_of(number)[list(segment.postings.chunks_of(number)).index(chunk)]
    counts = segment.postings.frequencies[code].tolist()
    return {Column(column): count for column, count in enumerate(counts) if count}


def test_names_weigh_once_on_the_first_hit():
    """Title, aliases, file name, tags, folders and other front matter are searched on the first hit chunk only."""
    segment = build({"guides/meeting.md": NOTE})
    assert segment.chunk_count == 2
    for term, column in (
        ("anna", Column.NAME_EXACT),
        ("blue", Column.NAME_EXACT),
        ("meeting", Column.NAME_EXACT),
        ("guides", Column.FOLDER_EXACT),
        ("draft", Column.FOLDER_EXACT),
    ):
        assert row(segment, term, 0).get(column) == 1, term
        assert row(segment, term, 1) == {}
    assert row(segment, "work", 0)[Column.TAG_EXACT] == 1
    assert row(segment, "linux", 1) == {Column.HEADING_EXACT: 1}
    assert row(segment, "second", 1) == {Column.TEXT_EXACT: 1}


@pytest.mark.parametrize("key", ["anna s plan", "blue book", "meeting"])
def test_each_name_is_a_key(key):
    """A query that equals title, alias or file name finds the document by one term, which no text can have."""
    segment = build({"guides/meeting.md": NOTE, "other.md": key.encode() + b" \x00" + key.encode()})
    number = segment.postings.find(NAME_KEY_MARK + key)
    assert segment.postings.chunks_of(number).tolist() == [0]


def test_a_heading_alone_lends_its_words():
    """Words of a heading without text are found on the chunk under it."""
    segment = build({"a.md": b"# Kernel\n\n## Modules\n\nbody\n"})
    assert segment.chunk_hit.tolist() == [False, True]
    assert row(segment, "kernel", 1)[Column.HEADING_EXACT] >= 1
    assert row(segment, "kernel", 0) == {}


def test_languages_go_by_root():
    """Documents below a root with its own language are stemmed in it, also between those of another."""
    settings = Settings(language="english", languages=(("b", "german"),))
    segment = build({"a/x.md": b"houses", "b/x.md": "Häuser".encode(), "c/x.md": b"houses"}, settings)
    assert [row(segment, "hous", chunk) for chunk in range(3)] == [{Column.TEXT_STEM: 1}, {}, {Column.TEXT_STEM: 1}]
    assert row(segment, "haus", 1) == {Column.TEXT_STEM: 1}


def test_an_empty_set_is_a_segment_too():
    """No documents, or documents without text, are built, encoded and found."""
    for files in ({}, {"a.md": b""}, {"a.md": b"\n\n"}):
        segment = build(files)
        assert (segment.document_count, segment.chunk_count) == (len(files), 0)
        assert encode_segment(segment)


def test_the_fingerprint_tells_what_decides_the_result():
    """Every setting that changes what is stored changes the fingerprint; which files are taken does not."""
    base = Settings()
    changed = [
        base._replace(max_chars=500),
        base._replace(language="german"),
        base._replace(languages=(("a", "german"),)),
        base._replace(keys=FrontMatterKeys(title=("name",))),
        base._replace(keys=FrontMatterKeys(acl=("roles",))),
    ]
    prints = [settings_fingerprint(settings) for settings in (base, *changed)]
    assert len(set(prints)) == len(prints)
    assert settings_fingerprint(base._replace(formats=(".md",))) == prints[0]


def test_equal_files_give_equal_bytes_in_any_process():
    """Two processes with different hash seeds write the same segment."""
    program = (
        "import sys; from indexerd.indexing import build_segment; from indexerd.model import Settings\n"
        "from indexerd.store.segment import encode_segment\n"
        "files = [(f'{n}.md', b'# T%d\\n\\nrow_group_size v6.2.8 %d running' % (n, n * n)) for n in range(50)]\n"
        "sys.stdout.buffer.write(b''.join(encode_segment(build_segment(files, Settings()))))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
