"""Cases with known answers, and the measures of a run over them. Pure; asks nobody itself.

See: docs/evaluation.md.
"""

from indexerd.evaluation.cases import Case, read_cases
from indexerd.evaluation.measures import CaseResult, Ranked, measured

__all__ = ["Case", "CaseResult", "Ranked", "measured", "read_cases"]
