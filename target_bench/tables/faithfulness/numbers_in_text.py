"""Numbers of a text, in digits or in words, as values that can be compared."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_UNITS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
""".split()  # noqa: SIM905 (words are easier to read so)
_TENS = """
twenty thirty forty fifty sixty seventy eighty ninety
""".split()  # noqa: SIM905 (words are easier to read so)
_ORDINALS = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
""".split()  # noqa: SIM905 (words are easier to read so)
_SMALL = (
    {word: n for n, word in enumerate(_UNITS)}
    | {word: 20 + 10 * n for n, word in enumerate(_TENS)}
    | {word: n for n, word in enumerate(_ORDINALS, start=1)}
)
_SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_VAGUE = frozenset({"zero", "one", "first", "second", *_SCALES})
"""Words that often mean no amount: a text that has them claims no number, but they support one."""

_ORDINAL = "|".join(sorted(_ORDINALS, key=len, reverse=True))
_CARDINAL = "|".join(sorted([*_UNITS, *_TENS, *_SCALES], key=len, reverse=True))
_MOST_WORDS = 30
"""Words of a number: those up to trillions need 25, and no product of 30 words is out of range."""

_IN_WORDS = re.compile(
    rf"\b(?:(?:{_CARDINAL})(?:(?: |-| and )(?:{_CARDINAL})){{0,{_MOST_WORDS - 1}}}"
    rf"(?:[ -](?:{_ORDINAL}))?|{_ORDINAL})\b"
)
_IN_DIGITS = re.compile(
    r"\d(?<![a-z\d]\d)(?:\d{0,2}(?:,\d{3})+(?!\d)|\d{0,14})(?:\.\d{1,15})?"
    rf"(?:(?:st|nd|rd|th|s|%)(?![a-z\d])|[ -](?:{'|'.join(_SCALES)})\b)?"
)
_YEARS = re.compile(r"(?P<century>1\d|20)(?<!\w\d\d)(?P<first>\d\d)-(?P<last>\d\d)(?![-\d])")
_DIGITS = re.compile(r"[^\d.]")
_MOST_DIGITS = 9


class Number(NamedTuple):
    """A number of a text.

    Attributes:
        value: without its sign.
        unit: that of its last written digit, as 0.1 or 1,000,000; 0 where it is exact.
        vague: whether it may be no number, as ``one`` or ``first``.
        text: as it is written.
        start: where it begins.
        end: where it ends.
    """

    value: float
    unit: float
    vague: bool
    text: str
    start: int
    end: int

    def is_of(self, value: float) -> bool:
        """Return whether a value is this number, or rounds to it where it is rounded."""
        return self.value == value or abs(self.value - value) <= self.unit / 2


def numbers(text: str) -> Iterator[Number]:
    """Yield the numbers of a text in lower case, with plain dashes.

    Digits may have commas between thousands, a decimal point, the end of an ordinal, a percent sign
    and a scale (``2.5 million``). ``1982-84`` is 1982 and 1984. Numbers in words are up to
    trillions, and the ordinals up to twentieth; after ``_MOST_WORDS`` words another number begins.
    A number with decimals or a scale is a rounded one.
    """
    cut = {}
    for match in _YEARS.finditer(text):
        last, start = match["last"], match.start("last")
        cut[start] = float(match["century"] + last)
        yield Number(cut[start], 0.0, False, last, start, match.end())
    for match in _IN_DIGITS.finditer(text):
        if match.start() not in cut:
            yield Number(*_in_digits(match[0]), False, match[0], match.start(), match.end())
    for match in _IN_WORDS.finditer(text):
        if match.start() and text[match.start() - 2 : match.start() - 1].isdigit():
            continue
        vague = match[0] in _VAGUE
        yield Number(_in_words(match[0]), 0.0, vague, match[0], match.start(), match.end())


def digit_values(text: str) -> frozenset[float]:
    """Return the values of the numbers of a text that are written in digits."""
    years = (float(m["century"] + m["last"]) for m in _YEARS.finditer(text))
    digits = (_in_digits(found)[0] for found in set(_IN_DIGITS.findall(text)))
    return frozenset([*years, *digits])


def spelled_values(text: str) -> frozenset[float]:
    """Return the values of the numbers of a text that are written in words, vague ones included."""
    return frozenset(_in_words(found) for found in set(_IN_WORDS.findall(text)))


@lru_cache(maxsize=2**15)
def _in_digits(text: str) -> tuple[float, float]:
    """Read value and unit."""
    digits = _DIGITS.sub("", text.replace(",", ""))
    scale = _SCALES.get(re.split("[ -]", text)[-1], 1)
    decimals = len(digits.partition(".")[2])
    unit = scale / 10**decimals if decimals or scale > 1 else 0.0
    return round(float(digits) * scale, _MOST_DIGITS), unit


def _in_words(text: str) -> float:
    total, group = 0, 0
    for word in re.split(r"[ -]+", text):
        scale = _SCALES.get(word)
        if scale is None:
            group += _SMALL.get(word, 0)
        elif scale == _SCALES["hundred"]:
            group = (group or 1) * scale
        else:
            total, group = total + (group or 1) * scale, 0
    return float(total + group)
