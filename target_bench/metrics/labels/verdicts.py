"""Verdicts with the words that modify them: "true", "not entirely true", "cannot be determined"."""

import re

from target_bench.metrics.labels import vocabulary as words
from target_bench.metrics.labels.evidence import NO, NOT_NO, NOT_YES, UNKNOWN, YES, Labels

_AROUND = " .,!:;()[]'\"-–—*=>✅❌✓✗✔✘☑🚫👍👎{}|\n\t"
_OPENING = re.compile(r"^(?:it is|it's|this is|that is|that's|i say|i think|i|the)\s")
_MOST_BEFORE = r"(?P<left>(?:[\w%',-]+\s){0,5}?)"
_BEHIND = r"(?: statement| claim)?(?: by .{1,40})?"
_ALONE = {
    labels: re.compile(rf"{_MOST_BEFORE}(?P<term>{terms}){_BEHIND}")
    for labels, terms in ((YES, words.ALONE_TRUE), (NO, words.ALONE_FALSE))
}
_UNKNOWN_ALONE = re.compile(words.ALONE_UNKNOWN)
_LONGEST_UNKNOWN = 40  # characters behind "cannot be determined" that still leave it a verdict
_DENIALS = re.compile(rf"(?:\b|(?=n't)){words.DENIAL}(?!\w)")
_HEDGES = re.compile(rf"\b{words.HEDGE}\b")
_WHOLLY = re.compile(rf"\b{words.WHOLLY}(?!\w)")
_HALF = re.compile(rf"\b{words.HALF}(?!\w)")


def alone(text: str) -> Labels | None:
    """Return the labels of a text that is a verdict and nothing else, or None.

    "Definitely not true" is one, "True, because ..." is not.
    """
    text = text.strip(_AROUND)
    repeated = text.split()
    if len(repeated) > 1 and len({part.strip(_AROUND) for part in repeated}) == 1:
        text = repeated[0].strip(_AROUND)  # a model that repeats itself
    whole, text = text, _OPENING.sub("", text)
    if _UNKNOWN_ALONE.fullmatch(text):
        return UNKNOWN
    unknown = words.UNKNOWN.match(text)
    if unknown and len(text) - len(unknown[0]) < _LONGEST_UNKNOWN and " so " not in text:
        return UNKNOWN
    for labels, pattern in _ALONE.items():
        term = pattern.fullmatch(text)
        if term:
            if len(term["term"]) == 1 and term["term"] != whole:
                return None  # "1" is a verdict, "the 1" is not
            rest, modifiers = split_modifiers(term["left"])
            return (
                None
                if rest or modifiers.startswith("to be")
                else modified(modifiers, labels, term["term"])
            )
    return None


def split_modifiers(text: str) -> tuple[str, str]:
    """Return a text without the modifiers at its end, and these."""
    rest, found = text.strip(), ""
    while match := words.MODIFIERS.search(rest):
        found = f"{match[0].strip()} {found}".strip()
        rest = rest[: match.start()].rstrip()
    return rest, found


def modified(modifiers: str, labels: Labels, term: str) -> Labels | None:
    """Return the labels of a verdict after its modifiers; None where they leave it open.

    Args:
        modifiers: the words before it.
        labels: of the word of verdict.
        term: that word.
    """
    denials = len(_DENIALS.findall(modifiers))
    if words.UNDECIDED_DENIAL.search(modifiers):
        return None
    if _HEDGES.search(modifiers) and "almost certainly" not in modifiers:
        return None
    if denials and _WHOLLY.search(modifiers):
        return NO if labels == YES else None
    if _HALF.search(modifiers):
        return None if denials else NO
    if labels != YES and re.search(r"\b(?:hardly|barely|scarcely)\b", modifiers):
        return None
    return negated(labels, term) if denials % 2 else labels


def negated(labels: Labels, term: str) -> Labels:
    """Return the labels of a word of verdict after "not"."""
    if labels == YES:
        return NOT_YES if term in words.BACKED else NO
    return YES if labels in (NO, NOT_YES) else NOT_YES


def not_shown(labels: Labels) -> Labels:
    """Return the labels after "the table does not show that"."""
    return NOT_YES if labels == YES else NOT_NO


def not_believed(labels: Labels) -> Labels:
    """Return the labels after "I do not think that"."""
    return NO if labels == YES else NOT_NO
