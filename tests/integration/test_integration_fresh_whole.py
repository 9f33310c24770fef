"""Answers over the socket while documents are rewritten: never old, never mixed, never a hole."""

import os
import subprocess
import sys
import threading

import pytest

from tests.fakes.daemon_process import DaemonProcess

DOCUMENTS = 6
# A query has the default wait, or one that a machine with too much to do does not use up, only a fault of the program.
PATIENT_MS = 20_000
ANSWERS = 100_000 if os.environ.get("INDEXERD_TEST_SIZE") == "large" else 3_000

# Rewrites documents whose every line carries a version, atomically or in place (one write of the same length, so that
# the file itself is never half or empty), the modification time put back at random; tells what is saved.
WRITER = """
import os, random, sys, time
root, chance, version = sys.argv[1], random.Random(11), 0
while True:
    version += 1
    number = version % int(sys.argv[2])
    path = os.path.join(root, f"doc{number}.md")
    text = "".join(f"stable{number} line {line} stamp {version:08d}\\n" for line in range(20)).encode()
    before = os.stat(path)
    if chance.random() < 0.5:
        temporary = os.path.join(root, f".saving{version}")
        with open(temporary, "wb") as file:
            file.write(text)
        os.replace(temporary, path)
    else:
        fd = os.open(path, os.O_WRONLY)
        os.pwrite(fd, text, 0)
        os.close(fd)
    if chance.random() < 0.5:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    print(number, version, flush=True)
    time.sleep(chance.random() * 0.03)
"""


def text_of(number: int, version: int) -> str:
    return "".join(f"stable{number} line {line} stamp {version:08d}\n" for line in range(20))


class Finished:
    """Which version of each document is known to be saved, as the writer tells."""

    def __init__(self, stream) -> None:
        self.versions = dict.fromkeys(range(DOCUMENTS), 0)
        self.thread = threading.Thread(target=self._follow, args=(stream,))
        self.thread.start()

    def _follow(self, stream) -> None:
        for line in stream:
            number, version = map(int, line.split())
            self.versions[number] = version


@pytest.mark.slow
def test_no_answer_is_old_mixed_or_has_a_hole(tmp_path):
    """Each of thousands of answers under constant saves holds the document in one version, at least the last saved.

    Only an answer whose default wait was used up, and that says so, may lack it.
    """
    root = tmp_path / "root"
    root.mkdir()
    for number in range(DOCUMENTS):
        (root / f"doc{number}.md").write_text(text_of(number, 0))
    daemon = DaemonProcess([root], tmp_path).ready()
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root), str(DOCUMENTS)], stdout=subprocess.PIPE, text=True
    )
    finished = Finished(writer.stdout)
    old, mixed, holes, said = [], [], [], 0
    try:
        for asked in range(ANSWERS):
            number, is_patient = asked % DOCUMENTS, asked // DOCUMENTS % 2 == 0
            least = finished.versions[number]
            wait_ms = PATIENT_MS if is_patient else None
            reply = daemon.call("query", text=f"stable{number}", k=5, max_per_document=5, wait_ms=wait_ms)
            is_current = reply["freshness"]["state"] == "current"
            hits = [hit for hit in reply["hits"] if hit["source_path"] == f"doc{number}.md"]
            stamps = {int(line.rpartition(" ")[2]) for hit in hits for line in hit["text"].splitlines()}
            if not hits:
                said += not is_patient and not is_current
                holes += [(asked, reply["rejected_counts"], reply["freshness"])] if is_patient or is_current else []
            elif len(stamps) > 1:
                mixed.append((asked, stamps))
            elif stamps.pop() < least:
                old.append((asked, least))
    finally:
        writer.kill()
        writer.wait()
        finished.thread.join()
        writer.stdout.close()
        daemon.close()
    assert (old, mixed, holes) == ([], [], []), (len(old), len(mixed), len(holes), said)
    # How many depends on what else the machine does; that they are not all is the program's.
    assert said < ANSWERS // 2
