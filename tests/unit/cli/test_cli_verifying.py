"""Which file a citation names where there is no index, and what is said of it."""

import hashlib

import pytest

from indexerd.cli.citing import describe_verdict, path_from_here, verified
from indexerd.cli.place import Place, Selection
from indexerd.config import find_places
from indexerd.errors import RequestError, UnreachableError

TEXT = "the quokka\n"
HASH = hashlib.sha256(TEXT.encode()).hexdigest()


@pytest.fixture
def place(tmp_path):
    """A user who has no index and no daemon, in a folder with one file."""
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    (tmp_path / "a.md").write_text(TEXT)
    return Place(environ=environ, cwd=str(tmp_path), uid=1000, places=find_places(environ, 1000))


def test_a_path_is_meant_as_typed_before_it_is_meant_as_spelled(tmp_path):
    """Citations percent-encode some names: both forms lead to the file, and the typed one wins."""
    assert path_from_here("x%41.md", str(tmp_path)) == f"{tmp_path}/x%41.md"
    (tmp_path / "line\nbreak.md").touch()
    assert path_from_here("line%0Abreak.md", str(tmp_path)) == f"{tmp_path}/line\nbreak.md"
    (tmp_path / "line%0Abreak.md").touch()
    assert path_from_here("line%0Abreak.md", str(tmp_path)) == f"{tmp_path}/line%0Abreak.md"


@pytest.mark.parametrize(("path", "state"), [("a.md", "fresh"), ("./b/../a.md", "fresh"), ("b/a.md", "gone")])
def test_a_plain_file_is_verified_by_itself(place, path, state):
    """No profile, no index, no daemon: the file is all there is."""
    result = verified(f"{path}#L1-L1@sha256:{HASH}", Selection(), place)
    assert (result["state"], result["source_path"]) == (state, path)


def test_of_what_is_gone_it_is_said_where_it_was_looked_for(place):
    """A citation from a folder that one is not in leads nowhere."""
    result = verified(f"notes/a.md#L1-L1@sha256:{HASH}", Selection(), place)
    assert describe_verdict(result) == f"gone (looked at {place.cwd}/notes/a.md)"


def test_flags_mean_their_watch_set_and_no_other_file(place):
    """A file that lies about is no answer where a profile was named."""
    with pytest.raises(UnreachableError):
        verified(f"a.md#L1-L1@sha256:{HASH}", Selection(profile="nobody"), place)


@pytest.mark.parametrize("citation", ["a.md", "a.md#L1-L1", "a.md#L2-L1@sha256:" + HASH])
def test_what_is_no_full_citation_is_refused(place, citation):
    """Without a hash there is nothing to verify."""
    with pytest.raises(RequestError):
        verified(citation, Selection(), place)
