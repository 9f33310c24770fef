"""Reading beneath a root: nothing else, nothing torn, no waiting, and the right reason when it fails."""

import ctypes
import os
import socket
import threading

import pytest

import indexerd.sources as subject
from indexerd.model import Root, SourcePath
from indexerd.sources import SourceTree
from tests.fakes.costs import open_descriptors
from tests.fakes.plain_user import plain_user_folder


@pytest.fixture(params=["openat2", "walking"])
def folder(request, tmp_path, monkeypatch):
    """A root's folder; each test runs with the kernel's look-up and with our own."""
    if request.param == "walking":
        monkeypatch.setattr(subject, "open_beneath", subject._open_by_walking)
    root = tmp_path / "root"
    root.mkdir()
    return root


def tree(folder, **options):
    return SourceTree([Root(label="docs", path=str(folder))], **options)


def fault(folder, name, **options):
    found = tree(folder, **options).read(SourcePath(name))
    return (found.code, found.detail)


def test_links_are_not_followed(folder):
    """A link to a file, to a folder on the way, to nothing, to itself, inside or outside: all escape."""
    (folder / "real").mkdir()
    (folder / "real" / "a.md").write_text("a")
    for name, target in [
        ("passwd.md", "/etc/passwd"),
        ("inside.md", "real/a.md"),
        ("dangling.md", "nowhere"),
        ("loop.md", "loop.md"),
        ("up.md", "../../x"),
    ]:
        (folder / name).symlink_to(target)
        assert fault(folder, name) == ("source_escapes_root", "ELOOP")
    (folder / "etc").symlink_to("/etc")
    assert fault(folder, "etc/passwd") == ("source_escapes_root", "ELOOP")
    (folder / "alias").symlink_to("real")
    assert fault(folder, "alias/a.md") == ("source_escapes_root", "ELOOP")


def test_a_hard_link_is_the_file_itself(folder, tmp_path):
    """It has no other name to be judged by: what lies below the root is read, here and under each further name."""
    outside = tmp_path / "outside.md"
    outside.write_text("shared")
    for name in ("a.md", "b.md"):
        os.link(outside, folder / name)
        assert tree(folder).read(SourcePath(name)).data == b"shared"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_link_to_a_secret_file_of_another_user_is_not_read(folder, tmp_path):
    """What not everybody may read, under a further name, is read for the owner of the root alone."""
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    secret.chmod(0o640)
    os.link(secret, folder / "a.md")
    assert tree(folder).read(SourcePath("a.md")).data == b"secret"
    os.chown(secret, 12345, 12345)
    assert fault(folder, "a.md") == ("source_unreadable", "foreign_link")
    secret.chmod(0o644)
    assert tree(folder).read(SourcePath("a.md")).data == b"secret"
    secret.chmod(0o600)
    os.chown(folder, 12345, 12345)
    assert tree(folder).read(SourcePath("a.md")).data == b"secret"
    os.chown(folder, 0, 0)
    secret.unlink()
    assert tree(folder).read(SourcePath("a.md")).data == b"secret", "it has no other name"


def test_a_root_may_be_a_link(folder, tmp_path):
    """The user may name a root by a link: only what is below is held to the rule."""
    (folder / "a.md").write_text("a")
    (tmp_path / "alias").symlink_to(folder)
    assert tree(tmp_path / "alias").read(SourcePath("a.md")).data == b"a"


def test_only_regular_files_are_read(folder):
    """A FIFO without a writer does not hold the reader; it, a socket and a folder are not regular."""
    os.mkfifo(folder / "fifo.md")
    (folder / "folder.md").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(folder / "socket.md"))
        for name in ("fifo.md", "folder.md", "socket.md"):
            assert fault(folder, name) == ("source_unreadable", "not_regular")


def test_a_file_above_the_cap_is_not_read(folder):
    """A sparse file of a tebibyte costs nothing; one of exactly the cap is read."""
    with (folder / "big.md").open("wb") as file:
        file.truncate(1 << 40)
    assert fault(folder, "big.md") == ("source_unreadable", "too_large")
    (folder / "full.md").write_bytes(b"x" * 100)
    assert len(tree(folder, max_file_bytes=100).read(SourcePath("full.md")).data) == 100
    assert fault(folder, "full.md", max_file_bytes=99) == ("source_unreadable", "too_large")


def test_a_missing_root_proves_nothing(folder):
    """When the root itself is gone, or is no folder, its documents are unreadable, not missing."""
    assert fault(folder / "gone", "a.md") == ("source_unreadable", "root: ENOENT")
    (folder / "file").write_text("")
    assert fault(folder / "file", "a.md") == ("source_unreadable", "root: ENOTDIR")


def test_a_component_that_became_a_file_is_an_absence(folder):
    """Where a folder was replaced by a file, what was below it is missing."""
    (folder / "a").write_text("")
    assert fault(folder, "a/b.md") == ("source_missing", "ENOTDIR")


def test_a_replaced_root_is_read_anew(folder):
    """After the root's folder was replaced the new one's files are read, without being told."""
    sources = tree(folder)
    (folder / "a.md").write_text("old")
    assert sources.read(SourcePath("a.md")).data == b"old"
    folder.rename(folder.with_name("away"))
    folder.mkdir()
    (folder / "a.md").write_text("new")
    assert sources.read(SourcePath("a.md")).data == b"new"


def test_absence_needs_a_readable_folder(monkeypatch):
    """A file that may not be read is unreadable; in a folder that may not be listed nothing is ever missing."""
    with plain_user_folder() as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "a.md").write_text("a")
        (folder / "b.md").write_text("b")
        (folder / "b.md").chmod(0)
        assert fault(folder, "b.md") == ("source_unreadable", "EACCES")
        (folder / "sub").chmod(0)
        assert fault(folder, "sub/a.md") == ("source_unreadable", "EACCES")
        (folder / "sub").chmod(0o311)  # may be entered, not listed
        assert tree(folder).read(SourcePath("sub/a.md")).data == b"a"
        assert fault(folder, "sub/gone.md") == ("source_unreadable", "ENOENT")
        assert fault(folder, "none/gone.md") == ("source_missing", "ENOENT")


def test_names_that_are_no_utf8_are_read(folder):
    """A file whose name is not UTF-8 is read by its printable name."""
    with open(os.fsencode(folder) + b"/\xcf\xf0.md", "wb") as file:
        file.write(b"x")
    assert tree(folder).read(SourcePath("%CF%F0.md")).data == b"x"


def test_a_file_that_changes_under_every_read_is_reported(folder, monkeypatch):
    """Three reads are tried; if the stat moved under each, the file is said to be changing."""
    path = folder / "a.md"
    path.write_text("x" * 10)
    reads = []
    real_read = os.read

    def read_and_grow(fd, limit):
        data = real_read(fd, limit)
        reads.append(limit)
        with path.open("a") as file:
            file.write("y")
        return data

    monkeypatch.setattr(subject.os, "read", read_and_grow)
    assert fault(folder, "a.md")[0] == "source_changed"
    assert len(reads) >= 3


def test_a_change_during_the_first_read_is_read_again(folder, monkeypatch):
    """A file replaced while it is read gives the new text."""
    path = folder / "a.md"
    path.write_text("old")
    real_read = os.read
    left = [1]

    def read_and_replace(fd, limit):
        data = real_read(fd, limit)
        if left:
            left.pop()
            (folder / "new").write_text("new")
            (folder / "new").replace(path)
        return data

    monkeypatch.setattr(subject.os, "read", read_and_replace)
    assert tree(folder).read(SourcePath("a.md")).data == b"new"


def test_a_folder_swapped_for_a_link_never_leads_outside(folder, tmp_path):
    """While a folder is swapped for a link to another one and back, no read gives the other's text."""
    (folder / "sub").mkdir()
    (folder / "sub" / "a.md").write_text("inside")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("outside")
    (folder / "link").symlink_to(outside)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            (folder / "sub").rename(folder / "kept")
            (folder / "link").rename(folder / "sub")
            (folder / "sub").rename(folder / "link")
            (folder / "kept").rename(folder / "sub")

    sources = tree(folder)
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        found = []
        while len(found) < 3000 or not any(hasattr(read, "data") for read in found):
            found.append(sources.read(SourcePath("sub/a.md")))
    finally:
        stop.set()
        swapper.join()
    texts = {read.data for read in found if hasattr(read, "data")}
    assert texts == {b"inside"}
    assert "ENOTDIR" not in {read.detail for read in found if hasattr(read, "detail")}


_EXCHANGE = 2
_SWAPS = 100_000 if os.environ.get("INDEXERD_TEST_SIZE") == "large" else 5_000


@pytest.mark.parametrize("way", [subject._open_in_kernel, subject._open_by_walking], ids=["kernel", "walking"])
@pytest.mark.parametrize("swapped", ["sub", "sub/a.md"], ids=["folder", "file"])
def test_no_exchange_of_names_at_any_moment_leads_outside(folder, tmp_path, monkeypatch, way, swapped):
    """One call of the kernel puts a link where the file or its folder was; a read gives the file or nothing."""
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)
    if exchange is None:
        pytest.skip("this kernel does not have renameat2")
    monkeypatch.setattr(subject, "open_beneath", way)
    outside = tmp_path / "outside"
    for place, text in ((folder / "sub", "inside"), (outside, "outside")):
        place.mkdir()
        (place / "a.md").write_text(text)
    link = folder / "link"
    link.symlink_to(outside if swapped == "sub" else outside / "a.md")
    names = [os.fsencode(path) for path in (link, folder / swapped)]

    def swap():
        for _ in range(_SWAPS):
            assert exchange(-100, names[0], -100, names[1], _EXCHANGE) == 0

    sources, found = tree(folder), []
    swapper = threading.Thread(target=swap)
    swapper.start()
    while swapper.is_alive() or not found:
        found.append(sources.read(SourcePath("sub/a.md")))
    swapper.join()
    assert {read.data for read in found if hasattr(read, "data")} <= {b"inside"}
    refused = {read.code for read in found if hasattr(read, "code")}
    assert refused <= {"source_escapes_root", "source_missing", "source_changed"}


def test_no_descriptor_is_left_open(folder):
    """Reads, faults and listings give back every descriptor they took, so a disk can be unmounted."""
    (folder / "a.md").write_text("a")
    (folder / "link.md").symlink_to("/etc/passwd")
    sources = tree(folder)
    before = open_descriptors()
    for name in ("a.md", "link.md", "gone.md", "x/y/z.md", "../x"):
        sources.read(SourcePath(name))
    assert open_descriptors() == before
