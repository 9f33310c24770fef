"""`status` and `sync`: what the index is in, and bringing it up to date.

Owns: the shape of both results, and what of them is for the owner only.
Knows nothing of: how the sync works.
Invariants: 1. `status` answers at any time, also while the first index is built.
Purity: shell (through its parts).
See: docs/protocol.md (status, sync, metrics), docs/operations.md.
"""

from collections.abc import Sequence

from indexerd import __version__
from indexerd.errors import StoreLockedError
from indexerd.protocol import PROTOCOL_VERSION
from indexerd.protocol.fields import Fields
from indexerd.protocol.messages import Payload
from indexerd.service.callers import Caller
from indexerd.service.parts import Parts
from indexerd.service.rendering import Json, moment, printable_path
from indexerd.service.visibility import Visibility
from indexerd.sync.status import Named, SyncReport, SyncStatus

_MOST_NAMED = 200
# What one message can carry for certain.
_MOST_REPORTED = 10_000


class Condition:
    """Answers `status` and `sync`."""

    def __init__(self, parts: Parts, visibility: Visibility) -> None:
        self._parts = parts
        self._visibility = visibility

    def status(self, caller: Caller, params: Payload) -> Json:
        """Say in which state the index is and why."""
        Fields(params).close()
        status, snapshot = self._parts.sync.status(), self._parts.store.snapshot()
        clock = self._parts.clock
        today = clock.today()
        result: Json = {"protocol": PROTOCOL_VERSION, "state": status.state}
        # Which day a document must be valid on, and where that day begins, is the same for everybody.
        result |= {"today": today.isoformat(), "time_zone": clock.time_zone()}
        if not caller.is_owner:
            # Counts and names would tell others about documents that they may not see.
            return result | {"generation": self._visibility.number(snapshot, caller.roles, today)}
        return result | {"generation": snapshot.generation} | self._for_owner(caller, status)

    def _for_owner(self, caller: Caller, status: SyncStatus) -> Json:
        snapshot, identity = self._parts.store.snapshot(), self._parts.identity
        withheld = self._visibility.withheld(snapshot)
        try:
            kept = self._parts.store.past().generations()
        except StoreLockedError:
            # Who reads beside the writer does not know what that keeps.
            kept = ()
        return {
            "durable_generation": max((info.generation for info in kept if info.durable), default=0),
            "documents": snapshot.document_count,
            "chunks": snapshot.chunk_count,
            "unsafe": snapshot.unsafe_chunk_count,
            "needs_role": self._visibility.needing_role(snapshot, caller.roles),
            "settings": snapshot.settings,
            "store_id": snapshot.store_id,
            "roots": self._roots(status),
            "pending": status.pending,
            "reconciled_age_s": _rounded(status.reconciled_age_seconds),
            "overflows": status.overflows,
            "watches": status.watches,
            "skipped": len(status.skipped),
            "skipped_files": _named(status.skipped),
            "held": len(status.held),
            "held_files": _named(status.held),
            "withheld": withheld,
            "withheld_files": [
                {"source_path": path, "reason": reason}
                for path, reason in sorted(self._visibility.why_withheld(snapshot, _MOST_NAMED if withheld else 0))
            ],
            "idle_rules": self._visibility.idle_rules(snapshot) if snapshot.document_count else [],
            "replay_from": min((info.generation for info in kept), default=None),
            "progress": status.progress._asdict() if status.progress is not None else None,
            "problems": [
                {"code": p.code, "since": moment(p.since_ns), "count": p.count, "detail": printable_path(p.detail)}
                for p in status.problems
            ],
            "profile": identity.profile,
            "socket": printable_path(identity.socket) if identity.socket is not None else None,
            "state_dir": printable_path(identity.state_dir),
            "pid": identity.pid,
            "version": __version__,
            **self._parts.extra_status(),
        }

    def _roots(self, status: SyncStatus) -> list[Json]:
        prefixed = {root.label: root.prefixed for root in self._parts.roots}
        return [
            {
                "label": root.label,
                "path": printable_path(root.path),
                "state": root.state,
                "prefixed": prefixed.get(root.label, False),
            }
            for root in status.roots
        ]

    def sync(self, caller: Caller, params: Payload) -> Json:
        """Look at everything or at some paths now, and publish what changed.

        Raises:
            ForbiddenError: The caller is no owner.
            NotFoundError: A path lies below no root.
        """
        fields = Fields(params)
        caller.require_owner("sync")
        named = fields.maybe_texts("paths")
        fields.close()
        return report_fields(self._parts.sync.sync_once(named))


def report_fields(report: SyncReport) -> Json:
    """Return what one run of the sync did."""
    return {
        "protocol": PROTOCOL_VERSION,
        "generation": report.generation,
        "durable": report.durable,
        "documents_added": report.added,
        "documents_updated": report.updated,
        "documents_unchanged": report.unchanged,
        "documents_deleted": report.deleted,
        "documents_skipped": [entry._asdict() for entry in report.skipped[:_MOST_REPORTED]],
        "documents_held": [entry._asdict() for entry in report.held[:_MOST_REPORTED]],
        "skipped_count": len(report.skipped),
        "held_count": len(report.held),
        "chunks_active": report.chunks_active,
        "unsafe_chunks": report.unsafe_chunks,
    }


def _named(entries: Sequence[Named]) -> list[Json]:
    return [entry._asdict() for entry in entries[:_MOST_NAMED]]


def _rounded(seconds: float | None) -> float | None:
    return round(seconds, 1) if seconds is not None else None
