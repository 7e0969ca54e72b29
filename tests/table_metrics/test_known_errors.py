"""TabXEval by rules: errors that are known cost something, other ways to write a table nothing."""

from target_bench.data.load import load
from target_bench.tables.comparison import compare_tables

Rows = list[list[str]]


def _harmless(table: Rows) -> dict[str, Rows]:
    header, *rows = table
    return {
        "rows in another order": [header, *rows[::-1]],
        "columns in another order": [row[::-1] for row in table],
        "upper case": [header, *([cell.upper() for cell in row] for row in rows)],
        "spaces": [[f" {cell} " for cell in row] for row in table],
        "bold": [header, *([f"**{cell}**" if cell else "" for cell in row] for row in rows)],
    }


def _wrong(table: Rows) -> dict[str, Rows]:
    header, *rows = table
    filled = next(j for j, cell in enumerate(rows[0]) if cell.strip(" -"))
    changed = [list(row) for row in table]
    changed[1][filled] = "something else"
    emptied = [list(row) for row in table]
    emptied[1][filled] = ""
    return {
        "a row missing": [header, *rows[1:]],
        "a row too many": [*table, [f"new {j}" for j in range(len(header))]],
        "a column missing": [row[:-1] for row in table],
        "a column too many": [[*row, f"more {i}"] for i, row in enumerate(table)],
        "another cell": changed,
        "an empty cell": emptied,
        "a column with another name": [["Quux", *header[1:]], *rows],
    }


def test_every_known_error_scores_below_every_other_way_to_write_a_table() -> None:
    """Over the tables of mini the area under the curve is 1."""
    tables: list[Rows] = [
        [["" if c is None else str(c) for c in row] for row in (table.header, *table.rows[:8])]
        for table in load("mini").corpus
    ]
    tables = [t for t in tables if len(t) > 3 and len(t[0]) > 2][::3]
    assert len(tables) > 20
    for table in tables:
        for name, other in _harmless(table).items():
            assert compare_tables(table, other).score() == 1, name
        for name, other in _wrong(table).items():
            assert compare_tables(table, other).score() < 1, name
