"""The sync in one thread, with something else done at any moment at which it touches the world.

A point is a call by which the program looks at a file or folder, or watches, serves, makes ready or publishes: a
profile function counts them, and does at each what the schedule says. So every order of the program's and the world's
doings that a single file operation can make is a schedule, and a schedule that goes wrong goes wrong each time.
"""

import contextlib
import errno
import os
import select
import shutil
import sys
import threading
import time
from concurrent.futures import Future

from indexerd.clock import SystemClock
from indexerd.errors import StoreError
from indexerd.model import Settings
from indexerd.sources import SourceTree
from indexerd.store import Store
from indexerd.sync import bulk, stepper, writer
from indexerd.sync.pending import Hint
from indexerd.sync.reading import read_slice
from indexerd.sync.stepper import Stepper
from indexerd.sync.watcher import Watcher
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, Plan
from tests.fakes.sync_rig import Rig

TICK = 1e-4
MOST_STEPS = 3000
LOOKS = {"indexerd.sources", "indexerd.sync.walk", "indexerd.sync.surroundings", "indexerd.sync.standing"}
CALLS = {"open", "stat", "fstat", "scandir", "read"}
ENTERED = {
    function.__code__
    for function in (Watcher.watch, Watcher.keep_only, Store.prepare, Store.publish, Stepper.step, Stepper._serve_amid)
} | {sys.modules["indexerd.sources"]._open_in_kernel.__code__}

TREE = {"a.md": "a one", "b.md": "b one", "c.md": "c one", "d/x.md": "x one", "d/e/y.md": "y one", "f/z.md": "z one"}
OLD_NS = 1_600_000_000_000_000_000


class SteppedClock(SystemClock):
    """Stands still until it is moved; the wall is the real one, or ahead of it so that no file is too recent."""

    now, ahead_ns = 1000.0, 0

    def monotonic(self):
        return self.now

    def now_ns(self):
        return time.time_ns() + self.ahead_ns


class ToldWatcher(Watcher):
    """Reads the kernel's events when it is told to, and at no other moment."""

    def _run(self):
        select.select([self._wake_read], [], [])


class AtOnce:
    """Reads each slice as soon as it is handed to a worker; it is taken in when the program comes to it."""

    def __init__(self, *_, **__): ...

    def submit(self, function, *args):
        future = Future()
        future.set_result(function(*args))
        return future

    def shutdown(self, **_): ...


# What the world does, the user and the kernel included; what an earlier step has taken away is no error.


def put(world, name, text):
    (world.root / name).parent.mkdir(parents=True, exist_ok=True)
    (world.root / name).write_text(text)


def write(world, name, text):
    world.saves[name].write(text)
    world.saves[name].flush()


def same_times(world, name, text):
    (world.root / name).write_text(text)
    os.utime(world.root / name, ns=(OLD_NS, OLD_NS))


def ask(world, name):
    with world.stepper.lock:
        world.stepper.repairs.ask({name: world.seen[name]})


def lose(world):
    """The kernel's queue overflows: what it held is not told."""
    if watcher := world.stepper.watcher:
        watcher._hand_over = lambda hints, *, overflowed: None
        watcher.drain()
        watcher._hand_over = world.stepper.note
    world.stepper.note((), overflowed=True)


def sync_all(world):
    with world.stepper.lock:
        number = world.stepper.pending.add([Hint(os.fsencode(world.root), tree=True)], world.rig.clock.now)
        world.stepper.pending.hurry(number)


STEPS = {
    "put": put,
    "write": write,
    "same_times": same_times,
    "ask": ask,
    "lose": lose,
    "sync_all": sync_all,
    "remove": lambda world, name: os.remove(world.root / name),
    "move": lambda world, name, other: os.rename(world.root / name, world.root / other),
    "link": lambda world, name, other: os.link(world.root / name, world.root / other),
    "folder": lambda world, name: os.mkdir(world.root / name),
    "no_folder": lambda world, name: shutil.rmtree(world.root / name),
    "truncate": lambda world, name: world.saves.update({name: (world.root / name).open("w")}),
    "close": lambda world, name: world.saves.pop(name).close(),
    "burst": lambda world, *names: [put(world, name, f"{name} of many") for name in names],
    "see": lambda world, name: world.seen.update({name: world.rig.loop._sources.read(name)}),
    "refuse": lambda world: setattr(world.rig.fs, "plan", Plan(fail_at=1, error=errno.ENOSPC, only="create")),
    "survey": lambda world: world.stepper.doubt(),
}
# Each a sequence of steps, between which the program may go on.
OPERATIONS = {
    "remove": [("remove", "a.md")],
    "create": [("put", "n.md", "n one")],
    "checkout": [("remove", "a.md"), ("put", "a.md", "a two")],
    "checkout same": [("remove", "a.md"), ("put", "a.md", "a one")],
    "come and go": [("put", "n.md", "n one"), ("remove", "n.md")],
    "save": [("truncate", "a.md"), ("write", "a.md", "a two"), ("write", "a.md", " and more"), ("close", "a.md")],
    "save in a folder": [("truncate", "d/x.md"), ("write", "d/x.md", "x two"), ("close", "d/x.md")],
    "write anew": [("truncate", "n.md"), ("write", "n.md", "n one"), ("close", "n.md")],
    "replace": [("put", ".a.tmp", "a two"), ("move", ".a.tmp", "a.md")],
    "replace twice": [("put", "t", "a two"), ("move", "t", "a.md"), ("put", "t", "a three"), ("move", "t", "a.md")],
    "change and back": [("put", "a.md", "a two"), ("put", "a.md", "a one")],
    "move": [("move", "a.md", "d/a.md")],
    "move up": [("move", "d/e/y.md", "y.md"), ("put", "d/e/y.md", "y two")],
    "swap": [("move", "a.md", "t.md"), ("move", "b.md", "a.md"), ("move", "t.md", "b.md")],
    "move a folder": [("move", "d", "g")],
    "move a folder and back": [("move", "d", "g"), ("move", "g", "d")],
    "move away and in": [("move", "d", "../d"), ("move", "../d", "f/d")],
    "tree anew": [("remove", "d/x.md"), ("no_folder", "d"), ("folder", "d"), ("put", "d/x.md", "x two")],
    "tree gone": [("no_folder", "d")],
    "folder": [("folder", "k"), ("put", "k/n.md", "n one"), ("folder", "k/l"), ("put", "k/l/m.md", "m one")],
    "folders": [("put", "k/l/m.md", "m one")],
    "folder for a file": [("remove", "a.md"), ("folder", "a.md"), ("put", "a.md/q.md", "q one")],
    "ignore": [("put", ".gitignore", "b.md\nd/\n")],
    "ignore and not": [("put", ".gitignore", "b.md\nd/\n"), ("remove", ".gitignore")],
    "ignore below": [("put", "d/.ignore", "x.md\n"), ("put", "d/x.md", "x two")],
    "same times": [("same_times", "a.md", "a six")],
    "link": [("link", "a.md", "h.md"), ("put", "h.md", "h one")],
    "ask": [("put", "a.md", "a two"), ("see", "a.md"), ("ask", "a.md")],
    "ask late": [("put", "a.md", "a two"), ("see", "a.md"), ("put", "a.md", "a three"), ("ask", "a.md")],
    "ask old": [("see", "c.md"), ("put", "c.md", "c three"), ("ask", "c.md")],
    "ask amid a burst": [("see", "c.md"), ("burst", "c.md", "n.md", "m.md", "f/n.md"), ("ask", "c.md")],
    "refuse": [("refuse",)],
    "refuse and change": [("refuse",), ("put", "a.md", "a two")],
    "refuse and look": [("refuse",), ("put", "a.md", "a two"), ("survey",)],
    "lose": [("put", "a.md", "a two"), ("lose",)],
    "survey": [("survey",)],
    "sync all": [("sync_all",)],
}  # fmt: skip

# Each is a state of the index, and what the sync is then about to do.
CHANGED = [
    ("remove", "b.md"),
    ("put", "c.md", "c two"),
    ("put", "f/w.md", "w one"),
    ("put", "d/x.md", "x two"),
    ("move", "d/e", "f/e"),
]
SCENARIOS = {
    "first": {"indexed": False},
    "first in bulk": {"indexed": False, "few": 1},
    "first by workers": {"indexed": False, "few": 1, "workers": 1},
    "scan": {"before": [*CHANGED, ("lose",)]},
    "scan in bulk": {"before": [*CHANGED, ("lose",)], "few": 1},
    "scan by workers": {"before": [*CHANGED, ("lose",)], "few": 1, "workers": 1},
    "events": {"before": CHANGED},
    "events in bulk": {"before": CHANGED, "few": 1},
    "polled in bulk": {"before": CHANGED, "few": 1, "watch": False},
    "polled by workers": {"before": CHANGED, "few": 1, "workers": 1, "watch": False},
    "one event": {"before": [("put", "b.md", "b two")]},
    "look at all": {"before": [("sync_all",), ("put", "b.md", "b two")]},
    "redo": {"before": [("put", "b.md", "b two")], "settings": Settings(max_chars=300)},
    "redo by workers": {"before": [("put", "b.md", "b two")], "settings": Settings(max_chars=300), "workers": 1},
}


def limits(patch, few=64, workers=0, **_):
    """Make little enough of the limits that a small tree passes them, and the moments of a bulk run come."""
    patch.setattr(writer, "INLINE_FILES", few)
    patch.setattr(writer, "INLINE_FILES_IN_BULK", min(few, 3))
    patch.setattr(writer, "FIRST_PUBLISH_SECONDS", 20 * TICK)
    patch.setattr(writer, "NEXT_PUBLISH_SECONDS", 20 * TICK)
    patch.setattr(stepper, "_AMID_SECONDS", 0.0)
    patch.setattr(bulk, "SLICE_FILES_HERE", 2)
    patch.setattr(bulk, "SLICE_FILES", 1)
    patch.setattr(bulk, "WORTH_A_WORKER_BYTES", 0)
    patch.setattr(bulk, "ThreadPoolExecutor", AtOnce)
    patch.setattr(
        bulk._Worker, "read", lambda self, part: read_slice(part, SourceTree(self._brief.roots), self._brief.settings)
    )
    patch.setattr("tests.fakes.sync_rig.Watcher", ToldWatcher)


class Question:
    """Somebody asks the barrier: what the files held then and since, and which of them were being saved in place."""

    def __init__(self, world):
        self.number, self.states = world.rig.loop._seen_so_far(), []
        with world.stepper.lock:
            world.stepper.pending.hurry(self.number)

    def check(self, indexed):
        """Each document is as its file was at one moment since the question, not amid a save."""
        for path in {path for files, _, _ in self.states for path in files} | indexed.keys():
            whole = {files.get(path) for files, _, saved in self.states if path not in saved}
            if len(whole) > 1:
                # Ignored since, or not any more: a look may know the newer text and the older rules.
                whole |= {texts[path] for _, texts, saved in self.states if path in texts and path not in saved}
            wanted = " or ".join(map(repr, whole))
            assert not whole or indexed.get(path) in whole, f"{path} is {indexed.get(path)!r}, was {wanted}"


class World:
    """One run of a scenario under a schedule: for each point, the steps that are done there.

    `telling` is when the kernel's events are read: `late` (when the program does), `told` (after each step of the
    schedule), `asked` (then, and somebody waits for the barrier).
    """

    def __init__(self, place, scenario, schedule=(), telling="told"):
        self.place, self.scenario, self.telling = place, scenario, telling
        self.schedule = {point: list(steps) for point, steps in dict(schedule).items()}
        self.points, self.began, self.broken, self._busy = 0, False, None, False
        self.saves, self.seen, self.questions = {}, {}, []

    def run(self, scratch):
        """Do all and return the number of points; raise AssertionError where a promise is broken."""
        disk = ForgetfulFilesystem()
        self.place.mkdir()
        wrap = lambda real: (real.close(), disk)[1]  # noqa: E731
        keep = {"watch": self.scenario.get("watch", True), "workers": self.scenario.get("workers", 0)}
        self.rig = rig = Rig(self.place, wrap=wrap, **keep)
        self.root = rig.root
        for name, text in TREE.items():
            rig.write(name, text)
            os.utime(rig.root / name, ns=(OLD_NS, OLD_NS))
        rig.clock = SteppedClock()
        try:
            self._open()
            if self.scenario.get("indexed", True):
                # Ahead of the files: their stats are believed.
                rig.clock.ahead_ns = 10_000_000_000
                self._pump()
                rig.clock.ahead_ns = 0
            if "settings" in self.scenario:
                rig.close()
                rig._settings = self.scenario["settings"]
                self._open()
            for step in self.scenario.get("before", ()):
                STEPS[step[0]](self, *step[1:])
            self._ask()
            sys.setprofile(self._profile)
            try:
                self._pump()
            finally:
                sys.setprofile(None)
            self._settle(scratch)
        finally:
            for file in self.saves.values():
                file.close()
            rig.close()
        return self.points

    @property
    def stepper(self):
        return self.rig.loop._stepper

    def indexed(self):
        """Return the text of each document that is not held."""
        held = self.rig.loop.held()
        documents = self.rig.store.snapshot().documents()
        texts = {live.data.paths[index]: bytes(live.data.raw(index)).decode() for live, index in documents}
        return {path: text for path, text in texts.items() if path not in held}

    def state(self):
        """Return the text of each file that a fresh index would have, of each file, and which are being saved."""
        texts = {
            str(path.relative_to(self.root)): path.read_text() for path in self.root.rglob("*.md") if path.is_file()
        }
        files = {path: texts[path] for path in self.stepper.scanner.scan().files}
        return files, texts, frozenset(self.saves)

    def _open(self):
        self.rig.open()
        self.documents, self.last = self.rig.store.snapshot().document_count, self._generation()
        self.stepper.callbacks.append(self._published)
        self.stepper.watching.start()
        self.stepper.doubt()

    def _published(self, snapshot):
        """A generation comes with a change only: of a document, of the settings, or that the first index is whole."""
        last, self.last = self.last, self._generation()
        if last == self.last:
            self._break(f"generation {snapshot.generation} changes nothing")

    def _generation(self):
        return self.indexed(), self.rig.store.snapshot().settings, self.rig.store.is_partial

    def _break(self, why):
        self.broken = self.broken or why

    def _profile(self, frame, event, arg):
        if event == "c_call":
            if arg.__name__ in CALLS and frame.f_globals["__name__"] in LOOKS:
                self._point()
        elif event == "call" and frame.f_code in ENTERED:
            self._point()

    def _point(self):
        if self._busy:
            return
        self._busy = True
        self.points += 1
        self.rig.clock.now += TICK
        for step in self.schedule.pop(self.points, ()):
            self._do(step)
        self._answer()
        self._busy = False

    def _do(self, step):
        self.began = True
        with contextlib.suppress(OSError, KeyError):
            STEPS[step[0]](self, *step[1:])
        state = self.state()
        for question in self.questions:
            question.states.append(state)
        if self.telling != "late" and self.stepper.watcher is not None:
            self.stepper.watcher.drain()
        if self.telling == "asked":
            self._ask()

    def _ask(self):
        self.questions.append(Question(self))
        self.questions[-1].states.append(self.state())

    def _answer(self):
        """Whoever is told `current` by now finds what was there when he asked, or since."""
        with self.stepper.lock:
            through = 0 if self.stepper.building else self.stepper.pending.resolved_through()
        current = [question for question in self.questions if question.number <= through]
        for question in current:
            self.questions.remove(question)
            try:
                question.check(self.indexed())
            except AssertionError as error:
                self._break(f"current, but {error}")

    def _pump(self):
        """Step until nothing is due any more, as the loop does; waiting takes no time."""
        for _ in range(MOST_STEPS):
            try:
                self.stepper.step()
            except (OSError, StoreError) as error:
                self.stepper.failed(error)
            with self.stepper.lock:
                wait = self.stepper.seconds_to_wait()
            if wait and self.began and self.schedule:
                # What has begun goes on while the program waits.
                self._point()
            elif wait >= threading.TIMEOUT_MAX:
                return
            else:
                self.rig.clock.now += wait
        raise AssertionError(f"never at rest: {self.rig.loop.status()}")

    def _settle(self, scratch):
        for point in sorted(self.schedule):
            for step in self.schedule.pop(point):
                self._do(step)
        self._ask()
        self._pump()
        self._answer()
        assert not self.broken, self.broken
        assert not self.questions, "not current"
        assert self.rig.digest() == scratch(self.rig), f"{self.indexed()} is not {self.state()[0]}"
        total = self.stepper.writer.total
        assert self.documents + total.added - total.deleted == self.rig.store.snapshot().document_count, total
