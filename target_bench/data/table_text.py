"""Table -> text -> tokens: which fields, in which format, how many rows; and the words of a text.

A serializer is part of a retriever's or a prompt's settings, so "without title", "header only" or
"header and three rows as markdown" are settings, not code. Tokens are what lexical retrievers read.
"""

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from itertools import chain, islice, pairwise
from types import ModuleType
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.schema import (
    Cell,
    Corpus,
    Field,
    Format,
    Linearised,
    RowLimit,
    Table,
    TableFormat,
)
from target_bench.data.highlights import cell_text, grid_rows
from target_bench.data.languages import (
    FUNCTION_CHARACTERS,
    WORDS_OF,
    AnyLanguage,
    Language,
    Stemming,
    StopWords,
    compile_other_scripts,
    compile_unspaced_runs,
    guess_language,
    recognize_language,
)
from target_bench.data.table_formats import FORMATS, PARTS, linearise_table, write_json

_ROWS_OF_A_LANGUAGE = 20


@dataclass(frozen=True, slots=True)
class Serializer:
    """A serializer of tables into text.

    ```python
    from target_bench import Serializer, Table, TableId

    table = Table(TableId("0", "moons"), ["planet", "moons"], [["Mars", 2], ["Venus", 0]])
    print(Serializer(["id", "header", "rows"], "csv", rows=1)(table))
    # moons
    # planet,moons
    # Mars,2
    ```

    Args:
        fields: what to write. ``id`` is the table's own id, ``database`` its database's (without
            the corpus it was mixed in from; nothing for web tables, which have none), ``title`` and
            ``section`` come from its context, and so do ``columns`` (the names of the columns as
            people say them) and ``descriptions`` (of the columns); ``header`` and ``rows`` come
            from the table, ``keys`` are primary and foreign keys. Text fields are written in the
            order given; header and rows stand together, at the place of the first of the two.
        format: how header and rows are written; ``text`` is cells with spaces between. The four
            inputs of ToTTo's models (``data.highlights``) take no fields: the whole table or the
            highlighted cells alone, each with its headers, with the titles (``_metadata``) or
            without. Highlighted are the cells that the table's context names in
            ``highlighted_cells``.
        rows: how many data rows, from the first: a number, ``all``, or ``auto``: all of a table in
            memory, but of one whose rows lie in a database no more than they advise (1,000).

    Raises:
        ConfigError: an unknown field or format, no field, or a negative number of rows.
    """

    fields: Sequence[Field] = ("title", "section", "header", "rows")
    format: TableFormat = "text"
    rows: RowLimit = "all"

    def __post_init__(self) -> None:
        unknown = [name for name in self.fields if name not in get_args(Field)]
        if unknown or not self.fields:
            raise ConfigError(
                f"fields={list(self.fields)!r}: expected one or more of "
                f"{', '.join(get_args(Field))}"
            )
        if self.format not in get_args(TableFormat):
            raise ConfigError(
                f"format={self.format!r}: expected one of {', '.join(get_args(TableFormat))}"
            )
        named = self.rows in ("all", "auto")
        if not named and (not isinstance(self.rows, int) or self.rows < 0):
            raise ConfigError(f"rows={self.rows!r}: expected 'all' or a number from 0, or 'auto'")

    def __call__(self, table: Table) -> str:
        """Return the table as text; parts that the table does not have are left out."""
        if self.format in get_args(Linearised):
            cut = table if self.rows == "all" else replace(table, rows=self._rows(table))
            return linearise_table(cut, grid_rows(cut), self.format)
        parts = (part for part in self._parts(table) if part)
        return ("\n" if self.format != "text" else " ").join(parts)

    def _parts(self, table: Table) -> Iterable[str]:
        body = next((name for name in self.fields if name not in PARTS), None)
        for name in self.fields:
            if name in PARTS:
                yield PARTS[name](table)
            elif name == body:
                yield self._body(table)

    def _body(self, table: Table) -> str:
        header = table.header if "header" in self.fields else ()
        rows = self._rows(table)
        if self.format == "text":
            return _text(header, rows)
        if self.format == "json":
            return write_json(header, rows)
        return FORMATS[self.format](header, [list(map(cell_text, row)) for row in rows])

    def _rows(self, table: Table) -> Sequence[Sequence[Cell]]:
        return first_rows(table, self.rows) if "rows" in self.fields else ()


def first_rows(table: Table, limit: RowLimit) -> Sequence[Sequence[Cell]]:
    """Return the rows of a table that a setting ``rows`` lets in, as ``Serializer`` counts them.

    ```python
    from target_bench import Table, TableId
    from target_bench.plugin_tools import first_rows

    table = Table(TableId("0", "moons"), ["planet", "moons"], [["Mars", 2], ["Venus", 0]])
    print(first_rows(table, 1), len(first_rows(table, "all")))  # [['Mars', 2]] 2
    ```
    """
    if limit == "auto":
        limit = getattr(table.rows, "advised", "all")
    return table.rows if isinstance(limit, str) else table.rows[:limit]


def _text(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    lines = [" ".join(header)] if header else []
    for row in rows:
        try:
            lines.append(" ".join(row))  # type: ignore[arg-type]  # as most rows are
        except TypeError:
            lines.append(" ".join(map(cell_text, row)))
    return " ".join(lines)


WORDS = r"[^\W_]+"
"""The default regular expression of a token: a run of letters and digits."""

_SPACED = bytes(i if i > 127 or chr(i).isalnum() else 32 for i in range(256))
"""Bytes of UTF-8, with spaces for those of ASCII that are in no word."""

_PUNCTUATION = "–—−’‘“”…"
"""Marks that often stand between two words without a space."""


class Analyzer:
    """Text -> tokens: lower case, regular expression, accents off, stop words out, stems.

    ```python
    from target_bench.plugin_tools import WORDS, Analyzer

    analyze = Analyzer(WORDS, fold=True, stopwords="en", stemmer="english")
    print(analyze("The cafés of Paris"))  # ['cafe', 'pari']
    ```

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
        languages: whose lists and stemmers are used where these are not ``none``; of several
            languages all lists, and one stemmer after the other, so that a word has one stem in
            every table and question. English words lose their accents before they are stemmed,
            others after it. In Chinese, characters of function words divide a run and are left
            out; words of Latin letters are English.

    Raises:
        ConfigError: the regular expression does not compile.
    """

    def __init__(
        self,
        tokens: str,
        fold: bool,
        stopwords: StopWords,
        stemmer: Stemming,
        languages: Sequence[Language] = ("en",),
    ) -> None:
        try:
            pattern = re.compile(tokens)
        except re.error as error:
            raise ConfigError(f"tokens={tokens!r} is not a regular expression: {error}") from error
        if pattern.groups > 1:
            raise ConfigError(f"tokens={tokens!r}: more than one group; write (?:...) instead")
        self.settings = (tokens, fold, stopwords, stemmer, languages)
        self._tokens = tokens
        self._fold = fold
        self._find = pattern.findall
        self._normal = _NormalForms(fold, stopwords, stemmer, languages)
        leaves_out = "zh" in languages and stopwords != "none"
        left_out = FUNCTION_CHARACTERS["zh"] if leaves_out else ""
        self._between = str.maketrans(dict.fromkeys(left_out, " "))

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of a text, in order."""
        normal = self._normal
        text = text.lower()
        raw_tokens = self._find(text)
        tokens = [token for raw in raw_tokens if (token := normal[raw]) is not None]
        if normal.other_scripts and not normal.other_scripts.isdisjoint(raw_tokens):
            raw_tokens = _words_with_marks()(text) if self._tokens == WORDS else raw_tokens
            return [token for raw in raw_tokens for token in self._divide_token(raw)]
        return tokens

    def pieces(self, text: str) -> list[str]:
        """Return pieces of a text that hold all its tokens, in order; see ``find_token``."""
        text = text.lower()
        if self._tokens != WORDS:
            return self._find(text)
        if not text.isascii():
            for mark in _PUNCTUATION:
                text = text.replace(mark, " ")
        spaced = text.encode("utf-8", "surrogatepass").translate(_SPACED)
        return spaced.decode("utf-8", "surrogatepass").split()

    def find_token(self, piece: str) -> str | None:
        """Return the one token of a piece, or None; raise _UnusualError where it may be several."""
        if piece.isascii():
            return self._normal[piece]
        raw_tokens = self._find(piece) if self._tokens == WORDS else [piece]
        tokens = [self._normal[raw] for raw in raw_tokens]
        if len(raw_tokens) > 1 or not self._normal.other_scripts.isdisjoint(raw_tokens):
            raise _UnusualError
        return tokens[0] if tokens else None

    def _divide_token(self, raw: str) -> Iterator[str]:
        """Yield the tokens that a raw token is."""
        for number, piece in enumerate(compile_unspaced_runs().split(raw)):
            if number % 2:
                text = unicodedata.normalize("NFKC", piece) if self._fold else piece
                for run in text.translate(self._between).split():
                    yield from map("".join, pairwise(run)) if len(run) > 1 else (run,)
            elif piece and (token := self._normal[piece]) is not None:
                yield token


class _NormalForms(dict[str, str | None]):
    """Raw token -> its normal form, or None for a stop word; each is worked out once."""

    def __init__(
        self, fold: bool, stopwords: StopWords, stemmer: Stemming, languages: Sequence[Language]
    ) -> None:
        from Stemmer import Stemmer

        super().__init__()
        self.other_scripts: set[str] = set()  # may be more than one token, or part of one
        self._fold = fold_accents if fold else str
        self._stop_words = languages, stopwords
        names = [WORDS_OF[language][0] for language in languages if stemmer != "none"]
        self._stemmers = [Stemmer(name, 0).stemWord for name in names if name != "english"]
        self._stem_folded = Stemmer("english", 0).stemWord if "english" in names else str

    @cached_property
    def _stop(self) -> frozenset[str]:
        """Read with the first word."""
        languages, name = self._stop_words
        return frozenset(self._fold(word) for code in languages for word in stop_words(code, name))

    def __missing__(self, raw: str) -> str | None:
        if not raw.isascii() and compile_other_scripts().search(raw):
            self.other_scripts.add(raw)
        folded = self._fold(raw)
        if folded in self._stop:
            self[raw] = None
            return None
        if self._stemmers:  # accents are part of the words that these stem
            stem = raw
            for stem_word in self._stemmers:
                stem = stem_word(stem)
            folded = self._fold(stem)
        form = self[raw] = self._stem_folded(folded)
        return form


@cache
def stop_words(language: Language, name: StopWords = "en_plus") -> frozenset[str]:
    """Return the words to leave out: of English the list of this name, else the language's own.

    ```python
    from target_bench.plugin_tools import stop_words

    print("the" in stop_words("en"), "und" in stop_words("de"))  # True True
    ```
    """
    list_name = name.upper() if language in ("en", "zh") else WORDS_OF[language][1]
    if name == "none" or not list_name:
        return frozenset()
    return frozenset(getattr(_import_word_lists(), f"STOPWORDS_{list_name}"))


@cache
def _import_word_lists() -> ModuleType:
    """Import the one module of bm25s that has the lists; all of bm25s would take 40 ms."""
    package = find_spec("bm25s")  # does not import it
    assert package is not None
    spec = PathFinder.find_spec("stopwords", package.submodule_search_locations)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fold_accents(text: str) -> str:
    """Return a text without accents: NFKD without combining marks."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


@cache
def _words_with_marks() -> Callable[[str], list[str]]:
    """Return a function that finds runs of letters and digits, and the marks on letters."""
    # Han, Hangul and private use, three quarters of the plane, have none.
    places = chain(range(0x300, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0xFFFF))
    marks = "".join(c for c in map(chr, places) if unicodedata.category(c) in ("Mn", "Mc"))
    return re.compile(f"[^\\W_](?:[^\\W_]|[{marks}])*").findall


def make_serializers(
    fields: Sequence[Field] | Sequence[Sequence[Field]], format: Format, rows: RowLimit
) -> list[Serializer]:
    """Return a serializer for each field: ``[a, b]`` is one field, ``[[a], [b]]`` is two."""
    names = [name for name in fields if isinstance(name, str)]
    groups = [tuple(group) for group in fields if not isinstance(group, str)]
    if names and groups:
        raise ConfigError(f"fields={list(fields)!r}: either names or lists of names, not both")
    return [Serializer(group, format, rows) for group in groups or [tuple(names)]]


def list_languages(corpus: Corpus, language: AnyLanguage = "auto") -> tuple[Language, ...]:
    """Return the languages whose words a corpus holds, the most frequent first.

    Of another setting than ``auto``, that one. English where none has a stemmer and stop words.
    """
    if language != "auto":
        return (language,)
    step = max(1, len(corpus) // _TABLES_OF_LANGUAGES)
    named = Counter(read_table_language(corpus[name]) for name in corpus.ids[::step])
    in_order = tuple(code for code, _ in named.most_common() if code is not None)
    return in_order or (guess_language(_first_rows(corpus)),)


def add_languages(tables: Iterable[Table]) -> Iterator[Table]:
    """Yield tables, and where they are in several languages, each with the code of its own."""
    rest = iter(tables)
    first = list(islice(rest, _TABLES_OF_LANGUAGES))
    counts = Counter(map(_find_shown_language, first))
    # a few tables may only look like another language
    known = {code for code, n in counts.items() if code in WORDS_OF and n * 20 >= len(first)}
    for table in chain(first, rest):
        code = (
            _find_shown_language(table)
            if len(known) > 1 and not read_table_language(table)
            else None
        )
        context = {**table.context, LANGUAGE: code}
        yield replace(table, context=context) if code in known else table


def _find_shown_language(table: Table) -> str | None:
    """Return the language of a table whose header looks like it, too; names of people may not."""
    header = recognize_language([" ".join(table.header).lower()], _SURE_OF_HEADER)
    return header if header == recognize_corpus_language([table]) else None


_SURE_OF_HEADER = 0.3


def read_table_language(table: Table) -> Language | None:
    """Return the language that a table names in its context, if words are read of it."""
    return next((known for known in WORDS_OF if known == table.context.get(LANGUAGE)), None)


LANGUAGE = "language"
_TABLES_OF_LANGUAGES = 300


def recognize_corpus_language(corpus: Iterable[Table]) -> str | None:
    """Return the code of the language of titles, headers and first rows; None if it is unclear."""
    return recognize_language(_first_rows(corpus))


def _first_rows(corpus: Iterable[Table]) -> Iterator[str]:
    return map(Serializer(rows=_ROWS_OF_A_LANGUAGE), corpus)


def deduplicate(tokens: Iterable[str]) -> list[str]:
    """Return each token once, in the order of first occurrence."""
    return list(dict.fromkeys(tokens))


class Piece(NamedTuple):
    """The tokens of a piece: consecutive tables, of each all fields."""

    numbers: NDArray[np.integer]  # of the terms, one a token
    lengths: NDArray[np.integer]  # how many tokens each text has


class TermNumbers(dict[str, int]):
    """Texts -> the numbers of their terms, -1 of what is none; a dict from pieces of text.

    Tokens are numbered as they are found, without making their normal forms again; the few texts
    that this does not fit are handed to the analyzer. ``fixed``: tokens that are none of the terms
    are left out; else a new one gets its number where it occurs first.
    """

    def __init__(self, analyzer: Analyzer, terms: dict[str, int], fixed: bool = False) -> None:
        self._analyzer, self._terms, self._fixed = analyzer, terms, fixed

    def __call__(self, texts: Iterable[str]) -> Piece:
        """Return the tokens of some texts."""
        numbers, lengths = array("i"), array("i")
        for text in texts:
            number_terms = self.number_terms(text)
            numbers.fromlist(number_terms)
            lengths.append(len(number_terms))
        every = np.array(numbers, dtype=np.int32)
        kept = every >= 0
        of_texts = np.repeat(np.arange(len(lengths)), lengths)[kept]
        return Piece(every[kept], np.bincount(of_texts, minlength=len(lengths)))

    def number_terms(self, text: str) -> list[int]:
        """Return the numbers of the tokens of one text; -1 is none."""
        n_pieces, n_terms = len(self), len(self._terms)
        try:
            return list(map(self.__getitem__, self._analyzer.pieces(text)))
        except _UnusualError:
            if not self._fixed:
                for known, n in ((self, n_pieces), (self._terms, n_terms)):
                    while len(known) > n:  # the analyzer may find other terms in this text
                        known.popitem()
        return list(map(self._number, self._analyzer(text)))

    def _number(self, token: str) -> int:
        if self._fixed:
            return self._terms.get(token, -1)
        return self._terms.setdefault(token, len(self._terms))

    def __missing__(self, piece: str) -> int:
        token = self._analyzer.find_token(piece)
        number = self[piece] = -1 if token is None else self._number(token)
        return number


class _UnusualError(Exception):
    """A piece of text that is not one token or none."""
