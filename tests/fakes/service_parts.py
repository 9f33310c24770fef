"""A service over a store in memory, with a sync that a test scripts."""

import functools

from indexerd.access.rights import AccessRules
from indexerd.errors import NotFoundError
from indexerd.ports import SourceRead
from indexerd.search import search
from indexerd.service.callers import Admission, Caller
from indexerd.service.dispatch import Service
from indexerd.service.parts import Identity, Parts
from indexerd.sync.status import Barrier, Named, RootStatus, SyncReport, SyncStatus
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_sources import MemorySources
from tests.fakes.small_stores import ROOTS, SETTINGS, VERSIONS, opened, publish

OWNER = Caller(uid=1000, gid=1000, groups=frozenset(), is_owner=True, roles=frozenset())


def guest(*roles):
    """Return somebody else with these roles."""
    return Caller(uid=2000, gid=2000, groups=frozenset(), is_owner=False, roles=frozenset(roles))


class ScriptedSync:
    """A sync whose barrier says what it is told, and whose repair does, and returns, what a test says."""

    def __init__(self, clock) -> None:
        self.clock = clock
        self.state = "current"
        self.failure = None
        self.barrier_takes = 0.0
        self.on_barrier = lambda: None
        self.on_repair = lambda reads: None
        self.repairs = []
        self.asked = []
        self.held_paths = frozenset()
        self.is_remote = False

    def barrier(self, deadline, earlier=None):
        if earlier is None:
            self.reached_at = self.clock.monotonic() + self.barrier_takes
        waits = max(0.0, min(self.reached_at, deadline) - self.clock.monotonic())
        self.clock.advance(waits)
        if self.clock.monotonic() < self.reached_at:
            return Barrier("pending", waits)
        self.on_barrier()
        return Barrier(self.state, waits, failure=self.failure)

    def repair(self, reads, deadline):
        self.repairs.append((dict(reads), deadline))
        return self.on_repair(reads)

    def sync_once(self, paths=None):
        self.asked.append(paths)
        if paths and any(path.startswith("/etc") for path in paths):
            raise NotFoundError(f"{paths[0]!r} lies in no root")
        return SyncReport(
            generation=1,
            durable=False,
            added=1,
            updated=0,
            unchanged=0,
            deleted=0,
            skipped=(Named("x.md", "EACCES"),),
            held=(),
            chunks_active=1,
            unsafe_chunks=0,
        )

    def status(self):
        return SyncStatus(
            state=self.state,
            generation=1,
            roots=tuple(RootStatus(root.label, root.path, "ok") for root in ROOTS),
            pending=0,
            reconciled_age_seconds=1.25,
            overflows=0,
            watches=1,
            skipped=(),
            held=(),
            problems=(),
            progress=None,
        )

    def drop_fingerprints(self):
        self.asked.append("drop fingerprints")

    def held(self):
        return self.held_paths

    def may_hang(self):
        return self.is_remote


class SmallHouse:
    """Store, sources, sync and service; `save` writes a file and publishes it, `write` only writes it."""

    def __init__(self, files=None, access=None) -> None:
        self.clock = ManualClock(start_ns=1_700_000_000_000_000_000)
        self.sources = MemorySources(roots=ROOTS)
        self.fs = ForgetfulFilesystem()
        self.store = opened(self.fs, self.clock)
        self.sync = ScriptedSync(self.clock)
        self.stops = []
        self.is_ending = False
        self.access = access or AccessRules()
        self.rebuilt()
        if files:
            self.save(files)

    def rebuilt(self, versions=VERSIONS):
        """Make the service anew over the same store, as an upgrade would."""
        access = self.access
        given = {"rules": access, "sources": self.sources, "clock": self.clock, "settings": SETTINGS, "roots": ROOTS}
        self.service = Service(
            Parts(
                store=self.store,
                sync=self.sync,
                engine=functools.partial(search, **given),
                sources=self.sources,
                clock=self.clock,
                settings=SETTINGS,
                access=access,
                roots=ROOTS,
                admission=Admission(owner_uid=1000),
                identity=Identity(profile="p", state_dir="/state", socket="/run/s.sock", pid=7),
                stop=lambda: self.stops.append(True),
                versions=versions,
                is_ending=lambda: self.is_ending,
            )
        )

    def write(self, name, text):
        self.sources.write(name, text if isinstance(text, bytes) else text.encode())

    def save(self, files, deleted=()):
        for name, text in files.items():
            self.write(name, text)
        for name in deleted:
            self.sources.remove(name)
        self.publish_only(files, deleted)

    def publish_only(self, files, deleted=()):
        """Publish these texts, whatever the sources say."""
        publish(self.store, files, deleted)

    def publish_seen(self, reads):
        """Publish exactly what was read, as a repair does."""
        found = {path: read.data.decode() for path, read in reads.items() if isinstance(read, SourceRead)}
        gone = [path for path in reads if path not in found]
        publish(self.store, found, gone)
        return self.store.snapshot()

    def call(self, method, params=None, caller=OWNER, **more):
        return self.service.call(caller, method, {**(params or {}), **more})
