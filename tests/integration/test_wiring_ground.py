"""Roots and state directories are looked at before anything is built on them, and every problem is told at once."""

import os

import pytest

from indexerd.access.rights import AccessRules
from indexerd.config import Config, Roles, Socket
from indexerd.errors import ConfigError, ForeignStoreError, NotFoundError, StoreLockedError
from indexerd.model import Root, Settings
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.wiring.ground import check_ground, stored_roots
from indexerd.wiring.house import Patience, build, open_local
from indexerd.wiring.people import admission_of
from indexerd.wiring.reading import open_reading
from tests.fakes.daemon_process import PATIENCE_SECONDS
from tests.fakes.plain_user import plain_user_folder


def config(tmp_path, *roots, **more):
    """Return a configuration for some folders below the test's."""
    named = tuple(Root(label=f"r{n}", path=str(root), prefixed=len(roots) > 1) for n, root in enumerate(roots))
    fields = {"state_dir": str(tmp_path / "state"), "socket": Socket(path=str(tmp_path / "s.sock")), **more}
    return Config(profile="p", roots=named, settings=Settings(), access=AccessRules(), **fields)


def problems(given, known=()):
    with pytest.raises(ConfigError) as caught:
        check_ground(given, known)
    return caught.value.problems


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("quokka\n")
    return folder


def test_every_problem_is_told_at_once(tmp_path, docs):
    """A file, a missing folder, a folder twice, and one in another."""
    (docs / "sub").mkdir()
    (tmp_path / "link").symlink_to("docs")
    (tmp_path / "file").write_text("x")
    told = problems(config(tmp_path, docs, docs / "sub", tmp_path / "link", tmp_path / "file", tmp_path / "missing"))
    expected = ("file is not a folder", "missing does not exist", "same folder", "sub lies in root")
    for part in expected:
        assert any(part in problem for problem in told), part


def test_no_root_at_all_is_a_problem(tmp_path):
    """There is nothing to watch."""
    assert "no root" in problems(config(tmp_path))[0]


def test_a_missing_root_that_the_store_knows_is_waited_for(tmp_path, docs):
    """Not to find a root proves nothing; on first sight it is a mistake."""
    gone = tmp_path / "gone"
    check_ground(config(tmp_path, docs, gone), [Root(label="g", path=str(gone))])
    assert "does not exist" in problems(config(tmp_path, docs, gone))[0]


def test_a_root_in_the_state_directory_is_refused_and_the_other_way_round_is_not(tmp_path, docs):
    """The index never indexes itself; a state directory below a root is left out of it."""
    state = tmp_path / "state"
    (state / "inner").mkdir(parents=True, mode=0o700)
    state.chmod(0o700)
    assert "lies in the state directory" in problems(config(tmp_path, state / "inner"))[0]
    assert "is the state directory itself" in problems(config(tmp_path, state))[0]
    with open_local(config(tmp_path, docs, state_dir=str(docs / ".state"))) as house:
        report = house.call("sync")
        assert (report["documents_added"], report["documents_skipped"]) == (1, [])


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_a_state_directory_that_others_can_write_is_refused(tmp_path, docs, mode):
    """What it says is believed at the next start."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(mode)
    assert "written by others" in problems(config(tmp_path, docs))[0]


def test_a_state_directory_is_made_private(tmp_path, docs):
    """It holds the text of every document."""
    (tmp_path / "state").mkdir(mode=0o755)
    with open_local(config(tmp_path, docs)):
        assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_a_state_directory_that_is_a_file_is_refused(tmp_path, docs):
    """Nothing is overwritten."""
    (tmp_path / "state").write_text("precious")
    assert "is not a folder" in problems(config(tmp_path, docs))[0]


def test_a_state_directory_that_is_a_link_is_refused(tmp_path, docs):
    """Wherever it leads, be it nowhere: the folder itself is to be named."""
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    for target in ("elsewhere", "nowhere"):
        (tmp_path / "state").symlink_to(target)
        (problem,) = problems(config(tmp_path, docs))
        assert problem.endswith("state is a link: name the folder that it leads to")
        (tmp_path / "state").unlink()


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="makes a directory of another user")
def test_a_state_directory_of_another_user_is_refused(tmp_path, docs):
    """Another user could change it below us."""
    (tmp_path / "state").mkdir(mode=0o700)
    os.chown(tmp_path / "state", 65534, 65534)
    assert "belongs to user 65534" in problems(config(tmp_path, docs))[0]


def test_an_unreadable_root_is_a_problem_on_first_sight_and_waited_for_later():
    """Permission is told with its cause; a root that the store knows may come back."""
    with plain_user_folder() as folder:
        (folder / "shut").mkdir(mode=0)
        given = config(folder, folder / "shut")
        assert "cannot be read: Permission denied" in problems(given)[0]
        check_ground(given, given.roots)


def test_unknown_users_and_groups_are_all_named(tmp_path, docs):
    """A mapping that names nobody would silently admit nobody."""
    roles = Roles(users=(("no-such-user", ("a",)), ("0", ("b",))), groups=(("no-such-group", ("c",)),))
    with pytest.raises(ConfigError) as caught:
        admission_of(config(tmp_path, docs, roles=roles))
    assert len(caught.value.problems) == 2


def test_local_work_syncs_by_itself_answers_and_remembers_its_roots(tmp_path, docs):
    """A query without a daemon is answered from what is there now."""
    given = config(tmp_path, docs)
    assert stored_roots(given.state_dir) == ()
    with open_local(given) as house:
        found = house.call("query", {"text": "quokka"})
        assert [hit["source_path"] for hit in found["hits"]] == ["a.md"]
        assert found["freshness"]["state"] == "current"
    (docs / "a.md").write_text("wombat\n")
    with open_local(given) as house:
        assert house.call("query", {"text": "quokka"})["hits"] == []
        assert len(house.call("query", {"text": "wombat"})["hits"]) == 1
    assert [root.path for root in stored_roots(given.state_dir)] == [str(docs)]


def test_a_store_is_written_by_one_and_read_beside_him(tmp_path, docs):
    """The second writer is refused; a reader gets the published generation and never calls it current."""
    given = config(tmp_path, docs)
    with open_local(given) as house:
        assert open_reading(given) is None
        house.call("sync")
        with pytest.raises(StoreLockedError):
            build(given)
        reading = open_reading(given)
        found = reading.call("query", {"text": "quokka"})
        assert (len(found["hits"]), found["freshness"]["state"]) == (1, "pending")
        assert reading.call("documents")["documents"][0]["source_path"] == "a.md"
        status = reading.call("status")
        assert (status["documents"], status["replay_from"]) == (1, 1)
        with pytest.raises(StoreLockedError):
            reading.call("sync")
        with pytest.raises(NotFoundError):
            reading.call("show", {"citation": "no.md#L1-L1"})


def test_a_state_directory_of_other_roots_is_refused(tmp_path, docs):
    """One set's index is never reused for another."""
    with open_local(config(tmp_path, docs)) as house:
        house.call("sync")
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(ForeignStoreError, match="docs"):
        open_local(config(tmp_path, other))
    with open_local(config(tmp_path, docs)) as house:
        assert house.call("status")["documents"] == 1


def test_a_form_of_names_once_made_stays(tmp_path, docs):
    """A root indexed alone keeps its bare names when another joins; the new one has its label."""
    with open_local(config(tmp_path, docs)) as house:
        house.call("sync")
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("quokka two\n")
    with open_local(config(tmp_path, docs, other)) as house:
        house.call("sync")
        assert [row["source_path"] for row in house.call("documents")["documents"]] == ["a.md", "r1/a.md"]


@pytest.fixture
def holder(tmp_path):
    """Another one who keeps the store."""
    held = RealStoreFilesystem.open_directory(str(tmp_path / "state"), create=True)
    assert held.lock()
    yield held
    held.close()


def test_a_store_that_is_held_is_waited_for(tmp_path, docs, holder):
    """Until it is let go."""
    looks = []

    def let_go_at_the_third_look():
        looks.append(len(looks))
        if len(looks) == 3:
            holder.close()
        return False

    with build(config(tmp_path, docs), patience=Patience(PATIENCE_SECONDS, let_go_at_the_third_look)) as house:
        house.call("sync")
    assert len(looks) == 3


def test_nobody_waits_for_a_store_that_a_daemon_has_come_to_keep(tmp_path, docs, holder):
    """Whoever waits looks for one each time: it is to be asked, not outwaited."""
    answers = iter([False, False, True])
    with pytest.raises(StoreLockedError):
        build(config(tmp_path, docs), patience=Patience(float("inf"), lambda: next(answers)))
    assert next(answers, "all were asked") == "all were asked"
