"""Languages of tables and questions: their stemmers and stop words by name, and their scripts.

Stemmers are Snowball's, stop words the lists of bm25s, which some languages lack. Chinese,
Japanese, Korean and Thai need no setting: their words are divided wherever they occur
(``table_text``). Chinese has characters in place of stop words.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from itertools import islice
from typing import Annotated, Literal

Language = Literal[
    "ar",
    "da",
    "de",
    "el",
    "en",
    "es",
    "fi",
    "fr",
    "hi",
    "hu",
    "it",
    "nl",
    "no",
    "pt",
    "ro",
    "ru",
    "sv",
    "tr",
    "zh",
]
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

FUNCTION_CHARACTERS: dict[Language, str] = {
    "zh": "的了是在和与及或个有被把从到于其之为中这那他她它也都就着过们吗呢吧将对以不"
}
"""Particles, pronouns and prepositions of one character, which stand between words."""

_LETTERS: dict[Language, str] = {
    "ar": "\u0600-\u06ff",
    "el": "\u0370-\u03ff",
    "hi": "\u0900-\u097f",
    "ru": "\u0400-\u04ff",
    "zh": "\u4e00-\u9fff",
}

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

UNSPACED_RUNS = re.compile(f"([{_UNSPACED}]+)")
"""A group: characters of these scripts that stand together."""

OTHER_SCRIPTS = re.compile(f"[{_UNSPACED}\u0590-\u109f\u1700-\u1cff]")
"""Those, and the scripts from Hebrew to Myanmar whose vowels may be marks on the letters."""


def known_or_alike(tokens: Sequence[str], known: Collection[str]) -> Sequence[str]:
    """Return the tokens of a query, or known ones that hold their characters.

    A query of pairs of characters of which none is known (a short one may be) would find nothing.
    It is asked with every known token that holds one of its characters instead. Where a token is
    known, and in other scripts, the tokens stay as they are.
    """
    if not tokens or any(token in known for token in tokens):
        return tokens
    characters = "".join(run for token in tokens for run in UNSPACED_RUNS.findall(token))
    if not characters:
        return tokens
    wanted = set(characters)
    return [token for token in known if not wanted.isdisjoint(token)]


_READ = 300
"""Texts that are looked at to tell the language."""

_LEAST_SHARE = 0.02
"""The least share of words that has to be of a language for texts to be in it."""


_OF_ONE_LANGUAGE = {
    "ja": re.compile("[\u3041-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7a3]"),
    "th": re.compile("[\u0e01-\u0e4f]"),
}
"""Scripts of languages without a stemmer or stop words here."""

_LEAST_OF_A_SCRIPT = 0.2
"""The least share of characters that has to be of a script for texts to be in its language."""


def text_language_of(
    texts: Sequence[str], stop_words: Callable[[Language], Set[str]]
) -> str | None:
    """Return the language of texts, Japanese, Korean and Thai too; None where none fits."""
    characters = "".join(re.findall(r"\w+", " ".join(texts[:_READ])))
    for language, script in _OF_ONE_LANGUAGE.items():
        if len(script.findall(characters)) > _LEAST_OF_A_SCRIPT * len(characters):
            return language
    return _fitting(texts, stop_words)


def language_of(texts: Iterable[str], stop_words: Callable[[Language], Set[str]]) -> Language:
    """Return the language that the first of some texts are in; English if none fits.

    Languages of other scripts are recognised by their letters, those in Latin by stop words.
    """
    return _fitting(texts, stop_words) or "en"


def _fitting(texts: Iterable[str], stop_words: Callable[[Language], Set[str]]) -> Language | None:
    words = Counter(
        word for text in islice(texts, _READ) for word in re.findall(r"[^\W_]+", text.lower())
    )
    hits = {language: _hits(language, words, stop_words) for language in WORDS_OF}
    most = max(hits, key=hits.__getitem__)  # English, which is first, where others have no more
    return most if hits[most] >= max(1, _LEAST_SHARE * words.total()) else None


def _hits(
    language: Language, words: Counter[str], stop_words: Callable[[Language], Set[str]]
) -> int:
    if language in _LETTERS:
        letters = re.compile(f"[{_LETTERS[language]}]")
        if language == "zh" and _is_japanese("".join(words), letters):
            return 0
        return sum(n for word, n in words.items() if letters.search(word))
    return sum(words[word] for word in stop_words(language))


def _is_japanese(characters: str, han: re.Pattern[str]) -> bool:
    """Return whether kana are more than a fifth of the kana and Han characters."""
    kana = len(_OF_ONE_LANGUAGE["ja"].findall(characters))
    return kana > _LEAST_OF_A_SCRIPT * (kana + len(han.findall(characters)))
