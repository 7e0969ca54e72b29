"""Metrics of generated text in other languages than English: BLEU, ROUGE, exact match, token F1.

BLEU takes the tokens that sacreBLEU offers for a language. For the others a text is its normal form
after MLQA's (Lewis et al. 2020): lower case, no punctuation, and no articles of that language. In
scripts that put no spaces between words, and in Korean, every character is a token, as MLQA has it
for Chinese and KorQuAD for Korean.
"""

import re
import unicodedata
from functools import cache
from string import punctuation
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.metric import Metric
from target_bench.metrics.text import (
    DEFINITIONS,
    JudgedAnswers,
    MeanOverAnswers,
    SacreBLEU,
    n_gram_f,
    shared_words,
    text_metrics,
)

VERSION = "text-languages:1"
"""The version of these rules, for identities: raise it if values can change."""

LANGUAGES = tuple(
    "en af ar da de el es fi fr hi hu it ja ko nl no pt ro ru sv th tr vi zh".split()  # noqa: SIM905
)
"""The languages of answers, by their codes of ISO 639-1."""

_BLEU_TOKENS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab", "th": "char"}
"""How sacreBLEU divides texts; others as it does English ones."""

_BY_CHARACTER = ("zh", "ja", "ko", "th")

_ARTICLES = {
    "ar": r"(?<!\w)\u0627\u0644(?=\w)",
    "de": r"\b(?:ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "es": r"\b(?:un|una|unos|unas|el|la|los|las)\b",
    "vi": r"\b(?:của|là|cái|chiếc|những)\b",
}
"""MLQA's, with Arabic's before any word."""


def text_metrics_of(
    language: str, n_references: str, reading: str = ""
) -> list[Metric[JudgedAnswers]]:
    """Make every metric of generated text in a language; in English those of ``text_metrics``.

    Args:
        language: of answers and references.
        n_references: how many references a query has, or ``var``.
        reading: how the answers were read, for the signatures; empty if they are taken whole.

    Raises:
        ConfigError: sacreBLEU lacks the package that divides texts of this language.
    """
    if language == "en":
        return text_metrics(n_references, reading)
    own: dict[str, Metric[JudgedAnswers]] = {
        "sacrebleu": _bleu(language, n_references, reading),
        "exact_match": _mean("exact_match", language, reading),
        "token_f1": _mean("token_f1", language, reading),
        **{kind: _mean(kind, language, reading) for kind in ("rouge1", "rouge2", "rougeL")},
    }
    return [own.get(m.name, m) for m in text_metrics(n_references, reading)]


def check(language: str) -> None:
    """See that answers of a language can be scored.

    Raises:
        ConfigError: an unknown language, or sacreBLEU lacks the package for it.
    """
    if language not in LANGUAGES:
        raise ConfigError(f"language={language!r}: expected auto or one of {', '.join(LANGUAGES)}")
    if language in _BLEU_TOKENS:
        _bleu(language, "1", "")


def tokens_of(text: str, language: str) -> list[str]:
    """Return the tokens of the normal form of a text."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = "".join(c for c in text if c not in punctuation and unicodedata.category(c)[0] != "P")
    if language in _ARTICLES:
        text = _articles(language).sub(" ", text)
    words = text.split()
    if language not in _BY_CHARACTER:
        return words
    return [token for word in words for token in _characters(word)]


def _characters(word: str) -> list[str]:
    """Return a word's characters with the marks on them; words in Latin letters stay whole."""
    tokens: list[str] = []
    for character in word:
        is_mark = unicodedata.category(character)[0] == "M"
        if tokens and (is_mark or (_is_latin(character) and _is_latin(tokens[-1][-1]))):
            tokens[-1] += character
        else:
            tokens.append(character)
    return tokens


def _is_latin(character: str) -> bool:
    return character.isascii() or "\u00c0" <= character <= "\u024f"


@cache
def _articles(language: str) -> re.Pattern[str]:
    return re.compile(_ARTICLES[language])


def _bleu(language: str, n_references: str, reading: str) -> SacreBLEU:
    tokens = _BLEU_TOKENS.get(language)
    settings: dict[str, Any] = {} if tokens is None else {"tokenize": tokens}
    try:
        return SacreBLEU("sacrebleu", n_references, reading, **settings)
    except RuntimeError as error:  # what sacreBLEU raises for a package that is not installed
        raise ConfigError(
            f"language={language!r}: BLEU needs a package for it; install it with: pip install "
            f"'sacrebleu[{language}]'"
        ) from error


def _mean(name: str, language: str, reading: str) -> MeanOverAnswers:
    def measure(text: str, reference: str) -> float:
        mine, theirs = tokens_of(text, language), tokens_of(reference, language)
        if name == "exact_match":
            return float(mine == theirs)
        return shared_words(mine, theirs) if name == "token_f1" else n_gram_f(name, mine, theirs)

    description = f"{VERSION}|language:{language}, best reference"
    return MeanOverAnswers(DEFINITIONS[name].spec, description, measure, reading)
