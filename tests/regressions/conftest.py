"""One daemon for the tests of a module that only need some folder of notes."""

import pytest

from tests.fakes.watched_notes import Notes


@pytest.fixture(scope="module")
def notes(request, tmp_path_factory):
    """Start a daemon over the files that the module's `FILES` names, with its `OPTIONS`."""
    module = request.module
    made = Notes(tmp_path_factory.mktemp("notes"), **getattr(module, "OPTIONS", {}))
    for name, text in getattr(module, "FILES", {}).items():
        made.write(name, text)
    yield made.start()
    made.close()


@pytest.fixture
def own_notes(tmp_path):
    """Give a folder for a daemon that the test starts itself."""
    made = Notes(tmp_path)
    yield made
    made.close()
