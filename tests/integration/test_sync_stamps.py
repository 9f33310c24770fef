"""While documents are rewritten all the time, what the barrier calls current is whole and never old."""

import os
import select
import subprocess
import sys

import pytest

from tests.fakes.sync_rig import Rig, let_writers_be_slow

# Rewrites documents, every line of which carries the version; says on its output which version of which is finished.
WRITER = """
import os, random, sys, time
root, seconds = sys.argv[1], float(sys.argv[2])
end, version, chance = time.monotonic() + seconds, 0, random.Random(7)
while time.monotonic() < end:
    version += 1
    name = f"doc{version % 4}.md"
    path = os.path.join(root, name)
    text = "".join(f"stable{version % 4} line {line} stamp {version:08d}\\n" for line in range(40))
    before = os.stat(path) if os.path.exists(path) else None
    if chance.random() < 0.5:
        temporary = os.path.join(root, f".{name}.{version}")
        with open(temporary, "w") as file:
            file.write(text)
        os.replace(temporary, path)
    else:
        with open(path, "w") as file:
            file.write(text[:700])
            file.flush()
            file.write(text[700:])
    if before is not None and chance.random() < 0.5:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    sys.stdout.write(f"{version % 4} {version}\\n")
    sys.stdout.flush()
    time.sleep(chance.random() * 0.004)
"""


def stamps_of(text):
    return {line.rpartition(" ")[2] for line in text.splitlines()}


@pytest.mark.slow
def test_what_is_current_is_whole_and_never_old(tmp_path, monkeypatch):
    """Ten seconds of saves of both kinds: no old, no mixed, no empty text after any barrier that says current."""
    let_writers_be_slow(monkeypatch)
    with Rig(tmp_path) as rig:
        for number in range(4):
            rig.write(f"doc{number}.md", f"stable{number} line 0 stamp 00000000\n")
        rig.start()
        with subprocess.Popen([sys.executable, "-c", WRITER, str(rig.root), "10"], stdout=subprocess.PIPE) as writer:
            finished = dict.fromkeys(range(4), 0)
            answers = 0
            os.set_blocking(writer.stdout.fileno(), False)
            partial = b""
            while writer.poll() is None:
                partial += os.read(writer.stdout.fileno(), 1 << 16) if _readable(writer.stdout) else b""
                *lines, partial = partial.split(b"\n")
                for line in lines:
                    number, version = map(int, line.split())
                    finished[number] = version
                # Nobody waits for ever, though the writer never pauses.
                rig.settle()
                answers += 1
                for number in range(4):
                    text = rig.text(f"doc{number}.md")
                    stamps = stamps_of(text)
                    assert len(stamps) == 1, (number, stamps, len(text))
                    assert int(stamps.pop()) >= finished[number]
                    assert text.startswith(f"stable{number} ")
        assert answers > 10
        rig.settle()
        for number in range(4):
            assert rig.text(f"doc{number}.md") == (rig.root / f"doc{number}.md").read_text()


def _readable(stream):
    return bool(select.select([stream], [], [], 0)[0])
