"""A LlamaIndex retriever over an index: proved, cited blocks as nodes.

Owns: the form of a LlamaIndex node.
Knows nothing of: how evidence is chosen.
Invariants: 1. one node a block, in order; none where the index abstains.
Purity: shell (asks the index).
See: docs/python.md. Needs llama-index-core.
"""

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from indexerd.adapters.blocks import cited_texts
from indexerd.api import Index

# For those who print or filter; a model is told the rest by the text and its citation.
_NOT_FOR_MODELS = ["guard", "evidence_set_id", "score", "heading_path"]


class IndexerdRetriever(BaseRetriever):
    """Retrieves evidence."""

    def __init__(self, index: Index, **params: object) -> None:
        """Ask this index.

        Args:
            index: What `indexerd.open` returned; the caller closes it.
            params: Further parameters of `evidence`, such as `k`, `budget_chars`, `paths`, `roles`.
        """
        self._index, self._params = index, params
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = cited_texts(self._index.evidence(query_bundle.query_str, **self._params))
        return [
            NodeWithScore(
                node=TextNode(
                    id_=one.key,
                    text=one.text,
                    metadata=one.metadata,
                    excluded_llm_metadata_keys=_NOT_FOR_MODELS,
                    excluded_embed_metadata_keys=_NOT_FOR_MODELS,
                ),
                score=one.score,
            )
            for one in found
        ]
