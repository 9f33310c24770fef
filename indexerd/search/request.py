"""What a caller may ask of the search room, as one frozen value.

Owns: the fields of a search, their defaults and their limits; reading a moment such as `7d` or `2026-01-31`.
Knows nothing of: wire formats, callers, generations (the snapshot is given), waiting.
Invariants: 1. a request that `problems` passes is never refused later, save for a budget that cannot hold the guard.
Purity: pure.
See: docs/protocol.md (query, evidence).
"""

import datetime
import re
from typing import Literal, NamedTuple

from indexerd.errors import RequestError

Sort = Literal["score", "modified", "path"]
SORTS: tuple[Sort, ...] = ("score", "modified", "path")

DEFAULT_BUDGET_CHARS = 12_000


class SearchRequest(NamedTuple):
    """One search.

    Attributes:
        text: Any string; it is never a grammar.
        k: Hits wanted; 0 for all.
        roles: Roles the caller acts under.
        as_of: Day on which documents must be valid; None for today.
        paths: Globs, any of which must match; one that begins with `!` excludes.
        tags: All must be there, without regard to case; `a` also admits the nested tag `a/b`.
        where: `(key, value)` pairs on front matter: any of the values of one key, every key.
        since_ns: Modified at or after this moment (nanoseconds since 1970).
        until_ns: Modified before this moment.
        must: Texts whose every word the passage must hold (stems count).
        phrase: Texts whose words must stand side by side in the passage or its title.
        exclude: Texts of which no word may stand anywhere in the document, as written.
        prefix: The last word of `text` stands for every word that begins with it.
        sort: Order of the hits; `modified` is newest first.
        max_per_document: Hits that one document may give; 0 for any number.
        distinct: Whether equal text is given once.
        explain: Whether each hit carries the parts of its score.
        trace: Whether `document_limit` and `top_k_reached` are among the rejected.
        safe: Whether unsafe documents are withheld although it is not for evidence.
        evidence: Whether this is for a model: unsafe documents are withheld, abstention is possible, blocks are made.
        budget_chars: Hard limit on the prompt of an evidence request.
        budget_tokens: The same in tokens of the `estimate` tokenizer; None when characters count.
        context: Lines by which a block may be widened on each side to whole neighbouring chunks, or `section`.
        conflicts: Whether what the blocks disagree on is said; found by the service.
        min_coverage: Least idf share of the query's words that a passage must hold, 0 to 1.
    """

    text: str
    k: int = 10
    roles: frozenset[str] = frozenset()
    as_of: datetime.date | None = None
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    where: tuple[tuple[str, str], ...] = ()
    since_ns: int | None = None
    until_ns: int | None = None
    must: tuple[str, ...] = ()
    phrase: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    prefix: bool = False
    sort: Sort = "score"
    max_per_document: int = 3
    distinct: bool = True
    explain: bool = False
    trace: bool = False
    safe: bool = False
    evidence: bool = False
    budget_chars: int = DEFAULT_BUDGET_CHARS
    budget_tokens: int | None = None
    context: int | Literal["section"] = 0
    min_coverage: float = 0.0
    conflicts: bool = False

    @property
    def is_filtered(self) -> bool:
        """Whether anything but text, roles, day and safety decides which passages are eligible."""
        filters = (self.paths, self.tags, self.where, self.must, self.phrase, self.exclude)
        return any(filters) or self.since_ns is not None or self.until_ns is not None


def evidence_request(text: str, **changes: object) -> SearchRequest:
    """Return a request with the defaults for evidence: 8 hits, two a document."""
    defaults: dict[str, object] = {"k": 8, "max_per_document": 2, "evidence": True}
    return SearchRequest(text=text, **(defaults | changes))  # type: ignore[arg-type]


_AGE = re.compile(r"(?P<count>[0-9]{1,6})(?P<unit>[smhdwy])")
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_557_600}


def moment_ns(text: str, now_ns: int) -> int:
    """Read an age (`90s`, `7d`, `2w`) or an ISO date or time (local unless it names a zone).

    Raises:
        RequestError: It is neither; give one of the two forms.
    """
    age = _AGE.fullmatch(text.strip())
    if age:
        return now_ns - int(age["count"]) * _UNIT_SECONDS[age["unit"]] * 1_000_000_000
    try:
        moment = datetime.datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError) as error:
        message = f"{text!r} is neither an age such as 7d nor an ISO date such as 2026-01-31"
        raise RequestError(message) from error
    return int(moment * 1_000_000_000)
