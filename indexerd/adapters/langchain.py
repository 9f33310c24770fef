"""A LangChain retriever over an index: proved, cited blocks as documents.

Owns: the form of a LangChain document.
Knows nothing of: how evidence is chosen.
Invariants: 1. one document a block, in order; none where the index abstains.
Purity: shell (asks the index).
See: docs/python.md. Needs langchain-core.
"""

from collections.abc import Mapping

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from indexerd.adapters.blocks import cited_texts
from indexerd.api import Index


class IndexerdRetriever(BaseRetriever):
    """Retrieves evidence.

    Attributes:
        index: What `indexerd.open` returned; the caller closes it.
        params: Further parameters of `evidence`, such as `k`, `budget_chars`, `paths`, `roles`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    index: Index
    params: Mapping[str, object] = Field(default_factory=dict)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        _ = run_manager
        found = cited_texts(self.index.evidence(query, **self.params))
        return [Document(id=one.key, page_content=one.text, metadata=one.metadata) for one in found]
