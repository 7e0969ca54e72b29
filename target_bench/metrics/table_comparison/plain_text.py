"""Texts in normal form: their words, without case and punctuation, but with signs of numbers."""

import re
import unicodedata
from functools import lru_cache

_SPOKEN = {
    **dict.fromkeys("-−–", "minus"),
    **dict.fromkeys(("<",), "under"),
    **dict.fromkeys((">",), "over"),
    **dict.fromkeys(("≤", "⩽", "<=", "=<"), "at most"),
    **dict.fromkeys(("≥", "⩾", ">=", "=>"), "at least"),
    **dict.fromkeys("~∼≈", "about"),
    **dict.fromkeys(("±", "+/-"), "plus minus"),
    **dict.fromkeys("%", "percent"),
    **{"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₹": "rupee"},
    **{"+": "plus", "#": "sharp"},
}
_SIGN = re.compile(
    r"(?<![\w)])[-−–](?=\d)"  # -5
    r"|(?:[<>]=|=[<>]|\+/-|[<>≤≥⩽⩾~∼≈±$€£¥₹])(?=\s*[-\d.$€£¥₹])"  # <5, ±5, $5
    r"|(?<=\d)\s*[%$€£¥₹]"  # 5%
    r"|(?<=\w)[+#](?!\w)"  # A+, C#
    r"|(?<=\b[a-z])[-−]$"  # A-
)
_RAISED = re.compile(r"(?<=\d)(?=[⁰¹²³⁴⁵⁶⁷⁸⁹])")
_NOT_WORD = re.compile(r"[\W_]+")
_LETTERS_APART = re.compile(r"(?<!\w)([^\W\d_]) (?=[^\W\d_](?!\w))")


@lru_cache(maxsize=2**16)
def words(text: str) -> str:
    """Return the words of a text without case and punctuation.

    Signs that change what is said become words: minus, percent, currencies, ``<``, ``≥``, ``~``,
    the plus of ``A+``.
    """
    plain = unicodedata.normalize("NFKC", _RAISED.sub(" ", text)).casefold()
    said = _SIGN.sub(lambda match: f" {_SPOKEN[match[0].strip()]} ", plain)
    return _NOT_WORD.sub(" ", said).strip() or plain.strip()


@lru_cache(maxsize=2**16)
def text_key(text: str) -> str:
    """Return the words of a text with single letters put together: ``U.S.`` is ``US``."""
    return _LETTERS_APART.sub(r"\1", words(text))
