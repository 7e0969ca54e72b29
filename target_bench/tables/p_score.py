"""The replies of a judge that compares two tables: P-Score (Struc-Bench, Tang et al. 2023)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

HIGHEST = 10
"""What a judge says of equal tables."""

_KEYS = ("content_similarity", "structural_similarity")
_OPENING, _CLOSING = "```json", "```"


@dataclass(frozen=True, slots=True)
class PScore:
    """The P-Score of some pairs of tables.

    Attributes:
        content: the mean of the replies in both orders, 0 to 10; NaN where no pair counts.
        structure: the same of the structure.
        count: replies that count, two for each pair.
    """

    content: float
    structure: float
    count: int


def parse_reply(text: str) -> dict[str, Any] | None:
    """Read the reply of a judge as the official code does.

    Only what stands in the first block fenced as ``json`` is read; both similarities have to be
    there.

    Returns:
        The JSON object; None where there is none or a similarity is missing.
    """
    _, opened, rest = text.partition(_OPENING)
    inside, closed, _ = rest.partition(_OPENING)[0].partition(_CLOSING)
    if not opened or not closed:
        return None
    try:
        found = json.loads(inside)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and all(key in found for key in _KEYS) else None


def numbers(parsed: Any) -> tuple[float, float] | None:
    """Return content and structural similarity; None unless both are numbers from 0 to 10.

    The official code for plain text and LaTeX stops with an error at a similarity that is null or
    text, and takes any number; here a reply with another value does not count.
    """
    if not isinstance(parsed, dict):
        return None
    found = [float(parsed[key]) for key in _KEYS if _is_rating(parsed.get(key))]
    return (found[0], found[1]) if len(found) == len(_KEYS) else None


def _is_rating(value: Any) -> bool:
    """Return whether a value is a number on the scale; NaN and ``true`` are not."""
    return type(value) in (int, float) and 0 <= value <= HIGHEST


def p_score(replies: Sequence[Any]) -> PScore:
    """Average parsed replies; those at 2i and 2i + 1 are of one pair, in both orders.

    A pair counts only where both were read.
    """
    pairs = [tuple(map(numbers, replies[i : i + 2])) for i in range(0, len(replies), 2)]
    read = [one for pair in pairs if len(pair) == 2 and None not in pair for one in pair if one]
    if not read:
        return PScore(float("nan"), float("nan"), 0)
    content, structure = (sum(values) / len(read) for values in zip(*read, strict=True))
    return PScore(content, structure, len(read))
