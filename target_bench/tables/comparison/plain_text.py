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
    **dict.fromkeys(("=", "=="), "equals"),
    **dict.fromkeys(("≠", "!="), "is not"),
    **dict.fromkeys("↑▲△⬆", "up"),
    **dict.fromkeys("↓▼▽⬇", "down"),
    **dict.fromkeys(("→", "->", "➔", "➡"), "to"),
    **dict.fromkeys("%", "percent"),
    **{"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₹": "rupee"},
    **{"+": "plus", "#": "sharp"},
}
_SIGN = re.compile(
    r"(?<![\w)])[-−–](?=\d)"  # -5
    r"|->|[<>!=]=|=[<>]|\+/-|[<>≤≥⩽⩾=≠±↑▲△⬆↓▼▽⬇→➔➡]"
    r"|[~∼≈$€£¥₹](?=\s*[-\d.$€£¥₹])"  # ~5, $5
    r"|(?<=\d)\s*[%$€£¥₹]"  # 5%
    r"|\+(?!\d)|(?<=[\w+])\+"  # A++, a + b, 3+4, but not +5
    r"|(?<=[\w#])#(?![\w])"  # C#
    r"|(?:(?<=\b[a-z])|(?<=\b[a-z]{2})|(?<=\b[a-z]{3}))[-−](?=$|[,;/)])"  # BBB-
)
_RAISED = re.compile(r"(?<=\d)(?=[⁰¹²³⁴⁵⁶⁷⁸⁹])")
_SYMBOLS = "←-⇿∀-∑∓∔√-∻∽-⋿■-➿⬀-⯿\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
"""Arrows, mathematics, shapes, pictures: two texts with different ones say different things."""

_SYMBOL = re.compile(f"[{_SYMBOLS}]")
_NOT_WORD = re.compile(rf"(?:[^\w{_SYMBOLS}]|_)+")
_LETTERS_APART = re.compile(r"(?<!\w)([^\W\d_]) (?=[^\W\d_](?!\w))")


@lru_cache(maxsize=2**16)
def words(text: str) -> str:
    """Return the words of a text without case and punctuation.

    Signs that change what is said become words: minus, percent, currencies, ``<``, ``≥``, ``=``,
    ``~``, arrows, the plus of ``A+`` and the minus of ``BBB-``. Other symbols are kept as they are.
    """
    plain = _plain(text)
    said = _SIGN.sub(lambda match: f" {_SPOKEN[match[0].strip()]} ", plain)
    apart = _SYMBOL.sub(r" \g<0> ", said)
    return _NOT_WORD.sub(" ", apart).strip() or plain.strip()


def signs(text: str) -> list[str]:
    """Return the signs and symbols of a text that change what it says, in their order."""
    plain = _plain(text)
    return [_SPOKEN[sign.strip()] for sign in _SIGN.findall(plain)] + _SYMBOL.findall(plain)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", _RAISED.sub(" ", text)).casefold()


@lru_cache(maxsize=2**16)
def text_key(text: str) -> str:
    """Return the words of a text with single letters put together: ``U.S.`` is ``US``."""
    return _LETTERS_APART.sub(r"\1", words(text))
