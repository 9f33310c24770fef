"""Hashes and the identities made from them.

Owns: which hash serves which purpose.
Knows nothing of: files, documents' structure, the store.
Invariants: 1. `fast_digest` proves a difference, never an equality. 2. ids are pure functions of what they name.
Purity: pure.
See: docs/on-disk-format.md (identity), docs/adr/0002.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Protocol

import xxhash

from indexerd.model import ChunkId, ContentHash, Digest, DocumentId, SourcePath


def fast_digest(data: bytes | memoryview) -> Digest:
    """Return xxh3-128 of `data` (16 bytes). A different one proves a change; an equal one proves nothing alone."""
    return Digest(xxhash.xxh3_128_digest(data))


def fast_digest_parts(parts: Iterable[bytes | memoryview]) -> Digest:
    """Return `fast_digest` of the parts one after the other, without joining them."""
    return digest_and_length(parts)[0]


def digest_and_length(parts: Iterable[bytes | memoryview]) -> tuple[Digest, int]:
    """Return `fast_digest_parts`, and how many bytes the parts have together."""
    state, length = xxhash.xxh3_128(), 0
    for part in parts:
        state.update(part)
        length += memoryview(part).nbytes
    return Digest(state.digest()), length


class RunningDigest(Protocol):
    """`fast_digest` of what comes piece by piece."""

    def update(self, data: bytes | memoryview, /) -> None:
        """Take in the next piece."""
        ...

    def digest(self) -> bytes:
        """Return the digest of all that was taken in."""
        ...


def running_digest() -> RunningDigest:
    """Return a `fast_digest` of nothing yet."""
    return xxhash.xxh3_128()


def content_hash(data: bytes | memoryview) -> ContentHash:
    """Return SHA-256 of `data` (32 bytes): the content address, what `sha256sum` prints."""
    return ContentHash(hashlib.sha256(data).digest())


def document_id(source_path: SourcePath) -> DocumentId:
    """Return `doc_` and the first 20 hex digits of SHA-256 of the source path."""
    return DocumentId("doc_" + hashlib.sha256(source_path.encode()).hexdigest()[:20])


def chunk_id(document: DocumentId, chunk_hash: ContentHash, occurrence: int) -> ChunkId:
    """Return `chk_` and 20 hex digits of SHA-256 of `document:hash:occurrence`.

    Args:
        document: The document's id.
        chunk_hash: SHA-256 of the chunk's text.
        occurrence: 0, 1, ... among equal texts of one document, in document order.
    """
    name = f"{document}:{chunk_hash.hex()}:{occurrence}"
    return ChunkId("chk_" + hashlib.sha256(name.encode()).hexdigest()[:20])


def path_key(source_path: SourcePath) -> int:
    """Return the first 8 bytes of SHA-256 of the source path, big-endian: a look-up key, confirmed by the path."""
    return int.from_bytes(hashlib.sha256(source_path.encode()).digest()[:8], "big")


def evidence_set_id(query: str, cited: Iterable[Sequence[str]]) -> str:
    """Return `evidence_` and 24 hex digits of SHA-256 over the JSON of a query and what each block cites.

    Args:
        query: The query's text.
        cited: Label, chunk id, citation without hash, and hash of each block, in order.
    """
    text = json.dumps([query, [list(block) for block in cited]], ensure_ascii=False, separators=(",", ":"))
    return "evidence_" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
