"""The names of the state directory, and what each name says.

Owns: how a file is named and read back from its name.
Knows nothing of: what is inside a file, whether it exists.
Invariants: 1. `parse_name(name_of(x)) == x`. 2. a name that does not parse is not ours: it is never read, moved
    or removed. 3. no name holds a separator, so no name leaves the directory.
Purity: pure.
See: docs/on-disk-format.md (files).
"""

import re
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a numbered file is; the value is its ending."""

    SEGMENT = "segment"
    MANIFEST = "manifest"
    SLOT = "slot"


class SlotName(StrEnum):
    """The two files that are ever replaced; the value is the name."""

    LATEST = "latest"
    DURABLE = "durable"


class FileName(NamedTuple):
    """A numbered file: write-once, its name never used again.

    Attributes:
        kind: What it is. A numbered slot is one on its way to become `latest` or `durable`.
        serial: Number never used before in this store.
        digest: 16 bytes, hash of the whole file.
        damaged: Whether it was found damaged and is kept for a look (quarantine).
    """

    kind: Kind
    serial: int
    digest: bytes
    damaged: bool = False

    def __str__(self) -> str:
        return f"{self.serial:016x}-{self.digest.hex()}.{self.kind}{'.damaged' if self.damaged else ''}"


_NAME = re.compile(r"([0-9a-f]{16})-([0-9a-f]{32})\.(segment|manifest|slot)(\.damaged)?", re.ASCII)


def parse_name(name: str) -> FileName | SlotName | None:
    """Read a name back; None when it is not one of ours."""
    if name in (SlotName.LATEST, SlotName.DURABLE):
        return SlotName(name)
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return FileName(Kind(match[3]), int(match[1], 16), bytes.fromhex(match[2]), match[4] is not None)
