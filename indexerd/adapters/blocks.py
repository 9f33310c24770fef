"""What an evidence reply gives a framework: texts with what is needed to cite them.

Owns: which fields travel with a text, and their names.
Knows nothing of: any framework.
Invariants: 1. a text is the exact lines of its citation. 2. no text where the reply abstains.
Purity: pure.
See: docs/python.md.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast


class CitedText(NamedTuple):
    """One block.

    Attributes:
        key: The chunk's id.
        metadata: `citation` (in full), `label`, `source`, `title`, `heading_path`, `score`, `evidence_set_id`, `guard`.
    """

    key: str
    text: str
    score: float
    metadata: dict[str, object]


def cited_texts(reply: Mapping[str, object]) -> Iterator[CitedText]:
    """Yield the blocks of an evidence reply in order."""
    if reply["abstained"]:
        return
    evidence = cast("Mapping[str, object]", reply["evidence"])
    for block in cast("list[Mapping[str, object]]", evidence["blocks"]):
        citation, score = str(block["citation"]), cast("float", block["score"])
        metadata = {
            "citation": f"{citation}@sha256:{block['content_hash']}",
            "source": citation.rpartition("#")[0],
            **{name: block[name] for name in ("label", "title", "heading_path")},
            "score": score,
            **{name: evidence[name] for name in ("evidence_set_id", "guard")},
        }
        yield CitedText(str(block["chunk_id"]), str(block["text"]), score, metadata)
