"""What is made when it is first asked for is made once."""

import threading

import pytest

from indexerd.sync.deferred import Deferred


def test_all_threads_get_the_one_value():
    """Whoever asks while it is being made waits for it."""
    made, begun, go_on = [], threading.Event(), threading.Event()

    def make():
        begun.set()
        assert go_on.wait(60)
        made.append(object())
        return made[-1]

    deferred, got = Deferred(make), []
    threads = [threading.Thread(target=lambda: got.append(deferred())) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    go_on.set()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert got == made * 4


def test_a_failure_is_tried_again():
    """The next who asks may have more luck."""
    results = iter([OSError(5, "EIO"), None])

    def make():
        result = next(results)
        if result is not None:
            raise result

    deferred = Deferred(make)
    with pytest.raises(OSError, match="EIO"):
        deferred()
    assert deferred() is None
    assert deferred() is None
