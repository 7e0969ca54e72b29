"""Changed tables in the order in which we, the authors, rate them: for tests of table metrics.

Each set is the first rows of a table and five changed ones, best first. The ratings are ours: one
author looked at every table and asked how much of what a reader would take from it is still right.
What is false counts more than what is missing, and that more than what is clumsy.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.table_metrics.changes import CHANGES, LEVELS, Rows
from benchmarks.table_metrics.ranked_tables import TASK, markdown

from .tables import Table

ROWS = 6
"""Rows of a table that a set is about."""

RATED: dict[str, str] = {
    "olympics-1992-medals": (
        "reordered_rows abbreviated:hard duplicated_row:hard number_changed:hard merged_columns"
    ),
    "winter-olympics-1998-medals": (
        "abbreviated:hard missing_cell:hard number_changed:hard ragged_row:hard extra_row:medium"
    ),
    "formula-one-1990s": (
        "reordered_columns typo:hard ragged_row:hard merged_columns extra_row:medium"
    ),
    "french-open-men-2000s": (
        "reordered_columns typo:easy number_changed:easy missing_column:hard wrong_text:easy"
    ),
    "languages-1970s": "typo:easy split_column ragged_row:hard extra_column:hard truncated:medium",
    "languages-2000s": (
        "reordered_rows merged_columns ragged_row:hard truncated:medium wrong_text:easy"
    ),
    "leaders-of-germany": (
        "typo:easy scaled:medium swapped_cells:easy extra_column:hard missing_row:easy"
    ),
    "leaders-of-canada": (
        "reordered_columns abbreviated:hard merged_columns missing_column:hard swapped_columns"
    ),
    "metros-americas": (
        "number_changed:easy swapped_cells:easy missing_cell:easy missing_row:easy swapped_columns"
    ),
    "metros-western-europe": (
        "typo:hard abbreviated:hard missing_cell:hard swapped_cells:easy swapped_columns"
    ),
    "missions-apollo": (
        "duplicated_row:hard typo:easy wrong_header:easy ragged_row:hard missing_cell:easy"
    ),
    "missions-gemini": (
        "reordered_columns split_column merged_columns missing_row:hard wrong_text:easy"
    ),
    "moons-of-jupiter": (
        "reordered_columns number_changed:hard extra_column:hard missing_cell:easy missing_row:easy"
    ),
    "moons-of-uranus": (
        "wrong_header:easy scaled:medium ragged_row:hard extra_row:medium wrong_text:easy"
    ),
    "nobel-peace-1990s": (
        "reordered_rows wrong_header:hard merged_columns truncated:medium extra_row:medium"
    ),
    "nobel-literature-2000s": (
        "missing_row:hard missing_cell:easy truncated:medium extra_row:medium swapped_cells:easy"
    ),
    "nobel-physics-2000s": (
        "duplicated_row:hard split_column merged_columns wrong_text:hard wrong_text:easy"
    ),
    "parks-of-canada": "duplicated_row:hard split_column typo:easy sign_flipped:hard scaled:medium",
    "parks-of-germany": (
        "swapped_cells:easy extra_row:medium extra_column:hard missing_column:hard wrong_text:easy"
    ),
    "super-bowls-1987-1996": (
        "typo:hard typo:easy missing_column:hard wrong_text:easy swapped_cells:easy"
    ),
    "us-open-women-2000s": (
        "typo:easy split_column wrong_header:easy missing_cell:easy swapped_cells:easy"
    ),
    "world-cup-1990-knockout": (
        "abbreviated:hard missing_cell:hard number_changed:hard scaled:medium missing_row:easy"
    ),
    "world-cup-2014-knockout": (
        "reordered_rows duplicated_row:hard number_changed:easy missing_row:easy extra_row:medium"
    ),
    "best-picture-1990s": (
        "duplicated_row:hard sign_flipped:hard ragged_row:hard wrong_text:hard truncated:medium"
    ),
    "best-picture-1960s": (
        "reordered_columns wrong_header:hard wrong_header:easy missing_row:hard missing_column:hard"
    ),
    "countries-east-africa": (
        "reordered_columns duplicated_row:hard merged_columns swapped_cells:easy swapped_columns"
    ),
    "countries-south-america": (
        "typo:hard missing_cell:hard split_column wrong_header:hard wrong_text:easy"
    ),
    "divisions-of-austria": (
        "reordered_rows duplicated_row:hard wrong_header:easy extra_column:hard swapped_columns"
    ),
    "elements-group-16": (
        "reordered_rows typo:hard extra_column:hard missing_cell:easy number_changed:easy"
    ),
    "euro-2008-knockout": (
        "reordered_columns abbreviated:hard missing_row:easy swapped_cells:easy extra_row:medium"
    ),
}
"""Table -> its changes, best first: the change, and its level where it has one."""


def records(made: dict[str, Table]) -> Iterator[dict[str, object]]:
    """Yield the queries: changed tables in a drawn order, ``rank`` 0 for the best of a set.

    Raises:
        ValueError: a change does not apply to its table, or two of a set make the same of it.
    """
    for number, (table_id, changes) in enumerate(RATED.items(), start=1):
        table = made[table_id]
        rows = (table.header, *table.rows[:ROWS])
        texts = [markdown(_changed(table_id, rows, change)) for change in changes.split()]
        if len({*texts, markdown(rows)}) <= len(texts):
            raise ValueError(f"{table_id}: two tables of a set are equal")
        order = list(range(len(texts)))
        Random(table_id).shuffle(order)  # noqa: S311 (no secret)
        for place, rank in enumerate(order):
            yield {
                "query_id": f"cmp-{number:02}/{place}",
                "split": "test",
                "task": TASK,
                "query": texts[rank],
                "answer": markdown(rows),
                "table_id": table_id,
                "format": "text",
                "rank": rank,
                "rated_by": "an author of target-bench",
                "ranked": False,
            }


def _changed(table_id: str, rows: Rows, written: str) -> Rows:
    name, _, level = written.partition(":")
    rng = Random(f"{table_id}/{written}")  # noqa: S311 (no secret)
    chosen = next(known for known in LEVELS if known == (level or "hard"))
    changed = CHANGES[name].apply(rows, rng, chosen)
    if changed is None:
        raise ValueError(f"{table_id}: {written} does not apply")
    return changed.rows
