"""A small library to search: documents in memory, in as many segments as a test likes."""

import datetime
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np

from indexerd.access.rights import AccessRules
from indexerd.indexing import build_segment
from indexerd.model import Settings, SourcePath
from indexerd.search import SearchRequest, evidence_request, search
from indexerd.store.parts import LiveSegment
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_sources import MemorySources

SETTINGS = Settings()
DAY = datetime.date(2026, 9, 6)


def live_segment(data, dead: frozenset[str] = frozenset(), key: object = None) -> LiveSegment:
    live = np.array([data.paths[i] not in dead for i in range(data.document_count)], dtype=np.bool_)
    return LiveSegment(data, live, key or object(), int(live.sum()), data.chunk_count, 0, 0)


def snapshot_of(segments: Sequence[LiveSegment]) -> SimpleNamespace:
    return SimpleNamespace(
        segments=tuple(segments), store_id="st_test", generation=7, durable=True, settings="settings"
    )


class Library:
    """Indexed documents and the sources they came from; the sources can be changed behind the index's back."""

    def __init__(
        self,
        files: Mapping[str, str | bytes],
        *,
        rules: AccessRules | None = None,
        settings: Settings = SETTINGS,
        groups: Sequence[Sequence[str]] | None = None,
    ) -> None:
        self.files = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
        self.rules, self.settings = rules or AccessRules(), settings
        self.sources, self.clock = MemorySources(self.files), ManualClock()
        self.held: frozenset[SourcePath] = frozenset()
        self.snapshot = snapshot_of([live_segment(self.build(group)) for group in groups or [list(self.files)]])

    def build(self, paths: Sequence[str]):
        return build_segment([(SourcePath(path), self.files[path]) for path in paths], self.settings)

    def query(self, text: str, **fields):
        return self.run(SearchRequest(text=text, **{"as_of": DAY, **fields}))

    def evidence(self, text: str, **fields):
        return self.run(evidence_request(text, **{"as_of": DAY, **fields}))

    def run(self, request: SearchRequest, **around):
        return search(
            self.snapshot,
            request,
            **{
                "rules": self.rules,
                "held": self.held,
                "sources": self.sources,
                "clock": self.clock,
                "settings": self.settings,
                **around,
            },
        )


def paths(outcome) -> list[str]:
    return [hit.source_path for hit in outcome.hits]
