"""A state directory in memory that counts its operations, fails or dies at any of them, and forgets the unflushed.

A `Disk` outlives the processes that use it; each `ForgetfulFilesystem` is one process's hold of it. Killing a process
leaves everything that it wrote; a power cut leaves what was flushed and any subset of the rest.
"""

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_entropy = itertools.count(1)


class Killed(BaseException):
    """The process dies here: nothing after this point runs, no handler, no cleaning up."""


@dataclass(eq=False)
class Inode:
    """A file's bytes: as seen, and as they are known to be on the platter (None: nothing is known)."""

    data: bytes = b""
    flushed: bytes | None = None
    lost: bool = False  # a flush failed: later ones say OK and do nothing

    def after_power_cut(self) -> list[bytes]:
        """Return what a power cut now may leave: lost, half of it, torn with zeros, all."""
        if self.flushed == self.data:
            return [self.data]
        half = len(self.data) // 2
        zeros = self.data[:half] + bytes(len(self.data) - half)
        return list(dict.fromkeys([self.flushed or b"", b"", self.data[:half], zeros, self.data]))


@dataclass(eq=False)
class Entry:
    """A change of the directory; `certain` once a flush of the directory succeeded after it."""

    links: tuple[tuple[str, Inode | None], ...]
    certain: bool = False
    lost: bool = False


@dataclass(eq=False)
class Disk:
    """What outlives processes."""

    names: dict[str, Inode] = field(default_factory=dict)
    base: dict[str, Inode] = field(default_factory=dict)
    journal: list[Entry] = field(default_factory=list)
    locked_by: object = None
    is_gone: bool = False

    def change(self, *links: tuple[str, Inode | None]) -> None:
        _apply(self.names, links)
        self.journal.append(Entry(links))

    def flush_names(self, *, fails: bool) -> None:
        for entry in self.journal:
            if fails and not entry.certain:
                entry.lost = True
            elif not entry.lost:
                entry.certain = True
        while self.journal and self.journal[0].certain:
            _apply(self.base, self.journal.pop(0).links)

    def contents(self) -> dict[str, bytes]:
        return {name: inode.data for name, inode in self.names.items()}

    def copy(self) -> "Disk":
        """Return an independent disk with the same contents, flushed or not as here, held by no process."""
        twins: dict[int, Inode] = {}

        def twin(inode: Inode | None) -> Inode | None:
            if inode is None:
                return None
            return twins.setdefault(id(inode), Inode(inode.data, inode.flushed, inode.lost))

        return Disk(
            names={name: twin(inode) for name, inode in self.names.items()},
            base={name: twin(inode) for name, inode in self.base.items()},
            journal=[Entry(tuple((n, twin(i)) for n, i in e.links), e.certain, e.lost) for e in self.journal],
        )

    def after_power_cut(self, seed: int) -> "Disk":
        """Return one of the disks that a power cut now may leave."""
        return next(self.images(1, random.Random(seed)))

    def images(self, limit: int, rng: random.Random) -> Iterator["Disk"]:
        """Yield the disks that a power cut now may leave: all of them, or `limit` drawn at random.

        Any subset of the changes of the directory that are not certain happened, and each file whose bytes were not
        flushed is in any of its states, whatever the others are in.
        """
        open_entries = [entry for entry in self.journal if not entry.certain]
        inodes = {id(inode): inode for inode in self._inodes()}
        states = {key: inode.after_power_cut() for key, inode in inodes.items()}
        sizes = [2] * len(open_entries) + [len(choices) for choices in states.values()]
        exhaustive = math.prod(sizes) <= limit
        every = itertools.product(*map(range, sizes)) if exhaustive else (_drawn(rng, sizes) for _ in range(limit))
        for digits in every:
            happened = dict(zip(map(id, open_entries), digits, strict=False))
            data = {
                key: choices[digit]
                for (key, choices), digit in zip(states.items(), digits[len(open_entries) :], strict=True)
            }
            yield self._image(happened, data)

    def _inodes(self) -> Iterator[Inode]:
        yield from self.base.values()
        for entry in self.journal:
            yield from (inode for _, inode in entry.links if inode is not None)

    def _image(self, happened: Mapping[int, int], data: Mapping[int, bytes]) -> "Disk":
        names = dict(self.base)
        for entry in self.journal:
            if happened.get(id(entry), entry.certain):
                _apply(names, entry.links)
        settled = {name: Inode(data[id(inode)], data[id(inode)]) for name, inode in names.items()}
        return Disk(names=settled, base=dict(settled))


def _drawn(rng: random.Random, sizes: Sequence[int]) -> tuple[int, ...]:
    """Draw a state of each: now nearly all that is not certain is lost, now nearly nothing."""
    share = rng.choice([0.0, 0.3, 0.7, 0.9, 1.0])
    return tuple(size - 1 if rng.random() < share else rng.randrange(size) for size in sizes)


def _apply(names: dict[str, Inode], links: Sequence[tuple[str, Inode | None]]) -> None:
    for name, inode in links:
        if inode is None:
            names.pop(name, None)
        else:
            names[name] = inode


@dataclass(eq=False)
class Plan:
    """What goes wrong, and when (operations count from 1, from when the plan was set).

    Attributes:
        kill_at: The process dies at this operation, before it happens; a write leaves half.
        fail_at: This operation fails.
        error: With this errno.
        for_ever: And so does every later one.
        only: Count, kill and fail only at operations of this name (`flush_file`, ...).
    """

    kill_at: int = 0
    fail_at: int = 0
    error: int = 0
    for_ever: bool = False
    only: str = ""


class OpenInode:
    """A file held open; implements `ports.StoreFile`."""

    def __init__(self, inode: Inode) -> None:
        self._inode, self.size = inode, len(inode.data)

    def read_at(self, offset: int, length: int) -> bytes:
        return self._inode.data[offset : offset + length]


class ForgetfulFilesystem:
    """One process's hold of a `Disk`; implements `ports.StoreFilesystem`."""

    def __init__(self, disk: Disk | None = None, plan: Plan | None = None) -> None:
        self.disk = disk if disk is not None else Disk()
        self.operations: list[tuple[str, str]] = []
        self.plan = plan or Plan()
        self._dead = False

    def __repr__(self) -> str:
        lines = [f"{name} {len(inode.data)}" for name, inode in sorted(self.disk.names.items())]
        return "\n".join([f"ForgetfulFilesystem after {len(self.operations)} operations:", *lines])

    @property
    def plan(self) -> Plan:
        """What goes wrong; setting it counts operations from 1 again."""
        return self._plan

    @plan.setter
    def plan(self, plan: Plan) -> None:
        self._plan = plan
        self._counted = itertools.count(1)

    def names(self) -> Sequence[str]:
        self._step("names", "")
        return sorted(self.disk.names)

    def read(self, name: str) -> bytes:
        self._step("read", name)
        return self._inode(name).data

    def open(self, name: str, *, from_disk: bool = False) -> "OpenInode":
        self._step("open", name)
        return OpenInode(self._inode(name))

    def stamp(self, name: str) -> tuple[int, ...] | None:
        inode = self.disk.names.get(name)
        return None if inode is None else (id(inode), len(inode.data), hash(inode.data))

    def is_in_place(self) -> bool:
        return not self.disk.is_gone

    def reopen(self) -> None:
        """Go over to an empty disk, which has taken the place of one that is gone."""
        self._step("reopen", "")
        self.disk = Disk(locked_by=self)

    def write_new(self, name: str, parts: Sequence[bytes | memoryview]) -> None:
        self._step("create", name)
        if name in self.disk.names:
            raise FileExistsError(17, "File exists", name)
        data, inode = b"".join(parts), Inode()
        self.disk.change((name, inode))
        try:
            self._step("write", name)
        except Killed:
            inode.data = data[: len(data) // 2]
            raise
        except OSError:
            # The real one removes the partial file, unless that fails as well.
            if not self.plan.for_ever:
                self.disk.change((name, None))
            raise
        inode.data = data

    def flush_file(self, name: str) -> None:
        inode = self._inode(name)
        try:
            self._step("flush_file", name)
        except OSError:
            inode.lost = True
            raise
        if not inode.lost:
            inode.flushed = inode.data

    def flush_directory(self) -> None:
        try:
            self._step("flush_directory", "")
        except OSError:
            self.disk.flush_names(fails=True)
            raise
        self.disk.flush_names(fails=False)

    def replace(self, source: str, target: str) -> None:
        self._step("replace", f"{source} {target}")
        inode = self._inode(source)
        self.disk.change((source, None), (target, inode))

    def remove(self, name: str) -> None:
        self._step("remove", name)
        self._inode(name)
        self.disk.change((name, None))

    def lock(self) -> bool:
        self._step("lock", "")
        if self.disk.locked_by not in (None, self):
            return False
        self.disk.locked_by = self
        return True

    def entropy(self, count: int) -> bytes:
        return random.Random(f"{next(_entropy)}").randbytes(count)

    def close(self) -> None:
        if self.disk.locked_by is self:
            self.disk.locked_by = None

    def _inode(self, name: str) -> Inode:
        if name not in self.disk.names:
            raise FileNotFoundError(2, "No such file or directory", name)
        return self.disk.names[name]

    def _step(self, operation: str, name: str) -> None:
        if self._dead:
            raise Killed(operation)
        self.operations.append((operation, name))
        if self.plan.only and operation != self.plan.only:
            return
        number = next(self._counted)
        if number == self.plan.kill_at:
            self._dead = True
            raise Killed(operation)
        failing = self.plan.fail_at and (
            number == self.plan.fail_at or (self.plan.for_ever and number > self.plan.fail_at)
        )
        if failing:
            raise OSError(self.plan.error, f"injected at {operation}", name)


def killed_process(fs: ForgetfulFilesystem) -> ForgetfulFilesystem:
    """Return the next process's hold of the disk that a killed one leaves."""
    return ForgetfulFilesystem(fs.disk.copy())
