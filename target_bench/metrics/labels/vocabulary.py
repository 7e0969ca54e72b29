"""The words with which language models give, deny, hedge and withhold a verdict."""

import re


def _any(words: str) -> str:
    """A pattern for any of the words, which are separated by spaces; ``_`` stands for a space."""
    found = sorted(words.split(), key=len, reverse=True)
    return "(?:" + "|".join(re.escape(word).replace("_", r"\s") for word in found) + ")"


TRUE_WORDS = "true correct accurate right valid factual verified confirmed validated substantiated"
TRUE_WORDS += " corroborated supported entailed consistent in_line well-founded"
FALSE_WORDS = "false untrue incorrect inaccurate wrong invalid refuted contradicted disproved"
FALSE_WORDS += (
    " disproven debunked fake bogus inconsistent contradictory erroneous mistaken counterfactual"
)
STRONG = ("true", "false", "untrue")
"""Words that are about a statement wherever they are a predicate; others need it as subject."""

SUPPORTED = ("supported", "substantiated", "corroborated", "verified", "confirmed", "validated")
"""What is not one of these is false or not known to be true."""

TERM = re.compile(
    rf"\b(?P<yes>{_any(TRUE_WORDS)})\b|\b(?P<no>{_any(FALSE_WORDS)})\b"
    r"|\b(?P<unbacked>unsupported|unfounded|unsubstantiated|baseless)\b"
)

ALONE_TRUE = _any(
    TRUE_WORDS
    + " yes yep yeah indeed of_course certainly absolutely exactly supports support entailment entails agree agreed affirmative t 1"
)
ALONE_FALSE = _any(
    FALSE_WORDS
    + " no nope no_way not_so not_at_all certainly_not absolutely_not of_course_not refutes refute contradiction contradicts disagree disagreed negative f 0"
)
ALONE_UNKNOWN = (
    r"(?:unknown|undetermined|indeterminate|unverifiable|unverified|inconclusive|neutral|nei"
    r"|(?:cannot|can't|can not) (?:say|tell|answer|know|decide)"
    r"|unclear|uncertain|unsure|undecided|undecidable|insufficient|unanswerable"
    r"|not (?:sure|certain|clear|known|verifiable|determinable|decidable|mentioned|stated))"
)
WEAK_ALONE = re.compile(r"(?:yes|yep|yeah|no|nope|1|0|t|f|correct|incorrect|right|wrong)\b")
"""Words that may answer a part of the question, too."""

CLAIM = (
    r"(?:statement|claim|assertion|hypothesis|proposition|sentence|premise|fact|allegation|caption"
    r"|assumption|declaration|affirmation)s?"
)
SUBJECT = re.compile(
    rf"^(?:(?:and|or|also|that|then|so|i (?:would )?(?:think|believe|say|conclude|find)|we (?:can )?"
    rf"(?:see|say|conclude|find)|it (?:is|seems|appears)|means?|this means|shows?|showing|indicates?"
    rf"|confirms?|suggests?|proves?|tables?|data|information|evidence|the|this|that|your|our|his|her"
    rf"|their|given|above|provided|following|original|user's|entire|whole|overall|said|stated|which"
    rf"|quoted|first|in question|such a|\W)\s*)*"
    rf"\b(?:{CLAIM}|it|this|that|which|everything|all|quoted|answer|verdict|label|response"
    rf"|conclusion|result|both|they|these|what(?: \w+){{1,6}}|truth value|classification)\b"
)
PARTIAL = re.compile(
    r"\b(?:parts?|half|halves|portions?|aspects?|elements?|details?|bits?|pieces?|components?"
    r"|clauses?|facts?|points?|figures?|numbers?|halfway|premises?)\b"
)
ONE_OF_MANY = re.compile(
    r"\b(?:first|second|third|fourth|latter|former|one|ones|some|other|another|last|only)\b"
)
ALL_OF = re.compile(r"\b(?:both|all|each|every|everything|entire|whole)\b")
OPPOSITE = re.compile(r"\b(?:opposite|reverse|contrary|converse)\b")

COPULA = (
    r"(?:is|was|are|were|be|been|being|'s|'re|isn't|wasn't|aren't|weren't|ain't|appears?|seems?"
    r"|looks?|sounds?|remains?|stays?|becomes?|rings?|holds?|evaluates|turns out|comes out|stands)"
)
_JUDGED = (
    r"(?:consider|deem|label|labell|mark|classifi|judg|rat|regard|categori[sz]|call|describ|count"
    r"|qualifi|evaluat|assess|tagg|prov|show|found|known|said|confirm|verifi|interpret|treat|view)"
    r"(?:ed|n)?"
)
HEDGES = r"(?:mostly|largely|mainly|generally|broadly|somewhat|roughly|approximately|almost|nearly"
HEDGES += (
    r"|possibly|perhaps|maybe|potentially|arguably|sometimes|virtually|practically|more or less"
)
HEDGES += r"|close to|substantially|essentially|basically|partially or fully|semi)"
HALF = r"(?:half|half-|partly|partially|only|in part|only in part|to some extent|semi-)"
WHOLLY = (
    r"(?:entirely|completely|fully|totally|wholly|quite|exactly|strictly|altogether|precisely|100%"
    r"|perfectly|absolutely|all that|all|technically|literally|strictly speaking)"
)
DENIAL = (
    r"(?:not|never|no longer|n't|hardly|barely|scarcely|far from|anything but|by no means|in no way"
    r"|nowhere near|not at all|neither|nor|less than)"
)
MODIFIERS = re.compile(
    rf"(?:\b(?:{DENIAL}|{HEDGES}|{HALF}|{WHOLLY}|{_JUDGED}|\w+ly|to be|to have been|being|be|been|as"
    rf"|a|an|the|in fact|indeed|in reality|just|still|even|so|also|very|quite|rather|pretty|too|well"
    rf"|yet|thus|hence|therefore|then|really|again|both|either|at best|at most|merely|one hundred percent|up|now"
    rf"|at all|most likely|likely|more likely|obviously|of course|by definition)(?!\w)|100%|half-)\s*$"
)
"""One word before a verdict that belongs to it."""

UNABLE = (
    r"(?:cannot|can't|can not|could not|couldn't|unable to|not able to|impossible to"
    r"|(?:not|isn't) possible to|no way to|no way of|hard to|difficult to|not in a position to"
    r"|unfeasible to|insufficient to|not sufficient to|doesn't allow \w+ to|not allow \w+ to"
    r"|not enough to|without (?:which|more|further|additional)[^,.]*)"
)
_FIND_OUT = (
    r"(?:determin|verif|verify|confirm|validat|establish|ascertain|assess|judg|evaluat|tell|know"
    r"|substantiat|decid|check|fact-check|corroborat|conclusively|definitively|answered|evaluated"
    r"|saying|telling|knowing|make a (?:determination|judg)|draw a conclusion|reach a conclusion"
    r"|be (?:said|told|known) (?:whether|if)|say (?:whether|if|for sure|for certain|either way|definitively|with)|be sure|be certain"
    r"|conclude (?:whether|if|anything)|either confirm|give a verdict|provide a (?:verdict|label))"
)
UNKNOWN = re.compile(
    r"(?:\bnot|n't)[\s_]+enough[\s_]+(?:\w+\s){0,2}?(?:info\b|information|data|evidence|context|details?)"
    r"|(?:n't|\bnot) (?:\w+ )?(?:contain|provide|have|give|include|offer|supply|show|hold)"
    r" (?:\w+ )?(?:enough|sufficient|adequate)\b"
    r"|\b(?:insufficient|inadequate|too little) (?:\w+ ){0,2}?(?:info\b|information|data|evidence|context|details?)"
    rf"|\b{UNABLE} (?:\w+ ){{0,3}}?{_FIND_OUT}\w*"
    r"|\b(?:un|not )(?:clear|known|certain|sure) (?:from [^,.]{1,40} )?(?:whether|if)\b"
    r"|\b(?:un|not )verifiable\b|\binconclusive\b|\bundetermined\b|\bunverified\b"
    r"|\b(?:remains?|is|are) (?:unclear|unknown|uncertain)\b"
    r"|\b(?:don't|do not|doesn't|does not) know\b"
    r"|\b(?:more|further|additional) (?:information|data|evidence|context|details?) (?:is|are|would be) (?:needed|required|necessary)\b"
    r"|\bneither (?:true nor false|false nor true|support\w* nor \w+|confirm\w* nor \w+"
    r"|verif\w* nor \w+|entail\w* nor \w+|prove\w* nor \w+|refute\w* nor \w+|contradict\w* nor \w+)"
    r"|\bneither (?:true|correct|accurate) (?:n?or) (?:false|incorrect|inaccurate)\b"
    r"|\bno conclusions? can be\b|\b(?:no|any) basis (?:for|to|on)\b"
    r"|\b(?:lacks?|lacking|without|missing) (?:\w+ ){0,4}(?:information|data|evidence|details?) (?:\w+ ){0,2}"
    r"(?:to|needed|required|necessary)\b"
)
SILENT = re.compile(
    r"\b(?:no|any|lacks?|lacking) (?:\w+ ){0,3}?(?:information|data|evidence|mention|record|indication"
    r"|details?)\b"
    r"|\b(?:(?:does|do|did) not|doesn't|don't|didn't) (?:\w+ )?(?:mention|specify|address|cover)\b"
    r"|\b(?:not|isn't|aren't) (?:mentioned|specified|included|covered|listed|provided|given)\b"
)
"""That a table does not say something, which is a reason rather than a verdict."""

SUPPORTING = (
    r"(?:supports?|confirms?|verif(?:y|ies)|back(?:s)?(?: up)?|corroborates?|entails?|validates?"
    r"|substantiates?|affirms?|supporting|confirming|follows from|agrees? with|aligns? with|accords? with|corresponds? (?:to|with)|match(?:es)?)"
)
OPPOSING = (
    r"(?:contradicts?|refutes?|disproves?|conflicts? with|disagrees? with|goes against|debunks?"
    r"|contradicting|refuting|disproving|rebuts?|invalidates?|falsif(?:y|ies)|at odds with|a contradiction (?:of|to)|in (?:contradiction|conflict) (?:to|with))"
)
SOURCE = (
    r"(?:table|tables|data|evidence|information|rows?|records?|facts?|context|text|source|results?"
    r"|numbers|figures?|statistics|entries|columns?|values?|document)"
)
CONCLUSION = re.compile(
    r"\b(?:therefore|thus|so|hence|consequently|accordingly|conclusion|in summary|to conclude"
    r"|to sum up|overall|as a result|in short|means? that|it follows that|conclude[sd]?"
    r"|altogether|ultimately|in the end|finally|all in all|for (?:this|that|these) reasons?)\b"
)
CONTRAST = re.compile(
    r"\b(?:but|however|yet|nevertheless|nonetheless|in fact|in reality|actually|on closer"
    r" (?:inspection|look)|wait|except)\b"
)
CONCESSION = re.compile(r"\b(?:although|though|even though|while|whereas|despite|even if)\b[^,.;]*")
SEEMING = re.compile(
    r"\b(?:seems?|appears?|looks?|sounds?|may|might|could|at first|initially|it(?: is|'s) (?:true|correct|right|accurate) that"
    r"|first glance|on the surface)\b"
)
