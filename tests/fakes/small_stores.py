"""Small stores for tests: segments from text, publishes in one line, the content as one digest."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from indexerd.indexing import build_segment, settings_fingerprint
from indexerd.model import Root, Settings, SourcePath
from indexerd.store import Change, Snapshot, Store, Versions, open_store
from indexerd.store.dump import canonical_digest
from indexerd.store.segment import Segment
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem
from tests.fakes.manual_clock import ManualClock

SETTINGS = Settings()
FINGERPRINT = settings_fingerprint(SETTINGS)
VERSIONS = Versions("test analyzer", 1)
ROOTS = (Root(label="docs", path="/docs"),)


def make_segment(files: Mapping[str, str | bytes], deleted: Sequence[str] = ()) -> Segment:
    return _segment(tuple(files.items()), tuple(deleted))


@lru_cache(maxsize=256)
def _segment(files: tuple[tuple[str, str | bytes], ...], deleted: tuple[str, ...]) -> Segment:
    named = [(SourcePath(path), text if isinstance(text, bytes) else text.encode()) for path, text in files]
    return build_segment(named, SETTINGS, [SourcePath(path) for path in deleted])


def opened(fs: ForgetfulFilesystem, clock: ManualClock | None = None, **options) -> Store:
    return open_store(
        fs, clock or ManualClock(), **{"durability": "checkpoint", "roots": ROOTS, "versions": VERSIONS, **options}
    )


def publish(store: Store, files: Mapping[str, str], deleted: Sequence[str] = (), **options) -> Snapshot:
    """Prepare and publish one segment, staged before if all is replaced; give up what was prepared if that fails."""
    change = Change(len(files), 0, len(deleted))
    segment = make_segment(files, deleted)
    staged = [store.stage(segment)] if options.get("replace_all") else []
    try:
        prepared = store.prepare(staged or [segment], settings=FINGERPRINT, change=change, **options)
        try:
            return store.publish(prepared)
        except OSError:
            store.abort(prepared)
            raise
    except OSError:
        store._staging.discard([one.ref.name for one in staged])
        raise


def content(snapshot: Snapshot) -> str:
    return canonical_digest(snapshot)


def rebuilt_content(files: Mapping[str, str]) -> str:
    """Return the content of a store into which these files were indexed from scratch."""
    store = opened(ForgetfulFilesystem())
    return content(publish(store, files)) if files else content(store.snapshot())
