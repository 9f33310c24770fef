"""From the bytes of one document to chunks, names and metadata.

Owns: formats, front matter, chunks.
Knows nothing of: files, terms, the store, rights.
Invariants: see the modules; `parse.py` states those of the whole.
Purity: pure.
See: docs/search.md (chunks).
"""
