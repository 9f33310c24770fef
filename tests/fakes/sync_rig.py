"""A root, a state directory and a real sync between them, with the questions that tests ask."""

import contextlib
import os
import time
from pathlib import Path

from indexerd.clock import SystemClock
from indexerd.model import Root, Settings
from indexerd.sources import SourceTree
from indexerd.store import open_store
from indexerd.store.dump import canonical_digest
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.sync.ignore import IgnoreOptions
from indexerd.sync.loop import SyncLoop
from indexerd.sync.options import SyncOptions
from indexerd.sync.scan import Scanner
from indexerd.sync.watcher import Watcher

# Used up by a fault of the program alone, however much else the machine has to do.
PATIENCE_SECONDS = 120.0


def let_writers_be_slow(monkeypatch):
    """Have the sync wait for whoever writes in place: one that is slow only because the machine is has not stopped."""
    for name in ("pending.SETTLE", "pending.HURRIED", "pending.LONGEST", "writer.HURRIED", "writer.LONGEST"):
        # Far less than the patience: where the end of a save is lost among other events, this is waited for.
        monkeypatch.setattr(f"indexerd.sync.{name}", 30.0)


class Rig:
    """One store over some roots. Opens with the first use, closes at the end of the `with` block."""

    def __init__(
        self, folder, *roots, watch=True, settings=None, workers=0, ignore=None, wrap=None, git_user=None, **options
    ):
        self.state = Path(folder) / "state"
        paths = roots or (Path(folder) / "root",)
        for path in paths:
            with contextlib.suppress(FileExistsError, PermissionError):
                Path(path).mkdir()
        self.roots = tuple(
            Root(label=f"r{number}", path=str(path), prefixed=len(paths) > 1) for number, path in enumerate(paths)
        )
        self.root = Path(paths[0])
        self._watch, self._settings, self._workers = watch, settings or Settings(), workers
        self._ignore, self._wrap, self._options = ignore or IgnoreOptions(), wrap, options
        self._git_user = git_user
        self.clock = SystemClock()

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *_):
        self.close()

    def open(self):
        """Open the store and make the loop; nothing runs yet."""
        real = RealStoreFilesystem.open_directory(str(self.state), create=True)
        self.fs = self._wrap(real) if self._wrap else real
        self.store = open_store(self.fs, self.clock, durability="checkpoint", roots=self.roots)
        self.loop = SyncLoop(
            store=self.store,
            sources=SourceTree(self.roots),
            scanner=Scanner(self.roots, self._ignore, own_paths=[str(self.state)], git_user=self._git_user),
            roots=self.roots,
            settings=self._settings,
            clock=self.clock,
            options=SyncOptions(max_file_bytes=1 << 24, workers=self._workers, **self._options),
            watcher=Watcher() if self._watch else None,
            fs=self.fs,
        )
        return self

    def close(self):
        """Stop and close; a store that cannot be made durable is closed all the same."""
        self.loop.stop()
        with contextlib.suppress(OSError):
            self.store.close()

    def start(self):
        """Start the daemon's threads and wait for the first scan."""
        self.loop.start()
        self.settle()
        return self

    def barrier(self, seconds=PATIENCE_SECONDS):
        """Ask the barrier; return its state."""
        return self.loop.barrier(time.monotonic() + seconds).state

    def settle(self):
        """Wait until everything is published."""
        assert self.barrier() == "current", self.loop.status()

    def until(self, condition, seconds=PATIENCE_SECONDS):
        """Wait until a condition holds, without asking the barrier."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.loop.status()
            time.sleep(0.002)

    def due(self, timer):
        """Let one of the timetable's moments have come."""
        with self.loop._stepper.lock:
            setattr(self.loop._stepper.timetable, timer, 0.0)

    def write(self, name, text, root=None):
        """Write a file in place, making its folders."""
        path = Path(root or self.root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def save(self, name, text):
        """Save as most editors do: a temporary file beside it, renamed onto it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(text)
        os.replace(temporary, path)

    def paths(self):
        """Return the indexed paths, sorted."""
        return [live.data.paths[index] for live, index in self.store.snapshot().documents()]

    def text(self, source_path):
        """Return the indexed text of a document, None if it is not indexed."""
        found = self.store.snapshot().find(source_path)
        return bytes(found[0].data.raw(found[1])).decode() if found else None

    def generation(self):
        """Return the number of the current generation."""
        return self.store.snapshot().generation

    def problems(self):
        """Return the codes of the standing problems."""
        return {problem.code for problem in self.loop.status().problems}

    def digest(self):
        """Return the canonical digest of what is indexed and not held."""
        return canonical_digest(self.store.snapshot(), self.loop.held())

    def scratch_digest(self, folder):
        """Return the canonical digest of an index made from nothing, of the same roots."""
        alike = {"settings": self._settings, "ignore": self._ignore, "git_user": self._git_user}
        with Rig(folder, *(root.path for root in self.roots), watch=False, **alike) as rig:
            rig.loop.sync_once()
            return rig.digest()
