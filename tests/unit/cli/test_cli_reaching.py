"""Which watch set and which daemon a command means."""

import fcntl
import os
import socket
from pathlib import Path

import pytest

from indexerd.cli.asking_there import here_globs
from indexerd.cli.citing import from_here
from indexerd.cli.place import Place, Selection
from indexerd.cli.reaching import (
    find_daemon,
    holding_profile,
    naming_holder,
    owner_status,
    profile_here,
    reach_daemon,
    state_dir_of,
)
from indexerd.cli.syncing import plan_sync
from indexerd.config import default_profile, find_places
from indexerd.errors import ConfigError, ForbiddenError, RequestError, StoreLockedError, UnreachableError
from tests.fakes.costs import open_descriptors
from tests.fakes.service_parts import OWNER, SmallHouse, guest


@pytest.fixture
def place(tmp_path):
    environ = {
        "HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    (tmp_path / "run/indexerd").mkdir(parents=True, mode=0o700)
    (tmp_path / "run/indexerd").chmod(0o700)
    (tmp_path / "docs/sub").mkdir(parents=True)
    uid = (tmp_path / "docs").stat().st_uid
    return Place(environ=environ, cwd=str(tmp_path / "docs/sub"), uid=uid, places=find_places(environ, uid))


def configure(place, text):
    folder = place.places.config_file.rpartition("/")[0]
    Path(folder).mkdir(parents=True)
    Path(place.places.config_file).write_text(text)


def test_a_folder_belongs_to_the_profile_that_holds_it(place, tmp_path):
    """By the settings file, or by the state directory made for a folder above."""
    root = str(tmp_path / "docs")
    assert holding_profile(place, place.cwd) is None
    (tmp_path / "state/indexerd" / default_profile(root)).mkdir(parents=True)
    assert holding_profile(place, place.cwd) == default_profile(root)
    configure(place, f'[profile.mine]\nroots = ["{root}"]')
    assert holding_profile(place, place.cwd) == "mine"


def test_the_only_index_is_meant_from_anywhere(place, tmp_path):
    """Outside every root, one known index is the one; of two, none."""
    (tmp_path / "state/indexerd/one").mkdir(parents=True)
    assert profile_here(place) == "one"
    (tmp_path / "state/indexerd/two").mkdir()
    assert profile_here(place) is None


def test_a_broken_settings_file_is_never_ignored(place):
    """Choosing a profile from a file that cannot be read as TOML fails with its problem."""
    configure(place, "[profile")
    with pytest.raises(ConfigError):
        profile_here(place)


@pytest.mark.parametrize("is_folder", [True, False])
def test_settings_that_are_no_text_are_refused_by_name(place, is_folder):
    """A folder, or bytes, where the settings should be: the message says where, and nothing stays open."""
    path = Path(place.places.config_file)
    path.parent.mkdir(parents=True)
    if is_folder:
        path.mkdir()
    else:
        path.write_bytes(b"\xff")
    before = open_descriptors()
    with pytest.raises(ConfigError, match=f"^{path}: cannot be read"):
        place.load(Selection())
    assert open_descriptors() == before


def test_no_daemon_is_none_and_a_named_one_is_an_error(place, tmp_path):
    """Without a running daemon there is none to find; one that was named must answer."""
    assert find_daemon(Selection(), place) is None
    assert find_daemon(Selection(profile="x"), place) is None
    with pytest.raises(UnreachableError):
        find_daemon(Selection(socket=str(tmp_path / "none.sock")), place)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "run/indexerd/dead.sock"))
    assert find_daemon(Selection(), place) is None


def test_who_is_not_running_is_named(place, tmp_path):
    """What was asked for stands in the message: a profile, a state directory, or the folder."""
    for selection, named in (
        (Selection(profile="x"), "profile x"),
        (Selection(state_dir="s"), f"the state directory {place.cwd}/s"),
        (Selection(), "this folder"),
    ):
        with pytest.raises(UnreachableError, match=f"^no daemon runs for {named}: start one"):
            reach_daemon(selection, place)


def test_a_daemon_without_its_socket_is_told_by_its_process(place, tmp_path):
    """Where a process keeps the index and nothing leads to it, starting another is no way out."""
    state_dir = tmp_path / "state/indexerd/one"
    state_dir.mkdir(parents=True)
    opened = os.open(state_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        for selection in (Selection(profile="one"), Selection(state_dir=str(state_dir)), Selection()):
            with pytest.raises(UnreachableError, match=f"`kill {os.getpid()}`"):
                reach_daemon(selection, place)
        config = place.load(Selection(profile="one"), roots=(str(tmp_path / "docs"),))
        with pytest.raises(StoreLockedError, match=f"^process {os.getpid()} .* profile one"), naming_holder(config):
            raise StoreLockedError("locked")
    finally:
        os.close(opened)
    with pytest.raises(StoreLockedError, match=f"^{config.state_dir}: locked"), naming_holder(config):
        raise StoreLockedError("locked")


def test_the_state_directory_is_named_or_follows_from_the_profile(place, tmp_path):
    """`--state-dir` wins, then `--profile`; with neither and nothing known it is an error."""
    assert state_dir_of(Selection(state_dir="x"), place) == f"{place.cwd}/x"
    assert state_dir_of(Selection(profile="p"), place) == str(tmp_path / "state/indexerd/p")
    with pytest.raises(UnreachableError):
        state_dir_of(Selection(), place)


def test_syncing_a_new_folder_makes_it_a_root(place, tmp_path):
    """A folder that no index holds becomes the root of one; a file that none holds is refused."""
    root = str(tmp_path / "docs")
    config, inner = plan_sync(Selection(), place, (root,), (root,), {})
    assert ([one.path for one in config.roots], inner) == ([root], None)
    (tmp_path / "docs/a.md").write_text("x")
    for name in ("a.md", "missing.md"):
        with pytest.raises(RequestError):
            plan_sync(Selection(), place, (f"{root}/{name}",), (f"{root}/{name}",), {})


def test_here_becomes_a_glob_below_the_root():
    """The folder's place in its root, with the label where there is one, and odd characters taken literally."""
    roots = [{"label": "d", "path": "/d", "prefixed": False}]
    assert here_globs({"roots": roots}, "/d/a/b") == ["a/b/**"]
    assert here_globs({"roots": roots}, "/d") == ["**"]
    assert here_globs({"roots": [{**roots[0], "prefixed": True}]}, "/d/a*[1]") == ["d/a[*][[]1]/**"]
    with pytest.raises(RequestError):
        here_globs({"roots": roots}, "/elsewhere")


def test_a_path_from_here_is_made_absolute_with_its_lines(tmp_path):
    """Only what is a file from the current directory is taken for one."""
    (tmp_path / "a.md").write_text("x")
    assert from_here("a.md", str(tmp_path)) == f"{tmp_path}/a.md"
    assert from_here("a.md#L1-L2", str(tmp_path)) == f"{tmp_path}/a.md#L1-L2"
    assert from_here("b.md#L1-L2", str(tmp_path)) is None


def test_what_only_an_owner_is_told_is_refused_to_others_by_name():
    """Where the daemon takes the caller for somebody else, the command says whose it is."""
    house = SmallHouse({"a.md": "text\n"})

    class Told:
        def __init__(self, caller):
            self.caller = caller

        def call(self, method, params=None):
            return house.service.call(self.caller, method, params or {})

    assert owner_status(Told(OWNER), "doctor")["roots"]
    with pytest.raises(ForbiddenError, match="doctor is for the daemon's owner only"):
        owner_status(Told(guest()), "doctor")
