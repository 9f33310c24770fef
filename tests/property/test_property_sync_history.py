"""After any history of changes the index is what an empty store would give for the present tree."""

import contextlib
import os
import random
import shutil

import pytest

from tests.fakes.sync_rig import Rig

FOLDERS = ("", "a", "a/b", "c", "c/d/e")
NAMES = ("x.md", "y.md", "z.txt", "notes.rst", "q.org", "w.bin", "sub.md")
TEXTS = (
    "",
    "plain words",
    "# Head\n\ntext one\n\n## Two\n\nmore\n",
    "---\ntags: [t]\n---\n# T\n\n#tag here\n",
    "a\0b",
    "日本語\n",
)


class History:
    """Random changes of a tree, each a thing that people and programs do."""

    def __init__(self, root, outside, seed):
        self.root, self.outside, self.random = root, outside, random.Random(seed)
        self.outside.mkdir(exist_ok=True)

    def step(self):
        """Do one random thing; what cannot be done at the moment is left."""
        doing = [self.write, self.write, self.replace, self.append, self.delete, self.rename, self.rename_folder]
        moving = [
            self.remove_folder,
            self.move_out,
            self.move_in,
            self.touch,
            self.ignore,
            self.link,
            self.restore_time,
        ]
        with contextlib.suppress(OSError):
            self.random.choice([*doing, *moving])()

    def path(self):
        return self.root / self.random.choice(FOLDERS) / self.random.choice(NAMES)

    def folder(self):
        return self.root / self.random.choice(FOLDERS[1:])

    def text(self):
        return self.random.choice(TEXTS) + str(self.random.randrange(5))

    def write(self):
        path = self.path()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text())

    def replace(self):
        path = self.path()
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.swp")
        temporary.write_text(self.text())
        os.replace(temporary, path)

    def append(self):
        with self.path().open("a") as file:
            file.write("more\n")

    def delete(self):
        self.path().unlink()

    def rename(self):
        self.path().rename(self.path())

    def rename_folder(self):
        self.folder().rename(self.folder())

    def remove_folder(self):
        shutil.rmtree(self.folder())

    def move_out(self):
        self.folder().rename(self.outside / str(self.random.randrange(3)))

    def move_in(self):
        (self.outside / str(self.random.randrange(3))).rename(self.folder())

    def touch(self):
        os.utime(self.path(), ns=(1, self.random.randrange(10**18)))

    def ignore(self):
        lines = self.random.sample(["*.rst", "a/", "!x.md", "/c/d", "*.org", "#"], 2)
        (self.root / self.random.choice(("", "a", "c")) / ".gitignore").write_text("\n".join(lines))

    def link(self):
        self.path().symlink_to(self.random.choice(NAMES))

    def restore_time(self):
        path = self.path()
        before = path.stat()
        path.write_text("same size "[: before.st_size])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("seed", range(4))
def test_a_watched_history_leaves_the_index_of_a_fresh_start(tmp_path, seed):
    """Under a running daemon, asked now and then: the digest equals that of a scratch index."""
    with Rig(tmp_path) as rig:
        rig.start()
        history = History(rig.root, tmp_path / "outside", seed)
        for turn in range(8):
            for _ in range(history.random.randrange(1, 25)):
                history.step()
            rig.settle()
            assert rig.digest() == rig.scratch_digest(tmp_path / f"scratch{turn}"), turn


@pytest.mark.parametrize("seed", range(4))
def test_an_unwatched_history_leaves_the_index_of_a_fresh_start(tmp_path, seed):
    """With nobody watching, one shot after each stretch of changes gives the same."""
    with Rig(tmp_path, watch=False) as rig:
        history = History(rig.root, tmp_path / "outside", 100 + seed)
        for turn in range(8):
            for _ in range(history.random.randrange(1, 40)):
                history.step()
            rig.loop.sync_once()
            assert rig.digest() == rig.scratch_digest(tmp_path / f"scratch{turn}"), turn


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_a_long_watched_history_with_restarts_leaves_the_index_of_a_fresh_start(tmp_path, seed):
    """Changes, restarts and changes while nobody runs, in any order."""
    with Rig(tmp_path) as rig:
        rig.start()
        history = History(rig.root, tmp_path / "outside", 1000 + seed)
        for _ in range(12):
            if history.random.random() < 0.2:
                rig.close()
                for _ in range(20):
                    history.step()
                rig.open().start()
            for _ in range(history.random.randrange(1, 60)):
                history.step()
            rig.settle()
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")
