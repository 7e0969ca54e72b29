"""Table -> text -> tokens: which fields, in which format, how many rows; and the words of a text.

A serializer is part of a retriever's or a prompt's settings, so "without title", "header only" or
"header and three rows as markdown" are settings, not code. Tokens are what lexical retrievers read.
"""

import csv
import html
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import get_args

from target_bench.components.languages import (
    FUNCTION_CHARACTERS,
    OTHER_SCRIPTS,
    UNSPACED_RUNS,
    WORDS_OF,
    AnyLanguage,
    Language,
    Stemming,
    StopWords,
    language_of,
)
from target_bench.core import linearisation
from target_bench.core.errors import ConfigError
from target_bench.core.grid import GridCell
from target_bench.core.schema import Cell, Field, Format, Linearised, RowLimit, Table, TableFormat

_CONTEXT_KEYS = {"title": "title", "section": "section_title"}


@dataclass(frozen=True, slots=True)
class Serializer:
    """A serializer of tables into text.

    Args:
        fields: what to write. ``id`` is the table's own id, ``database`` its database's (without
            the corpus it was mixed in from; nothing for web tables, which have none), ``title`` and
            ``section`` come from its context, and so do ``columns`` (the names of the columns as
            people say them) and ``descriptions`` (of the columns); ``header`` and ``rows`` come
            from the table, ``keys`` are primary and foreign keys. Text fields are written in the
            order given; header and rows stand together, at the place of the first of the two.
        format: how header and rows are written; ``text`` is cells with spaces between. The four
            inputs of ToTTo's models (``core.linearisation``) take no fields: the whole table or the
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
            return _linearised(self._cut(table), self.format)
        parts = (part for part in self._parts(table) if part)
        return ("\n" if self.format != "text" else " ").join(parts)

    def _parts(self, table: Table) -> Iterable[str]:
        body_written = False
        for name in self.fields:
            if name == "id":
                yield table.id.table_id
            elif name in _SPECIAL:
                yield _SPECIAL[name](table)
            elif name in _CONTEXT_KEYS:
                yield str(table.context.get(_CONTEXT_KEYS[name]) or "")
            elif not body_written:
                body_written = True
                yield self._body(table)

    def _body(self, table: Table) -> str:
        header = table.header if "header" in self.fields else ()
        return _FORMATS[self.format](header, self._rows(table))

    def _cut(self, table: Table) -> Table:
        return table if self.rows == "all" else replace(table, rows=self._rows(table))

    def _rows(self, table: Table) -> Sequence[Sequence[Cell]]:
        if "rows" not in self.fields:
            return ()
        limit: int | None = None if isinstance(self.rows, str) else self.rows
        if self.rows == "auto":
            limit = getattr(table.rows, "advised", None)
        return table.rows if limit is None else table.rows[:limit]


def cell_text(cell: Cell) -> str:
    """Return a cell as text: NULL is empty, bytes hexadecimal, numbers as Python prints them."""
    if cell is None:
        return ""
    if isinstance(cell, bytes):
        return cell.hex()
    return str(cell)


def grid_rows(table: Table) -> Sequence[Sequence[GridCell]]:
    """Return the cells of a table as its source has them: ragged, with spans, headers first.

    A table without a grid has a row of header cells, and its rows; of one with a grid those rows
    that its own ``rows`` reach.
    """
    if table.grid is None:
        header = [GridCell(name, is_header=True) for name in table.header]
        return [header, *([GridCell(cell_text(cell)) for cell in row] for row in table.rows)]
    return table.grid.rows[: table.grid.header_rows + len(table.rows)]


def _linearised(table: Table, name: TableFormat) -> str:
    rows = grid_rows(table)
    places = linearisation.are_places(rows, table.context.get("highlighted_cells") or ())
    if name.startswith("totto_full"):
        text = linearisation.full_table(rows, places, strict=False)
    else:
        text = linearisation.subtable(rows, places)
    if not name.endswith("metadata"):
        return text
    titles = (table.context.get(key) for key in ("title", "section_title"))
    return linearisation.with_titles(text, *titles)


def _keys(table: Table) -> str:
    keys = {k: table.context[k] for k in ("primary_key", "foreign_keys") if table.context.get(k)}
    return json.dumps(keys, ensure_ascii=False) if keys else ""


def _database(table: Table) -> str:
    name = table.id.database_id.rpartition(":")[2]
    return "" if name == "0" else name


def _columns(table: Table) -> str:
    return " ".join(map(str, table.context.get("columns") or ()))


def _descriptions(table: Table) -> str:
    described = table.context.get("column_descriptions") or {}
    return "\n".join(f"{column}: {text}" for column, text in described.items())


_SPECIAL: dict[str, Callable[[Table], str]] = {
    "database": _database,
    "columns": _columns,
    "descriptions": _descriptions,
    "keys": _keys,
}


_Body = Callable[[Sequence[str], Sequence[Sequence[Cell]]], str]


def _text(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    lines = [" ".join(header)] if header else []
    lines += [" ".join(map(cell_text, row)) for row in rows]
    return " ".join(lines)


def _markdown(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    lines = [_markdown_line(header), f"|{' --- |' * len(header)}"] if header else []
    return "\n".join([*lines, *map(_markdown_line, rows)])


def _markdown_line(cells: Sequence[Cell]) -> str:
    texts = [cell if cell.__class__ is str else cell_text(cell) for cell in cells]
    together = "".join(texts)
    if "|" in together or "\n" in together:
        texts = [text.replace("|", "\\|").replace("\n", " ") for text in texts]
    return f"| {' | '.join(texts)} |"


def _csv(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    lines = [header] if header else []
    return "\n".join(map(_csv_line, [*lines, *rows]))


def _csv_line(cells: Sequence[Cell]) -> str:
    """Return one record; the writer ends it with CR LF so that it quotes either in a cell."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(map(cell_text, cells))
    return out.getvalue().removesuffix("\r\n")


def _json(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    cells = [[cell_text(c) if isinstance(c, bytes) else c for c in row] for row in rows]
    body: dict[str, object] = {"columns": list(header)} if header else {}
    if rows:
        body["rows"] = cells
    return json.dumps(body, ensure_ascii=False)


def _html(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    def line(tag: str, cells: Iterable[Cell]) -> str:
        inner = "".join(f"<{tag}>{html.escape(cell_text(c))}</{tag}>" for c in cells)
        return f"<tr>{inner}</tr>"

    lines = [line("th", header)] if header else []
    lines += [line("td", row) for row in rows]
    return "\n".join(["<table>", *lines, "</table>"])


def _sentences(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    if not rows:
        return ", ".join(header)
    if not header:
        return "\n".join(f"{', '.join(map(cell_text, row))}." for row in rows)
    pairs = (zip(header, row, strict=True) for row in rows)
    return "\n".join(f"{', '.join(f'{h} is {cell_text(c)}' for h, c in row)}." for row in pairs)


_FORMATS: dict[str, _Body] = {
    "text": _text,
    "markdown": _markdown,
    "csv": _csv,
    "json": _json,
    "html": _html,
    "sentences": _sentences,
}


WORDS = r"[^\W_]+"
"""The default regular expression of a token: a run of letters and digits."""


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
        language: whose list and stemmer are used where these are not ``none``; English words lose
            their accents before they are stemmed, others after it. In Chinese, characters of
            function words divide a run and are left out; words of Latin letters are English.

    Raises:
        ConfigError: the regular expression does not compile.
    """

    def __init__(
        self,
        tokens: str,
        fold: bool,
        stopwords: StopWords,
        stemmer: Stemming,
        language: Language = "en",
    ) -> None:
        try:
            pattern = re.compile(tokens)
        except re.error as error:
            raise ConfigError(f"tokens={tokens!r} is not a regular expression: {error}") from error
        if pattern.groups > 1:
            raise ConfigError(f"tokens={tokens!r}: more than one group; write (?:...) instead")
        self._tokens = tokens
        self._fold = fold
        self._find = pattern.findall
        of_words: Language = "en" if language == "zh" else language
        self._normal = _NormalForms(fold, stopwords, stemmer, of_words)
        left_out = "" if stopwords == "none" else FUNCTION_CHARACTERS.get(language, "")
        self._between = str.maketrans(dict.fromkeys(left_out, " "))

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
        for number, piece in enumerate(UNSPACED_RUNS.split(raw)):
            if number % 2:
                text = unicodedata.normalize("NFKC", piece) if self._fold else piece
                for run in text.translate(self._between).split():
                    yield from map("".join, pairwise(run)) if len(run) > 1 else (run,)
            elif piece and (token := self._normal[piece]) is not None:
                yield token


class _NormalForms(dict[str, str | None]):
    """Raw token -> its normal form, or None for a stop word; each is worked out once.

    Attributes:
        other_scripts: the raw tokens that may be more than one token, or part of one.
    """

    def __init__(
        self, fold: bool, stopwords: StopWords, stemmer: Stemming, language: Language
    ) -> None:
        from Stemmer import Stemmer

        super().__init__()
        self.other_scripts: set[str] = set()
        self._fold = folded if fold else str
        self._stop = frozenset(map(self._fold, stop_words(language, stopwords)))
        self._stem = str if stemmer == "none" else Stemmer(WORDS_OF[language][0]).stemWord
        self._stem_folded = language == "en"

    def __missing__(self, raw: str) -> str | None:
        if not raw.isascii() and OTHER_SCRIPTS.search(raw):
            self.other_scripts.add(raw)
        token = self._fold(raw)
        stem = self._stem(token) if self._stem_folded else self._fold(self._stem(raw))
        form = self[raw] = None if token in self._stop else stem
        return form


@cache
def stop_words(language: Language, name: StopWords = "en_plus") -> frozenset[str]:
    """Return the words to leave out: of English the list of this name, else the language's own."""
    from bm25s import stopwords

    if name == "none":
        return frozenset()
    wanted = name.upper() if language == "en" else WORDS_OF[language][1]
    return frozenset(getattr(stopwords, f"STOPWORDS_{wanted}") if wanted else ())


def folded(text: str) -> str:
    """Return a text without accents: NFKD without combining marks."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


@cache
def _words_with_marks() -> Callable[[str], list[str]]:
    """Return a function that finds runs of letters and digits, and the marks on letters."""
    plane = map(chr, range(0x300, 0xFFFF))
    marks = "".join(c for c in plane if unicodedata.category(c) in ("Mn", "Mc"))
    return re.compile(f"[^\\W_](?:[^\\W_]|[{marks}])*").findall


def serializers(
    fields: Sequence[Field] | Sequence[Sequence[Field]], format: Format, rows: RowLimit
) -> list[Serializer]:
    """Return a serializer for each field: ``[a, b]`` is one field, ``[[a], [b]]`` is two."""
    names = [name for name in fields if isinstance(name, str)]
    groups = [tuple(group) for group in fields if not isinstance(group, str)]
    if names and groups:
        raise ConfigError(f"fields={list(fields)!r}: either names or lists of names, not both")
    return [Serializer(group, format, rows) for group in groups or [tuple(names)]]


def language_in(corpus: Iterable[Table], language: AnyLanguage) -> Language:
    """Return a language; of ``auto`` the one that titles, headers and first rows are in."""
    if language != "auto":
        return language
    return language_of(map(Serializer(rows=_ROWS_OF_A_LANGUAGE), corpus), stop_words)


_ROWS_OF_A_LANGUAGE = 20


def distinct(tokens: Iterable[str]) -> list[str]:
    """Return each token once, in the order of first occurrence."""
    return list(dict.fromkeys(tokens))
