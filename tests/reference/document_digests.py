"""What an index holds of each document, as one hash each: two indexes of any history compare document by document.

A segment of one file is a function of its name and bytes, so what a fresh index would hold can be remembered from tree
to tree; what a running index holds is derived from its stored segments by the rule "later wins", and from nothing else.
"""

import hashlib
import os
import subprocess
from pathlib import Path

import numpy as np

from indexerd.indexing import build_segment
from indexerd.model import Settings
from indexerd.naming import encode_name
from indexerd.store.segment import Segment
from indexerd.store.snapshot import Snapshot


def digests_in(data: Segment) -> list[str]:
    """Return a hash of each document of a segment: its record, its chunks, its terms with their frequencies."""
    hashes = []
    for number in range(data.document_count):
        document = data.document(number)
        chunks = range(int(data.first_chunks[number]), int(data.first_chunks[number + 1]))
        text = repr((document, dict(document.metadata), [(data.chunk(n), int(data.lengths[n])) for n in chunks]))
        hashes.append(hashlib.sha256(text.encode("utf-8", "surrogatepass")))
    plain = data.postings.plain()
    terms = np.repeat(np.arange(plain.term_count), np.diff(plain.starts))
    owners = data.document_of_chunk[plain.chunks]
    rows = [row.tobytes() for row in plain.frequencies]
    order = np.argsort(owners, kind="stable")
    places = (plain.chunks - data.first_chunks[owners].astype(np.int64))[order].tolist()
    names, codes = terms[order].tolist(), plain.codes[order].tolist()
    for owner, term, place, code in zip(owners[order].tolist(), names, places, codes, strict=True):
        hashes[owner].update(b"%s %d %s\n" % (plain.terms[term].encode(), place, rows[code]))
    return [each.hexdigest() for each in hashes]


class RunningIndex:
    """What generations hold, asked one after the other; a segment that several of them name is hashed once."""

    def __init__(self) -> None:
        self._hashed: dict[str, dict[str, str]] = {}

    def documents(self, snapshot: Snapshot) -> dict[str, str]:
        """Return the hash of each living document by its source path."""
        hashed, live = {}, {}
        for stored in snapshot.stored:
            name, data = stored.ref.name, stored.data
            hashed[name] = self._hashed.get(name) or dict(zip(data.paths, digests_in(data), strict=True))
            for path in data.tombstones:
                live.pop(path, None)
            live |= hashed[name]
        self._hashed = hashed
        seen = [segment.data.paths[index] for segment, index in snapshot.documents()]
        assert seen == sorted(live, key=str.encode), "the snapshot's living documents are not those of its segments"
        return live


class FreshIndex:
    """What an index from nothing would hold of a clean checkout; a file seen before with its bytes is not built again.

    Which files those are is git's word: what it tracks and its ignore files do not name, without what is hidden.
    """

    def __init__(self, repository: Path) -> None:
        self._repository, self._formats = repository, Settings().formats
        self._known: dict[tuple[bytes, bytes], str | None] = {}

    def documents(self) -> dict[str, str]:
        """Return the hash of each document by its source path."""
        found = {}
        for name in self._wanted():
            data = Path(os.fsdecode(os.path.join(os.fsencode(self._repository), name))).read_bytes()
            key = (name, hashlib.sha256(data).digest())
            if key not in self._known:
                self._known[key] = self._digest(encode_name(name), data)
            if (digest := self._known[key]) is not None:
                found[encode_name(name)] = digest
        return found

    def _wanted(self) -> list[bytes]:
        tracked = self._git("ls-files", "-s", "-z").split(b"\0")[:-1]
        names = [entry.partition(b"\t")[2] for entry in tracked if entry.startswith(b"100")]
        names = [name for name in names if name.lower().endswith(tuple(each.encode() for each in self._formats))]
        shown = [name for name in names if not any(part.startswith(b".") for part in name.split(b"/"))]
        ignored = self._git("check-ignore", "--no-index", "-z", "--stdin", given=b"\0".join([*shown, b""]))
        return sorted(set(shown) - set(ignored.split(b"\0")))

    def _git(self, *words: str, given: bytes | None = None) -> bytes:
        done = subprocess.run(["git", "-C", self._repository, *words], input=given, capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def _digest(self, path: str, data: bytes) -> str | None:
        if b"\0" in data[:8192]:
            return None
        (digest,) = digests_in(build_segment([(path, data)], Settings()))
        return digest
