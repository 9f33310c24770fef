"""Looking at roots: what is seen, passed over and held, by a scan and by looks at single paths alike."""

import os
import shutil
import subprocess
import sys

import pytest

from indexerd.model import Root
from indexerd.sync import surroundings
from indexerd.sync.ignore import CACHE_TAG_SIGNATURE, IgnoreOptions
from indexerd.sync.look import Held, Place, Skipped
from indexerd.sync.plan import next_places
from indexerd.sync.scan import Scanner
from tests.fakes.plain_user import plain_user_folder


def root_at(folder, label="docs", *, prefixed=False):
    return Root(label=label, path=str(folder), prefixed=prefixed)


def scanner_of(folder, **options):
    return Scanner([root_at(folder)], IgnoreOptions(**options))


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def seen(look):
    return sorted(look.files)


def test_a_scan_sees_every_indexed_file_with_its_stat(tmp_path):
    """Files with an indexed ending at any depth, and no others, each with what lstat says."""
    write(tmp_path, "a.md", "b.TXT", "c.png", "d/e/f.rst", "d/e/noending", "x.md/inner.md")
    look = scanner_of(tmp_path).scan()
    assert seen(look) == ["a.md", "b.TXT", "d/e/f.rst", "x.md/inner.md"]
    found = (tmp_path / "a.md").lstat()
    assert tuple(look.files["a.md"]) == (
        found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    )  # fmt: skip
    assert (look.scope, look.held, look.skipped, look.roots) == (("",), (), (), {"docs": "ok"})


def test_an_empty_root_is_empty_and_not_missing(tmp_path):
    """Nothing indexable is an observation like any other."""
    look = scanner_of(tmp_path).scan()
    assert (seen(look), look.scope, look.roots) == ([], ("",), {"docs": "ok"})


def test_what_a_user_would_miss_is_listed(tmp_path):
    """Links, special files and files that are too large are listed if their ending is indexed."""
    write(tmp_path, "real.md", "big.md")
    (tmp_path / "big.md").write_bytes(b"x" * 100)
    (tmp_path / "link.md").symlink_to("real.md")
    (tmp_path / "picture.png").symlink_to("real.md")
    (tmp_path / "folder").symlink_to("/etc")
    os.mkfifo(tmp_path / "fifo.md")
    look = Scanner([root_at(tmp_path)], IgnoreOptions(), max_file_bytes=50).scan()
    assert seen(look) == ["real.md"]
    assert sorted(look.skipped) == [
        Skipped("big.md", "too_large"),
        Skipped("fifo.md", "not_regular"),
        Skipped("link.md", "symlink"),
    ]


def test_names_of_any_bytes_are_seen(tmp_path):
    """Names that are no UTF-8, hold line ends or differ in case or normal form only are all documents of their own."""
    names = [b"\xcf\xf0.md", b"a\nb.md", b"A.md", b"a.md", "é.md".encode(), "e\u0301.md".encode(), b"%41.md", b"-x.md"]
    for name in names:
        with open(os.fsencode(tmp_path) + b"/" + name, "wb"):
            pass
    look = scanner_of(tmp_path).scan()
    assert set(look.files) == {
        "%CF%F0.md", "a%0Ab.md", "A.md", "a.md", "é.md", "e\u0301.md", "%2541.md", "-x.md"
    }  # fmt: skip
    again = scanner_of(tmp_path).look([(root_at(tmp_path), name) for name in names])
    assert again.files == look.files


def test_names_do_not_depend_on_the_locale(tmp_path):
    """Under a locale that is not UTF-8 the same files have the same source paths."""
    for name in ("é.md", "日本/a.md"):
        write(tmp_path, name)
    program = """
import sys
from indexerd.model import Root
from indexerd.sync.ignore import IgnoreOptions
from indexerd.sync.scan import Scanner
root = Root(label="docs", path=sys.argv[1])
print(sys.getfilesystemencoding(), ascii(sorted(Scanner([root], IgnoreOptions()).scan().files)))
"""
    environment = {
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", program, str(tmp_path)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert answer.split(maxsplit=1)[1].strip() == ascii(["é.md", "日本/a.md"])


def test_a_mount_is_told_by_the_device_where_the_kernel_does_not_say(tmp_path, monkeypatch):
    """Without the kernel's word a folder on another device than the one above it is taken for a mount."""
    monkeypatch.setattr(surroundings, "is_mount_root", lambda folder_fd: None)
    dev = tmp_path.stat().st_dev
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        assert [surroundings.place_of(fd, above).mount for above in (None, dev, dev + 1)] == [False, False, True]
    finally:
        os.close(fd)


def test_several_roots_are_told_apart_by_their_labels(tmp_path):
    """Each path begins with its root's label; the scope names the roots."""
    write(tmp_path, "one/a.md", "two/a.md")
    roots = [root_at(tmp_path / name, name, prefixed=True) for name in ("one", "two")]
    look = Scanner(roots, IgnoreOptions()).scan()
    assert (seen(look), look.scope) == (["one/a.md", "two/a.md"], ("one", "two"))
    only = Scanner(roots, IgnoreOptions()).scan(roots=roots[:1])
    assert (seen(only), only.scope, only.roots) == (["one/a.md"], ("one",), {"one": "ok"})


def test_a_root_inside_another_belongs_to_itself(tmp_path):
    """No file is two documents, also when the outer root is named through a link."""
    write(tmp_path, "docs/a.md", "docs/api/b.md")
    (tmp_path / "alias").symlink_to("docs")
    inner = root_at(tmp_path / "docs" / "api", "api", prefixed=True)
    for outer in ("docs", "alias"):
        roots = [root_at(tmp_path / outer, "docs", prefixed=True), inner]
        scanner = Scanner(roots, IgnoreOptions())
        assert seen(scanner.scan()) == ["api/b.md", "docs/a.md"]
        assert scanner.locate(os.fsencode(tmp_path / outer / "a.md")) == (roots[0], b"a.md")
    assert scanner.locate(os.fsencode(tmp_path / "docs" / "api" / "b.md")) == (inner, b"b.md")


def test_the_state_directory_below_a_root_is_not_looked_at(tmp_path):
    """The daemon's own files are no documents, by whatever spelling they are named."""
    write(tmp_path, "docs/a.md", "docs/var/state/b.md")
    (tmp_path / "alias").symlink_to("docs")
    own = [str(tmp_path / "alias" / "var" / "state")]
    scanner = Scanner([root_at(tmp_path / "docs")], IgnoreOptions(), own_paths=own)
    assert seen(scanner.scan()) == ["a.md"]
    assert seen(scanner.look([(root_at(tmp_path / "docs"), b"var/state/b.md")])) == []


@pytest.mark.parametrize("state", ["missing", "not_a_directory"])
def test_a_root_that_is_not_there_is_held(tmp_path, state):
    """Everything below a root that is missing or a file is held; nothing is raised."""
    if state == "not_a_directory":
        (tmp_path / "docs").write_text("")
    look = scanner_of(tmp_path / "docs").scan()
    assert (look.roots, look.held, look.scope) == ({"docs": state}, (Held("", state),), ("",))
    look = scanner_of(tmp_path / "docs").look([(root_at(tmp_path / "docs"), b"a.md")])
    assert (look.held, look.scope) == ((Held("", state),), ("a.md",))


def test_what_cannot_be_listed_is_held_and_the_rest_is_seen():
    """An unreadable folder or root is held with its reason, by a scan and by a look beneath it."""
    with plain_user_folder() as folder:
        write(folder, "a.md", "sub/b.md", "sub/deep/c.md", "listed/d.md")
        (folder / "sub").chmod(0)
        scanner = scanner_of(folder)
        look = scanner.scan()
        assert (seen(look), look.held) == (["a.md", "listed/d.md"], (Held("sub", "EACCES"),))
        look = scanner.look([(root_at(folder), b"sub/deep/c.md")])
        assert (seen(look), look.held, look.scope) == ([], (Held("sub", "EACCES"),), ("sub/deep/c.md",))
        (folder / "listed").chmod(0o444)  # names can be listed, but nothing behind them
        assert set(scanner.scan().held) == {Held("sub", "EACCES"), Held("listed/d.md", "EACCES")}
        folder.chmod(0)
        look = scanner.scan()
        assert (look.roots, look.held) == ({"docs": "unreadable"}, (Held("", "EACCES"),))
        folder.chmod(0o755)


def test_an_ignore_file_that_cannot_be_read_holds_its_folder():
    """It might say what must not be indexed, so nothing beside it is taken for wanted or unwanted."""
    with plain_user_folder() as folder:
        write(folder, "a.md", "sub/b.md", "sub/.gitignore")
        (folder / "sub" / ".gitignore").chmod(0)
        look = scanner_of(folder).scan()
        assert (seen(look), look.held) == (["a.md"], (Held("sub", "EACCES"),))
        write(folder, ".ignore")
        (folder / ".ignore").chmod(0)
        look = scanner_of(folder).scan()
        assert (seen(look), look.held) == ([], (Held("", "EACCES"),))


def test_a_root_named_by_a_link_works(tmp_path):
    """The root's spelling may lead through links; places are found by either spelling."""
    write(tmp_path, "docs/a.md")
    (tmp_path / "alias").symlink_to("docs")
    scanner = scanner_of(tmp_path / "alias")
    root = root_at(tmp_path / "alias")
    assert seen(scanner.scan()) == ["a.md"]
    assert scanner.locate(os.fsencode(tmp_path / "alias" / "a.md")) == (root, b"a.md")
    assert scanner.locate(os.fsencode(tmp_path / "docs" / "a.md")) == (root, b"a.md")
    assert scanner.locate(os.fsencode(tmp_path / "docs")) == (root, b"")
    assert scanner.locate(os.fsencode(tmp_path / "docs2" / "a.md")) is None


def test_each_folder_is_announced_before_it_is_listed(tmp_path):
    """A file made when its folder is announced is seen; ignored folders are not announced."""
    write(tmp_path, "a/b/c.md", "node_modules/x.md", ".git/y.md", ".gitignore", "gone/z.md")
    (tmp_path / ".gitignore").write_text("gone/\n")
    announced = []

    def enter(root, relative):
        announced.append(relative)
        write(tmp_path / os.fsdecode(relative), "late.md")

    look = scanner_of(tmp_path).scan(entering=enter)
    assert sorted(announced) == [b"", b"a", b"a/b"]
    assert seen(look) == ["a/b/c.md", "a/b/late.md", "a/late.md", "late.md"]


def test_each_folder_is_announced_before_its_rules_are_read(tmp_path):
    """Rules that come when a folder is announced hold: later ones make an event where that has it watched."""
    write(tmp_path, "a/b.md", "a/c.md", "b.md", "c.md")
    for folder in (b"", b"a"):
        rules = tmp_path / os.fsdecode(folder) / ".gitignore"
        enter = lambda _, at, of=folder, to=rules: at == of and to.write_text("/b.md\n")  # noqa: E731
        assert f"{folder.decode()}/b.md".lstrip("/") not in seen(scanner_of(tmp_path).scan(entering=enter))
        rules.unlink()
        place = (root_at(tmp_path), folder)
        assert f"{folder.decode()}/b.md".lstrip("/") not in seen(scanner_of(tmp_path).look([place], entering=enter))
        rules.unlink()


def test_a_tagged_cache_is_passed_over(tmp_path):
    """A folder with a CACHEDIR.TAG is left out if the tag has the signature, and nothing else says so."""
    write(tmp_path, "cache/a.md", "cache/deep/b.md", "fake/CACHEDIR.TAG", "fake/c.md", "CACHEDIR.TAG", "d.md")
    (tmp_path / "cache" / "CACHEDIR.TAG").write_bytes(CACHE_TAG_SIGNATURE + b"\n# by a test\n")
    assert seen(scanner_of(tmp_path).scan()) == ["d.md", "fake/c.md"]
    assert seen(scanner_of(tmp_path).look([(root_at(tmp_path), b"cache/deep/b.md")])) == []
    assert "cache/a.md" in scanner_of(tmp_path, tagged_caches=True).scan().files


def test_rules_above_the_root_count_up_to_the_repositorys_top(tmp_path):
    """The .gitignore of the repository speaks for a root inside it, the one above the repository does not."""
    write(tmp_path, "repo/docs/a.md", "repo/docs/b.md", "repo/docs/c.md")
    (tmp_path / ".gitignore").write_text("a.md\n")
    (tmp_path / "repo" / ".gitignore").write_text("/docs/b.md\n")
    scanner = scanner_of(tmp_path / "repo" / "docs")
    assert seen(scanner.scan()) == ["a.md", "b.md", "c.md"]
    (tmp_path / "repo" / ".git").mkdir()
    assert seen(scanner.scan()) == ["a.md", "c.md"]
    files = scanner.outside_rule_files(root_at(tmp_path / "repo" / "docs"))
    named = (".git", ".gitignore", ".git/info/exclude", "docs/.git")
    assert files == {os.fsencode(tmp_path / "repo" / name) for name in named}
    (tmp_path / "repo" / "docs" / ".git").mkdir()
    assert seen(scanner.scan()) == ["a.md", "b.md", "c.md"]


def test_a_repository_may_be_made_anywhere_above_a_root(tmp_path):
    """Where there is none, a `.git` in the root or in any folder above it would change what is ignored."""
    (tmp_path / "docs").mkdir()
    files = scanner_of(tmp_path / "docs").outside_rule_files(root_at(tmp_path / "docs"))
    assert {os.fsencode(folder / ".git") for folder in (tmp_path / "docs", *(tmp_path / "docs").parents)} <= files


def test_a_changed_rule_file_is_a_look_at_its_folder(tmp_path):
    """Naming a .gitignore, a cache tag or a .git looks at all beside and below it."""
    write(tmp_path, "sub/a.md", "sub/deep/b.md", "c.md")
    for name in (b"sub/.gitignore", b"sub/CACHEDIR.TAG", b"sub/.git", b"sub/.git/info", b"sub/.git/info/exclude"):
        look = scanner_of(tmp_path).look([(root_at(tmp_path), name)])
        assert (seen(look), look.scope) == (["sub/a.md", "sub/deep/b.md"], ("sub",))
    assert scanner_of(tmp_path).look([(root_at(tmp_path), b".ignore")]).scope == ("",)


def test_a_look_covers_what_it_names_and_no_more(tmp_path):
    """Files, folders, what is gone and what is ignored all lie in the scope; overlapping names are one."""
    write(tmp_path, "a.md", "sub/b.md", "sub/c.md", "node_modules/d.md", "other.md")
    root = root_at(tmp_path)
    names = [b"a.md", b"sub", b"sub/b.md", b"gone/x.md", b"node_modules/d.md"]
    look = scanner_of(tmp_path).look([(root, name) for name in names])
    assert seen(look) == ["a.md", "sub/b.md", "sub/c.md"]
    assert sorted(look.scope) == ["a.md", "gone/x.md", "node_modules/d.md", "sub"]
    assert look.held == ()


def test_types_may_change_at_a_path(tmp_path):
    """A file that became a folder or a link, and a folder that became a file, are seen as what they are now."""
    write(tmp_path, "n.md/x.md")
    scanner, root = scanner_of(tmp_path), root_at(tmp_path)
    assert seen(scanner.look([(root, b"n.md")])) == ["n.md/x.md"]
    shutil.rmtree(tmp_path / "n.md")
    write(tmp_path, "n.md")
    look = scanner.look([(root, b"n.md"), (root, b"n.md/x.md")])
    assert (seen(look), look.scope) == (["n.md"], ("n.md",))
    assert seen(scanner.look([(root, b"n.md/x.md")])) == []
    (tmp_path / "n.md").unlink()
    (tmp_path / "n.md").symlink_to("elsewhere.md")
    assert scanner.look([(root, b"n.md")]).skipped == (Skipped("n.md", "symlink"),)


def test_folders_below_a_link_are_not_seen(tmp_path):
    """A look at a path that leads through a link sees nothing, as a scan would."""
    write(tmp_path, "real/a.md")
    (tmp_path / "alias").symlink_to("real")
    look = scanner_of(tmp_path).look([(root_at(tmp_path), b"alias/a.md")])
    assert (seen(look), look.held) == ([], ())


def test_a_path_longer_than_the_kernel_takes_is_held(tmp_path):
    """A tree so deep that its paths cannot be named is held below that point, and the rest is seen."""
    write(tmp_path, "a.md")
    os.chdir(tmp_path)
    start = os.open(".", os.O_RDONLY)
    try:
        for _ in range(30):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
    finally:
        os.fchdir(start)
        os.close(start)
    look = scanner_of(tmp_path).scan()
    assert seen(look) == ["a.md"]
    assert [held.reason for held in look.held] == ["ENAMETOOLONG"]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_root_lost_during_the_scan_is_held(tmp_path, replaced):
    """A root that is removed or replaced while it is listed is not taken for empty."""
    folder = tmp_path / "docs"
    write(folder, "a.md")

    def lose(root, relative):
        folder.rename(tmp_path / "away")
        (tmp_path / "away" / "a.md").unlink()
        if replaced:
            write(folder, "a.md")

    look = scanner_of(folder).scan(entering=lose)
    assert look.held == (Held("", "replaced" if replaced else "missing"),)
    assert look.roots == {"docs": "ok" if replaced else "missing"}


def test_a_device_that_changed_holds_what_is_absent(tmp_path):
    """Where the root has another device than before its files are seen, and it is held besides."""
    write(tmp_path, "a.md")
    dev = tmp_path.stat().st_dev
    look = scanner_of(tmp_path).scan({"": Place(dev + 1, mount=False)})
    assert (seen(look), look.held, look.roots) == (["a.md"], (Held("", "device_changed"),), {"docs": "device_changed"})
    assert next_places({"": Place(dev + 1, mount=False)}, look, {"b.md"}) == {"": Place(dev + 1, mount=False)}
    assert next_places({"": Place(dev + 1, mount=False)}, look, set()) == {"": Place(dev, mount=False)}


def test_a_mount_that_is_gone_is_not_an_empty_folder(tmp_path):
    """A folder that was a mount point and is none now is held, not listed; so is one that vanished with its mount."""
    write(tmp_path, "disk/under.md", "a.md")
    known = {
        "": Place(tmp_path.stat().st_dev, mount=False),
        "disk": Place(-1, mount=True),
        "usb": Place(-1, mount=True),
    }
    look = scanner_of(tmp_path).scan(known)
    assert (seen(look), set(look.held)) == (["a.md"], {Held("disk", "unmounted"), Held("usb", "unmounted")})
    look = scanner_of(tmp_path).look([(root_at(tmp_path), b"disk/under.md")], known)
    assert (seen(look), look.held) == ([], (Held("disk", "unmounted"),))
    assert next_places(known, scanner_of(tmp_path).scan(known), {"disk/x.md"}).keys() == {"", "disk"}


@pytest.fixture
def mounted(tmp_path):
    """Mount a folder over `docs/disk`; skips where that is not allowed."""
    write(tmp_path, "store/x.md", "docs/a.md", "docs/disk/hidden.md")
    target = tmp_path / "docs" / "disk"
    command = ["mount", "--bind", str(tmp_path / "store"), str(target)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("needs mount")
    yield target
    subprocess.run(["umount", str(target)], check=False, capture_output=True)


@pytest.mark.root
def test_a_disk_can_be_unmounted_and_comes_back(mounted):
    """A bind mount of the same device is noticed as a mount; unmounted it is held; mounted again it is seen."""
    folder = mounted.parent
    scanner = scanner_of(folder)
    first = scanner.scan()
    assert seen(first) == ["a.md", "disk/x.md"]
    assert first.places["disk"].mount
    subprocess.run(["umount", str(mounted)], check=True)
    gone = scanner.scan(first.places)
    assert (seen(gone), gone.held) == (["a.md"], (Held("disk", "unmounted"),))
    known = next_places(first.places, gone, {"disk/x.md"})
    subprocess.run(["mount", "--bind", str(folder.parent / "store"), str(mounted)], check=True)
    back = scanner.scan(known)
    assert (back.files, back.held) == (first.files, ())


@pytest.mark.root
def test_a_mounted_root_that_is_unmounted_is_missing(mounted):
    """The root itself as a mount point: unmounted it is held whole."""
    scanner = scanner_of(mounted)
    first = scanner.scan()
    subprocess.run(["umount", str(mounted)], check=True)
    look = scanner.scan(first.places)
    assert (seen(look), look.held, look.roots) == ([], (Held("", "unmounted"),), {"docs": "unmounted"})


@pytest.mark.root
def test_a_mount_that_covers_documents_holds_them(mounted):
    """Something mounted over a folder that was looked at before hides documents; it does not delete them."""
    folder = mounted.parent
    known = {"": Place(folder.stat().st_dev, mount=False)}
    look = scanner_of(folder).scan(known)
    assert (seen(look), look.held) == (["a.md", "disk/x.md"], (Held("disk", "device_changed"),))
    assert "disk" not in next_places(known, look, {"disk/hidden.md"})
    assert "disk" in next_places(known, look, set())
