"""`forget`: erasing a document that is gone, or its earlier versions, from everything that is kept.

Owns: when it is refused, and in which order traces are removed.
Knows nothing of: how a document is erased.
Invariants: 1. nothing is erased before everything written by now is published: what is still in hand would come back.
Purity: shell (through its parts).
See: docs/protocol.md (forget), docs/consistency.md (erasure).
"""

from indexerd.errors import BusyError, StoreError
from indexerd.protocol import PROTOCOL_VERSION
from indexerd.protocol.fields import Fields
from indexerd.protocol.messages import Payload
from indexerd.service.callers import Caller
from indexerd.service.parts import Parts
from indexerd.service.paths import named_source
from indexerd.service.rendering import Json

_PATIENCE_SECONDS = 10.0


def forget(parts: Parts, caller: Caller, params: Payload) -> Json:
    """Erase a document from every kept generation, or with `history` all versions of it but the current one.

    Raises:
        ForbiddenError: The caller is no owner.
        StillIndexedError: It is indexed, and `history` is not given.
        BusyError: The index does not become current. Try again.
        StoreError: It may not be gone from the disk. Try again.
    """
    fields = Fields(params)
    caller.require_owner("forget")
    source_path = named_source(parts, fields.required_text("source_path"))
    history = fields.flag("history")
    fields.close()
    if parts.sync.barrier(parts.clock.monotonic() + _PATIENCE_SECONDS).state != "current":
        raise BusyError("the index is not up to date yet, and what is on its way could bring the document back")
    try:
        # First, since the store makes what is removed stay removed.
        parts.sync.drop_fingerprints()
        erased = parts.store.erase(source_path, keep_current=history)
    except OSError as error:
        raise StoreError(f"{source_path!r} may still be on the disk: {error.strerror}; try again") from error
    return {
        "protocol": PROTOCOL_VERSION,
        "source_path": source_path,
        "generation": parts.store.snapshot().generation,
        **erased._asdict(),
    }
