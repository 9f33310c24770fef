"""Retrievers for other programs' frameworks; each module needs the framework it is named after.

See: docs/python.md.
"""
