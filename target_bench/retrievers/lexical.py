"""What the lexical retrievers share: text -> tokens."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Literal

from target_bench.errors import ConfigError
from target_bench.serialization import Field, Format, RowLimit, Serializer

Stemming = Literal["english", "none"]
StopWords = Literal["en_plus", "en", "none"]


class Analyzer:
    """Text -> tokens: lower case, regular expression, accents off, stop words out, stems.

    Args:
        tokens: the regular expression of a token.
        fold: leave accents off (Unicode NFKD without combining marks).
        stopwords: which of bm25s' lists to leave out: ``en`` (33 words), ``en_plus`` (179).
        stemmer: the Snowball stemmer, or none.

    Raises:
        ConfigError: the regular expression does not compile.
    """

    def __init__(self, tokens: str, fold: bool, stopwords: StopWords, stemmer: Stemming) -> None:
        try:
            pattern = re.compile(tokens)
        except re.error as error:
            raise ConfigError(f"tokens={tokens!r} is no regular expression: {error}") from error
        if pattern.groups > 1:
            raise ConfigError(f"tokens={tokens!r}: more than one group; write (?:...) instead")
        self._find = pattern.findall
        self._normal = _NormalForms(fold, stopwords, stemmer)

    def __call__(self, text: str) -> list[str]:
        """The tokens of a text, in order."""
        normal = self._normal
        found = self._find(text.lower())
        return [token for raw in found if (token := normal[raw]) is not None]


class _NormalForms(dict[str, str | None]):
    """Raw token -> its normal form, or None for a stop word; each is worked out once."""

    def __init__(self, fold: bool, stopwords: StopWords, stemmer: Stemming) -> None:
        super().__init__()
        self._fold = fold
        self._stop = _stop_words(stopwords)
        self._stem = _stemmer() if stemmer == "english" else str

    def __missing__(self, raw: str) -> str | None:
        token = raw
        if self._fold and not raw.isascii():
            decomposed = unicodedata.normalize("NFKD", raw)
            token = "".join(c for c in decomposed if not unicodedata.combining(c))
        form = self[raw] = None if token in self._stop else self._stem(token)
        return form


@cache
def _stop_words(name: StopWords) -> frozenset[str]:
    from bm25s import stopwords

    lists = {"en": stopwords.STOPWORDS_EN, "en_plus": stopwords.STOPWORDS_EN_PLUS, "none": ()}
    return frozenset(lists[name])


@cache
def _stemmer() -> Callable[[str], str]:
    from Stemmer import Stemmer

    stem: Callable[[str], str] = Stemmer("english").stemWord
    return stem


def serializers(
    fields: Sequence[Field] | Sequence[Sequence[Field]], format: Format, rows: RowLimit
) -> list[Serializer]:
    """One serializer a field: ``[title, header]`` is one field, ``[[title], [header]]`` is two."""
    names = [name for name in fields if isinstance(name, str)]
    groups = [tuple(group) for group in fields if not isinstance(group, str)]
    if names and groups:
        raise ConfigError(f"fields={list(fields)!r}: either names or lists of names, not both")
    return [Serializer(group, format, rows) for group in groups or [tuple(names)]]


def distinct(tokens: Iterable[str]) -> list[str]:
    """Each token once, in the order of first occurrence."""
    return list(dict.fromkeys(tokens))
