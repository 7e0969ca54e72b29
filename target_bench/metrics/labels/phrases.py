"""Phrases that give a verdict as a whole, which word by word would say something else.

"There is no way that this is false", "correct except for the date", "couldn't be more accurate".
"""

import re
from dataclasses import dataclass

from target_bench.metrics.labels import vocabulary as words
from target_bench.metrics.labels.evidence import NO, UNKNOWN, YES, Labels

_YES = r"(?:true|correct|right|accurate|supported)"
_NO = r"(?:false|wrong|incorrect|inaccurate|untrue)"
_THE_CLAIM = rf"(?:(?:the|this|that) {words.CLAIM}|it|this|that)"
_EXCEPT = (
    r"(?:except|(?:apart|aside) from|other than|but for|save|(?:with|but for) one exception)\b"
)
_MATTER = r"(?:about|on|in|regarding|that)\b[^.;]*?"
_FAULT = r"(?:errors?|mistakes?|inaccurac(?:y|ies)|faults?|mismatch(?:es)?|discrepanc(?:y|ies))"
_IMPOSSIBLE = re.compile(
    rf"^(?:so )?(?:there(?: is|'s) no way(?: that)? {_THE_CLAIM} (?:is|was|can be|could be)"
    rf"|(?:in no way|by no means) (?:is|was) {_THE_CLAIM}"
    rf"|it(?: is|'s) (?:impossible|not possible) for {_THE_CLAIM} to be"
    rf"|no (?:part|aspect|detail) of {_THE_CLAIM} is"
    rf"|(?:i conclude that )?it(?: is|'s) not the case that {_THE_CLAIM} is"
    rf"|it(?: is|'s) (?:hard|difficult) to (?:argue|say|claim)(?: that)? {_THE_CLAIM} is"
    r"|it (?:would be|is|'s) (?:wrong|incorrect|inaccurate|a mistake|an error) to"
    r" (?:say|claim|state|call|label|classify|mark|describe|consider)(?: that)?"
    rf" {_THE_CLAIM}(?: as| is| to be)?"
    rf") (?:(?P<yes>{_YES})|(?P<no>{_NO}))(?=[.,;!]|$| because| since| as )"
)
"""A denial that reaches exactly one verdict."""
_PHRASES = tuple(
    (re.compile(pattern), labels)
    for pattern, labels in (
        (rf"\b{_YES},? {_EXCEPT}", NO),
        (r"\ball but (?:one|two|three|a few) of the \w+ (?:are|is) (?:correct|true|right)", NO),
        (rf"\b{_YES} {_MATTER},? but (?:is |it is )?(?:not (?:about|on|in|that)|{_NO})\b", NO),
        (rf"\b{_NO} {_MATTER},? but (?:is |it is )?{_YES} (?:about|on|in|regarding|that)\b", NO),
        (rf"\b{_YES} {_MATTER} but the \w+ (?:is|was) (?:{_NO}|off)\b", NO),
        (
            r"(?:^|[,;] |\b(?:but|and|because|since|as) )the (?:year|date|score|number|venue"
            r"|winner|team|name|figure|value|total|count)"
            rf" (?:is|was) (?:off|{_NO}|not {_YES})(?=[.,;:!]|$)(?! number)",
            NO,
        ),
        (
            rf"\bthe \w+ (?:is|was) {_YES},? (?:but )?(?:the \w+|the second (?:one )?)"
            r" (?:is|was) not(?=[.,;]|$)",
            NO,
        ),
        (rf"^the first (?:\w+ )?(?:of {_THE_CLAIM} )?is {_YES}, (?:but )?the second"
         r" (?:one )?is not\b", NO),
        (rf"^the {words.CLAIM} (?:incorrectly|inaccurately|wrongly|mistakenly|falsely)"
         r" (?:states?|says?|claims?|identifies|notes?|reports?|lists?)\b", NO),
        (rf"^the {words.CLAIM} (?:correctly|rightly|accurately) (?:states?|says?|claims?"
         r"|identifies|notes?|reports?|lists?|reflects?)\b(?!.*(?:\bbut\b|\byet\b|\bhowever\b|\bnot\b"
         r"|wrong|correctly.*incorrect|, (?:though|although|while)))", YES),
        (rf"\b{words.CLAIM} (?:correctly|rightly|accurately) \w+ [^.;]*\bbut"
         r" (?:incorrectly|wrongly|inaccurately)\b", NO),
        (rf"\b{words.CLAIM} (?:does not|doesn't) (?:accurately|correctly) (?:reflect|represent"
         r"|describe|match)\b", NO),
        (rf"^the {words.CLAIM} (?:misrepresents?|misstates?|exaggerates?|overstates?|understates?"
         r"|inflates?)\b(?! nothing)", NO),
        (rf"^the {words.CLAIM} (?:gets?|got) (?:it|the \w+) wrong\b", NO),
        (rf"^(?:the {words.CLAIM}|the \w+) is off(?: by [^,;]+)?[.!]?$", NO),
        (rf"^(?:the {words.CLAIM}|it) (?:contains?|has) (?:an?|one|two|several|some) (?:\w+ )?"
         rf"{_FAULT}(?=[.,:;!]|$| in\b| about\b)", NO),
        (rf"^(?:the {words.CLAIM}|it) (?:contains?|has) no (?:\w+ )?{_FAULT}[.!]?$", YES),
        (rf"^i (?:found|see|find) an? (?:\w+ )?{_FAULT} in (?:the|this) {words.CLAIM}\b", NO),
        (rf"^i (?:found|see|find) no (?:\w+ )?{_FAULT} (?:in|with) (?:the|this) {words.CLAIM}\b"
         r"(?!.*\b(?:but|not|false)\b)", YES),
        (rf"^(?:the {words.CLAIM}|it) is (?:error-free|free of errors)\b", YES),
        (rf"^i (?:cannot|can't) fault (?:the|this) {words.CLAIM}[.!]?$", YES),
        (r"^there(?: is|'s) an? (?:mismatch|discrepancy)\b(?!.*\b(?:in (?:the )?table|but)\b)", NO),
        (rf"^there(?: is|'s) no (?:mismatch|discrepancy|conflict) between (?:the )?{words.CLAIM}"
         r" and (?:the )?\w+[.!]?$", YES),
        (rf"\b(?:couldn't|could not) be (?:more {_YES}|less {_NO})\b", YES),
        (rf"\b(?:couldn't|could not) be (?:less {_YES}|more {_NO})\b", NO),
        (rf"^it(?: is|'s) {_YES} that [^;.]*, but (?:the {words.CLAIM} (?:says?|claims?|states?)\b"
         r"|the \w+ (?:is|was) [^,;.]+, not\b)", NO),
        (rf", so (?:overall )?(?:it|the {words.CLAIM})(?: as a whole)? is (?:overall )?{_NO}[.!]?$",
         NO),
        (rf"\bis close,? but (?:is )?not (?:quite |entirely )?{_YES}[.!]?$", NO),
        (rf"^(?:in order )?for {_THE_CLAIM} to be true, [^,]* would (?:have|need) to be [^,]+, but",
         NO),
        (rf"^not (?:all|every)(?: \w+){{0,3}} (?:is|are) {_YES}[.!]?$", NO),
        (r"(?<!not )(?<!no )\bmore true than false\b", YES),
        (r"(?<!not )(?<!no )\bmore false than true\b", NO),
        (rf"\bno reason to (?:doubt {_THE_CLAIM}|(?:call|label|consider) {_THE_CLAIM} {_NO})"
         r"[.!]?$", YES),
        (rf"\bwould (?:only )?be {_YES} if it (?:said|read|stated|were about)\b", NO),
        (rf"^(?:the {words.CLAIM}|it) should (?:say|read) [^.;]* to be {_YES}", NO),
        (r"^(?:that|this)(?: is|'s) not what the tables? (?:says?|shows?)\b", NO),
        (rf"^the tables? supports? (?:only (?:the first )?(?:half|part) of the {words.CLAIM}"
         r"|the opposite)\b", NO),
        (r"^the (?:tables?|data) contradicts? (?:the first half|part) (?:but|and) supports?\b", NO),
        (r"^the tables? (?:is|are) silent\b[^,;]*$", UNKNOWN),
        (r"^the information (?:needed|required|necessary) is not in the tables?[.!]?$", UNKNOWN),
        (rf"\b(?:cannot|can't|can not) conclude (?:that )?{_THE_CLAIM} is (?:true or false"
         r"|either)\b(?=[^,;]*$)", UNKNOWN),
        (r"\bwithout (?:more|further) data we (?:cannot|can't) be (?:sure|certain)[.!]?$", UNKNOWN),
    )
)  # fmt: skip
_CONDITIONAL = re.compile(
    r"\b(?:whether|might|may(?! \d)|perhaps|if)\b(?! it (?:said|read|stated|were))"
    rf"|^(?:the )?{words.CLAIM} (?:says?|claims?|states?)\b"
    rf"|\bas (?:the {words.CLAIM} |it )?(?:says?|claims?|claimed|states?|stated)\b"
)
_SAID_THAT = re.compile(
    rf"\b(?:{words.SUPPORTING})(?: (?:that(?= \w+ \w)|the conclusion that)|(?= the {words.CLAIM}"
    rf" (?:is|was|isn't)\b))"
)
_TAKEN_AS = re.compile(
    r"(?:(?<=been )|(?<=is )|(?<=was ))(?:verified|confirmed|proven|validated) (?:as|to be)"
    rf" (?=(?:not )?(?:{_YES}|{_NO})\b)"
)
_COMPLETE = re.compile(
    r"\b(?:assuming|provided)(?: that)? the (?:tables?|data) (?:is|are)"
    r" (?:complete|correct|accurate|right|reliable),"
)
_CHOSEN = re.compile(r"\b(true|false),? (?:over|rather than|instead of|and not) (?:true|false)\b")
WAIT = re.compile(
    r"^(?:.*?(?:\.\.\.|[…–—,-])\s)?(?:no, |oh,? )?(?:wait|hold on|scratch that)"
    r"(?=[,.!:…–—]|\s[–—-]|\s(?:no|actually)\b)[\s,.:!…–—-]*"
)
"""A model that takes back what it said."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase that gives a verdict: the labels that it allows, and where it ends."""

    labels: Labels
    end: int


def phrase(sentence: str) -> Phrase | None:
    """Return the phrase in a sentence; None if it holds none, or two that differ.

    Args:
        sentence: in lower case, with plain quotes and no markup.
    """
    if _CONDITIONAL.search(sentence):
        return None
    found = [
        Phrase(labels, match.end())
        for pattern, labels in _PHRASES
        if (match := pattern.search(sentence))
    ]
    impossible = _IMPOSSIBLE.match(sentence)
    if impossible:
        found.append(Phrase(NO if impossible["yes"] else YES, impossible.end()))
    if len({item.labels for item in found}) != 1:
        return None
    return max(found, key=lambda item: item.end)


def simplified(sentence: str) -> str:
    """Return a sentence without its confirming words.

    Sources "show that", with nothing "confirmed to be" or taken as complete.
    """
    sentence = _CHOSEN.sub(r"\1", sentence)
    return _COMPLETE.sub(" ", _TAKEN_AS.sub("", _SAID_THAT.sub("shows that", sentence))).strip(" ,")
