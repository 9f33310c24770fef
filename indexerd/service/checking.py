"""`check`: an answer held to the evidence it was given, each chunk of it proved anew; or claims held to passages.

Owns: what is read to prove a block, and whether it may still be evidence for this caller today.
Knows nothing of: how a claim is judged.
Invariants: 1. nothing is remembered between calls: the evidence is handed back, and its id computed anew. 2. a document
    that the caller may not see, or that its paths leave out, answers like one
    that is gone. 3. no file is read that is not indexed.
Purity: shell (reads sources).
See: docs/grounding.md, docs/protocol.md (check).
"""

import datetime
from collections.abc import Callable, Mapping, Sequence

from indexerd.access.globs import chooser
from indexerd.access.rights import Rights, is_valid
from indexerd.analysis import known_language
from indexerd.errors import RequestError, ShutdownError
from indexerd.grounding import Support, check_answer, evidence_of, structured_answer, support_of, text_answer
from indexerd.grounding.answers import EvidenceBlock
from indexerd.grounding.checking import Judge, Proof
from indexerd.grounding.reporting import Age, fixed_structure, fixed_text, judged_pair, report_json
from indexerd.model import Citation, SourcePath, parse_citation
from indexerd.ports import SourceFault
from indexerd.protocol import PROTOCOL_VERSION
from indexerd.protocol.fields import Fields
from indexerd.protocol.messages import Payload
from indexerd.search.eligibility import is_superseded
from indexerd.search.rights import Caller as SearchCaller
from indexerd.service.callers import Caller
from indexerd.service.disagreeing import age, conflicts_between
from indexerd.service.lines import Lines
from indexerd.service.parts import Parts
from indexerd.service.paths import named_source, read_as
from indexerd.service.rendering import Json
from indexerd.service.verdict import verdict_on_lines


class Checking:
    """Answers `check`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def check(self, caller: Caller, params: Payload) -> Json:
        """Check an answer, or pairs of claims and passages.

        Raises:
            RequestError: Neither is given as docs/protocol.md says.
        """
        fields = Fields(params)
        pairs, language = fields.tables("claims"), fields.text("language")
        answer, evidence, fix = fields.text_or_table("answer"), fields.table("evidence"), fields.flag("fix")
        roles, as_of = caller.acting_roles(fields.maybe_texts("roles")), fields.date("as_of")
        chooses = chooser(fields.texts("paths"))
        fields.close()
        language = known_language(language or self._parts.settings.language)
        if pairs is not None:
            results = [judged_pair(pair, language) for pair in pairs if self._goes_on()]
            return {"protocol": PROTOCOL_VERSION, "results": results}
        if answer is None or evidence is None:
            raise RequestError("check needs 'answer' and 'evidence' (the reply of evidence), or 'claims'")
        proving = _Proving(self._parts, caller, roles, as_of or self._parts.clock.today(), chooses)

        def judge(said: str, passages: Sequence[str]) -> Support:
            self._goes_on()
            return support_of(said, passages, language)

        return _checked(answer, evidence, proving, judge, fix=fix)

    def _goes_on(self) -> bool:
        """Give a check up when the process ends: there may be thousands of claims left.

        Raises:
            ShutdownError: It does.
        """
        if self._parts.is_ending():
            raise ShutdownError("the daemon is stopping")
        return True


class _Proving:
    """What stands today, for one caller, where blocks were cut from; `ages` are those of the sources it read."""

    def __init__(
        self,
        parts: Parts,
        caller: Caller,
        roles: frozenset[str],
        day: datetime.date,
        chooses: Callable[[str], bool],
    ) -> None:
        self._parts, self._caller, self._roles, self._day, self._chooses = parts, caller, roles, day, chooses
        self._ages: dict[str, Age] = {}

    def age(self, source: str) -> Age:
        """Return what tells how old a source is that was read."""
        return self._ages.get(source, Age())

    def prove(self, block: EvidenceBlock) -> Proof:
        """Say what the source of a block holds now."""
        cited = self._indexed(block)
        if cited is None:
            return Proof("gone")
        found, own = read_as(self._parts, self._caller, cited.source_path, self._roles, None)
        if isinstance(found, SourceFault):
            return Proof("gone", "" if found.code == "source_missing" else found.detail)
        if not is_valid(own, self._day) or own.unsafe or self._is_superseded(cited.source_path, own):
            return Proof("not_valid")
        self._ages[block.citation.rpartition("#")[0]] = age(own, found.stat.mtime_ns)
        return _now(cited, found.data)

    def _is_superseded(self, path: SourcePath, own: Rights) -> bool:
        parts = self._parts
        asker = SearchCaller(self._roles, self._day, safe=True)
        return is_superseded(path, own, parts.store.snapshot(), asker, parts.access, held=parts.sync.held())

    def _indexed(self, block: EvidenceBlock) -> Citation | None:
        """Return what a block cites, with its hash, if it is a document of this index that may be chosen."""
        cited = parse_citation(f"{block.citation}@sha256:{block.content_hash}")
        if cited is None or cited.content_hash is None:
            return None
        try:
            path = named_source(self._parts, cited.source_path)
        except RequestError:
            return None
        if not self._chooses(path) or self._parts.store.snapshot().find(path) is None:
            return None
        return Citation(source_path=path, span=cited.span, content_hash=cited.content_hash)


def _checked(
    given: str | Mapping[str, object], reply: Mapping[str, object], proving: _Proving, judge: Judge, *, fix: bool
) -> Json:
    answer = text_answer(given) if isinstance(given, str) else structured_answer(given)
    evidence = evidence_of(reply)
    report = check_answer(answer, evidence, proving.prove, judge)
    result: Json = {"protocol": PROTOCOL_VERSION, **report_json(report, answer)}
    result["conflicts"] = conflicts_between(report.holding, proving.age)
    if fix:
        result["fixed"] = fixed_text(answer, report) if answer.text else fixed_structure(answer, report)
    return result


def _now(cited: Citation, data: bytes) -> Proof:
    verdict = verdict_on_lines(cited, Lines(data))
    moved = verdict["moved_to"]
    where = str(moved[0]).partition("@")[0] if isinstance(moved, list) and moved else ""
    match verdict["state"]:
        case "fresh":
            return Proof("fresh")
        case "moved":
            return Proof("moved", where)
        case _:
            return Proof("changed")
