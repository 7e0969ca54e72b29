"""What one sentence of an answer says about the statement.

A verdict word counts only where it is the predicate of a clause, or all of it: "the statement is
false", "marked as false", "False, since ...". Of such a word the reading looks at what stands
before it in its clause (who is judged, denials, hedges) and right behind it (conditions).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from target_bench.metrics.classification import FALSE, NOT_ENOUGH, TRUE
from target_bench.metrics.labels import vocabulary as words

Labels = frozenset[str]
"""The labels that a wording allows."""

YES, NO, UNKNOWN = frozenset({TRUE}), frozenset({FALSE}), frozenset({NOT_ENOUGH})
NOT_YES, NOT_NO, NOTHING = NO | UNKNOWN, YES | UNKNOWN, frozenset[str]()


class Weight(IntEnum):
    """How directly a wording speaks of the statement."""

    ASIDE = 1
    """Of something that may or may not be the statement."""
    SAID = 2
    """Of the statement."""
    VERDICT = 3
    """A verdict alone."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a wording says.

    Attributes:
        labels: those it allows.
        weight: how directly it speaks of the statement.
        hedged: whether a contrast ("but", "however") takes it back.
    """

    labels: Labels
    weight: Weight
    hedged: bool = False


_END = (
    r"(?=\s*(?:$|[.,;:!)\]–—-]|because\b|since\b|as\b|based\b|according\b|given\b|for\b|in\b|on\b"
)
_END += r"|by\b|with\b|that\b|and\b|n?or\b|but\b|so\b|when\b|about\b|here\b|too\b|to\b|from\b|per\b"
_END += r"|under\b|indeed\b|overall\b|therefore\b|due\b|though\b|although\b|while\b|which\b|where\b"
_END += r"|however\b|after\b|before\b|at\b|if\b|unless\b|only\b|provided\b|assuming\b|either\b|,|"
_END += r"the\b|there\b|it\b|we\b|is\b|regardless\b|except\b|then\b|considering\b|until\b|now\b))"
_BOUNDARY = re.compile(
    r"[,;:()\[\]→]|->|=>|\s[-–—]+\s|[–—]|\b(?:so|therefore|thus|hence|because|since|but|however|yet|and|or"
    r"|means? that|making it|consequently|although|though|while|whereas)\b"
)
_NEXT = re.compile(
    r", and\b|\b(?:(?<!if )so|therefore|thus|hence|but|however|consequently|yet)\b|;"
)
_RESULT = re.compile(r"\b(?:(?<!if )so|therefore|thus|hence|but|however|consequently|yet)\b|;")
_BEFORE = 300  # characters of a sentence before a verdict that are looked at
_PAIR = re.compile(
    r"\b(?:true|correct|right|supported|supports?|confirm(?:ed|s)?|accurate|verify|entailed|proven?"
    r"|yes|valid|verified|validate)\s*(?:or|/|nor|vs\.?|versus)\s*(?:false|untrue|(?:in|un|dis|not )"
    r"(?:correct|accurate|valid|supported|prove[nd]?|true|right)|wrong|refut(?:ed?|es)|den(?:y|ied)"
    r"|contradict(?:ed|s)?|not|no|otherwise)\b|\b(?:false|incorrect|wrong)\s*(?:or|/)\s*(?:true|correct|right)\b"
)
_BOTH = re.compile(r"\b(?:true and false|false and true|yes and no|correct and incorrect)\b")
_ASIDE = re.compile(
    r",\s(?:in fact|actually|indeed|in truth|in reality|therefore|thus|hence|however|then|as stated"
    r"|as such|as written|as given|of course|in my opinion|in my view|strictly speaking|clearly"
    r"|i (?:think|believe|would say)|it (?:seems|appears)|(?:based|according|judging|given) [^,]{1,80})\s*,"
)
_CONDITION = re.compile(
    r"^[\s,]*(?:only |but only |just |at least )?(?:if|unless|provided|assuming|as long as|only when"
    r"|only for|depending|insofar|to the extent)\b"
)
_LATER_CONDITION = re.compile(
    r"^(?:(?!because|since|but|even|so\b|as\b)[\w\s'-]){0,80}\b(?:if|unless)\b"
)
_IF = re.compile(
    r"(?<!even )(?<!as )\b(?:if|unless|assuming|suppose|supposing|provided that|were it|had (?:the|it|he|she|they))\b"
    r"|^(?:were|should|had) (?:the|it|this|that|he|she|they|all|we)\b|\b(?:in (?:that|this|which) case|otherwise|if so)\b"
    r"|^when (?!we|you|i|one|looking|checking|comparing|compared)\b"
    r"|^(?:provided|as long as|only if|in case) (?!tables?|data|information)"
)
_WHETHER = re.compile(r"\b(?:whether|if)\b[^;:]*$")
_WOULD = re.compile(r"\b(?:would|'d)\b")
_PERHAPS = re.compile(
    r"\b(?:may|might|could|can)(?: (?:well|still|also|possibly|very well|indeed))* (?:be|have been|seem|appear)\b"
)
_MAYBE = re.compile(
    r"\b(?:perhaps|maybe|possibly|(?:possible|conceivable|plausible|a chance|a possibility) that"
    r"|(?:like|want|wanted|love|tempted|wish) to|not (?:saying|claiming|suggesting|implying|convinced)"
    r"|(?:could|might|may|would)(?: be tempted to)? (?:think|assume|believe|argue|expect))\b"
)
_NONE = re.compile(r"\b(?:none|nothing|neither|no part|not all|not everything|not every)\b")
_AUXILIARY = re.compile(r"(?:\b(?:not|never|cannot)|n't)(?: \w+ly| even| really)?$")
_FOUND = re.compile(
    r"^.*\b(?:shows?|showing|shown|confirms?|indicates?|proves?|see|sees|concludes?|think|believe|find|means"
    r"|suggests?|implies|reveals?|establish(?:es)?|verif(?:y|ies)|demonstrates?|feel|sure|clear|evident|afraid|sorry)(?: that)? "
)
_UNSURE = re.compile(r"\b(?:unsure|not (?:\w+ )?(?:sure|certain|confident))$")
_IDIOM = re.compile(
    r"\bif (?:i (?:had|have|must|am|were)|i'm|forced|pressed|(?:we|you|one) (?:looks?|checks?|compares?"
    r"|examines?|reads?|adds?|sums?|go(?:es)?)) ?[^,]*,"
)
_CASE = re.compile(
    r"\b(?:this|that|it|which|such)(?P<copula> is| was|'s| isn't| wasn't)(?P<words>(?: \w+){0,3}?) the case\b"
    r"|(?P<far>\bfurther from the truth\b|\bno truth (?:in|to)\b)"
)
_CANT_BE = re.compile(
    r"\b(?:cannot|can't|can not|couldn't|could not)(?: possibly| really| both)? (?:be|have been)\b"
)
_FLIP = re.compile(
    r"\b(?:not|n't|never|hardly)(?: \w+){0,2} (?:the case|correct|true|accurate|right|fair|possible|a fact)"
    r" (?:to (?:say|claim|state|call|assert|describe|conclude)|that)\b"
    r"|\b(?:isn't|wasn't|not|never) the case\b"
    r"|\b(?:wrong|incorrect|inaccurate|untrue|misleading|a mistake|an error) to (?:say|claim|state|call|assert|describe|conclude)\b"
    r"|\b(?:false|wrong|incorrect|untrue) that\b"
)
_SAY_SO = re.compile(
    r"^ (?:to (?:say|claim|state|call|assert|describe|conclude|consider)|(?:that|the) (?:the |this |that )?(?:statement|claim))\b"
)
_NOT_SHOWN = re.compile(
    r"(?:\b(?:does|do|did|is|are|was|were|has|have|can|could)(?: not|n't)|\bcannot|\bnothing|\bno \w+|\bnone"
    r"|\bfails? to|\bwithout)\b[^,;:]*\b(?:show\w*|say\w*|stat(?:e|es|ed|ing)\b|indicat\w+|support\w*|suggest\w*|prov(?:e|es|ing)\w*"
    r"|establish\w*|demonstrat\w+|conclude\w*|impl\w+|mean|evidence|proof|reason|confirm\w*|make|makes|render\w*)\b"
)
_NOT_BELIEVED = re.compile(
    r"\b(?:do not|don't|did not|didn't|would not|wouldn't|cannot|can't|never|(?:can|could|would) hardly)(?: \w+)?"
    r" (?:think|believe|find|consider|feel|agree|call|label|say|deem|see how|accept|regard|classify)\b"
)
_MAKES = re.compile(
    r"\b(?:makes?|making|made|renders?|rendering|proves?|proving|proved|considers?|finds?|calls?|labels?|marks?"
    r"|rates?|judges?|deems?|classif(?:y|ies)|answers?|says?|concludes?|chooses?|selects?|goes with|go with|responds?"
    r"|reply|call|output|assign|lean(?:ing)?|pick|return|shows?|settle on|opt for|declares?|declare|vote)"
    r"(?: (?:it|this|that|that it|to|towards?|with|on|for|as|is|the label|the answer|the verdict|"
    rf"(?:the|this|that|your|its)(?: \w+)? {words.CLAIM}(?: (?:that|about|of) [^,;]{{1,150}})?|one))*$"
)
_CLAIM_HERE = re.compile(rf"\b(?:{words.CLAIM}|it|this|that|which|quoted|answer|label|verdict)\b")
_COPULA = re.compile(
    rf"^(?P<subject>.*?)(?:\b|(?<=\w)(?='))(?P<copula>{words.COPULA})(?P<more>(?:\s.*)?)$"
)


def evidence(sentence: str, first: bool, last: bool) -> list[Evidence]:
    """What a sentence says, in its order.

    Args:
        sentence: in lower case, with plain quotes and no markup.
        first: whether the answer begins with it.
        last: whether the answer ends with it.
    """
    if sentence.endswith("?"):
        return []
    alone_in_it = alone(sentence)
    if alone_in_it is not None:
        partial = bool(words.WEAK_ALONE.match(sentence)) and not (first or last)
        return [Evidence(alone_in_it, Weight.ASIDE if partial else Weight.VERDICT)]
    sentence = _IDIOM.sub(" ", sentence).strip()
    if _BOTH.search(sentence):
        return [Evidence(NOTHING, Weight.SAID)]
    sentence = _ASIDE.sub(
        " ", re.sub(r"anything but|nowhere close to", "not", sentence).replace("even close to ", "")
    )
    plain = words.CONCESSION.sub(" , ", sentence).strip(" ,")
    sentence = plain if " " in plain else sentence
    found = [*_opening(sentence, first, last), *_of_sources(sentence), *_unknown(sentence)]
    parts = _contrasted(_PAIR.sub("so or so", sentence))
    after = [list(_predicates(part)) for part in parts]
    if len(parts) > 1 and _UNSURE.search(parts[-1].strip(" .!")):
        return [Evidence(NOTHING, Weight.SAID)]
    told = [item for items in after[1:] for item in items]
    if told or len(parts) == 1:
        before = [] if told else after[0]
        return [*(f for f in found if not told or f.weight == Weight.VERDICT), *before, *told]
    return [*found, *(item for item in after[0] if not item.hedged), *_would_but(parts)]


def _contrasted(sentence: str) -> list[str]:
    """A sentence, cut in two at its last contrast."""
    places = [m for m in words.CONTRAST.finditer(sentence) if m.start() > 0]
    inner = [m for m in places if sentence[: m.start()].strip(" ,")]
    if not inner:
        return [sentence]
    cut = inner[-1] if inner[-1][0] in ("but", "however", "yet") else inner[0]
    for place in inner:
        if place[0] in ("but", "however", "yet"):
            cut = place
    return [sentence[: cut.start()].strip(" ,;"), sentence[cut.end() :].strip(" ,")]


def _would_but(parts: list[str]) -> Iterator[Evidence]:
    """ "It would be true if ..., but ...": it is not."""
    wish = counterfactual(parts[0])
    if wish and not _IF.search(parts[-1]):
        yield Evidence(wish, Weight.SAID)


def counterfactual(sentence: str) -> Labels | None:
    """What follows from "it would be true if ..." once the condition is denied; None if not said."""
    if re.search(r"\bwould (?:\w+ )?(?:hold|match|check out|stand)\b", sentence) and _IF.search(
        sentence
    ):
        return NO
    for term in words.TERM.finditer(sentence):
        left = sentence[max(0, term.start() - _BEFORE) : term.start()]
        if _WOULD.search(left) and _IF.search(sentence):
            return NO if term["yes"] else YES
    return None


def alone(text: str) -> Labels | None:
    """The labels of a text that is a verdict and nothing else, or None.

    "Definitely not true" is one, "True, because ..." is not.
    """
    text = text.strip(" .,!:;()[]'\"-–—*=>✅❌✓✗✔✘☑🚫👍👎{}|\n\t").strip()
    words_in = text.split()
    if len(words_in) > 1 and len(set(words_in)) == 1:  # a model that repeats itself
        text = words_in[0]
    text = re.sub(r"^(?:it is|it's|this is|that is|that's|i say|i think|i|the)\s", "", text)
    if re.fullmatch(words.ALONE_UNKNOWN, text):
        return UNKNOWN
    unknown = words.UNKNOWN.search(text)
    if unknown and unknown.start() == 0 and len(text) - len(unknown[0]) < 40 and " so " not in text:
        return UNKNOWN
    for pattern, labels in ((words.ALONE_TRUE, YES), (words.ALONE_FALSE, NO)):
        term = re.fullmatch(
            rf"(?P<left>(?:[\w%',-]+\s){{0,5}}?)(?P<term>{pattern})(?: statement| claim)?(?: by .{{1,40}})?",
            text,
        )
        if term:
            return _modified(term["left"], labels, term["term"])
    return None


def _opening(sentence: str, first: bool, last: bool) -> Iterator[Evidence]:
    """A sentence that begins with a verdict: "No, the table says ...", "False because ..."."""
    head = re.match(
        r"(?P<head>[^,;:.–—(]{1,60}?)\s*(?:[,;:.–—(]|\s-+\s|\b(?:because|since|as|based|according|given|due|per)\b)",
        sentence,
    )
    labels = alone(head["head"]) if head else None
    if labels is None or head is None or _UNSURE.search(head["head"]):
        return
    if _CONDITION.match(sentence[head.end("head") :]):
        return
    yield Evidence(labels, Weight.VERDICT if first or last else Weight.ASIDE)


def _modified(left: str, labels: Labels, term: str) -> Labels | None:
    """The labels of a verdict with the words before it; None where they hold more than modifiers."""
    rest = left.strip()
    taken: list[str] = []
    while rest:
        match = words.MODIFIERS.search(rest)
        if match is None:
            return None
        taken.insert(0, match[0].strip())
        rest = rest[: match.start()].strip()
    return _with(" ".join(taken), labels, term)


def _with(modifiers: str, labels: Labels, term: str) -> Labels | None:
    """The labels of a verdict word after its modifiers; None where a person would not decide."""
    positive = labels == YES
    denials = len(re.findall(rf"(?:\b|(?=n't)){words.DENIAL}(?!\w)", modifiers))
    if re.search(
        r"\bnot (?:necessarily|always|clearly|obviously|definitively|conclusively|yet)\b", modifiers
    ):
        return None
    if re.search(rf"\b(?:{words.HEDGES})\b", modifiers) and not re.search(
        r"almost certainly", modifiers
    ):
        return None
    if re.search(rf"\b{words.WHOLLY}(?!\w)", modifiers) and denials:
        return NO if positive else None
    if re.search(rf"\b(?:{words.HALF})(?!\w)", modifiers):
        return NO if not denials else None
    if denials % 2 == 0:
        return labels
    if positive:
        return NOT_YES if term in words.SUPPORTED else NO
    return YES


def _of_sources(sentence: str) -> Iterator[Evidence]:
    """ "The table does not support the claim", "it contradicts the data"."""
    thing = rf"(?:{words.CLAIM}|it|this|that|what)\b"
    for verb in re.finditer(
        rf"\b(?:(?P<yes>{words.SUPPORTING})|(?P<no>{words.OPPOSING}))\s(?:(?P<object>(?:the |this |that |your |such a |both )?"
        rf"(?:\w+ )?{thing})|(?P<source>(?:the |what |these |those |all )?(?:\w+ )?{words.SOURCE}\b))",
        sentence,
    ):
        left = sentence[max(0, verb.start() - _BEFORE) : verb.start()].rstrip()
        result = list(_NEXT.finditer(left))
        if result:
            left = left[result[-1].end() :]
        subject_is_claim = bool(re.search(rf"\b{thing}", left)) or re.search(
            r"\b(?:which|this|that|it)\b", left
        )
        if verb["source"] and not subject_is_claim:
            continue
        if (
            _IF.search(left)
            or _WHETHER.search(left)
            or re.search(r"\b(?:may|might|could|would)\b", left)
        ):
            continue
        if words.UNKNOWN.search(left) or words.UNKNOWN.search(
            sentence[max(0, verb.start() - 60) : verb.end()]
        ):
            continue
        infinitive = re.search(r"\b(\w+) to(?: \w+ly)?$", left)
        if infinitive and infinitive[1] not in (
            "fails",
            "fail",
            "failing",
            "seems",
            "seem",
            "appears",
            "appear",
        ):
            continue
        denied = bool(
            re.search(
                r"(?:\b(?:not|never|nothing|neither|none|nor|no)\b|n't\b|\bfail\w* to\b|\bcannot\b)",
                left,
            )
        )
        half = bool(re.search(r"\b(?:only|partly|partially)\b[^,]*$", left))
        positive = bool(verb["yes"])
        if half:
            yield Evidence(NO, Weight.SAID)
        elif not denied:
            yield Evidence(YES if positive else NO, Weight.SAID)
        elif verb["source"]:
            yield Evidence(NO if positive else NOT_NO, Weight.SAID)
        else:
            yield Evidence(NOT_YES if positive else NOT_NO, Weight.SAID)
    if re.search(
        rf"\b(?:{words.CLAIM}|it|which|this)(?: \w+)? (?:holds up|checks out|holds true|holds|stands up|is borne out|adds up)\b",
        sentence,
    ):
        if not _IF.search(sentence) and not re.search(
            r"\b(?:whether|might|may|could|would|never)\b", sentence
        ):
            yield Evidence(YES, Weight.SAID)
    if re.search(
        r"\b(?:does not|doesn't|do not|don't|fails to|cannot|can't) (?:hold(?: up| true)?|check out|add up|stand up)\b",
        sentence,
    ):
        yield Evidence(NO, Weight.SAID)
    case = _CASE.search(sentence)
    if case and not _IF.search(sentence) and not _WHETHER.search(sentence[: case.start()]):
        denied = (
            case["far"] or "n't" in case["copula"] or re.search(r"\b(?:not|never)\b", case["words"])
        )
        yield Evidence(NO if denied else YES, Weight.SAID)
    if re.search(rf"\bcontrary to (?:the |this |that |what the )?(?:\w+ )?{words.CLAIM}", sentence):
        yield Evidence(NO, Weight.ASIDE)


def _unknown(sentence: str) -> Iterator[Evidence]:
    unknown = words.UNKNOWN.search(sentence)
    if unknown:
        about = _CLAIM_HERE.search(sentence) or re.search(
            r"\b(?:true|false|correct|whether|if)\b", sentence
        )
        yield Evidence(UNKNOWN, Weight.SAID if about else Weight.ASIDE)
    elif words.SILENT.search(sentence):
        yield Evidence(UNKNOWN, Weight.ASIDE)


def _predicates(sentence: str) -> Iterator[Evidence]:
    unknown = words.UNKNOWN.search(sentence)
    for term in words.TERM.finditer(sentence):
        if unknown and unknown.start() <= term.start():
            if not _RESULT.search(sentence[unknown.start() : term.start()]):
                continue
        found = _predicate(sentence, term)
        if found is not None:
            yield found


def _predicate(sentence: str, term: re.Match[str]) -> Evidence | None:
    """What a verdict word says; None if it is no predicate, or only a condition or a question."""
    before = sentence[max(0, term.start() - _BEFORE) : term.start()]
    right = sentence[term.end() : term.end() + 120]
    results = list(_RESULT.finditer(before))
    reach = before[results[-1].end() :] if results else before
    if _conditional(reach, right, before, sentence):
        return None
    if (
        _SAY_SO.match(right)
        and re.search(r"^ (?:to|that) ", right)
        and _flips(before + term[0] + right[:40])
    ):
        return _that_clause(sentence, term, before)
    noun = re.match(rf"\s{words.CLAIM}\b", right)
    if term[0] in words.STRONG and re.match(r" to (?!me\b|us\b)", right):
        return None
    if not noun and not re.match(_END, right):
        return None
    cuts = list(_BOUNDARY.finditer(before))
    clause = before[cuts[-1].end() :] if cuts else before
    if noun and re.search(r"\bthe\s*$", clause):
        return None
    labels: Labels = YES if term["yes"] else NOT_YES if term["unbacked"] else NO
    read = _clause(clause.strip(), before, reach, labels, term[0])
    if read is None:
        return None
    hedged = bool(words.SEEMING.search(before[-60:] + term[0] + right[:6]))
    of_a_fact = right.startswith(" that ") and read[0] == YES
    return Evidence(read[0], Weight.ASIDE if of_a_fact else read[1], hedged)


def _conditional(reach: str, right: str, before: str, sentence: str) -> bool:
    if _WHETHER.search(reach):
        return True
    if _CONDITION.match(right) or (_LATER_CONDITION.match(right) and _WOULD.search(reach)):
        return True
    if _LATER_CONDITION.match(right):
        return True
    return bool(_IF.search(reach) or _PERHAPS.search(reach[-40:]) or _MAYBE.search(reach))


def _flips(text: str) -> bool:
    return bool(_FLIP.search(text))


def _that_clause(sentence: str, term: re.Match[str], before: str) -> Evidence | None:
    """ "It is not true that ...", "it is wrong to say ..."; what follows may hold the verdict."""
    rest = sentence[term.end() :]
    if words.TERM.search(rest):
        return None
    denied = bool(re.search(r"(?:\bnot|n't|\bnever|\bhardly)\b[^,;]*$", before))
    positive = bool(term["yes"])
    return Evidence(NO if positive == denied else YES, Weight.SAID)


def _clause(
    clause: str, before: str, reach: str, labels: Labels, term: str
) -> tuple[Labels, Weight] | None:
    """What the words before a verdict make of it, and of what they speak."""
    rest, modifiers = clause, ""
    while match := words.MODIFIERS.search(rest):
        modifiers = f"{match[0].strip()} {modifiers}".strip()
        rest = rest[: match.start()].rstrip()
    own = _with(modifiers, labels, term)
    if own is None:
        return None
    verbs = rf"(?:{words.COPULA}|has|have|had)" if "been" in modifiers else words.COPULA
    copula = re.search(rf"(?:^|\s|(?<=\w)(?=')){verbs}$", rest)
    if not rest:  # nothing but modifiers: the clause leans on what stands before it
        strong = term in words.STRONG
        said = bool(_CLAIM_HERE.search(before)) and bool(modifiers)
        return (own, Weight.SAID if said else Weight.ASIDE) if strong or said else None
    if copula is not None:
        return _of_subject(rest, copula, before, reach, own, term)
    if _CANT_BE.search(f"{rest} be") and rest.endswith(
        ("cannot", "can't", "can not", "could not", "couldn't")
    ):
        return _negated(own, term), Weight.SAID
    made = _MAKES.search(rest)
    if made:
        if _NOT_BELIEVED.search(rest):
            return (NO if own == YES else NOT_NO), Weight.SAID
        if re.search(r"(?:\bnot|n't|\bnever)\b", rest[: made.end()]):
            return _not_shown(own), Weight.SAID
        return own, Weight.SAID
    modal = re.search(
        r"\b(?:must|should|has to|have to|will|would|shall|ought to|can only|got to|needs to)$",
        rest,
    )
    if modal and re.search(r"\b(?:be|have been|being)\b", modifiers):
        return own, Weight.SAID
    if re.fullmatch(rf"(?:(?:the|this|that) )?{words.CLAIM}", rest):
        return own, Weight.ASIDE
    return None


def _of_subject(
    rest: str, copula: re.Match[str], before: str, reach: str, own: Labels, term: str
) -> tuple[Labels, Weight] | None:
    subject = rest[: copula.start()].strip()
    contracted = copula[0].strip()
    if contracted.endswith("n't") or _AUXILIARY.search(subject):
        own = _negated(own, term)
    if _NONE.search(subject) or words.OPPOSITE.search(subject):
        own = _negated(own, term)
    if _flips(reach):
        own = _negated(own, term)
    elif _NOT_BELIEVED.search(reach):
        own = NO if own == YES else NOT_NO
    elif _NOT_SHOWN.search(reach):
        own = _not_shown(own)
    subject = _FOUND.sub("", subject)
    inner = not subject and bool(_CLAIM_HERE.search(before))
    about = bool(words.SUBJECT.search(subject)) or inner
    partial = words.PARTIAL.search(subject) or words.ONE_OF_MANY.search(subject)
    if partial and not words.ALL_OF.search(subject):
        whole = re.search(rf"^(?:the |this |that )?(?:given |above )?{words.CLAIM} ", subject)
        if own == YES and re.search(r"\b(?:only|just)\b", subject):
            return NO, Weight.SAID
        if not whole:
            half = words.PARTIAL.search(subject) and not re.search(r"\bones?\b", subject)
            return (own, Weight.ASIDE) if own == NO and half else None
    if about:
        return own, Weight.SAID
    if term in words.STRONG:
        return own, Weight.ASIDE
    stated = re.search(rf"\b(?:{words.CLAIM}|claimed|stated)\b", subject)
    return (own, Weight.ASIDE) if own == NO and stated else None


def _negated(labels: Labels, term: str) -> Labels:
    if labels == YES:
        return NOT_YES if term in words.SUPPORTED else NO
    if labels in (NO, NOT_YES):
        return YES
    return NOTHING if labels == UNKNOWN else NOT_YES


def _not_shown(labels: Labels) -> Labels:
    return NOT_YES if labels == YES else NOT_NO
