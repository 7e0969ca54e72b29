"""What makes a number beside it a bound or an estimate: ``<``, ``≥``, ``about``."""

import re
from typing import Literal

Relation = Literal["", "<", "≤", ">", "≥", "~", "±", "decade"]
"""``~``: an estimate; ``decade``: ten years, as in ``1990s``; empty: the number itself."""

_NAMES: dict[Relation, tuple[str, ...]] = {
    "<": ("<", "less than", "fewer than", "under", "below"),
    "≤": ("≤", "⩽", "<=", "=<", "at most", "up to", "no more than", "not more than"),
    ">": (">", "more than", "over", "above"),
    "≥": ("≥", "⩾", ">=", "=>", "at least", "no less than", "not less than"),
    "~": (
        *("~", "∼", "≈", "≃", "about", "around", "approx", "approx.", "approximately"),
        *("roughly", "circa", "ca", "ca.", "c.", "nearly", "almost", "some"),
    ),
    "±": ("±", "+/-", "+-"),
}
_BEFORE = {written: relation for relation, names in _NAMES.items() for written in names}
_AFTER: dict[str, Relation] = {
    "+": "≥",
    "or more": "≥",
    "and more": "≥",
    "or less": "≤",
    "or fewer": "≤",
    "approx": "~",
    "approx.": "~",
}
_LONGEST_FIRST = "|".join(re.escape(one) for one in sorted(_BEFORE, key=len, reverse=True))
_STARTS = re.compile(
    rf"({_LONGEST_FIRST})(?:(?<=\w)\s+|(?<!\w)\s*)(?=[-+−–(.$€£¥₹\d]|[a-z]{{2,3}}[$ ])",
    re.IGNORECASE,
)
_ENDS = re.compile(rf"(?<=[\w%])\s*({'|'.join(re.escape(one) for one in _AFTER)})", re.IGNORECASE)
_DECADE = re.compile(r"[12]\d\d0(?=['’]?s$)", re.IGNORECASE)
_UPPER, _LOWER = frozenset("<≤"), frozenset(">≥")


def relation_of(text: str) -> tuple[Relation, str]:
    """Return the relation that a number is written with, and the text without it."""
    decade = _DECADE.match(text)
    if decade is not None:
        return "decade", decade[0]
    start = _STARTS.match(text)
    if start is not None:
        return _BEFORE[start[1].casefold()], text[start.end() :]
    for end in _ENDS.finditer(text):
        if end.end() == len(text):
            return _AFTER[end[1].casefold()], text[: end.start()]
    return "", text


def are_opposite(one: Relation, two: Relation) -> bool:
    """Return whether one is an upper bound and the other a lower one."""
    return (one in _UPPER and two in _LOWER) or (one in _LOWER and two in _UPPER)
