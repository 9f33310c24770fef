"""Random changes of a tree of documents, the same for one seed."""

import contextlib
import os
import random
import shutil

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
