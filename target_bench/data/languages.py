"""Languages of tables and questions: their stemmers and stop words by name, and their scripts.

Stemmers are Snowball's, stop words the lists of bm25s, which some languages lack. Chinese,
Japanese, Korean and Thai need no setting: their words are divided wherever they occur
(``table_text``). Chinese has characters in place of stop words.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from functools import cache
from itertools import islice
from typing import Annotated, Any, Literal

Language = Literal[
    "ar", "da", "de", "el", "en", "es", "fi", "fr", "hi", "hu", "it", "nl", "no",
    "pt", "ro", "ru", "sv", "tr", "zh",
]  # fmt: skip
"""A language, by its code of ISO 639-1."""

AnyLanguage = Language | Literal["auto"]
"""A language, or the one that most of the tables of a corpus are in."""

Stemming = Annotated[
    Literal["english", "none"], "english stems the words of any language=, such as language=de"
]
"""Whether words are stemmed: ``english`` takes the stemmer of the language."""

StopWords = Literal["en_plus", "en", "none"]

WORDS_OF: dict[Language, tuple[str, str]] = {
    "en": ("english", ""),
    "ar": ("arabic", ""),
    "da": ("danish", "DANISH"),
    "de": ("german", "GERMAN"),
    "el": ("greek", ""),
    "es": ("spanish", "SPANISH"),
    "fi": ("finnish", ""),
    "fr": ("french", "FRENCH"),
    "hi": ("hindi", ""),
    "hu": ("hungarian", ""),
    "it": ("italian", "ITALIAN"),
    "nl": ("dutch", "DUTCH"),
    "no": ("norwegian", "NORWEGIAN"),
    "pt": ("portuguese", "PORTUGUESE"),
    "ro": ("romanian", ""),
    "ru": ("russian", "RUSSIAN"),
    "sv": ("swedish", "SWEDISH"),
    "tr": ("turkish", "TURKISH"),
    "zh": ("english", ""),
}
"""Snowball's name, and that of bm25s' list, if it has one; of Chinese those of English words."""


TOLD_APART: Sequence[str] = (*WORDS_OF, "ja", "ko", "th")
"""The languages whose words are treated in a way of their own."""

_OTHER_NAMES = dict(
    re.findall(
        r"(\w\w) (\w+)",
        "af Afrikaans, am Amharic, as Assamese, be Belarusian, bg Bulgarian, bn Bengali, "
        "bs Bosnian, ca Catalan, cs Czech, cy Welsh, dz Dzongkha, et Estonian, eu Basque, "
        "fa Persian, ga Irish, gl Galician, gu Gujarati, he Hebrew, hr Croatian, hy Armenian, "
        "id Indonesian, is Icelandic, ja Japanese, ka Georgian, kk Kazakh, km Khmer, kn Kannada, "
        "ko Korean, ky Kyrgyz, lo Lao, lt Lithuanian, lv Latvian, mk Macedonian, ml Malayalam, "
        "mn Mongolian, mr Marathi, ms Malay, ne Nepali, or Odia, pa Punjabi, pl Polish, ps Pashto, "
        "si Sinhala, sk Slovak, sl Slovenian, sq Albanian, sr Serbian, sw Swahili, ta Tamil, "
        "te Telugu, th Thai, tl Tagalog, ug Uyghur, uk Ukrainian, ur Urdu, vi Vietnamese, "
        "zh Chinese",
    )
)
"""Languages without a stemmer of their own: those of other scripts, and those of many speakers.

py3langid knows more, such as Latin and Luxembourgish; names of people and columns look like them.
"""


def name_language(code: str) -> str:
    """Return the English name of a language that ``recognize_language`` tells."""
    return _OTHER_NAMES.get(code) or dict(WORDS_OF)[code][0].title()  # type: ignore[index]


FUNCTION_CHARACTERS: dict[Language, str] = {
    "zh": "的了是在和与及或个有被把从到于其之为中这那他她它也都就着过们吗呢吧将对以不"
}
"""Particles, pronouns and prepositions of one character, which stand between words."""

_UNSPACED = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"  # Han
    "\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"  # kana
    "\u1100-\u11ff\u3131-\u318f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc"  # Hangul
    "\u0e01-\u0e4f\u0e81-\u0ecf\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u103f\u1050-\u108f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17df"  # Khmer
)
"""Scripts that put no spaces between words, or, as Korean, write particles on them."""


@cache  # not compiled by the import: each of the two takes 5 ms, and most corpora need neither
def compile_unspaced_runs() -> re.Pattern[str]:
    """Return a pattern with a group: characters of these scripts that stand together."""
    return re.compile(f"([{_UNSPACED}]+)")


@cache
def compile_other_scripts() -> re.Pattern[str]:
    """Return a pattern of a character of theirs, or of a script from Hebrew to Myanmar.

    Vowels of the latter may be marks on the letters.
    """
    return re.compile(f"[{_UNSPACED}\u0590-\u109f\u1700-\u1cff]")


def match_known_tokens(tokens: Sequence[str], known: Collection[str]) -> Sequence[str]:
    """Return the tokens of a query, or known ones that hold their characters."""
    # Pairs of characters of which none is known, as of a short query, would find nothing.
    if not tokens or any(token in known for token in tokens):
        return tokens
    characters = "".join(run for token in tokens for run in compile_unspaced_runs().findall(token))
    if not characters:
        return tokens
    expected = set(characters)
    return [token for token in known if not expected.isdisjoint(token)]


def recognize_language(texts: Iterable[str], sure: float = 0.99) -> str | None:
    """Return the language of the first 300 texts by its code; None where it cannot be told."""
    words = [word for text in islice(texts, _READ) for word in _WORD.findall(text)]
    lower = Counter(map(str.lower, words))
    # the model takes 0.7 s to read, which most corpora are spared
    if sum(lower[word] for word in ("the", "and", "of")) > _ENGLISH * len(words):
        return "en"
    if not words:
        return None
    text = " ".join(dict.fromkeys(words))
    every, told_apart = _identifiers()
    (other, probability), *_ = every.rank(text)
    if other not in TOLD_APART and probability >= sure:
        return str(other)
    probabilities = dict(told_apart.rank(text))
    if not _KANA.search(text):  # which every Japanese text has
        probabilities["zh"] += probabilities.pop("ja")
    language = max(probabilities, key=probabilities.__getitem__)
    return language if probabilities[language] >= sure else None


def guess_language(texts: Iterable[str]) -> Language:
    """Return the language of the first 300 texts; English if none of these can be told."""
    code = recognize_language(texts)
    return next((known for known in WORDS_OF if known == code), "en")


_READ = 300
_ENGLISH = 0.012  # of the words; corpora in German, French and Spanish have half of it
_KANA = re.compile("[\u3041-\u30ff]")
_WORD = re.compile(r"[^\W\d_][^\s\d_]+")  # with vowel signs, which are no letters


@cache
def _identifiers() -> tuple[Any, Any]:
    """Return two identifiers: among all languages with a name, and among ``TOLD_APART``."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    every = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    told_apart = copy(every)
    every.set_languages({*TOLD_APART, *_OTHER_NAMES})
    told_apart.set_languages(TOLD_APART)
    return every, told_apart
