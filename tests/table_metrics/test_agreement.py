"""TabXEval by rules: agreement with rankings by people and by rule, and errors that are known."""

import pytest

from benchmarks.table_metrics.table2 import agreement, sets_of
from target_bench.data.load import load
from target_bench.tables.comparison import compare_tables
from tests.real.data import DATA

Rows = list[list[str]]


@pytest.mark.parametrize(
    ("corpus", "least"),
    [("tabxbench", 0.52), ("mini", 0.63), ("written", 0.90), ("written-errors", 0.89)],
)
def test_scores_rank_tables_as_people_do(
    corpus: str, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARGET_BENCH_DATA", str(DATA))
    if corpus == "tabxbench" and not (DATA / "tabxbench").is_dir():
        pytest.skip(f"no TabXBench in {DATA} (set TARGET_BENCH_DATA)")
    sets = sets_of(corpus)
    scores = [
        [
            compare_tables(pair.reference.tables[0], pair.answer.tables[0]).score()
            if pair.answer.tables
            else 0.0
            for pair in ranked.pairs
        ]
        for ranked in sets
    ]
    assert agreement(sets, scores)["spearman"] >= least


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
