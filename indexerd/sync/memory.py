"""The file of fingerprints in the state directory: written now and then, worth nothing when damaged.

Owns: its name, and that a failure to write it is no failure of the sync.
Knows nothing of: what a fingerprint means.
Invariants: 1. whatever is in the file, loading gives fingerprints that are right, or none. 2. the old file stays until
    the new one is whole. 3. what was dropped does not come back: a save under way ends before it.
Purity: shell (the state directory, through the port; threads share it).
See: docs/on-disk-format.md (files).
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence

from indexerd.model import SourcePath
from indexerd.ports import StoreFilesystem
from indexerd.store import Snapshot
from indexerd.sync.deferred import Deferred
from indexerd.sync.fingerprint import FingerprintCache
from indexerd.sync.ledger import Known, Ledger, documents_of, saved_of
from indexerd.sync.saved import SavedFingerprints, decode

_log = logging.getLogger(__name__)

FILE_NAME = "fingerprints"
_NEW_NAME = "fingerprints.new"


def load_saved(fs: StoreFilesystem | None) -> SavedFingerprints | None:
    """Return the fingerprints on disk, or nothing: then every file is read once."""
    if fs is None:
        return None
    try:
        return decode(fs.read(FILE_NAME))
    except OSError:
        return None


def load_ledger(snapshot: Snapshot, fs: StoreFilesystem | None) -> Ledger:
    """Return what is known of a snapshot's documents; the file is read when that is first needed."""
    saved = Deferred(lambda: load_saved(fs))
    return Ledger(
        Deferred(lambda: Known(documents_of(snapshot), FingerprintCache.of(saved()))),
        Deferred(lambda: saved_of(snapshot, saved())),
    )


class SavedCache:
    """Writes the file and removes it, for any thread, one at a time."""

    def __init__(self, fs: StoreFilesystem | None) -> None:
        """Without a state directory nothing is ever written."""
        self._fs = fs
        self._lock = threading.Lock()

    def save(self, cache: FingerprintCache, paths: Sequence[SourcePath], pause: Callable[[], object]) -> None:
        """Write the cache if it was changed; where that fails the next start reads more files than it must.

        Args:
            cache: May be changed by its own thread meanwhile: what it then knows of a file is written, or what before.
            paths: What it may know anything of, in order.
            pause: Called every millisecond or so: others may need the interpreter.
        """
        if self._fs is None or not cache.unsaved:
            return
        with self._lock:
            cache.unsaved = False
            with contextlib.suppress(OSError):
                self._fs.remove(_NEW_NAME)
            try:
                self._fs.write_new(_NEW_NAME, [cache.encode(paths, pause)])
                self._fs.replace(_NEW_NAME, FILE_NAME)
            except OSError as error:
                cache.unsaved = True
                _log.warning("fingerprints_not_saved: the next start reads more files than it must (%s)", error)

    def drop(self, cache: FingerprintCache) -> None:
        """Remove the file, to be written anew with what the cache holds by then.

        Raises:
            OSError: It is still there. Try again.
        """
        with self._lock:
            cache.unsaved = True
            if self._fs is None:
                return
            for name in (FILE_NAME, _NEW_NAME):
                with contextlib.suppress(FileNotFoundError):
                    self._fs.remove(name)
