"""The manifest: the ordered segments of one generation.

Owns: the value, its invariants, its bytes.
Knows nothing of: files, slots, what a segment holds.
Invariants: 1. later wins: a segment's version of a document, or its tombstone, overrides all earlier segments. 2. live
    documents follow from that and are never listed; the counts are a check, not a source. 3. no segment is named twice.
Purity: pure.
See: docs/on-disk-format.md (manifest).
"""

from functools import lru_cache
from typing import Any, NamedTuple

from indexerd.store.codec import decode, pack, seal
from indexerd.store.layout import FileName, Kind

MAGIC = b"IDXDMANI"
FORMAT_VERSION = 2


# Each checkpoint asks for the name of every file of every kept generation, hundreds of times the same.
@lru_cache(maxsize=4096)
def _name(kind: Kind, serial: int, digest: bytes) -> str:
    return str(FileName(kind, serial, digest))


class FileRef(NamedTuple):
    """A file as another one names it: enough to know whether it is the one that was meant.

    Attributes:
        serial: Its serial number.
        digest: 16 bytes, hash of the whole file.
        length: Its length in bytes.
    """

    serial: int
    digest: bytes
    length: int

    def name(self, kind: Kind) -> str:
        """Return the name of the file in the state directory."""
        return _name(kind, self.serial, self.digest)


class SegmentRef(NamedTuple):
    """A segment as a manifest names it.

    Attributes:
        file: The file.
        generation: Newest generation whose documents or tombstones it holds.
    """

    file: FileRef
    generation: int

    @property
    def name(self) -> str:
        """Name of the segment's file."""
        return self.file.name(Kind.SEGMENT)


class Versions(NamedTuple):
    """What an answer depends on beside content and settings: a generation is answered from exactly as then by equals.

    Attributes:
        analyzer: Version of the analysis and of what it is built on.
        ranking: Version of everything between words and reply.
    """

    analyzer: str
    ranking: int


UNKNOWN_VERSIONS = Versions("", 0)


class Manifest(NamedTuple):
    """One generation.

    Attributes:
        generation: Its number; at least 1.
        settings: Settings fingerprint of every document in it.
        segments: Oldest first.
        documents: Live documents.
        chunks: Chunks of live documents.
        text_bytes: Bytes of the live documents' sources.
        versions: Of the program that published it.
        erased: Documents that were live in it and have been erased since.
    """

    generation: int
    settings: str
    segments: tuple[SegmentRef, ...]
    documents: int
    chunks: int
    text_bytes: int
    versions: Versions = UNKNOWN_VERSIONS
    erased: int = 0


NO_GENERATION = Manifest(generation=0, settings="", segments=(), documents=0, chunks=0, text_bytes=0)
"""What stands for a manifest where nothing was published; never written."""


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the manifest file's bytes."""
    counts = (manifest.documents, manifest.chunks, manifest.text_bytes)
    about = (manifest.generation, manifest.settings, *manifest.versions)
    return seal(MAGIC, FORMAT_VERSION, pack((about, manifest.segments, (*counts, manifest.erased))))


def decode_manifest(data: bytes | memoryview, where: str) -> Manifest:
    """Read a manifest file.

    Raises:
        CorruptionError: Damaged, or whole but breaking an invariant.
        FormatVersionError: Of another format version.
    """
    return decode(data, where, magic=MAGIC, version=FORMAT_VERSION, build=_manifest, problems=manifest_problems)


def manifest_problems(manifest: Manifest) -> tuple[str, ...]:
    """Return every broken invariant of a manifest, for people; empty when it is good."""
    serials = [ref.file.serial for ref in manifest.segments]
    checks = (
        (manifest.generation >= 1, f"generation {manifest.generation} is below 1"),
        (len(set(serials)) == len(serials), "names a segment twice"),
        (all(ref.generation >= 1 for ref in manifest.segments), "a segment is of no generation"),
    )
    return tuple(problem for good, problem in checks if not good)


def file_ref(value: Any) -> FileRef:
    """Decode a file reference.

    Raises:
        TypeError, ValueError: It is none.
    """
    serial, digest, length = value
    if not (is_count(serial) and isinstance(digest, bytes) and len(digest) == 16 and is_count(length)):
        raise ValueError("a file reference is malformed")
    return FileRef(serial, digest, length)


def is_count(value: Any) -> bool:
    """Tell whether a decoded value is a whole number that fits 63 bits."""
    return type(value) is int and 0 <= value < 1 << 63


def _manifest(value: Any) -> Manifest:
    (generation, settings, analyzer, ranking), segments, (documents, chunks, text_bytes, erased) = value
    refs = tuple(SegmentRef(file_ref(file), newest) for file, newest in segments)
    numbers = (generation, ranking, documents, chunks, text_bytes, erased, *(ref.generation for ref in refs))
    if not (all(map(is_count, numbers)) and isinstance(settings, str) and isinstance(analyzer, str)):
        raise ValueError("a number, the settings or the versions are malformed")
    return Manifest(
        generation=generation,
        settings=settings,
        segments=refs,
        documents=documents,
        chunks=chunks,
        text_bytes=text_bytes,
        versions=Versions(analyzer, ranking),
        erased=erased,
    )
