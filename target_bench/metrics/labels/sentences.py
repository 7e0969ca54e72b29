"""Evidence of one sentence of an answer about the statement."""

import re
from collections.abc import Iterator

from target_bench.metrics.labels import vocabulary as words
from target_bench.metrics.labels.evidence import (
    NO,
    NONE,
    NOT_NO,
    NOT_YES,
    UNKNOWN,
    YES,
    Evidence,
    Weight,
)
from target_bench.metrics.labels.phrases import WAIT, phrase, simplified
from target_bench.metrics.labels.predicates import counterfactual, predicates
from target_bench.metrics.labels.verdicts import alone

_BEFORE = 300  # characters before a verb that are looked at
_HEAD = re.compile(
    r"(?P<head>[^,;:.–—(]{1,60}?)\s*(?:[,;:.–—(]|\s-+\s"
    r"|\b(?:because|since|as|based|according|given|due|per)\b)"
)
_CONDITION = re.compile(r"[\s,]*(?:only |but only )?(?:if|unless|provided|assuming|as long as)\b")
_PAIR = re.compile(
    r"\b"
    + words.one_of(
        """true / correct / right / supported / supports? / confirm(?:ed|s)? / accurate / verify
        / entailed / proven? / yes / valid / verified / validate"""
    )
    + r"\s*(?:or|/|nor|vs\.?|versus)\s*"
    + words.one_of(
        """false / untrue / wrong / refut(?:ed?|es) / den(?:y|ied) / contradict(?:ed|s)? / not / no
        / otherwise
        / (?:in|un|dis|not )(?:correct|accurate|valid|supported|prove[nd]?|true|right)"""
    )
    + r"\b|\b(?:false|incorrect|wrong)\s*(?:or|/)\s*(?:true|correct|right)\b"
)
"""Both sides of a question, of which neither is the answer."""
_BOTH = words.word(
    """true and false / false and true / yes and no / correct and incorrect
    / true, false,? (?:or|and) not enough info(?:rmation)?"""
)
_INSERTED = re.compile(
    r",\s"
    + words.one_of(
        """in fact / actually / indeed / in truth / in reality / therefore / thus / hence / however
        / then / as stated / as such / as written / as given / of course / in my opinion
        / in my view / strictly speaking / clearly / i (?:think|believe|would say)
        / it (?:is|seems|appears) / (?:based|according|judging|given) [^,]{1,80}"""
    )
    + r"\s*,"
)
_IDIOM = re.compile(
    r"\bif (?:i (?:had|have|must|am|were)|i'm|forced|pressed"
    r"|(?:we|you|one) (?:looks?|checks?|compares?|examines?|reads?|adds?|sums?|go(?:es)?)) ?[^,]*,"
)
"""Conditions that are none: "if you look at row 4, ..."."""
_NO_BUT = re.compile(r"anything but|nowhere close to")
_ABOUT = re.compile(r"\b(?:true|false|correct|whether|if)\b")
_THING = rf"(?:{words.CLAIM}|it|this|that|what)\b"
_SOURCES = re.compile(
    rf"\b(?:(?P<yes>{words.SUPPORTING})|(?P<no>{words.OPPOSING}))\s"
    rf"(?:(?P<claim>(?:the |this |that |your |such a |both )?(?:\w+ )?{_THING})"
    rf"|(?P<source>(?:the |what |these |those |all )?(?:\w+ )?{words.SOURCE}\b))"
)
_ALL_DATA = re.compile(r"^(?:the|these) (?:tables?|data|numbers|figures|values?|results?) [^,]*$")
_COMPARED = re.compile("match|agree|align|accord|correspond")
_SUBJECT = re.compile(rf"\b(?:{_THING}|which\b)")
_NEXT = re.compile(
    r", and\b|\b(?:(?<!if )so(?! long)|therefore|thus|hence|but|however|consequently|yet)\b|;"
)
_MODAL = re.compile(r"\b(?:may|might|could|would)\b")
_INFINITIVE = re.compile(r"\b(?P<verb>\w+) to(?: \w+ly)?$")
_FAILS, _SEEMS = ("fails", "fail", "failing"), ("seems", "seem", "appears", "appear")
_DENIED = re.compile(r"\b(?:not|never|nothing|neither|none|nor|no|cannot)\b|n't\b|\bfail\w* to\b")
_IN_PART = re.compile(r"\b(?:only|partly|partially)\b[^,]*$")
_HOLDS = re.compile(
    rf"\b(?:{words.CLAIM}|it|which|this)(?: \w+)?"
    r" (?:holds up|checks out|holds true|holds|stands up|stands(?=[.!]?$)|is borne out|adds up)\b"
)
_OPEN = re.compile(r"\b(?:whether|might|may|could|would|never)\b")
_DOES_NOT_HOLD = re.compile(
    r"\b(?:does not|doesn't|do not|don't|fails to|cannot|can't)"
    r" (?:hold(?: up| true)?|check out|add up|stand up)\b|\b(?:claim|statement) fails\b"
)
_CASE = re.compile(
    r"\b(?:this|that|it|which|such)(?P<copula> is| was|'s| isn't| wasn't)"
    r"(?P<words>(?: \w+){0,3}?) the case\b"
    r"|(?P<far>\bfurther from the truth\b|\bno truth (?:in|to)\b)"
)
_SO = re.compile(
    r"(?:^(?:according to|based on|judging by|per) [^,]*|\b(?:so|therefore|thus|hence|answer is)),?"
    r" (yes|no)[.!]?$"
)
_POSITIVE = r"(?:true|correct|right|accurate|supported)"
_NEGATIVE = r"(?:not|wrong|incorrect|inaccurate|false|untrue)"
_OUT_OF_REACH = re.compile(
    r"\b(?:there(?: is|'s) no way|in no way|by no means|no (?:reason|aspect|part)|hesitate)\b"
    r"|\b(?:wrong|incorrect|inaccurate|mistake|error|hard|difficult|correct|right|accurate) to"
    r" (?:say|claim|state|call|assert|describe|conclude|label|classify|mark|argue|consider)\b"
    r"|(?:\bnot|n't) (?:\w+ )?(?:sure|certain|confident|convinced|comfortable)\b"
    r"(?= (?:that|the|this|it|in|about|saying|calling)\b)"
    rf"|\b{_POSITIVE} (?:about|regarding|in part)\b"
    r"|\bi (?:can't|cannot|can not) say (?!if|whether)\w"
    rf"|^what(?: is|'s) {_POSITIVE} is\b"
    rf"|\b{_POSITIVE}\b[^.;]*\b(?:except|(?:apart|aside) from|other than|but for|exceptions?)\b"
    rf"|\b{_POSITIVE} (?:about|in|on|for|regarding|that)\b[^.;]*\bbut (?:is |it is )?{_NEGATIVE}\b"
    rf"|\b(?:false|wrong|incorrect)\b[^.;]*\bbut it is (?:true|correct|right) that\b"
)
"""Wordings whose reach these rules do not work out: better unread than wrong."""
_AGREEMENT = re.compile(
    rf"(?:yes|yep|yeah|certainly|verified|confirmed)[,:] (?=.*\b{words.CLAIM}\b)"
)
_DENIED_DETAIL = re.compile(
    r"\b(?:\w*false|wrong|\w*correct|accurate|\w*true|claim|statement) that\b"
)
_CONTRARY = re.compile(rf"\bcontrary to (?:the |this |that |what the )?(?:\w+ )?{words.CLAIM}")


def evidence(sentence: str, first: bool, last: bool) -> list[Evidence]:
    """Return the evidence of a sentence, in its order.

    "Yes, the statement is false" agrees with what the sentence says itself.

    Args:
        sentence: in lower case, with plain quotes and no markup.
        first: whether the answer begins with it.
        last: whether the answer ends with it.
    """
    found = _evidence(sentence, first, last)
    denies = any(item.weight == Weight.SAID and not item.labels & YES for item in found)
    if denies and _AGREEMENT.match(sentence) and not _DENIED_DETAIL.search(sentence):
        return [item for item in found if (item.labels, item.weight) != (YES, Weight.VERDICT)]
    return found


def _evidence(sentence: str, first: bool, last: bool) -> list[Evidence]:
    if sentence.startswith("or "):  # "True. Or is it?"
        return [Evidence(NONE, Weight.VERDICT)]
    if sentence.endswith("?"):
        return []
    whole = alone(sentence)
    if whole is not None:
        aside = words.MAY_BE_OF_A_PART.match(sentence) and not (first or last)
        return [Evidence(whole, Weight.ASIDE if aside else Weight.VERDICT)]
    taken_back = WAIT.match(sentence)
    if taken_back:
        return evidence(sentence[taken_back.end() :], first, last)
    sentence = simplified(_IDIOM.sub(" ", sentence).strip())
    known = phrase(sentence)
    if known is not None:
        said = Evidence(known.labels, Weight.SAID)
        return [*_opening(sentence, first or last), said, *predicates(sentence[known.end :])]
    if _BOTH.search(sentence):
        return [Evidence(NONE, Weight.SAID)]
    opened = list(_opening(sentence, first or last))
    sentence = _INSERTED.sub(" ", _NO_BUT.sub("not", sentence).replace("even close to ", ""))
    plain = words.CONCESSION.sub(" , ", sentence).strip(" ,")
    sentence = plain if " " in plain else sentence
    opened = opened or list(_opening(sentence, first or last))
    if _OUT_OF_REACH.search(sentence):
        return opened
    found = [*opened, *_of_sources(sentence), *_idioms(sentence)]
    found += _withheld(sentence)
    parts = _contrasted(_PAIR.sub("so or so", sentence))
    before = list(predicates(parts[0]))
    if len(parts) == 1:
        return found + before
    if words.UNSURE.search(parts[1].strip(" .!")):
        return [Evidence(NONE, Weight.SAID)]
    after = list(predicates(parts[1]))
    if after:
        return [item for item in found if item.weight == Weight.VERDICT] + after
    open_ = words.IF.search(parts[1]) or words.UNKNOWN.search(parts[1])
    wish = None if open_ else counterfactual(parts[0])
    found += [] if wish is None else [Evidence(wish, Weight.SAID)]
    return found + [item for item in before if not item.hedged]


def _contrasted(sentence: str) -> list[str]:
    """Return a sentence, or the parts before and behind the contrast in it."""
    places = [m for m in words.CONTRAST.finditer(sentence) if sentence[: m.start()].strip(" ,")]
    if not places:
        return [sentence]
    turns = [place for place in places if place[0] in words.TURN]
    cut = turns[-1] if turns else places[0]
    return [sentence[: cut.start()].strip(" ,;"), sentence[cut.end() :].strip(" ,")]


def _opening(sentence: str, outer: bool) -> Iterator[Evidence]:
    """Read a sentence that begins with a verdict: "No, the table says ...", "False because ..."."""
    head = _HEAD.match(sentence)
    labels = alone(head["head"]) if head else None
    if head is None or labels is None or words.UNSURE.search(head["head"]):
        return
    if not _CONDITION.match(sentence, head.end("head")):
        yield Evidence(labels, Weight.VERDICT if outer else Weight.ASIDE)


def _of_sources(sentence: str) -> Iterator[Evidence]:
    """Read "the table does not support the claim", "it contradicts the data"."""
    for verb in _SOURCES.finditer(sentence):
        left = sentence[max(0, verb.start() - _BEFORE) : verb.start()].rstrip()
        begins = list(_NEXT.finditer(left))
        left = left[begins[-1].end() :] if begins else left
        infinitive = _INFINITIVE.search(left)
        if (
            (verb["source"] and not _SUBJECT.search(left))
            or words.IF.search(left)
            or words.WHETHER.search(left)
            or _MODAL.search(left)
            or words.UNKNOWN.search(left + sentence[verb.start() : verb.end()])
            or (infinitive and infinitive["verb"] not in (*_FAILS, *_SEEMS))
        ):
            continue
        positive = verb["yes"] is not None
        if _IN_PART.search(left):
            yield Evidence(NO, Weight.SAID)
        elif not _DENIED.search(left):
            yield Evidence(YES if positive else NO, Weight.SAID)
        elif positive:  # a statement that does not match the table is false; a table may be silent
            compared = verb["source"] or (_COMPARED.match(verb["yes"]) and _ALL_DATA.search(left))
            yield Evidence(NO if compared else NOT_YES, Weight.SAID)
        else:
            yield Evidence(NOT_NO, Weight.SAID)


def _idioms(sentence: str) -> Iterator[Evidence]:
    """Yield verdicts without a word of verdict: "the claim holds", "this is not the case"."""
    condition = words.IF.search(sentence)
    if _HOLDS.search(sentence) and not condition and not _OPEN.search(sentence):
        yield Evidence(YES, Weight.SAID)
    so = _SO.search(sentence)
    if so:
        yield Evidence(YES if so[1] == "yes" else NO, Weight.SAID)
    if _DOES_NOT_HOLD.search(sentence):
        yield Evidence(NO, Weight.SAID)
    case = _CASE.search(sentence)
    if case and not condition and not words.WHETHER.search(sentence[: case.start()]):
        denied = case["far"] or _DENIED.search(case["copula"] + case["words"])
        yield Evidence(NO if denied else YES, Weight.SAID)
    if _CONTRARY.search(sentence):
        yield Evidence(NO, Weight.ASIDE)


def _withheld(sentence: str) -> Iterator[Evidence]:
    """Yield the evidence of a sentence that nothing can be known."""
    if words.UNKNOWN.search(sentence):
        about = words.THERE.search(sentence) or _ABOUT.search(sentence)
        yield Evidence(UNKNOWN, Weight.SAID if about else Weight.ASIDE)
    elif words.SILENT.search(sentence):
        yield Evidence(UNKNOWN, Weight.ASIDE)
