"""Every way to save, with the real programs: the index follows each, and equals one made from nothing afterwards."""

import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.fakes.sync_rig import PATIENCE_SECONDS, Rig

SAVES = 3


def run(*command, cwd=None, given=None):
    """Run a program to its end; it must succeed."""
    done = subprocess.run(command, cwd=cwd, input=given, capture_output=True, check=False, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, (command, done.stderr)


def vim(*settings):
    """Save as vim does with these settings."""

    def save(path, text, place):
        words = [*settings, f"1s/.*/{text.rstrip()}/", "wq"]
        run("vim", "-Nes", "-u", "NONE", *(part for word in words for part in ("-c", word)), str(path))

    return save


def emacs(*settings):
    """Save as emacs does with these settings."""

    def save(path, text, place):
        typed = place / "typed"
        typed.write_text(text)
        made = f'(progn {" ".join(settings)} (find-file "{path}") (erase-buffer) (insert-file-contents "{typed}")'
        run("emacs", "--batch", "-Q", "--eval", f"{made} (set-buffer-modified-p t) (save-buffer))")

    return save


def by_sed(path, text, place):
    # The whole text is one line here: sed's own way is what counts.
    run("sed", "-i", f"1,$c\\{text.rstrip()}", str(path))


def by_rsync(*options):
    def save(path, text, place):
        source = place / "source" / path.name
        source.parent.mkdir(exist_ok=True)
        source.write_text(text)
        run("rsync", "-t", "--ignore-times", *options, str(source), str(path))

    return save


def by_replace(path, text, place):
    script = "import os, sys, tempfile\nfd, name = tempfile.mkstemp(dir=os.path.dirname(sys.argv[1]), suffix='.md')\n"
    script += "os.write(fd, sys.stdin.buffer.read())\nos.close(fd)\nos.replace(name, sys.argv[1])"
    run(sys.executable, "-c", script, str(path), given=text.encode())


def by_link(path, text, place):
    beside = path.with_name("linked.tmp")
    beside.write_text(text)
    run("ln", "-f", str(beside), str(path))
    beside.unlink()


def by_map(path, text, place):
    """Write through memory, then close by a truncation that is told of: mapped pages alone make no event."""
    data = text.encode()
    with path.open("r+b") as file:
        file.truncate(len(data))
        with mmap.mmap(file.fileno(), len(data)) as mapping:
            mapping[:] = data


def in_shell(script):
    def save(path, text, place):
        run("sh", "-c", script, "sh", str(path), given=text.encode(), cwd=place)

    return save


WAYS: dict[str, tuple[str, Callable[..., None]]] = {
    "vim": ("vim", vim()),
    "vim with a backup renamed": ("vim", vim("set backup backupcopy=no writebackup")),
    "vim with a backup copied": ("vim", vim("set backup backupcopy=yes writebackup")),
    "vim with an undo file": ("vim", vim("set undofile undodir=. writebackup")),
    "emacs": ("emacs", emacs()),
    "emacs with backups by copying": ("emacs", emacs("(setq backup-by-copying t)")),
    "emacs without backups": ("emacs", emacs("(setq make-backup-files nil create-lockfiles nil)")),
    "emacs through a new file": ("emacs", emacs("(setq file-precious-flag t)")),
    "sed -i": ("sed", by_sed),
    "rsync": ("rsync", by_rsync()),
    "rsync --inplace": ("rsync", by_rsync("--inplace")),
    "rsync --delay-updates": ("rsync", by_rsync("--delay-updates", "--backup")),
    "os.replace": ("python3", by_replace),
    "ln -f": ("ln", by_link),
    "redirection": ("sh", in_shell('cat > "$1"')),
    "dd in pieces": ("sh", in_shell('dd bs=3 of="$1" conv=fsync 2>/dev/null')),
    "install": ("install", in_shell('cat > typed; install -m 644 typed "$1"')),
    "cp --remove-destination": ("cp", in_shell('cat > typed; cp --remove-destination typed "$1"')),
    "mv across file systems": ("mv", in_shell('t=$(mktemp -p /dev/shm); cat > "$t"; mv -f "$t" "$1"')),
    "patch by rename": ("sh", in_shell('cat > typed; mv "$1" "$1.orig"; cp typed "$1"; rm "$1.orig"')),
    "mapped memory": ("python3", by_map),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_saves_are_followed(way, tmp_path):
    """Saved some times: the new text is indexed each time, no other document appears, nothing is left to be done."""
    program, save = WAYS[way]
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    with Rig(tmp_path) as rig:
        path = rig.write("sub/note.md", "one two three four five six\n")
        rig.write("other.md", "stays\n")
        rig.start()
        for number in range(SAVES):
            text = f"version {number} of the text {'x' * (number + 1)}\n"
            save(path, text, tmp_path)
            assert path.read_text() == text
            rig.settle()
            assert rig.text("sub/note.md") == text
            assert rig.paths() == ["other.md", "sub/note.md"]
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")
        assert (rig.problems(), rig.loop.held()) == (set(), frozenset())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_what_git_does_to_a_worktree_is_followed(tmp_path):
    """Checkout, stash, rebase, clean and reset each leave the index of a fresh start."""
    with Rig(tmp_path) as rig:
        git = ("git", "-c", "user.name=n", "-c", "user.email=e@e", "-C", str(rig.root))
        for number in range(30):
            rig.write(f"d{number % 5}/{number}.md", f"main {number}\n")
        for words in (
            ["init", "-q", "-b", "main"],
            ["add", "."],
            ["commit", "-qm", "one"],
            ["checkout", "-qb", "side"],
        ):
            run(*git, *words)
        rig.start()
        rig.write("d1/1.md", "side 1\n")
        (rig.root / "d2/2.md").rename(rig.root / "d3/renamed.md")
        run(*git, "add", "-A")
        run(*git, "commit", "-qm", "two")
        steps = [
            ["checkout", "-q", "main"],
            ["merge", "-q", "--no-ff", "-m", "m", "side"],
            ["reset", "-q", "--hard", "HEAD~1"],
            ["rm", "-rq", "d4"],
            ["stash", "-q"],
            ["stash", "pop", "-q"],
            ["commit", "-qam", "three"],
            ["rebase", "-q", "side"],
            ["revert", "--no-edit", "HEAD"],
            ["clean", "-fdxq"],
        ]
        for number, words in enumerate(steps):
            run(*git, *words)
            rig.settle()
            on_disk = sorted(str(p.relative_to(rig.root)) for p in rig.root.rglob("*.md") if ".git" not in p.parts)
            assert rig.paths() == on_disk, words
            assert {path: rig.text(path) for path in on_disk} == {p: (rig.root / p).read_text() for p in on_disk}, words
            assert os.path.exists(rig.root / ".git"), number
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")
