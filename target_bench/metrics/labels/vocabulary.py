"""The words with which language models give, deny, hedge and withhold a verdict.

Texts are in lower case. Alternatives are separated by " / ".
"""

import re


def one_of(alternatives: str) -> str:
    """Return a pattern that matches any of the alternatives, the longest first."""
    found = [part.strip() for part in re.split(r"\s/\s", alternatives)]
    return "(?:" + "|".join(sorted(found, key=len, reverse=True)) + ")"


def word(alternatives: str) -> re.Pattern[str]:
    """Compile a pattern of alternatives, each as a word of its own."""
    return re.compile(rf"\b{one_of(alternatives)}\b")


# Verdicts

_TRUE = """true / correct / accurate / right / valid / factual / verified / confirmed / validated
    / substantiated / corroborated / supported / entailed / consistent / in line / well-founded"""
_FALSE = """false / untrue / incorrect / inaccurate / wrong / invalid / refuted / contradicted
    / disproved / disproven / debunked / fake / bogus / inconsistent / contradictory / erroneous
    / mistaken / counterfactual"""
_UNBACKED = "unsupported / unfounded / unsubstantiated / baseless"

TERM = re.compile(
    rf"\b(?:(?P<yes>{one_of(_TRUE)})|(?P<no>{one_of(_FALSE)})|(?P<unbacked>{one_of(_UNBACKED)}))\b"
)
"""A word of verdict in a sentence."""

STRONG = ("true", "false", "untrue")
"""Words that are about the statement even where their subject is not named as such."""

BACKED = ("supported", "substantiated", "corroborated", "verified", "confirmed", "validated")
"""A statement that is not one of these is false, or not known to be true."""

ALONE_TRUE = one_of(
    f"""{_TRUE} / yes / yep / yeah / indeed / of course / certainly / absolutely / exactly
    / holds / holds true / holds up / supports / support / entailment / entails / agree / agreed
    / affirmative / t / 1"""
)
ALONE_FALSE = one_of(
    f"""{_FALSE} / no / nope / no way / not so / not at all / certainly not / absolutely not
    / of course not / refutes / refute / contradiction / contradicts / disagree / disagreed
    / negative / hardly / far from it / f / 0"""
)
ALONE_UNKNOWN = one_of(
    r"""unknown / undetermined / indeterminate / unverifiable / unverified / inconclusive / neutral
    / nei / unclear / uncertain / unsure / undecided / undecidable / insufficient / unanswerable
    / (?:cannot|can't|can not) (?:say|tell|answer|know|decide)
    / not (?:sure|certain|clear|known|verifiable|determinable|decidable|mentioned|stated)"""
)
MAY_BE_OF_A_PART = word(
    "yes / yep / yeah / no / nope / 1 / 0 / t / f / correct / incorrect / right / wrong"
)
"""Verdicts that also answer the steps of a reasoning ("Is the year right? Yes.")."""

# What stands between subject and verdict

COPULA = one_of(
    """is / was / are / were / be / been / being / 's / 're / isn't / wasn't / aren't / weren't
    / ain't / appears? / seems? / looks? / sounds? / remains? / stays? / becomes? / rings? / holds?
    / evaluates / turns out / comes out / stands"""
)
DENIAL = one_of(
    """not / never / no longer / n't / hardly / barely / scarcely / far from / anything but
    / by no means / in no way / nowhere near / not at all / neither / nor / less than
    / the opposite of"""
)
HEDGE = one_of(
    """mostly / largely / mainly / generally / broadly / somewhat / roughly / approximately / almost
    / nearly / possibly / perhaps / maybe / potentially / arguably / sometimes / virtually
    / practically / more or less / reportedly / allegedly / supposedly / purportedly
    / rarely / seldom / close to / substantially / essentially / basically / semi"""
)
"""What leaves open whether a person would say true or false."""
HALF = one_of(
    "half / half- / partly / partially / only / in part / only in part / to some extent / semi-"
)
"""What makes a statement false: it is not true as a whole."""
WHOLLY = one_of(
    """entirely / completely / fully / totally / wholly / quite / exactly / strictly / altogether
    / precisely / 100% / perfectly / absolutely / all that / all / technically / literally"""
)
"""What makes a denial one of the whole: "not entirely true" is false."""
UNDECIDED_DENIAL = word(
    "not (?:necessarily|always|clearly|obviously|definitively|conclusively|yet)"
)
_JUDGED = one_of(
    """consider / deem / label / labell / mark / classifi / judg / rat / regard / categori[sz]
    / call / describ / count / qualifi / evaluat / assess / tagg / prov / show / found / known
    / said / confirm / verifi / interpret / treat / view"""
)
_FILLERS = one_of(
    r"""\w+ly / to be / to have been / being / be / been / as / a / an / the / in fact / indeed
    / in reality / just / still / even / so / also / very / quite / rather / pretty / too / well
    / yet / thus / hence / therefore / then / again / both / either / at best / at most
    / one hundred percent / up / now / at all / most likely / more likely / of course
    / by definition"""
)
MODIFIERS = re.compile(
    rf"(?:\b(?:{DENIAL}|{HEDGE}|{HALF}|{WHOLLY}|{_JUDGED}(?:ed|n)?|{_FILLERS})(?!\w)|100%|half-)\s*$"
)
"""The last word before a verdict, if it belongs to it."""

# Of what a verdict is

CLAIM = one_of(
    """statement / claim / assertion / hypothesis / proposition / sentence / premise / fact
    / allegation / caption / assumption / declaration / affirmation"""
)
CLAIM = f"{CLAIM}s?"
HEAD = re.compile(
    rf"{CLAIM}|it|this|that|which|everything|all|quoted|answer|verdict|label|response|conclusion"
    r"|result|both|what|truth|classification"
)
"""A noun or pronoun that may stand for the statement."""
LEAD = frozenset(
    """and or also that then so i we would can think believe say conclude find see it is seems
    appears mean means shows showing indicates confirms suggests proves table tables data
    information evidence the this your our his her their given above provided following original
    user's entire whole overall said stated which quoted first in question such a""".split()  # noqa: SIM905
)
"""Words that may stand before it."""
FOUND = re.compile(
    r"^.*\b"
    + one_of(
        """shows? / showing / shown / confirms? / indicates? / proves? / see / sees / concludes?
        / think / believe / find / means / suggests? / implies / reveals? / establish(?:es)?
        / verif(?:y|ies) / demonstrates? / feel / sure / clear / evident / afraid / sorry"""
    )
    + "(?: that)? "
)
"""The clause on which another depends: "the second table shows that ..."."""
PARTIAL = word(
    """parts? / half / halves / portions? / aspects? / elements? / details? / bits? / pieces?
    / components? / clauses? / facts? / points? / figures? / numbers? / premises?"""
)
ONE_OF_MANY = word(
    """first / second / third / fourth / latter / former / ones? / some / others? / another / last
    / only"""
)
ALL_OF = word("both / all / each / every / everything / entire / whole")
NONE_OF = word("none / nothing / neither / no part / not all / not everything / not every")
OPPOSITE = word("opposite / reverse / contrary / converse")
THERE = re.compile(rf"\b(?:{CLAIM}|it|this|that|which|quoted|answer|label|verdict)\b")
"""Any mention of the statement."""

# Sources that support or contradict

SUPPORTING = one_of(
    """supports? / supporting / confirms? / confirming / verif(?:y|ies) / backs?(?: up)?
    / corroborates? / entails? / validates? / substantiates? / affirms? / follows from
    / agrees? with / aligns? with / accords? with / corresponds? (?:to|with) / match(?:es)?"""
)
OPPOSING = one_of(
    """contradicts? / contradicting / refutes? / refuting / disproves? / disproving
    / conflicts? with / disagrees? with / goes against / debunks? / rebuts? / invalidates?
    / falsif(?:y|ies) / at odds with / a contradiction (?:of|to)
    / in (?:contradiction|conflict) (?:to|with)"""
)
SOURCE = one_of(
    """tables? / data / evidence / information / rows? / records? / facts? / context / text
    / source / results? / numbers / figures? / statistics / entries / columns? / values?
    / document"""
)

# What cannot be known

_INFORMATION = r"(?:info\b|information|data|evidence|context|details?)"
_HOLD = "(?:contain|provide|have|give|include|offer|supply|show|hold)"
_LACKS = "(?:lacks?|lacking|without|missing)"
_NO_OBJECT = r"(?! (?:why|how|who|what|where|when|which|the|of|a)\b)"
_NEEDED = "(?:needed|required|necessary)"
_UNABLE = one_of(
    r"""cannot / can't / can not / could not / couldn't / unable to / not able to / impossible to
    / (?:not|isn't) possible to / no way to / no way of / hard to / difficult to
    / not in a position to / unfeasible to / insufficient to / not sufficient to
    / (?:doesn't|not) allow \w+ to / not enough to
    / without (?:which|more|further|additional)[^,.]{0,80}"""
)
_FIND_OUT = one_of(
    r"""determin / verif / verify / confirm / validat / establish / ascertain / assess / judg
    / evaluat / tell / know / substantiat / decid / check / fact-check / corroborat / conclusively
    / definitively / answered / saying / make a (?:determination|judg) / draw a conclusion
    / reach a conclusion / be (?:said|told|known) (?:whether|if) / be sure / be certain
    / say (?:whether|if|for sure|for certain|either way|definitively|with)
    / conclude (?:whether|if|anything) / either confirm / give a verdict
    / provide a (?:verdict|label)"""
)
UNKNOWN = re.compile(
    one_of(
        rf"""(?:\bnot|n't)\s(?:enough|sufficient)\s(?:\w+\s){{0,2}}?{_INFORMATION}
        / (?:n't|\bnot) (?:\w+ )?{_HOLD} (?:\w+ )?(?:enough|sufficient|adequate)\b
        / \b(?:insufficient|inadequate|too little) (?:\w+ ){{0,2}}?{_INFORMATION}
        / \b{_UNABLE} (?:\w+ ){{0,3}}?{_FIND_OUT}\w*
        / \b(?:un|not )(?:clear|known|certain|sure) (?:from [^,.]{{1,40}} )?(?:whether|if)\b
        / \b(?:un|not )verifiable\b / \binconclusive\b / \bundetermined\b / \bunverified\b
        / \b(?:remains?|is|are) (?:unclear|unknown|uncertain)\b
        / \b(?:don't|do not|doesn't|does not) know\b{_NO_OBJECT}
        / \b(?:more|further|additional) {_INFORMATION} (?:is|are|would be) {_NEEDED}\b
        / \bneither (?:true|correct|accurate|false) nor (?:true|false|incorrect|inaccurate)\b
        / \bneither (?:support|confirm|verif|entail|prove|refute|contradict)\w* nor \w+
        / \b(?:i|we|one) (?:cannot|can't|can not|couldn't) (?:say|tell|know)[.!]?$
        / \bno conclusions? can be\b / \b(?:no|any) basis (?:for|to|on)\b
        / \b{_LACKS} (?:\w+ ){{0,4}}{_INFORMATION} (?:\w+ ){{0,2}}(?:to|{_NEEDED})\b"""
    )
)
SILENT = re.compile(
    one_of(
        rf"""\b(?:no|any|{_LACKS}) (?:\w+ ){{0,3}}?(?:{_INFORMATION}|mention|record|indication)\b
        / \b(?:not|doesn't|don't|didn't) (?:\w+ )?(?:mention|specify|address|cover)\b
        / \b(?:not|isn't|aren't) (?:mentioned|specified|included|covered|listed|provided|given)\b"""
    )
)
"""That a table does not say something: a reason, and a verdict only if there is no other."""

# How clauses hang together

CONTRAST = word(
    """but / however / yet / nevertheless / nonetheless / in fact / in reality / actually
    / on closer (?:inspection|look) / wait / except"""
)
TURN = ("but", "however", "yet")
CONCESSION = re.compile(
    rf"\b{one_of('although / though / even though / while / whereas / despite / even if')}\b[^,.;]*"
)
SEEMING = word(
    """seems? / appears? / looks? / sounds? / may / might / could / at first / initially
    / first glance / on the surface / it(?: is|'s) (?:true|correct|right|accurate) that"""
)
"""What a contrast takes back."""
IF = re.compile(
    r"(?<!even )(?<!as )\b(?:if|unless|assuming|suppose|supposing|provided that|were it"
    r"|had (?:the|it|he|she|they)|in (?:that|which) case|otherwise|so long as"
    r"|on (?:the )?condition)\b"
    r"|^(?:were|should|had) (?:the|it|this|that|he|she|they|all|we)\b"
    r"|^when (?!we|you|i|one|looking|checking|comparing|compared)\b"
    r"|^(?:until|before|once|as soon as|ignoring|excluding|leaving out|apart from) "
    r"|^(?:provided|as long as|only if|in case) (?!tables?|data|information)"
)
WHETHER = re.compile(r"\b(?:whether|if|(?<!that's )(?<!is )why|how)\b[^;:]*$")
WOULD = re.compile(r"\b(?:would|'d)\b")
MAYBE = word(
    """perhaps / maybe / possibly / (?:possible|conceivable|plausible|a chance|a possibility) that
    / (?:like|want|wanted|love|tempted|wish) to / not that / rule out
    / not (?:saying|claiming|suggesting|implying|convinced)
    / (?:could|might|may|would)(?: be tempted to)? (?:think|assume|believe|argue|expect)"""
)
ATTRIBUTED = re.compile(
    r"(?<!i would )(?<!i'd )(?<!can )(?<!could )(?<!to )(?<!must )(?<!i )(?<!not )(?<!n't )\b"
    + one_of(
        r"""says? / said / claims(?= (?:that|the|it|he|she|they|to)) / claimed / asserts?
        / asserted / states / stated / reports? / reported / assum\w+ / hop(?:e|es|ed|ing)
        / wonder\w* / argue[sd]? / asks? / asked / mention(?:s|ed)? / pretend\w* / imagin\w+
        / doubt(?:s|ed) / guess(?:es|ed)"""
    )
    + r"\b|\bi (?:hope|wonder|assume|assumed|said|imagine|doubt|did(?: not|n't) (?:say|claim))\b"
)
"""That somebody says it, perhaps the statement itself; it is not a verdict of the model."""
SOMEBODY = word("some / people / many / others / they / one / you / he / she / who")
NOBODY = word("no one / nobody / none / few")
UNSURE = re.compile(r"\b(?:unsure|not (?:\w+ )?(?:sure|certain|confident))$")
NOT_BELIEVED = re.compile(
    r"\b"
    + one_of(
        """do not / don't / did not / didn't / would not / wouldn't / cannot / can't / never
        / (?:can|could|would) hardly"""
    )
    + r"(?: \w+)? "
    + one_of(
        """think / believe / find / consider / feel / agree / call / label / say / deem / see how
        / accept / regard / classify"""
    )
    + r"\b"
)
NOT_SHOWN = re.compile(
    r"(?:\b(?:does|do|did|is|are|was|were|has|have|can|could)(?: not|n't)"
    r"|\b(?:cannot|nothing|no \w+|none|fails? to|without))\b[^,;:]*\b"
    + one_of(
        r"""show\w* / say\w* / stat(?:e|es|ed|ing)\b / indicat\w+ / support\w* / suggest\w*
        / prov(?:e|es|ing)\w* / establish\w* / demonstrat\w+ / conclude\w* / impl\w+ / mean
        / evidence / proof / reason / confirm\w* / makes? / render\w*"""
    )
    + r"\b"
)
_SAY = r"(?:say|claim|state|call|assert|describe|conclude)"
SAY_SO = re.compile(rf"^ (?:to (?:{_SAY}|consider)|(?:that|the) (?:the |this |that )?{CLAIM})\b")
DENIED_THAT = re.compile(
    r"\b(?:not|n't|never|hardly)(?: \w+){0,2}"
    r" (?:the case|correct|true|accurate|right|fair|possible)"
    rf" (?:to {_SAY}|that)\b"
    r"|\b(?:isn't|wasn't|not|never) the case\b"
    rf"|\b(?:wrong|incorrect|inaccurate|untrue|misleading|a mistake|an error) to {_SAY}\b"
    r"|\b(?:false|wrong|incorrect|untrue) that\b"
)
"""A clause that denies the one that depends on it: "it is not true that ..."."""
MAKES = re.compile(
    r"\b"
    + one_of(
        """makes? / making / made / believes? / renders? / rendering / proves? / proving / proved
        / considers? / finds? / calls? / labels? / marks? / rates? / judges? / deems?
        / classif(?:y|ies) / answers? / says? / concludes? / chooses? / selects?
        / goes with / go with / responds? / reply / output / assign / lean(?:ing)? / pick
        / return / shows? / settle on / opt for
        / declares? / vote"""
    )
    + r"(?: (?:one|it|this|that|that it|to|towards?|with|on|for|as|is"
    r"|the label|the answer|the verdict"
    rf"|(?:the|this|that|your|its)(?: \w+)? {CLAIM}(?: (?:that|about|of) [^,;]{{1,150}})?))*$"
)
"""Verbs whose object is judged: "this makes the claim false", "I would label it as true"."""
