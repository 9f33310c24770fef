"""Text to terms, for documents and queries alike.

Owns: the public face of the analyzer and its version.
Knows nothing of: documents, files, ranking.
Invariants: 1. index time and query time use the same spans, folding and stems. 2. any change in what is emitted for
    any text raises ANALYZER_VERSION.
Purity: pure.
See: docs/search.md (analysis).
"""

from indexerd.analysis.characters import UNICODE_VERSION
from indexerd.analysis.locating import locate, locate_each
from indexerd.analysis.query import QueryWord, analyze_query, name_key
from indexerd.analysis.stemming import LANGUAGES, NO_STEMMING, STEMMER_VERSION, known_language

ANALYZER_VERSION = 1

__all__ = [
    "ANALYZER_VERSION",
    "LANGUAGES",
    "NO_STEMMING",
    "STEMMER_VERSION",
    "UNICODE_VERSION",
    "QueryWord",
    "analyze_query",
    "known_language",
    "locate",
    "locate_each",
    "name_key",
]
