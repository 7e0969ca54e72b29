"""Words of verdict in a sentence: of what each is said, and what its clause makes of it.

Such a word counts only where it is a predicate: "the statement is false", "marked as false", "this
makes the claim false". In "the correct year" or "True Grit" it says nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from target_bench.metrics.labels import vocabulary as words
from target_bench.metrics.labels.evidence import NO, NOT_YES, YES, Evidence, Labels, Weight
from target_bench.metrics.labels.verdicts import (
    modified,
    negated,
    not_believed,
    not_shown,
    split_modifiers,
)

RESULT = re.compile(
    r"\b(?:(?<!if )so(?! long)|therefore|thus|hence|but|however|consequently|yet)\b|;"
)
"""Where a new train of thought begins: what stands before it denies nothing behind it."""

_BEFORE, _BEHIND = 300, 120  # characters around a word of verdict that are looked at
_BOUNDARY = re.compile(
    r"[,;:()\[\]→]|->|=>|\s[-–—]+\s|[–—]|\b"
    + words.one_of(
        """so / therefore / thus / hence / because / since / but / however / yet / and / or
        / means? that / making it / consequently / although / though / while / whereas"""
    )
    + r"\b"
)
_END = re.compile(
    r"\s*(?:$|[.,;:!)\]–—]|-(?!\w)|"
    + words.one_of(
        """because / since / as / based / according / given / for / in / on / by / with / that / and
        / n?or / but / so / when / about / here / too / to / from / per / under / indeed / overall
        / therefore / due / though / although / while / which / where / however / after / before
        / at / if / unless / only / provided / assuming / either / the / there / it / we / is
        / regardless / except / then / considering / until / now"""
    )
    + r"\b)"
)
"""What may stand behind a predicate, which "correct" is not in "the correct year"."""
_CONDITION = re.compile(
    r"[\s,]*(?:only |but only |just |at least )?"
    + words.one_of(
        """if / unless / provided / assuming / as long as / only when / only for / depending
        / insofar / to the extent"""
    )
    + r"\b"
)
_LATER_CONDITION = re.compile(
    r"(?:(?!because|since|but|even|so\b|as\b)[\w\s'-]){0,80}\b(?:if|unless)\b"
)
_PERHAPS = re.compile(
    r"\b(?:may|might|could|can)(?: (?:well|still|also|possibly|very well|indeed))*"
    r" (?:be|have been|seem|appear)\b"
)
_CANNOT = re.compile(r"\b(?:cannot|can't|can not|couldn't|could not)(?: possibly| really| both)?$")
_LABEL = re.compile(r"(?:the )?(?:correct |final |right )?(?:answer|label|verdict)\b")
_DATUM = re.compile(r"(?<!truth )\b(?:value|column|cell|entry|field)$")
_MODAL = re.compile(
    r"\b(?:must|should|has to|have to|will|would|shall|ought to|can only|got to|needs to)$"
)
_BEING = re.compile(r"\b(?:be|have been|being)\b")
_DENIED = re.compile(r"(?:\bnot|n't|\bnever|\bhardly)\b[^,;]*$")
_DENIED_VERB = re.compile(r"(?:\bnot|n't|\bnever)\b")
_AUXILIARY = re.compile(r"(?:\b(?:not|never|cannot)|n't)(?: \w+ly| even| really)?$")
_COPULA = re.compile(rf"(?:^|\s|(?<=\w)(?=')){words.COPULA}$")
_HAVING = re.compile(rf"(?:^|\s|(?<=\w)(?=')){words.one_of('has / have / had')}$")
_NO_VERB = re.compile(rf"(?:(?:the|this|that) )?{words.CLAIM}")
_WHOLE_CLAIM = re.compile(rf"(?:the |this |that )?(?:given |above )?{words.CLAIM} ")
_OF_THE_CLAIM = re.compile(rf"\b(?:{words.CLAIM}|claimed|stated)\b")
_OTHER_SENSE = re.compile(
    r"(?:true|false|untrue) to (?!me\b|us\b)"
    r"|right (?:there|here|now|at|in|on|next|before|after|away)\b"
)
_JOINED = re.compile(r"\b(?:and|or) $")
_NOUN = re.compile(rf"\s{words.CLAIM}\b")
_WOULD_HOLD = re.compile(r"\bwould (?:\w+ )?(?:hold|match|check out|stand)\b")

Read = tuple[Labels, Weight] | None


@dataclass(frozen=True, slots=True)
class _Place:
    """A word of verdict and what stands around it.

    Attributes:
        term: the word.
        labels: those it allows.
        before: the sentence up to it.
        reach: that as far as a denial or condition in it reaches the word.
        right: what stands behind it.
    """

    term: str
    labels: Labels
    before: str
    reach: str
    right: str


def predicates(sentence: str) -> Iterator[Evidence]:
    """Yield the evidence of the words of verdict in a sentence, in its order."""
    unknown = words.UNKNOWN.search(sentence)
    for term in words.TERM.finditer(sentence):
        withheld = unknown and unknown.start() <= term.start()
        if withheld and not RESULT.search(sentence, unknown.start(), term.start()):  # type: ignore[union-attr]  # just checked
            continue
        before = sentence[max(0, term.start() - _BEFORE) : term.start()]
        results = list(RESULT.finditer(before))
        place = _Place(
            term[0],
            YES if term["yes"] else NOT_YES if term["unbacked"] else NO,
            before,
            before[results[-1].end() :] if results else before,
            sentence[term.end() : term.end() + _BEHIND],
        )
        found = _predicate(place, sentence[term.end() :])
        if found is not None:
            yield found


def counterfactual(sentence: str) -> Labels | None:
    """Return the label of "it would be true if ..." with its condition denied; None for others."""
    if not words.IF.search(sentence):
        return None
    if _WOULD_HOLD.search(sentence):
        return NO
    for term in words.TERM.finditer(sentence):
        if words.WOULD.search(sentence, max(0, term.start() - _BEFORE), term.start()):
            return NO if term["yes"] else YES
    return None


def _predicate(place: _Place, rest: str) -> Evidence | None:
    """Return the evidence of a word of verdict; None outside predicates or in a condition."""
    if _conditional(place):
        return None
    if words.SAY_SO.match(place.right) and words.DENIED_THAT.search(
        place.before + place.term + place.right[:40]
    ):
        return _denied_clause(place, rest)
    noun = _NOUN.match(place.right)
    if not noun and not _END.match(place.right):
        return None
    if _OTHER_SENSE.match(f"{place.term}{place.right}"):
        return None
    cuts = list(_BOUNDARY.finditer(place.before))
    clause = (place.before[cuts[-1].end() :] if cuts else place.before).strip()
    if (noun and re.search(r"\bthe$", clause)) or words.ATTRIBUTED.search(clause):
        return None
    read = _clause(clause, place)
    if read is None:
        return None
    labels, weight = read
    if place.right.startswith(" that ") and labels == YES:
        weight = Weight.ASIDE  # "it is true that ..." often grants a detail
    hedged = words.SEEMING.search(place.before[-60:] + place.term + place.right[:6])
    return Evidence(labels, weight, hedged is not None)


def _conditional(place: _Place) -> bool:
    reach = place.reach
    return bool(
        words.WHETHER.search(reach)
        or _CONDITION.match(place.right)
        or _LATER_CONDITION.match(place.right)
        or words.IF.search(reach)
        or _PERHAPS.search(reach[-40:])
        or words.MAYBE.search(reach)
    )


def _denied_clause(place: _Place, rest: str) -> Evidence | None:
    """Read "it is not true that ...", "it is wrong to say ..."; a verdict behind it decides."""
    if words.TERM.search(rest):
        return None
    same = (place.labels == YES) == bool(_DENIED.search(place.before))
    return Evidence(NO if same else YES, Weight.SAID)


def _clause(clause: str, place: _Place) -> Read:
    """Return the effect of the clause before a word of verdict, and its subject."""
    rest, modifiers = split_modifiers(clause)
    own = modified(modifiers, place.labels, place.term)
    if own is None:
        return None
    if not rest:  # the clause leans on what stands before it
        if modifiers.startswith("to be"):
            return None
        joined = modifiers or _JOINED.search(place.before)
        said = bool(joined and words.THERE.search(place.before))
        if not said and place.term not in words.STRONG:
            return None
        return own, Weight.SAID if said else Weight.ASIDE
    copula = _COPULA.search(rest) or ("been" in modifiers and _HAVING.search(rest))
    if copula:
        return _of_subject(rest[: copula.start()].strip(), copula[0].strip(), own, place)
    if _LABEL.match(rest) and _CANNOT.search(rest):
        return None  # another label is left
    if _CANNOT.search(rest) and _BEING.search(modifiers):
        return negated(own, place.term), Weight.SAID
    made = words.MAKES.search(rest)
    if made:
        if words.NOBODY.search(rest) or words.NOT_BELIEVED.search(rest):
            own = not_believed(own)
        elif words.SOMEBODY.search(rest, 0, made.start()):
            return None
        elif _DENIED_VERB.search(rest, 0, made.end()):
            own = not_shown(own)
        return own, Weight.SAID
    if _MODAL.search(rest) and _BEING.search(modifiers):
        return own, Weight.SAID
    return (own, Weight.ASIDE) if _NO_VERB.fullmatch(rest) else None


def _of_subject(subject: str, copula: str, own: Labels, place: _Place) -> Read:
    """Return the evidence of "[subject] [copula] [verdict]"."""
    for denied in (
        copula.endswith("n't") or _AUXILIARY.search(subject),
        words.NONE_OF.search(subject) or words.OPPOSITE.search(subject),
        words.DENIED_THAT.search(place.reach),
    ):
        if denied:
            own = negated(own, place.term)
    if not words.DENIED_THAT.search(place.reach):
        if words.NOT_BELIEVED.search(place.reach):
            own = not_believed(own)
        elif words.NOT_SHOWN.search(place.reach):
            own = not_shown(own)
    subject = words.FOUND.sub("", subject)
    if _DATUM.search(subject):
        return None
    if (words.PARTIAL.search(subject) or words.ONE_OF_MANY.search(subject)) and not (
        words.ALL_OF.search(subject) or _WHOLE_CLAIM.match(subject)
    ):
        return _of_part(subject, own)
    if _is_claim(subject) or (not subject and words.THERE.search(place.before)):
        return own, Weight.SAID
    if place.term in words.STRONG or (own == NO and _OF_THE_CLAIM.search(subject)):
        return own, Weight.ASIDE
    return None


def _of_part(subject: str, own: Labels) -> Read:
    """Read a verdict on a part: it decides if it is false, or if only that part is true."""
    if own == YES:
        return (NO, Weight.SAID) if re.search(r"\b(?:only|just)\b", subject) else None
    if own == NO and words.PARTIAL.search(subject) and not re.search(r"\bones?\b", subject):
        return own, Weight.ASIDE
    return None


def _is_claim(subject: str) -> bool:
    """Return whether a subject is the statement, or a pronoun that may stand for it."""
    for part in re.findall(r"[\w']+", subject):
        if words.HEAD.fullmatch(part):
            return True
        if part not in words.LEAD:
            return False
    return False
