"""After any history of changes the index is what an empty store would give for the present tree."""

import pytest

from tests.fakes.sync_rig import Rig
from tests.fakes.tree_history import History


@pytest.mark.parametrize("seed", range(4))
def test_a_watched_history_leaves_the_index_of_a_fresh_start(tmp_path, seed):
    """Under a running daemon, asked now and then: the digest equals that of a scratch index."""
    with Rig(tmp_path) as rig:
        rig.start()
        history = History(rig.root, tmp_path / "outside", seed)
        for turn in range(8):
            for _ in range(history.random.randrange(1, 25)):
                history.step()
            rig.settle()
            assert rig.digest() == rig.scratch_digest(tmp_path / f"scratch{turn}"), turn


@pytest.mark.parametrize("seed", range(4))
def test_an_unwatched_history_leaves_the_index_of_a_fresh_start(tmp_path, seed):
    """With nobody watching, one shot after each stretch of changes gives the same."""
    with Rig(tmp_path, watch=False) as rig:
        history = History(rig.root, tmp_path / "outside", 100 + seed)
        for turn in range(8):
            for _ in range(history.random.randrange(1, 40)):
                history.step()
            rig.loop.sync_once()
            assert rig.digest() == rig.scratch_digest(tmp_path / f"scratch{turn}"), turn


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_a_long_watched_history_with_restarts_leaves_the_index_of_a_fresh_start(tmp_path, seed):
    """Changes, restarts and changes while nobody runs, in any order."""
    with Rig(tmp_path) as rig:
        rig.start()
        history = History(rig.root, tmp_path / "outside", 1000 + seed)
        for _ in range(12):
            if history.random.random() < 0.2:
                rig.close()
                for _ in range(20):
                    history.step()
                rig.open().start()
            for _ in range(history.random.randrange(1, 60)):
                history.step()
            rig.settle()
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")
