"""Every error that indexerd raises on purpose, grouped by what the caller can do about it.

Owns: the exception tree. A class exists only where some caller acts differently on it.
Knows nothing of: everything else.
Invariants: 1. each message says what, where, and what now. 2. details are fields, never parsed from messages.
Purity: pure.
See: docs/protocol.md (errors), docs/operations.md (what to do).
"""

from collections.abc import Sequence


class IndexerdError(Exception):
    """Root of everything raised on purpose. Anything else that escapes is a bug."""


class ConfigError(IndexerdError):
    """The settings are wrong: fix them. Lists every problem found, not only the first."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class RequestError(IndexerdError):
    """The request is wrong: fix the request. `code` is stable and listed in docs/protocol.md."""

    code = "invalid_request"


class InputError(RequestError):
    """What a file holds that was named is wrong: mend the file. Lists every problem found, not only the first."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class UnknownFieldError(RequestError):
    """A request names a field that the method does not have; nothing was done."""

    code = "unknown_field"

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        super().__init__(message)


class NotFoundError(RequestError):
    """What the request names does not exist here (a document, a generation, a method)."""

    code = "not_found"


class ForbiddenError(RequestError):
    """The caller may not ask for this."""

    code = "forbidden"


GENERATION_CODES = ("generation_not_kept", "generation_damaged", "other_store")


class GenerationError(RequestError):
    """An older generation cannot be answered from: ask for another one, or for the current one.

    Attributes:
        code: One of `GENERATION_CODES`.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class BudgetError(RequestError):
    """The evidence budget cannot hold the guard: raise the budget."""

    code = "budget_too_small"


class StillIndexedError(RequestError):
    """What was to be erased is indexed: remove the file, exclude it, or keep its current version."""

    code = "still_indexed"


class FrameTooLargeError(RequestError):
    """A message is longer or deeper than the limits: send a smaller one. The connection is closed."""

    code = "too_large"


class BusyError(IndexerdError):
    """A limit on connections or requests is reached: try again later (exit status 75)."""


class UnreachableError(IndexerdError):
    """No daemon answers at that socket: start one, or name another (exit status 3)."""


class SeveralDaemonsError(UnreachableError):
    """Several daemons run and nothing tells which is meant: name one. Lists them."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class StoreError(IndexerdError):
    """The state directory cannot be used as asked."""


class StoreLockedError(StoreError):
    """Another process writes to this state directory: use its daemon, or stop it (exit status 75)."""


class ForeignStoreError(StoreError):
    """The state directory belongs to another set of roots: name another one."""


class FormatVersionError(StoreError):
    """The file was written by another format version: rebuild.

    Attributes:
        found: Version in the file.
        supported: Version this program reads and writes.
    """

    def __init__(self, where: str, found: int, supported: int) -> None:
        self.where, self.found, self.supported = where, found, supported
        super().__init__(f"{where}: format version {found}, this program supports {supported}; the index is rebuilt")


class CorruptionError(StoreError):
    """Stored bytes are not what was written: fall back or rebuild, never use them.

    Attributes:
        where: The file's name inside the state directory.
        detail: What was expected and what was found.
    """

    def __init__(self, where: str, detail: str) -> None:
        self.where, self.detail = where, detail
        super().__init__(f"{where}: {detail}")


class PublishConflictError(StoreError):
    """Another generation was published since this one was prepared: prepare again."""


class DurabilityUnknownError(StoreError):
    """The new state is visible, but the disk did not confirm it: keep serving, never roll back."""


class ShutdownError(IndexerdError):
    """The daemon is stopping: ask the next one."""
