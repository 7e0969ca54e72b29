"""H-Score, repaired: between 0 and 1, the same in both directions, for tables of any format."""

from collections.abc import Sequence
from typing import NamedTuple

from target_bench.tables.answer_tables import AnswerTable, ReadAnswer
from target_bench.tables.reading import matched
from target_bench.tables.sequence_similarity import Items, common_subsequence, edit_distance


class HScoreV2(NamedTuple):
    """Content and structure, each from 0 to 1, 1 for equal tables."""

    content: float
    structure: float


def similarity(one: Items, other: Items) -> float:
    """Return the mean of two symmetric similarities from 0 to 1; 1 for two empty sequences.

    1 - edit distance / longer length, and 2 * longest common subsequence / sum of the lengths. They
    take the place of a distance over twice the gold's length, which has no lower bound, and of
    difflib's ratio, which depends on the order and, from 200 items on, on how often they occur.
    """
    if not one and not other:
        return 1.0
    edits = 1 - edit_distance(one, other) / max(len(one), len(other))
    return (edits + 2 * common_subsequence(one, other) / (len(one) + len(other))) / 2


def h_score_v2(answer: ReadAnswer, reference: ReadAnswer) -> HScoreV2:
    """Compare tables as they were read, in any format.

    Tables are paired by name, then by order; one without a counterpart scores 0. Content is the
    similarity of the cells below the header, row by row, rows filled to one length. Structure is
    the mean of the similarity of the header, of the number of rows and of columns (the
    smaller divided by the larger).
    """
    pairs = matched(answer, reference)
    if not pairs:
        return HScoreV2(1.0, 1.0)
    scored = [
        (0.0, 0.0) if i is None or j is None else _pair(answer.tables[i], reference.tables[j])
        for i, j in pairs
    ]
    content, structure = (sum(values) / len(scored) for values in zip(*scored, strict=True))
    return HScoreV2(content, structure)


def _pair(one: AnswerTable, other: AnswerTable) -> tuple[float, float]:
    left, right = one.padded(), other.padded()
    content = similarity(_flat(left[1:]), _flat(right[1:]))
    header = similarity(left[0], right[0])
    sizes = [_ratio(len(left), len(right)), _ratio(one.width, other.width)]
    return content, (header + sum(sizes)) / 3


def _flat(rows: Sequence[Sequence[str]]) -> list[str]:
    return [cell for row in rows for cell in row]


def _ratio(one: int, other: int) -> float:
    return min(one, other) / max(one, other) if one or other else 1.0
