"""What the official H-Score compares: two sequences, by the two similarities of Struc-Bench."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from target_bench.core.errors import DataError
from target_bench.tables.sequence_similarity import Items, difflib_ratio, edit_distance

HTML_PARSER = "html.parser"
"""The parser that BeautifulSoup uses, unless another one is asked for; signatures name it."""


class UnreadableTableError(DataError):
    """A table that cannot be read; the message begins with the kind of fault."""

    def __init__(self, fault: Literal["too_deep", "too_long", "syntax"], detail: str) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault = fault


@dataclass(frozen=True, slots=True)
class HScore:
    """The official H-Score of one answer.

    Attributes:
        sub: name of a sub-score, as in the official code -> its value.
        content: the sum of the sub-scores about cells: at most 2, of LaTeX 3; no lower bound.
        structure: the sum of the others that count: at most 4, of HTML 3; no lower bound.
    """

    sub: Mapping[str, float]
    content: float
    structure: float


def levenshtein_similarity(answer: Items, gold: Items) -> float:
    """Return 1 - edits / (2 * length of the gold); 0 for an empty gold. No lower bound."""
    if not gold:
        return 0.0
    return 1 - edit_distance(answer, gold) / (2 * len(gold))


def similarities(name: str, answer: Items, gold: Items) -> dict[str, float]:
    """Return both similarities under the names of the official code."""
    return {
        f"{name}_levenshtein_score": levenshtein_similarity(answer, gold),
        f"{name}_difflib_score": difflib_ratio(answer, gold),
    }
