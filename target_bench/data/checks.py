"""What makes tables and queries sound: types, ids, rows as long as the header, texts in NFC."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.families import NOTE
from target_bench.core.grid import CellGrid
from target_bench.core.release import Release
from target_bench.core.schema import NO_DATABASE, Cell, Corpus, Query, Table, TableId
from target_bench.core.text_tables import count_noun
from target_bench.core.unicode_text import compose
from target_bench.data.databases.stored_tables import LazyRows
from target_bench.data.formats.cells import PLAIN_TYPES

Grid = tuple[Sequence[str], Sequence[Sequence[Cell]]]
"""Header and rows."""

_MOST_NAMED = 5  # missing gold tables, in a message
_RAGGED = (
    "rows are not as long as their header: short ones got empty cells, for long ones the header "
    "got columns without a name"
)


def check_tables(
    tables: Iterable[Table], release: Release | None = None, notes: list[str] | None = None
) -> Iterator[Table]:
    """Yield the same tables, with texts in NFC, each checked as it passes.

    After the last one, what is peculiar about them is in ``notes``.

    Of a release, rows that are not as long as their header are filled, with a remark, and a table
    of a database has its name as title; elsewhere such rows are refused.
    """
    seen: set[TableId] = set()
    counts = dict.fromkeys(_PECULIAR, 0)
    for table in tables:
        if not isinstance(table, Table):
            raise TypeError(f"expected Table, found {type(table).__name__}")
        if not isinstance(table.id, TableId) or not _is_id(table.id):
            raise DataError(
                f"table id: expected a TableId of two texts, found {table.id!r:.80}; write "
                'Table(TableId("0", "t1"), ...) where there are no databases'
            )
        grid = table.grid
        header, rows, context = table.header, table.rows, table.context
        if release is not None:
            if not isinstance(rows, LazyRows):
                header, rows = fill_rows(release, header, rows, f"table {table.id}, row")
            # SQL calls a table by its id. Any other id may be a number, a hash or a path in an
            # archive: no retriever reads it, so that rankings do not depend on it.
            if table.id.database_id != NO_DATABASE and not has_title(table):
                context = {**context, "title": table.id.table_id}
        composed = Table(
            TableId(*compose(tuple(table.id))),
            compose(header),
            compose(rows),
            compose(context),
            CellGrid.from_json(compose(grid.to_json())) if isinstance(grid, CellGrid) else grid,
        )
        if composed.id in seen:
            raise DataError(f"table {composed.id} occurs twice; ids must be unique")
        seen.add(composed.id)
        try:
            fault = _find_fault(composed)
        except TypeError as error:
            fault = f": header and rows should be lists of cells: {error}"
        if fault:
            raise DataError(f"table {composed.id}{fault}")
        if notes is not None:
            for what, is_so in _PECULIAR.items():
                counts[what] += is_so(composed)
        yield composed
    if notes is not None:
        notes += [f"{n} of {len(seen)} tables {what}" for what, n in counts.items() if n]


def _is_id(value: Any) -> bool:
    is_pair = isinstance(value, tuple) and len(value) == 2
    return is_pair and all(isinstance(part, str) for part in value)


def _find_fault(table: Table) -> str:
    """Return what is wrong with a table, as it goes on after its id; or nothing."""
    grid: Any = table.grid  # of whatever type a plug-in gave
    if not isinstance(grid, CellGrid | None):
        return f": grid: expected a CellGrid, found {grid!r:.80}"
    width = len(table.header)
    if width == 0:
        return " has no header; give every column a name"
    if isinstance(table.header, str) or not all(isinstance(name, str) for name in table.header):
        return f": a column name is not text: {table.header!r:.80}"
    if isinstance(table.rows, LazyRows):  # a database keeps them in shape
        return ""
    for number, row in enumerate(table.rows, start=1):
        if len(row) != width:
            return f", row {number}: {len(row)} cells under {width} columns"
        if isinstance(row, str | bytes):
            return f", row {number}: expected a list of cells, found {row!r:.80}"
        if PLAIN_TYPES.issuperset(map(type, row)):
            continue
        values: Sequence[Any] = row
        for cell in values:
            if not isinstance(cell, str | int | float | bytes | None):
                what = f"{type(cell).__name__} ({cell!r:.40})"
                advice = "cells are text, numbers, bytes or None"
                return f", row {number}: a cell cannot be {what}; {advice}"
    return ""


def fill_rows(
    release: Release,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    place: str | Callable[[int], str],
    advice: str = "",
) -> Grid:
    """Return header and rows, all of one length; every cell keeps its row and its column.

    ``place`` is what goes before the number of a row, or makes that of its number, from 0.
    """
    width = len(header)
    # the check of tables refuses these
    if not width or not all(isinstance(row, list | tuple) for row in rows):
        return header, rows
    ragged = [number for number, row in enumerate(rows) if len(row) != width]
    if not ragged:
        return header, rows
    for number in ragged:
        where = f"{place} {number + 1}" if isinstance(place, str) else place(number)
        release.remark(_RAGGED, f"{where}: {len(rows[number])} cells under {width} columns{advice}")
    widest = max(width, *(len(rows[number]) for number in ragged))
    is_text = all(isinstance(cell, str) for row in rows for cell in row)
    empty: Cell = "" if is_text else None
    return (
        [*header, *[""] * (widest - width)],
        [row if len(row) == widest else [*row, *[empty] * (widest - len(row))] for row in rows],
    )


def has_title(table: Table) -> bool:
    """Return whether its context has a title that is not blank."""
    return bool(str(table.context.get("title") or "").strip())


def is_peculiarity(note: str) -> bool:
    """Return whether a note says what tables are like, and not that anything is damaged."""
    is_of_families = f" tables {NOTE} " in note
    return is_of_families or note.partition(" tables ")[2] in _PECULIAR


def _have_names(table: Table) -> set[bool]:
    return {bool(name.strip()) for name in table.header}


_PECULIAR: Mapping[str, Callable[[Table], bool]] = {
    "have no rows": lambda table: not table.rows,
    "have only empty column names": lambda table: True not in _have_names(table),
    "have some empty column names": lambda table: len(_have_names(table)) == 2,
    "have a single column with ; or a tab in its name (is a comma the separator?)": lambda table: (
        len(table.header) == 1 and bool({";", "\t"} & {*table.header[0]})
    ),
    # of a database, its declaration says what is a BLOB
    "have cells of bytes, which are read as hexadecimal (is it text? store it so)": lambda table: (
        not isinstance(table.rows, LazyRows) and any(bytes in map(type, row) for row in table.rows)
    ),
    "have no title, and no retriever reads their ids (where an id is a name, give it as title)": (
        lambda table: not has_title(table)
    ),
}
"""What is said of tables -> whether it is true of one."""


def check_query(query: Query) -> Query:
    """Return a query whose fields have the types that they should have, with its texts in NFC."""
    if not isinstance(query, Query):
        raise TypeError(f"expected Query, found {type(query).__name__}")
    answers = query.answer if isinstance(query.answer, tuple) else (query.answer,)
    is_gold = isinstance(query.gold, tuple) and all(map(_is_id, query.gold))
    for name, what, is_so in (
        ("id", "text", isinstance(query.id, str)),
        ("text", "text", isinstance(query.text, str)),
        ("database_id", "text", isinstance(query.database_id, str)),
        ("gold", "a tuple of TableId", is_gold),
        ("answer", "text or a tuple of texts", all(isinstance(each, str) for each in answers)),
    ):
        if not is_so:
            value = getattr(query, name)
            raise DataError(f"query {query.id!r}: {name}: expected {what}, found {value!r:.80}")
    return Query(
        compose(query.id),
        compose(query.text),
        tuple(TableId(*compose(tuple(table_id))) for table_id in query.gold),
        compose(query.answer),
        compose(query.database_id),
        compose(query.metadata),
    )


def check_queries(queries: Sequence[Query], corpus: Corpus, where: str) -> None:
    """Check that ids of queries are unique, and that every gold table is among the tables."""
    for query_id, n in Counter(query.id for query in queries).items():
        if n > 1:
            raise DataError(f"{where}: query id {query_id!r} occurs twice; ids must be unique")
    missing = Counter(gold for query in queries for gold in {*query.gold} if gold not in corpus)
    if not missing:
        return
    named = [_describe_missing(gold, corpus) for gold in list(missing)[:_MOST_NAMED]]
    if len(missing) > _MOST_NAMED:
        named.append(f"{len(missing) - _MOST_NAMED} more")
    affected = [query for query in queries if not missing.keys().isdisjoint(query.gold)]
    first = next(gold for gold in affected[0].gold if gold in missing)
    what = f"{count_noun(len(missing), 'gold table')} of {count_noun(len(affected), 'query')}"
    raise DataError(
        f"{where}: query {affected[0].id!r} has gold table {first}, which is not among the "
        f"{len(corpus)} tables. {what} missing: {'; '.join(named)}. Correct the queries, or remove "
        "them."
    )


def _describe_missing(gone: TableId, corpus: Corpus) -> str:
    """Name a missing table, with what it may be now."""
    parts = [table.label for table in corpus.ids if table.label.startswith(f"{gone.label}/")]
    if parts:  # a workbook, or a folder
        more = f" and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
        return f"{gone.label} (holds several tables: {', '.join(parts[:_MOST_NAMED])}{more})"
    names = [table.table_id for table in corpus.ids if table.database_id == gone.database_id]
    close = get_close_matches(gone.table_id, names, 1)
    if not close:
        return f"{gone.label} (no table has a similar name)"
    return f"{gone.label} (perhaps {TableId(gone.database_id, close[0]).label})"
