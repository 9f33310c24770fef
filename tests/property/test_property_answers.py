"""Answers that were fixed: whatever they say, they can be handed in again, and nothing is left to be fixed."""

import hashlib
import re

from hypothesis import given
from hypothesis import strategies as st

from indexerd.grounding import Evidence, EvidenceBlock, Proof, check_answer, structured_answer, text_answer
from indexerd.grounding.reporting import fixed_structure, fixed_text

TEXTS = (
    "Lodging is paid up to 300 yuan a night.\n",
    "Meals are paid up to 100 yuan a day.\nReceipts are kept for two years.\n",
    "餐饮上限是100元。\n",
)
BLOCKS = tuple(
    EvidenceBlock(
        label=f"S{number}",
        chunk_id=f"chk_{number}",
        citation=f"{number}.md#L1-L{text.count(chr(10))}",
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        text=text,
    )
    for number, text in enumerate(TEXTS, 1)
)
EVIDENCE = Evidence(query="limits?", evidence_set_id="", blocks=BLOCKS)

# What makes a line what it is begins one: a mark before it would hide it.
SAID = st.sampled_from([
    "Lodging is paid up to 300 yuan a night.", "Meals are paid up to 100 yuan a day.", "餐饮上限是100元。",
    "餐饮上限是900元。",
    "Elephants paint.", "Is lodging paid?", "Sure!", "\n# Lodging", "\n> Meals are paid",
    "\n| Bed | 300 |", "\n|---|---|",
    "\n- Receipts are kept for two years", "The guide says:", "It says “up to 300 yuan” of lodging", "`a[1]`",
    "\n```\na[1]\n```", "**Meals**", "see [it](http://e.example/)", "or [it][1]", "\n[1]: http://e.example/", "[^1]",
    "(in full)", "---",
])  # fmt: skip
MARKS = st.sampled_from(["", "", "[S1]", "[2]", "[S1, S3]", "[S9]", "[unsupported]"])
BETWEEN = st.sampled_from(["", " ", " ", "\n", "\n\n"])
PIECES = st.lists(st.tuples(SAID, BETWEEN, MARKS, BETWEEN), max_size=5)
CITATIONS = st.fixed_dictionaries(
    {
        "label": st.sampled_from(["", "S1", "S2", "S9"]),
        "quote": st.sampled_from(["", "paid up to", "paid by none"]),
    }
)
CLAIMS = st.lists(st.fixed_dictionaries({"text": SAID, "citations": st.lists(CITATIONS, max_size=3)}), max_size=3)
STATES = st.sampled_from(["fresh", "fresh", "changed"])


def prover(states):
    proofs = dict(zip((block.label for block in BLOCKS), states, strict=True))
    return lambda block: Proof(proofs[block.label])


def fix_text(text, prove):
    answer = text_answer(text)
    return fixed_text(answer, check_answer(answer, EVIDENCE, prove))


def fix_structure(value, prove):
    answer = structured_answer(value)
    return fixed_structure(answer, check_answer(answer, EVIDENCE, prove))


def words(text):
    """Return a text without marks, blanks and fences: one that nothing closes is closed before its mark."""
    return "".join(re.sub(r"\[(?:S?\d[\d, S]*|unsupported)\]|```", "", text).split())


@given(PIECES, st.tuples(STATES, STATES, STATES))
def test_a_fixed_text_needs_no_further_fix_and_loses_no_word(pieces, states):
    """Marks that were put in are read as what they are, wherever they stand."""
    text, prove = "".join("".join(piece) for piece in pieces), prover(states)
    fixed = fix_text(text, prove)
    assert fix_text(fixed, prove) == fixed
    assert words(fixed) == words(text)


@given(CLAIMS, st.tuples(STATES, STATES, STATES))
def test_a_fixed_structured_answer_is_an_answer_and_needs_no_further_fix(claims, states):
    """It has every field of an answer, and what marks a claim without support is one of them."""
    prove = prover(states)
    fixed = fix_structure({"claims": claims}, prove)
    assert fix_structure(fixed, prove) == fixed
    assert [claim["text"] for claim in fixed["claims"]] == [claim["text"] for claim in claims]
