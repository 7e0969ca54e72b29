"""Texts of which tables are made, and questions whose answers are tables, in five formats.

A text tells the first rows of a table in sentences; the reference is these rows, in one of the
formats. A question asks for some columns of the rows that hold a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from target_bench.models.written_tables import written

from .tables import Table

FORMATS = ("text", "html", "latex", "csv", "json")
ROWS = 4
"""Rows of a table that a text tells."""

SENTENCES: dict[str, str] = {
    "formula-one-": "In {Season}, {Champion} won the title in a {Constructor}.",
    "divisions-of-": "The capital of {Division} is {Capital}; its code is {ISO 3166-2 code}.",
    "elements-group-": "{Element} has the symbol {Symbol} and the atomic number {Atomic number}.",
    "euro-2": "{Winner} beat {Opponent} in the {Round}; the score was {Score}.",
    "languages-": "{Language}, by {Designer}, first appeared in {First appeared}.",
    "super-bowls-": (
        "Game {Game} was won by the {Winner} with {Winner's points} points; the {Loser} had "
        "{Loser's points}."
    ),
    "nobel-literature-": "The laureate of {Year}, {Laureate}, wrote in {Writing language}.",
    "olympics-": "{Nation} won {Gold} gold, {Silver} silver and {Bronze} bronze medals.",
}
"""Beginning of the ids of a family -> how a row of its tables is told."""

ASKED: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("formula-one-2000s", ("Season", "Champion", "Constructor"), "Country", "Germany"),
    ("formula-one-1970s", ("Season", "Champion"), "Country", "Austria"),
    ("elements-group-16", ("Symbol", "Element"), "Period", "2"),
    ("super-bowls-1967-1976", ("Game", "Winner's points"), "Winner", "Green Bay Packers"),
    ("nobel-literature-1980s", ("Year", "Laureate"), "Writing language", "English"),
    ("euro-2016-knockout", ("Winner", "Opponent"), "Round", "Quarter-final"),
    ("euro-2012-knockout", ("Winner", "Score"), "Round", "Semi-final"),
    ("australian-open-men-2000s", ("Year", "Runner-up"), "Champion", "Roger Federer"),
    ("wimbledon-women-2000s", ("Year", "Runner-up"), "Champion", "Venus Williams"),
    ("world-cup-1994-knockout", ("Winner", "Opponent", "Score"), "Round", "Semi-final"),
)
"""Table, columns asked for, and the column and the value that choose the rows."""

Record = dict[str, object]


def records(made: dict[str, Table]) -> list[Record]:
    """Derive all texts and questions, in order.

    Raises:
        LookupError: a column is missing, or no row holds the value that is asked for.
    """
    return [*_texts(made), *_questions(made)]


def _texts(made: dict[str, Table]) -> list[Record]:
    entries: list[Record] = []
    for prefix, sentence in SENTENCES.items():
        tables = [table for name, table in made.items() if name.startswith(prefix)]
        if len(tables) < len(FORMATS):
            raise LookupError(f"{prefix}: {len(tables)} tables for {len(FORMATS)} formats")
        for name, table in zip(FORMATS, tables, strict=False):
            columns = [name for name in table.header if f"{{{name}}}" in sentence]
            rows = _chosen(table, columns)[:ROWS]
            told = (_told(sentence, dict(zip(columns, row, strict=True))) for row in rows)
            entries.append(_record("t2t", "text_to_table", len(entries), " ".join(told), name))
            entries[-1] |= {"answer": written([columns, *rows], name), "table_id": []}
    return entries


def _questions(made: dict[str, Table]) -> list[Record]:
    entries: list[Record] = []
    for name, (table_id, columns, where, value) in zip(FORMATS * len(ASKED), ASKED, strict=False):
        table = made[table_id]
        kept = [value == cell for cell in table.column(where)]
        rows = [row for row, keep in zip(_chosen(table, columns), kept, strict=True) if keep]
        if not rows:
            raise LookupError(f"{table_id}: no row has {where} {value!r}")
        what = " and ".join([", ".join(columns[:-1]), columns[-1]])
        subject = table_id.replace("-", " ")
        text = f"Of {subject}: list {what} of all entries whose {where} is {value}."
        record = _record("tab", "table_answering", len(entries), text, name)
        entries.append(record | {"answer": written([columns, *rows], name), "table_id": table_id})
    return entries


def _chosen(table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(*(table.column(column) for column in columns), strict=True))


def _told(sentence: str, cells: dict[str, str]) -> str:
    return re.sub(r"\{([^}]+)\}", lambda match: cells[match[1]], sentence)


def _record(prefix: str, task: str, place: int, text: str, name: str) -> Record:
    return {
        "query_id": f"{prefix}-{place + 1:04d}",
        "split": "validation" if (place // len(FORMATS)) % 4 == 3 else "test",
        "task": task,
        "query": text,
        "format": name,
        "ranked": False,
    }
