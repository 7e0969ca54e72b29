"""Meaning of "yes" and "no" after a question: "Is the statement false? Yes."."""

import re
from dataclasses import dataclass

from target_bench.metrics.labels import vocabulary as words
from target_bench.metrics.labels.evidence import NO, NOT_NO, UNKNOWN, YES, Labels

_DENYING = re.compile(
    r"\b(?:false|wrong|incorrect|inaccurate|untrue|contradict|refute|conflict|disprove|error)\w*\b"
)
_OF_THE_CLAIM = re.compile(
    rf"(?:(?:is|was) (?:(?:the|this|that) {words.CLAIM}|it|this|that) (?:false|wrong|incorrect"
    r"|inaccurate|untrue|refuted|contradicted)"
    r"|false|refuted|wrong|incorrect)\?"
)
_OF_SOURCE = re.compile(
    r"(?:does|do) the (?:tables?|data) (?:contradict|refute|disprove)"
    rf" (?:the|this) {words.CLAIM}\?"
)
_OF_DATA = re.compile(
    r"(?:does|do) the (?:tables?|data) (?:contain|have|include) (?:the|this)"
    r" (?:\w+ )?(?:information|data)\?"
)
_OTHER = re.compile(r"too (?:good|bad) to be true\?")


@dataclass(frozen=True, slots=True)
class Asked:
    """Labels of the replies to a question; None where they leave the statement open."""

    yes: Labels | None
    no: Labels | None


def question(sentence: str) -> Asked | None:
    """Return the labels of "yes" to a question where "yes" is not "true"; None for others.

    Args:
        sentence: in lower case, with plain quotes and no markup.
    """
    if not sentence.endswith("?"):
        return None
    if _OF_THE_CLAIM.fullmatch(sentence):
        return Asked(NO, YES)
    if _OF_SOURCE.fullmatch(sentence):
        return Asked(NO, NOT_NO)
    if _OF_DATA.fullmatch(sentence):
        return Asked(None, UNKNOWN)
    denying = _DENYING.search(sentence) or _OTHER.fullmatch(sentence)
    return Asked(None, None) if denying else None
