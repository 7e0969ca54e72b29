"""Languages of tables and questions: stemmers, stop words, and which of them tables are in.

Stemmers are Snowball's, stop words the lists of bm25s, which some languages lack. Chinese,
Japanese, Korean and Thai need no setting: their words are divided wherever they occur
(``table_text``).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from typing import Literal

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
]
"""A language, by its code of ISO 639-1."""

AnyLanguage = Language | Literal["auto"]
"""A language, or the one that most of the tables of a corpus are in."""

Stemming = Literal["english", "none"]
StopWords = Literal["en_plus", "en", "none"]

_WORDS_OF: dict[Language, tuple[str, str]] = {
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
}
"""Snowball's name, and that of bm25s' list, if it has one."""

_LETTERS: dict[Language, str] = {
    "ar": "\u0600-\u06ff",
    "el": "\u0370-\u03ff",
    "hi": "\u0900-\u097f",
    "ru": "\u0400-\u04ff",
}
_READ = 300
"""Texts that are looked at to tell the language."""

_LEAST_SHARE = 0.02
"""The least share of words that has to be of a language for texts to be in it."""


@cache
def stemmer(language: Language) -> Callable[[str], str]:
    """Return the function that takes a word to its stem."""
    from Stemmer import Stemmer

    stem: Callable[[str], str] = Stemmer(_WORDS_OF[language][0]).stemWord
    return stem


@cache
def stop_words(language: Language, name: StopWords = "en_plus") -> frozenset[str]:
    """Return the words to leave out: of English the list of this name, else the language's own."""
    from bm25s import stopwords

    if name == "none":
        return frozenset()
    wanted = name.upper() if language == "en" else _WORDS_OF[language][1]
    return frozenset(getattr(stopwords, f"STOPWORDS_{wanted}") if wanted else ())


def language_of(texts: Iterable[str]) -> Language:
    """Return the language that the first of some texts are in; English if none fits.

    Languages of other scripts are recognised by their letters, those in Latin by stop words.
    """
    words = Counter(
        word for text in islice(texts, _READ) for word in re.findall(r"[^\W_]+", text.lower())
    )
    found = {language: _hits(language, words) for language in _WORDS_OF}
    most = max(found, key=found.__getitem__)  # English, which is first, where others have no more
    return most if found[most] >= _LEAST_SHARE * words.total() else "en"


def _hits(language: Language, words: Counter[str]) -> int:
    if language in _LETTERS:
        letters = re.compile(f"[{_LETTERS[language]}]")
        return sum(n for word, n in words.items() if letters.search(word))
    return sum(words[word] for word in stop_words(language))


def decided(language: AnyLanguage, texts: Iterable[str]) -> Language:
    """Return a language, ``auto`` being the one that the texts are in."""
    return language_of(texts) if language == "auto" else language
