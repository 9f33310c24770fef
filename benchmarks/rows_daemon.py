"""Rows measured from outside, on the running program: start, save to searchable, proof, memory, disk."""

import os
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import corpus
from measuring import Line, interleaved, milliseconds, percentile, ratio, seconds
from peers import folder_bytes
from running import PROGRAM, Daemon

SAVES = 200
QUERIES = 300


def walk(root: Path) -> int:
    """Walk a tree with stat, as barely as Python can."""
    count, folders = 0, [str(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    count += 1
    return count


def run(*words: object) -> None:
    subprocess.run([*PROGRAM, *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def leave_index(root: Path, place: Path) -> None:
    """Have a daemon index a root, come to rest and end: its segments are merged then."""
    daemon = Daemon(root, place)
    daemon.wait_current()
    daemon.wait_at_rest()
    daemon.stop()


def row_unchanged(files, place):
    """Nothing changed: a cold `sync` beside a bare walk with stat, on an index that a daemon has left."""
    root, state = place / "root", place / "state"
    corpus.write(root, files)
    leave_index(root, place)
    taken = interleaved(
        {
            "ours": lambda: run("sync", root, "--state-dir", state),
            "walk": lambda: walk(root),
        },
        5,
    )
    target = 2 * taken["walk"] + 0.3
    yield Line(
        "nothing changed, cold process",
        f"{taken['ours']:.3f} s",
        f"2x walk + 0.3 s = {target:.3f} s",
        ratio(taken["ours"], target),
    )


def row_start(files, place):
    """Start on an index that a daemon has left, at rest, to the first answer, beyond Python and numpy."""
    root = place / "root"
    corpus.write(root, files)
    leave_index(root, place)
    taken = []
    for _ in range(5):
        daemon = Daemon(root, place)
        connection = daemon.connect()
        connection.call("query", text="server", wait_ms=0)
        taken.append(time.perf_counter() - daemon.started)
        connection.close()
        daemon.stop()
    base = interleaved({"numpy": lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True)}, 5)[
        "numpy"
    ]
    ours = percentile(taken, 0.5) - base
    yield Line("start to first answer, less Python and numpy", milliseconds(ours), "target 150 ms", ratio(ours, 0.150))


def save_atomic(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text)
    temporary.replace(path)


def row_save(files, place):
    """Save to searchable over the socket, idle daemon; atomic and in place."""
    root = place / "root"
    corpus.write(root, files)
    daemon = Daemon(root, place)
    daemon.wait_current()
    daemon.wait_at_rest()
    connection = daemon.connect()
    for kind, save in (("atomic", save_atomic), ("in place", Path.write_text)):
        taken, silent, said = [], 0, 0
        for number in range(SAVES):
            word = f"zq{kind[0]}{number}x"
            start = time.perf_counter()
            save(root / "measured.md", f"# Measured\n\nthe word {word}\n")
            reply = connection.call("query", text=word, k=1)
            taken.append(time.perf_counter() - start)
            is_missed = not reply["hits"] or word not in reply["hits"][0]["text"]
            is_said = reply["freshness"]["state"] != "current"
            said, silent = said + (is_missed and is_said), silent + (is_missed and not is_said)
        yield Line(
            f"save to searchable, {kind}, p50 ({SAVES}: missed {silent}, said pending {said})",
            milliseconds(percentile(taken, 0.5)),
            "target 10 ms",
            ratio(percentile(taken, 0.5), 0.010),
        )
        yield Line(
            f"save to searchable, {kind}, p99",
            milliseconds(percentile(taken, 0.99)),
            "target 50 ms",
            ratio(percentile(taken, 0.99), 0.050),
        )
    connection.close()
    daemon.stop()


def row_edits(files, place):
    """Ten edits a second on one document: stale hits and holes for its stable term."""
    root = place / "root"
    corpus.write(root, files)
    daemon = Daemon(root, place)
    daemon.wait_current()
    daemon.wait_at_rest()
    connection, stop = daemon.connect(), threading.Event()
    stamp = [0]

    def edit() -> None:
        while not stop.is_set():
            stamp[0] += 1
            lines = "\n".join(f"stableterm line {line} stamp{stamp[0]}" for line in range(8))
            save_atomic(root / "edited.md", f"# Edited\n\n{lines}\n")
            stop.wait(0.1)

    save_atomic(root / "edited.md", "# Edited\n\nstableterm line 0 stamp0\n")
    writer = threading.Thread(target=edit)
    writer.start()
    holes = said = stale = asked = 0
    until = time.perf_counter() + 20
    while time.perf_counter() < until:
        before = stamp[0]
        reply = connection.call("query", text="stableterm", k=3)
        hits = [hit for hit in reply["hits"] if hit["source_path"].endswith("edited.md")]
        asked += 1
        is_said = reply["freshness"]["state"] != "current"
        said, holes = said + (not hits and is_said), holes + (not hits and not is_said)
        seen = {word for hit in hits for word in hit["text"].split() if word.startswith("stamp")}
        stale += len(seen) > 1 or any(int(word[5:]) < before - 1 for word in seen)
    stop.set()
    writer.join()
    connection.close()
    daemon.stop()
    what = f"ten edits a second, {asked} queries: stale / holes / said pending"
    yield Line(what, f"{stale} / {holes} / {said}", "target 0 / 0 / 0")


def row_poll(files, place):
    """What polling costs: processor time of one pass over everything, with nothing changed."""
    root, every, passes = place / "root", 2, 10
    corpus.write(root, files)
    run("sync", root, "--state-dir", place / "state")
    daemon = Daemon(root, place, "--poll", str(every))
    daemon.wait_current()
    # It never rests; what a start has to read again is read by then.
    time.sleep(10)
    before = daemon.cpu_seconds()
    time.sleep(every * passes)
    each = (daemon.cpu_seconds() - before) / passes
    daemon.stop()
    yield Line("one pass of polling, processor time", milliseconds(each), f"every 10 s {each * 10:.1f} % of a core")


def row_socket(files, place):
    """Query over the socket with proof of every hit; one client, then 16."""
    root = place / "root"
    corpus.write(root, files)
    daemon = Daemon(root, place)
    daemon.wait_current()
    daemon.wait_at_rest()
    asked = corpus.queries([data.decode("utf-8", "replace") for _, data in files[:5000]], QUERIES)
    connection = daemon.connect()
    taken, inside = [], []
    for text in asked:
        start = time.perf_counter()
        reply = connection.call("query", text=text, k=10)
        taken.append(time.perf_counter() - start)
        inside.append(reply["took_ms"] / 1e3)
    yield Line(
        "query over the socket, proved, k=10, p50",
        milliseconds(percentile(taken, 0.5)),
        f"inside {milliseconds(percentile(inside, 0.5))}",
    )
    yield Line(
        "query over the socket, proved, k=10, p99",
        milliseconds(percentile(taken, 0.99)),
        f"inside {milliseconds(percentile(inside, 0.99))}",
    )
    script = (
        "import sys,time;sys.path.insert(0,sys.argv[1]);from running import Connection;from pathlib import Path\n"
        "words=sys.argv[4:];ends=time.perf_counter()+float(sys.argv[3]);c=Connection(Path(sys.argv[2]));n=0\n"
        "while time.perf_counter()<ends:\n c.call('query',text=words[n%len(words)],k=10);n+=1\nprint(n)"
    )
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(Path(__file__).parent), str(daemon.path), "5", *asked[:100]],
            stdout=subprocess.PIPE,
        )
        for _ in range(16)
    ]
    total = sum(int(client.communicate()[0]) for client in clients)
    yield Line(
        "16 clients, 100 queries over and over, proved queries a second",
        f"{total / 5:.0f}",
        "target 2000",
        ratio(2000, total / 5),
    )
    connection.close()
    daemon.stop()


def row_process(files, place):
    """`indexerd query` as a whole process beside `python -c pass`."""
    root = place / "root"
    corpus.write(root, files[:2000])
    daemon = Daemon(root, place)
    daemon.wait_current()
    program = Path(sys.executable).with_name("indexerd")
    command = [str(program), "query", "--socket", str(daemon.path), "the server"]
    taken = interleaved(
        {
            "ours": lambda: subprocess.run(command, check=False, stdout=subprocess.DEVNULL),
            "bare": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
        },
        30,
    )
    daemon.stop()
    yield Line(
        "`indexerd query`, whole process, p50",
        milliseconds(taken["ours"]),
        f"python -c pass {milliseconds(taken['bare'])}",
        ratio(taken["ours"], taken["bare"]),
    )


def row_reindex(files, place):
    """Query p99 while a full reindex runs."""
    root = place / "root"
    corpus.write(root, files)
    run("sync", root, "--state-dir", place / "state")
    daemon = Daemon(root, place)
    daemon.wait_current()
    daemon.stop()
    asked = corpus.queries([data.decode("utf-8", "replace") for _, data in files[:5000]], QUERIES)
    # Another chunk size makes every document be redone while the old generation is served.
    state, path = place / "state", daemon.path
    process = subprocess.Popen(
        [*PROGRAM, "watch", str(root), "--state-dir", str(state), "--socket", str(path), "--max-chars", "600"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    daemon.process, daemon.started = process, time.perf_counter()
    connection, taken, number = daemon.connect(), [], 0
    while connection.call("status")["state"] in {"building", "pending"} and number < 20_000:
        text = asked[number % len(asked)]
        taken.append(seconds(partial(connection.call, "query", text=text, k=10, wait_ms=0)))
        number += 1
    connection.close()
    daemon.stop()
    if taken:
        yield Line(
            f"query p99 during a full reindex ({len(taken)} queries)",
            milliseconds(percentile(taken, 0.99)),
            "target 25 ms",
            ratio(percentile(taken, 0.99), 0.025),
        )


def row_resources(files, place):
    """Memory and disk after the first index, CPU at idle."""
    root = place / "root"
    corpus.write(root, files)
    daemon = Daemon(root, place)
    first = daemon.wait_current()
    size = sum(len(data) for _, data in files)
    yield Line(
        "first index by the daemon, start to current", f"{first:.2f} s", f"{size / 1e6 / first:.1f} MB/s whole process"
    )
    yield Line(
        "daemon VmRSS after its first index",
        f"{daemon.memory_bytes() / 1e6:.0f} MB",
        "target 150 MB",
        ratio(daemon.memory_bytes(), 150e6),
    )
    daemon.wait_at_rest(1800)
    yield Line("most that it and its processes held up to rest", f"{daemon.peak / 1e6:.0f} MB")
    yield Line("daemon VmRSS at rest", f"{daemon.memory_bytes() / 1e6:.0f} MB")
    before = daemon.cpu_seconds()
    time.sleep(20)
    yield Line("idle CPU over 20 s", f"{(daemon.cpu_seconds() - before) / 20 * 100:.2f} %", "target 0.1 %")
    daemon.stop()
    beside = folder_bytes(place / "state") - size
    yield Line(
        "index on disk beside the text",
        f"{beside / 1e6:.1f} MB",
        f"target 0.7x = {0.7 * size / 1e6:.1f} MB",
        ratio(beside, 0.7 * size),
    )


ROWS = {
    "unchanged": row_unchanged,
    "start": row_start,
    "save": row_save,
    "edits": row_edits,
    "poll": row_poll,
    "socket": row_socket,
    "process": row_process,
    "reindex": row_reindex,
    "resources": row_resources,
}
