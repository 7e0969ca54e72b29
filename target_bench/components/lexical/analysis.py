"""What the lexical retrievers share: text -> tokens."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal

from target_bench.core.errors import ConfigError
from target_bench.core.serialization import Field, Format, RowLimit, Serializer

Stemming = Literal["english", "none"]
StopWords = Literal["en_plus", "en", "none"]


WORDS = r"[^\W_]+"
"""The default regular expression of a token: a run of letters and digits."""

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

_RUNS = re.compile(f"([{_UNSPACED}]+)")
_OTHER_SCRIPTS = re.compile(f"[{_UNSPACED}\u0590-\u109f\u1700-\u1cff]")
"""Those, and the scripts from Hebrew to Myanmar whose vowels may be marks on the letters."""


class Analyzer:
    """Text -> tokens: lower case, regular expression, accents off, stop words out, stems.

    Where a token holds Chinese, Japanese, Korean, Thai, Lao, Khmer or Burmese, each run of these
    becomes its pairs of neighbouring characters (a single character stays), as spaces do not tell
    the words. In a text of a script whose vowels are marks, as Hindi, Thai or Arabic, the default
    regular expression takes marks for part of the word. Tokens of other texts are as they were.

    Args:
        tokens: the regular expression of a token.
        fold: leave accents off (Unicode NFKD without combining marks; of the characters that are
            paired, NFKC).
        stopwords: which of bm25s' lists to leave out: ``en`` (33 words), ``en_plus`` (179).
        stemmer: the Snowball stemmer, or none.

    Raises:
        ConfigError: the regular expression does not compile.
    """

    def __init__(self, tokens: str, fold: bool, stopwords: StopWords, stemmer: Stemming) -> None:
        try:
            pattern = re.compile(tokens)
        except re.error as error:
            raise ConfigError(f"tokens={tokens!r} is not a regular expression: {error}") from error
        if pattern.groups > 1:
            raise ConfigError(f"tokens={tokens!r}: more than one group; write (?:...) instead")
        self._tokens = tokens
        self._fold = fold
        self._find = pattern.findall
        self._normal = _NormalForms(fold, stopwords, stemmer)

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of a text, in order."""
        normal = self._normal
        text = text.lower()
        found = self._find(text)
        tokens = [token for raw in found if (token := normal[raw]) is not None]
        if normal.other_scripts and not normal.other_scripts.isdisjoint(found):
            found = _words_with_marks()(text) if self._tokens == WORDS else found
            return [token for raw in found for token in self._divided(raw)]
        return tokens

    def _divided(self, raw: str) -> Iterator[str]:
        """Yield the tokens that a raw token is."""
        for number, piece in enumerate(_RUNS.split(raw)):
            if number % 2:
                run = unicodedata.normalize("NFKC", piece) if self._fold else piece
                yield from map("".join, pairwise(run)) if len(run) > 1 else (run,)
            elif piece and (token := self._normal[piece]) is not None:
                yield token


class _NormalForms(dict[str, str | None]):
    """Raw token -> its normal form, or None for a stop word; each is worked out once.

    Attributes:
        other_scripts: the raw tokens that may be more than one token, or part of one.
    """

    def __init__(self, fold: bool, stopwords: StopWords, stemmer: Stemming) -> None:
        super().__init__()
        self.other_scripts: set[str] = set()
        self._fold = fold
        self._stop = _stop_words(stopwords)
        self._stem = _stemmer() if stemmer == "english" else str

    def __missing__(self, raw: str) -> str | None:
        token = raw
        if not raw.isascii():
            if _OTHER_SCRIPTS.search(raw):
                self.other_scripts.add(raw)
            if self._fold:
                decomposed = unicodedata.normalize("NFKD", raw)
                token = "".join(c for c in decomposed if not unicodedata.combining(c))
        form = self[raw] = None if token in self._stop else self._stem(token)
        return form


@cache
def _words_with_marks() -> Callable[[str], list[str]]:
    """Return a function that finds what ``WORDS`` finds, with the marks that stand on letters."""
    plane = map(chr, range(0x300, 0xFFFF))
    marks = "".join(c for c in plane if unicodedata.category(c) in ("Mn", "Mc"))
    return re.compile(f"[^\\W_](?:[^\\W_]|[{marks}])*").findall


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
    """Return a serializer for each field: ``[a, b]`` is one field, ``[[a], [b]]`` is two."""
    names = [name for name in fields if isinstance(name, str)]
    groups = [tuple(group) for group in fields if not isinstance(group, str)]
    if names and groups:
        raise ConfigError(f"fields={list(fields)!r}: either names or lists of names, not both")
    return [Serializer(group, format, rows) for group in groups or [tuple(names)]]


def distinct(tokens: Iterable[str]) -> list[str]:
    """Return each token once, in the order of first occurrence."""
    return list(dict.fromkeys(tokens))
