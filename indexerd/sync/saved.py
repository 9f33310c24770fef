"""The fingerprints as they were written down: columns of numbers, asked about all files at once.

Owns: the bytes of the fingerprints, and the answer to "is everything as it was?" without a look at each file.
Knows nothing of: the disk, where the bytes are kept, what is done with a single fingerprint.
Invariants: 1. whatever is wrong with the bytes, there are no fingerprints, never wrong ones. 2. what is answered about
    all files is what `FingerprintCache` answers about each.
Purity: pure.
See: docs/consistency.md (fingerprints).
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.digests import fast_digest, path_key
from indexerd.model import ContentHash, SourcePath
from indexerd.ports import SourceStat

# FAT keeps time in steps of two seconds, the coarsest in use.
RACY_NS = 2_000_000_000

_MAGIC = b"IDXFP\x00\x00\x03"
# The fastest level: 40,742 fingerprints take 2.0 MB instead of 4.8, in 45 ms when written and 12 ms when read
# (2026-11-30); better ones save 2 % more.
_ZLIB_LEVEL = 1
_DIGEST_BYTES = 16
_HASH_BYTES = 32
# A stat and the time of the look. Devices and inodes use all 64 bits; times may lie before 1970.
_KINDS = ("<u8", "<u8", "<i8", "<i8", "<i8", "<i8")
_MTIME, _CTIME, _LOOKED = 3, 4, 5
_HEADER_NUMBERS = 4
# Times that do not fit are not written down: those files are read at the next start.
_LATEST = (1 << 63) - 1

Row = tuple[tuple[int, ...], ContentHash, int]
Column = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
Hashes = npt.NDArray[np.void]


class SavedFingerprints(NamedTuple):
    """What was known of all files, in the order of their paths.

    Attributes:
        names: The source paths, each with a line end behind it.
        columns: Device, inode, size, mtime and ctime of each, and the wall time just before it was read.
        hashes: SHA-256 of the bytes of each.
        documents: Digest of these documents, see `documents_digest`.
        mounts: The folders where something was mounted.
        sampled_ns: Wall time of the last sample; 0 for never.
    """

    names: bytes
    columns: tuple[Column, ...]
    hashes: Hashes
    documents: bytes
    mounts: frozenset[SourcePath]
    sampled_ns: int

    def doubted(self, files: Mapping[SourcePath, SourceStat]) -> list[SourcePath] | None:
        """Return the files whose stat is not believed; None if these are not the very files that were known."""
        if len(files) != len(self.hashes):
            return None
        paths = sorted(files)
        if _lines(paths) != self.names:
            return None
        stats = zip(*map(files.__getitem__, paths), strict=True)
        believed = ~self._racy()
        try:
            for seen, column in zip(stats, self.columns, strict=False):
                believed &= np.array(seen, column.dtype) == column
        except OverflowError:
            # A time after the year 2262, which is not written down.
            return None
        return [paths[index] for index in np.flatnonzero(~believed).tolist()]

    def rows(self) -> Iterable[tuple[SourcePath, Row]]:
        """Return each path with what is known of it."""
        columns = [column.tolist() for column in self.columns]
        rows = zip(zip(*columns[:_LOOKED], strict=True), self.hashes.tolist(), columns[_LOOKED], strict=True)
        return zip(_paths(self.names), rows, strict=True)

    def _racy(self) -> npt.NDArray[np.bool_]:
        looked = self.columns[_LOOKED]
        racy = np.zeros(len(looked), np.bool_)
        for which in (_MTIME, _CTIME):
            racy |= np.abs(self.columns[which] - looked) <= RACY_NS
        return racy


def documents_digest(path_keys: npt.NDArray[np.uint64], hashes: Hashes) -> bytes:
    """Return a digest that stands for documents, whatever their order: of their path keys, and the hashes of each."""
    order = np.argsort(path_keys, kind="stable")
    return fast_digest(path_keys[order].astype("<u8").tobytes() + hashes[order].tobytes())


def encode(
    portions: Iterable[Mapping[SourcePath, Row]],
    mounts: Iterable[SourcePath],
    sampled_ns: int,
    pause: Callable[[], object],
) -> bytes:
    """Return the bytes of fingerprints, which come in portions, in the order of their paths.

    Args:
        portions: Made one by one, each just before it is written down.
        mounts: As in `SavedFingerprints`.
        sampled_ns: As there.
        pause: Called after each portion.
    """
    columns: list[list[bytes]] = [[] for _ in _KINDS]
    hashes: list[bytes] = []
    names: list[bytes] = []
    keys: list[int] = []
    for portion in portions:
        known = {path: row for path, row in portion.items() if max(row[0][_MTIME:]) <= _LATEST}
        numbers = zip(*((*row[0], row[2]) for row in known.values()), strict=True)
        for column, part, kind in zip(columns, numbers, _KINDS, strict=False):
            column.append(np.array(part, kind).tobytes())
        hashes.extend(row[1] for row in known.values())
        keys.extend(map(path_key, known))
        names.append(_lines(known))
        pause()
    all_hashes = b"".join(hashes)
    documents = documents_digest(np.array(keys, np.uint64), np.frombuffer(all_hashes, f"V{_HASH_BYTES}"))
    mount_lines = _lines(sorted(mounts))
    header = np.array([len(hashes), sum(map(len, names)), len(mount_lines), sampled_ns], "<u8").tobytes()
    body = b"".join((header, documents, *map(b"".join, columns), all_hashes, *names, mount_lines))
    packed = zlib.compress(body, _ZLIB_LEVEL)
    return _MAGIC + fast_digest(packed) + packed


def decode(data: bytes | memoryview) -> SavedFingerprints | None:
    """Read what `encode` made; None if a single byte is not as it was written."""
    start = len(_MAGIC) + _DIGEST_BYTES
    packed = data[start:]
    if bytes(data[:start]) != _MAGIC + fast_digest(packed):
        return None
    try:
        return _taken_apart(zlib.decompress(packed))
    except (ValueError, zlib.error):
        return None


def _taken_apart(body: bytes) -> SavedFingerprints:
    count, name_bytes, mount_bytes, sampled_ns = np.frombuffer(body, "<u8", _HEADER_NUMBERS).tolist()
    at = _HEADER_NUMBERS * 8
    documents = body[at : at + _DIGEST_BYTES]
    at += _DIGEST_BYTES
    columns = tuple(np.frombuffer(body, kind, count, at + n * count * 8) for n, kind in enumerate(_KINDS))
    at += len(_KINDS) * count * 8
    hashes = np.frombuffer(body, f"V{_HASH_BYTES}", count, at)
    at += _HASH_BYTES * count
    names, mounts = body[at : at + name_bytes], body[at + name_bytes : at + name_bytes + mount_bytes]
    return SavedFingerprints(names, columns, hashes, documents, frozenset(_paths(mounts)), sampled_ns)


def _lines(paths: Iterable[SourcePath] | Sequence[SourcePath]) -> bytes:
    # Each with a line end, since an unprefixed root that is a mount has the empty path.
    return "".join([f"{path}\n" for path in paths]).encode()


def _paths(lines: bytes) -> Iterable[SourcePath]:
    return map(SourcePath, lines.decode().split("\n")[:-1])
