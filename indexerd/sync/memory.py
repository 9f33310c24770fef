"""The file of fingerprints in the state directory: written now and then, worth nothing when damaged.

Owns: its name, and that a failure to write it is no failure of the sync.
Knows nothing of: what a fingerprint means.
Invariants: 1. whatever is in the file, loading gives a usable cache. 2. the old file stays until the new one is whole.
Purity: shell (the state directory, through the port).
See: docs/on-disk-format.md (files).
"""

import contextlib
import logging

from indexerd.ports import StoreFilesystem
from indexerd.sync.fingerprint import FingerprintCache

_log = logging.getLogger(__name__)

FILE_NAME = "fingerprints"
_NEW_NAME = "fingerprints.new"


def load_cache(fs: StoreFilesystem | None) -> FingerprintCache:
    """Return the cache on disk, or an empty one: then every file is read once."""
    if fs is None:
        return FingerprintCache()
    try:
        return FingerprintCache.decode(fs.read(FILE_NAME))
    except OSError:
        return FingerprintCache()


def save_cache(fs: StoreFilesystem | None, cache: FingerprintCache) -> None:
    """Write the cache if it was changed; where that fails the next start reads more files than it must."""
    if fs is None or not cache.unsaved:
        return
    with contextlib.suppress(OSError):
        fs.remove(_NEW_NAME)
    try:
        fs.write_new(_NEW_NAME, [cache.encode()])
        fs.replace(_NEW_NAME, FILE_NAME)
        cache.unsaved = False
    except OSError as error:
        _log.warning("fingerprints_not_saved: the next start reads more files than it must (%s)", error)


def drop_cache(fs: StoreFilesystem | None, cache: FingerprintCache) -> None:
    """Remove the file, to be written anew with what the cache holds by then.

    Raises:
        OSError: It is still there. Try again.
    """
    cache.unsaved = True
    if fs is None:
        return
    for name in (FILE_NAME, _NEW_NAME):
        with contextlib.suppress(FileNotFoundError):
            fs.remove(name)
