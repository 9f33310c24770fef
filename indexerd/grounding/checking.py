"""An answer held to its evidence: integrity of what it cites, support of what it says.

Owns: the issue codes of a check, which of them a claim gets, coverage, the verdict.
Knows nothing of: files, callers, how a citation is proved.
Invariants: 1. only what was selected into the evidence can support a claim, and where it does not cite it, only what
    holds. 2. integrity and support are judged
    apart: a perfect citation of a passage that says something else is `unsupported_claim`. 3. the same input gives
    the same report.
Purity: pure (proof is asked of a callable).
See: docs/grounding.md (check).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from indexerd.digests import content_hash, evidence_set_id
from indexerd.grounding.answers import Answer, AnswerCitation, AnswerClaim, Evidence, EvidenceBlock
from indexerd.grounding.claims import spoken
from indexerd.grounding.marks import folded, is_in, links, quotes
from indexerd.grounding.support import Support, support_of

# Words, and single characters of scripts that put no blanks between them.
_WORDS = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")

ProofState = Literal["fresh", "moved", "changed", "gone", "not_valid", "edited"]


class Proof(NamedTuple):
    """What a chunk's source holds now; `detail` names the new lines of one that moved.

    `edited`: its text is not what its hash says, whatever the source holds.
    """

    state: ProofState
    detail: str = ""


class Issue(NamedTuple):
    """One thing that is wrong, and with which claim; empty where it is the answer's."""

    code: str
    claim_id: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaim:
    """A claim and what came of it.

    Attributes:
        blocks: The selected blocks that it cites, in order.
        support: What they say of it; None where it cites none, or is no claim.
        found_in: Labels of other blocks that hold and support it where its own do not, or do not hold.
        right: Labels of the blocks that it may cite: its own where those that hold support it and have its
            quotations, else the first that does alone; of what is no claim those that hold.
    """

    claim: AnswerClaim
    blocks: tuple[EvidenceBlock, ...]
    support: Support | None
    found_in: tuple[str, ...]
    issues: tuple[Issue, ...]
    right: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a check.

    Attributes:
        evidence_set_id: Of the evidence handed in, computed anew.
        holding: The blocks that hold: only they may support what does not cite them, or be in a conflict.
        set_aside_count: How many do not.
        coverage: Share of the claims that are supported and cited without fault; 1 where there are none.
    """

    evidence_set_id: str
    claims: tuple[CheckedClaim, ...]
    issues: tuple[Issue, ...]
    coverage: float
    holding: tuple[EvidenceBlock, ...]
    set_aside_count: int

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.issues


Prove = Callable[[EvidenceBlock], Proof]
Judge = Callable[[str, Sequence[str]], Support]


# So many blocks that a claim does not cite are looked at for it: those that share most with it.
MOST_OTHERS = 8


def check_answer(answer: Answer, evidence: Evidence, prove: Prove, judge: Judge = support_of) -> Report:
    """Hold an answer to its evidence.

    Args:
        answer: What a model said.
        evidence: What it was given.
        prove: Says what the source of a block holds now; asked once for each block whose text is what its hash says.
        judge: Says whether passages support a claim.
    """
    by_label = {block.label: block for block in evidence.blocks}
    proofs = {block: _proof(block, prove) for block in dict.fromkeys(evidence.blocks)}
    holding = tuple(block for block in evidence.blocks if proofs[block].state == "fresh")
    likely = _Likely([block for block in by_label.values() if proofs[block].state == "fresh"])
    linked: dict[str, list[Issue]] = {}
    for issue in _unknown_links(answer, holding):
        linked.setdefault(issue.claim_id, []).append(issue)
    claims = tuple(
        replace(claim, issues=(*claim.issues, *linked.pop(claim.claim.claim_id, ())))
        for claim in (_checked(claim, by_label, proofs, likely, judge) for claim in answer.claims)
    )
    apart = (issue for rest in linked.values() for issue in rest)
    issues = (*_of_answer(answer, evidence), *apart, *(issue for claim in claims for issue in claim.issues))
    held = [claim for claim in claims if claim.claim.is_claim]
    good = sum(not claim.issues and claim.support is not None for claim in held)
    return Report(
        evidence_set_id=_id_of(evidence),
        claims=claims,
        issues=issues,
        coverage=good / len(held) if held else 1.0,
        holding=holding,
        set_aside_count=len(evidence.blocks) - len(holding),
    )


def _proof(block: EvidenceBlock, prove: Prove) -> Proof:
    is_whole = content_hash(block.text.encode("utf-8", "surrogatepass")).hex() == block.content_hash
    return prove(block) if is_whole else Proof("edited")


def _id_of(evidence: Evidence) -> str:
    cited = ((block.label, block.chunk_id, block.citation, block.content_hash) for block in evidence.blocks)
    return evidence_set_id(evidence.query, cited)


def _of_answer(answer: Answer, evidence: Evidence) -> Iterator[Issue]:
    """Find what is wrong with an answer as a whole."""
    named = {name for name in (answer.evidence_set_id, evidence.evidence_set_id) if name}
    if named - {_id_of(evidence)}:
        yield Issue("evidence_set_mismatch", "", "the answer is bound to another evidence set than the one handed in")
    has_claims = any(claim.is_claim for claim in answer.claims)
    if answer.abstained and has_claims:
        yield Issue("abstention_has_claims", "", "an answer that abstains makes no claims")
    if answer.abstained and not (answer.abstention_reason or "").strip():
        yield Issue("missing_abstention_reason", "", "an answer that abstains says why")
    if not answer.abstained and not has_claims:
        yield Issue("empty_answer", "", "no claim, and no abstention")
    if not answer.abstained and answer.abstention_reason is not None:
        yield Issue("unexpected_abstention_reason", "", "a reason to abstain, but the answer does not")


def _unknown_links(answer: Answer, holding: Sequence[EvidenceBlock]) -> Iterator[Issue]:
    """Find the links that no block which holds contains, each with the claim that has it."""
    known = "\n".join(f"{block.citation}\n{block.text}" for block in holding)
    if answer.text:
        found = [(_claim_at(answer, link.start), link.target) for link in links(answer.text)]
    else:
        found = [(claim.claim_id, link.target) for claim in answer.claims for link in links(claim.text)]
    for claim_id, target in dict.fromkeys(found):
        if not is_in(target, known):
            yield Issue("unknown_link", claim_id, f"{target} is in no cited source")


def _claim_at(answer: Answer, offset: int) -> str:
    return next((one.claim_id for one in answer.claims if one.start_char <= offset < one.end_char), "")


def _block(citation: AnswerCitation, by_label: Mapping[str, EvidenceBlock]) -> EvidenceBlock | None:
    """Return the selected block that is meant: by its label, else by its citation."""
    if citation.label:
        return by_label.get(citation.label)
    matching = (block for block in by_label.values() if _names(citation.citation, block))
    return next(matching, None) if citation.citation else None


def _names(citation: str, block: EvidenceBlock) -> bool:
    return citation in (block.citation, f"{block.citation}@sha256:{block.content_hash}")


class _Likely:
    """Which blocks share most words with a claim, rare ones weighing more; each block is read once."""

    def __init__(self, blocks: Sequence[EvidenceBlock]) -> None:
        self._blocks = blocks
        self._holding: dict[str, list[int]] = {}
        for at, block in enumerate(blocks):
            for word in dict.fromkeys(_WORDS.findall(block.text.lower())):
                self._holding.setdefault(word, []).append(at)

    def of(self, said: str, but: Sequence[EvidenceBlock]) -> list[EvidenceBlock]:
        """Return the likeliest that are not set aside, in the order of the evidence."""
        shares = dict.fromkeys((at for at, block in enumerate(self._blocks) if block not in but), 0.0)
        for word in dict.fromkeys(_WORDS.findall(said.lower())):
            holding = self._holding.get(word, ())
            for at in holding:
                if at in shares:
                    shares[at] += 1 / len(holding)
        likely = sorted(shares, key=lambda at: -shares[at])[:MOST_OTHERS]
        return [self._blocks[at] for at in sorted(likely)]


def _checked(
    claim: AnswerClaim,
    by_label: Mapping[str, EvidenceBlock],
    proofs: Mapping[EvidenceBlock, Proof],
    likely: _Likely,
    judge: Judge,
) -> CheckedClaim:
    if not claim.is_claim:
        labels = (citation.label for citation in claim.citations)
        kept = tuple(label for label in labels if label not in by_label or proofs[by_label[label]].state == "fresh")
        return CheckedClaim(claim=claim, blocks=(), support=None, found_in=(), issues=(), right=kept)
    issues = [Issue(code, claim.claim_id, detail) for code, detail in _integrity(claim, by_label, proofs)]
    found = (_block(citation, by_label) for citation in claim.citations)
    blocks = tuple({block.label: block for block in found if block is not None}.values())
    said = spoken(claim.text)
    support = judge(said, [block.text for block in blocks]) if blocks else None
    own = tuple(block for block in blocks if proofs[block].state == "fresh")
    held = support if own == blocks else judge(said, [block.text for block in own]) if own else None
    right, found_in = tuple(block.label for block in own), tuple[str, ...]()
    if not (held and bears(held) and _says(own, claim)):
        alone = own if len(own) > 1 else ()
        bearing = [
            one for one in (*alone, *likely.of(said, blocks)) if _says([one], claim) and bears(judge(said, [one.text]))
        ]
        found_in = tuple(block.label for block in bearing if block not in own)
        right = tuple(block.label for block in bearing[:1])
    if blocks and not _says(blocks, claim):
        issues.append(Issue("quote_not_in_evidence", claim.claim_id, "what it cites does not contain its quotation"))
    if support is not None and not bears(support):
        elsewhere = f"; {', '.join(found_in)} would" if found_in else ""
        issues.append(Issue("unsupported_claim", claim.claim_id, f"what it cites does not bear it{elsewhere}"))
    return CheckedClaim(
        claim=claim, blocks=blocks, support=support, found_in=found_in, issues=tuple(issues), right=right
    )


def _says(blocks: Sequence[EvidenceBlock], claim: AnswerClaim) -> bool:
    """Whether each of a claim's quotations is in one of the blocks."""
    return all(any(quotes(quote, block.text) for block in blocks) for quote in claim.quotes)


def bears(support: Support) -> bool:
    """Whether passages bear a claim. What they bear in part they do not bear."""
    return support.band == "supported"


def _integrity(
    claim: AnswerClaim, by_label: Mapping[str, EvidenceBlock], proofs: Mapping[EvidenceBlock, Proof]
) -> Iterator[tuple[str, str]]:
    if not claim.citations:
        yield "uncited_claim", "no citation"
    seen = set[AnswerCitation]()
    for citation in claim.citations:
        name = citation.label or citation.citation
        if citation in seen:
            yield "duplicate_citation", f"{name} is cited twice"
            continue
        seen.add(citation)
        block = _block(citation, by_label)
        if block is None:
            yield "unknown_citation", f"{name or 'a citation without label'} was not selected into the evidence"
        else:
            yield from _of_citation(citation, block, proofs[block])


def _of_citation(citation: AnswerCitation, block: EvidenceBlock, proof: Proof) -> Iterator[tuple[str, str]]:
    if citation.citation and not _names(citation.citation, block):
        yield "citation_metadata_mismatch", f"{block.label} is {block.citation}, not {citation.citation}"
    if proof.state == "edited":
        yield "missing_evidence_chunk", f"the text handed in for {block.label} is not what {block.citation} was"
    elif proof.state == "not_valid":
        yield "evidence_not_valid", f"{block.citation} is no evidence now"
    elif proof.state != "fresh":
        yield "stale_evidence", f"{block.citation} is {proof.state}{f' to {proof.detail}' if proof.detail else ''}"
    if citation.quote and folded(citation.quote) not in folded(block.text):
        yield "quote_not_in_evidence", f"{block.label} does not contain the quoted words"
