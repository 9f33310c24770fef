"""Files become outcomes and one segment; one bad file does not touch the others."""

import os
import subprocess
import sys

import pytest

from indexerd.digests import content_hash, fast_digest
from indexerd.model import Root, Settings, SourcePath
from indexerd.ports import SourceFault
from indexerd.sync import reading
from indexerd.sync.bulk import SLICE_BYTES, SLICE_FILES, Sized, cut_slices
from indexerd.sync.reading import Wanted, read_slice
from indexerd.sync.worker import (
    Brief,
    decode_brief,
    decode_slice,
    decode_wanted,
    encode_brief,
    encode_slice,
    encode_wanted,
    write_frames,
)
from tests.fakes.memory_sources import MemorySources

SETTINGS = Settings()


def results(part):
    return {outcome.source_path: outcome.result for outcome in part.outcomes}


def test_new_files_are_stored_in_one_segment():
    """Each file has an outcome in the order asked, and the segment holds all."""
    part = read_slice([Wanted("b.md"), Wanted("a.md")], MemorySources({"a.md": b"alpha", "b.md": b"beta"}), SETTINGS)
    assert [outcome.source_path for outcome in part.outcomes] == ["b.md", "a.md"]
    assert list(part.segment.paths) == ["a.md", "b.md"]


def test_equal_bytes_are_believed_with_both_hashes_only():
    """The fast digest alone does not make a file unchanged."""
    data = b"alpha"
    sources = MemorySources({"a.md": data})
    equal = Wanted("a.md", fast_digest(data), content_hash(data))
    forged = Wanted("a.md", fast_digest(data), b"x" * 32)
    assert results(read_slice([equal], sources, SETTINGS)) == {"a.md": "unchanged"}
    assert results(read_slice([forged], sources, SETTINGS)) == {"a.md": "stored"}


def test_a_nul_in_the_first_eight_kibibytes_is_binary():
    """At byte 8191 it is, at byte 8192 it is not."""
    sources = MemorySources({"in.md": b"x" * 8191 + b"\0", "out.md": b"x" * 8192 + b"\0"})
    assert results(read_slice([Wanted("in.md"), Wanted("out.md")], sources, SETTINGS)) == {
        "in.md": "binary",
        "out.md": "stored",
    }


def test_a_fault_is_an_outcome():
    """A file that is missing is said to be, and nothing is raised."""
    part = read_slice([Wanted("a.md")], MemorySources(), SETTINGS)
    assert (results(part), part.segment) == ({"a.md": "source_missing"}, None)


def test_a_file_whose_writer_is_at_work_is_to_be_read_again():
    """What the caller calls unfinished is not stored."""
    sources = MemorySources({"a.md": b"half", "b.md": b"whole"})
    part = read_slice(
        [Wanted("a.md"), Wanted("b.md")], sources, SETTINGS, lambda want, size: want.source_path == "a.md" and size == 4
    )
    assert results(part) == {"a.md": "source_changed", "b.md": "stored"}


def test_a_file_that_trips_the_builder_is_named_and_the_others_are_stored(monkeypatch):
    """One bad file of three is listed with its cause, the segment holds the other two."""
    build = reading.build_segment

    def tripping(files, settings, tombstones=()):
        if any(path == "bad.md" for path, _ in files):
            raise ZeroDivisionError("tripped")
        return build(files, settings, tombstones)

    monkeypatch.setattr(reading, "build_segment", tripping)
    sources = MemorySources({"a.md": b"a", "bad.md": b"b", "c.md": b"c"})
    part = read_slice([Wanted("a.md"), Wanted("bad.md"), Wanted("c.md")], sources, SETTINGS)
    assert results(part) == {"a.md": "stored", "bad.md": "failed", "c.md": "stored"}
    assert list(part.segment.paths) == ["a.md", "c.md"]
    assert "tripped" in part.outcomes[1].detail


def test_a_builder_that_fails_on_good_files_together_is_our_own_fault(monkeypatch):
    """When each file alone is fine, the failure is raised and not blamed on a file."""
    build = reading.build_segment

    def tripping(files, settings, tombstones=()):
        if len(files) > 1:
            raise ZeroDivisionError
        return build(files, settings, tombstones)

    monkeypatch.setattr(reading, "build_segment", tripping)
    with pytest.raises(RuntimeError):
        read_slice([Wanted("a.md"), Wanted("c.md")], MemorySources({"a.md": b"a", "c.md": b"c"}), SETTINGS)


def test_what_a_worker_answers_is_what_was_read():
    """Brief, wanted files and slices come back from their bytes as they went in."""
    sources = MemorySources({"a.md": b"alpha", "gone.md": b""})
    part = read_slice([Wanted("a.md"), Wanted("none.md")], sources, SETTINGS)
    outcomes, segment = (b"".join(bytes(piece) for piece in frame) for frame in encode_slice(part))
    back = decode_slice(outcomes, segment)
    assert back.outcomes == part.outcomes
    assert bytes(back.segment.raw(0)) == b"alpha"
    assert decode_slice(outcomes, b"").segment is None
    brief = Brief((), 7, Settings(max_chars=300, languages=(("r", "german"),), formats=(".md",)))
    assert decode_brief(encode_brief(brief)) == brief
    wanted = [Wanted("a.md", b"d" * 16, b"h" * 32)]
    assert decode_wanted(encode_wanted(wanted)) == wanted


@pytest.mark.slow
def test_a_worker_whose_daemon_is_gone_ends_without_a_word(tmp_path):
    """What a killed daemon leaves at work writes nothing to the terminal when it finds nobody to answer."""
    (tmp_path / "a.md").write_text("alpha")
    program = "from indexerd.sync.worker import main; main()"
    brief = Brief((Root(label="r", path=str(tmp_path), prefixed=False),), 1 << 20, SETTINGS)
    reading, writing = os.pipe()
    worker = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(reading)
    os.close(writing)
    write_frames(worker.stdin, [[encode_brief(brief)], [encode_wanted([Wanted("a.md")])]])
    assert worker.communicate(timeout=120) == (None, b"")


def test_a_fault_outcome_has_no_stat():
    """What could not be read has nothing to remember it by."""

    class Refusing(MemorySources):
        def read(self, source_path):
            return SourceFault("source_unreadable", "EACCES")

    (outcome,) = read_slice([Wanted("a.md")], Refusing(), SETTINGS).outcomes
    assert (outcome.stat, outcome.detail) == (None, "EACCES")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1] * (2 * SLICE_FILES + 1), [SLICE_FILES, SLICE_FILES, 1]),
        ([SLICE_BYTES, SLICE_BYTES, 1], [1, 1, 1]),
        ([SLICE_BYTES // 2] * 4, [2, 2]),
        ([10 * SLICE_BYTES], [1]),
        ([], []),
    ],
)
def test_slices_are_cut_by_count_and_by_size(sizes, expected):
    """No slice exceeds a limit, unless one file alone does; order and completeness hold."""
    files = [Sized(Wanted(SourcePath(f"{number}.md")), size) for number, size in enumerate(sizes)]
    slices = list(cut_slices(files))
    assert [len(part) for part in slices] == expected
    assert [want for part in slices for want in part] == [file.want for file in files]
