"""Texts of nearly the same letters that say the opposite, and names of one thing.

A text says the opposite of another where the two differ in a negation (``guilty`` and ``not
guilty``, ``with`` and ``without``), in a prefix that negates (``legal`` and ``illegal``), in two
prefixes of opposite meaning (``hypertension`` and ``hypotension``, ``increase`` and ``decrease``),
or in two words of a short list.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

_NEGATING_WORDS = """
not no non never without neither nor none nothing nobody cannot except excluding lacking
"""

_NEGATING_PREFIXES = "un in im il ir dis non anti de mis counter"

_OPPOSITE_PREFIXES = """
hyper/hypo in/de in/ex im/ex in/out as/des ac/de ap/de en/dis con/pro pre/post ante/post over/under
up/down north/south east/west inter/intra macro/micro max/min mono/poly multi/mono homo/hetero
sub/super endo/exo intro/extro pro/anti inter/exter
"""

_OPPOSITE_WORDS = """
male/female man/woman men/women he/she his/her boy/girl major/minor more/less most/least
former/latter inner/outer upper/lower buyer/seller lender/borrower employer/employee payer/payee
winner/loser debit/credit profit/loss asset/liability assets/liabilities income/expense gain/loss
rise/fall rising/falling rose/fell win/loss wins/losses won/lost pass/fail passed/failed true/false
yes/no on/off open/closed left/right top/bottom up/down in/out above/below before/after first/last
early/late hot/cold high/low higher/lower highest/lowest large/small larger/smaller long/short
longer/shorter near/far old/new old/young older/younger heavy/light fast/slow hard/easy dead/alive
day/night morning/evening am/pm north/south east/west northern/southern eastern/western
northeast/southeast northwest/southwest front/rear positive/negative plus/minus accept/reject
accepted/rejected approved/rejected allowed/denied granted/refused present/absent presence/absence
public/private single/married benign/malignant acute/chronic solid/liquid offense/defense
offensive/defensive offence/defence attack/defence home/away arrival/departure arrivals/departures
domestic/foreign urban/rural buy/sell bought/sold ancestor/descendant parent/child mother/father
son/daughter brother/sister husband/wife king/queen hired/fired start/end begin/end odd/even
mandatory/optional sender/receiver symmetric/asymmetric typical/atypical septic/aseptic moral/amoral
symptomatic/asymptomatic synchronous/asynchronous periodic/aperiodic normal/abnormal
"""


def _both_ways(pairs: str) -> list[tuple[str, str]]:
    split = [pair.partition("/")[::2] for pair in pairs.split()]
    return [*split, *((other, one) for one, other in split)]


_STEM = 4
"""Letters of a word at least without the prefix that turns its meaning round."""

_NEGATIONS = frozenset(_NEGATING_WORDS.split())
_NEGATED_BY = tuple(_NEGATING_PREFIXES.split())
_PREFIX_PAIRS = _both_ways(_OPPOSITE_PREFIXES)
_OPPOSITES = {
    word: [other for one, other in _both_ways(_OPPOSITE_WORDS) if one == word]
    for word, _ in _both_ways(_OPPOSITE_WORDS)
}
_ALIASES = {
    alias: names[0]
    for names in (
        ("united states", "usa", "us", "united states of america", "america"),
        ("united kingdom", "uk", "great britain", "britain", "gb"),
        ("united arab emirates", "uae", "emirates"),
        ("european union", "eu"),
        ("soviet union", "ussr", "union of soviet socialist republics"),
        ("russia", "russian federation"),
        ("south korea", "republic of korea", "korea republic of", "korea south"),
        ("north korea", "korea north", "korea democratic people s republic of", "dprk"),
        ("czechia", "czech republic"),
        ("democratic republic of the congo", "drc", "dr congo", "congo kinshasa"),
        ("ivory coast", "côte d ivoire", "cote d ivoire"),
        ("vietnam", "viet nam"),
        ("turkey", "türkiye", "turkiye"),
        ("myanmar", "burma"),
        ("netherlands", "the netherlands", "holland"),
        ("switzerland", "ch", "swiss confederation"),
        ("people s republic of china", "prc", "china"),
    )
    for alias in names
}
"""Name, in normal form -> the first of the names of the same thing."""


def known_name(text: str) -> str | None:
    """Return one name for all names of a thing that has several; None for any other text."""
    return _ALIASES.get(text)


def are_opposites(one: str, two: str) -> bool:
    """Return whether two texts, in normal form, differ in what turns the meaning round."""
    if one.replace(" ", "") == two.replace(" ", ""):
        return False
    first, second = _words(one), _words(two)
    if _negations(first) != _negations(second):
        return True
    gone, new = Counter(first) - Counter(second), Counter(second) - Counter(first)
    return any(opposite in new for word in gone for opposite in _opposites(word))


def _words(text: str) -> list[str]:
    """Return the words of a text; ``non profit`` is one word, as ``nonprofit``."""
    words: list[str] = []
    for word in text.split():
        if words and words[-1] == "non" and len(word) >= _STEM:
            words[-1] += word
        else:
            words.append(word)
    return words


def _negations(words: Sequence[str]) -> int:
    """Count the words that negate; ``no`` at the end, before a number or ``of`` means number."""
    count = 0
    for word, following in pairwise([*words, ""]):
        is_number = word == "no" and (following in ("", "of") or following.isdigit())
        is_contracted = word.endswith("n") and following == "t"  # isn't
        count += is_contracted or (word in _NEGATIONS and not is_number)
    return count


def _opposites(word: str) -> Iterator[str]:
    """Yield what would be the opposite of a word, whether there is such a word or not."""
    yield from _OPPOSITES.get(word, ())
    if len(word) >= _STEM:
        yield from (prefix + word for prefix in _NEGATED_BY)
    turned = [*((prefix, "") for prefix in _NEGATED_BY), *_PREFIX_PAIRS]
    for prefix, other in turned:
        stem = word.removeprefix(prefix)
        if stem != word and len(stem) >= _STEM:
            yield other + stem
