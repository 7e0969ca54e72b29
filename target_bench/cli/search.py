"""``target-bench search``: one question, the tables found, in the terminal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli import options
from target_bench.cli.options import argument, option
from target_bench.cli.output import exit_if_incomplete, print_as, print_notes
from target_bench.cli.progress import TerminalObserver
from target_bench.cli.samples import LONGEST_CELL, cut_text, lay_out_sample
from target_bench.core.schema import LEFT_OUT
from target_bench.core.text_tables import (
    Column,
    TextTable,
    print_tables,
    say,
)

if TYPE_CHECKING:
    from target_bench.core.schema import Table
    from target_bench.harness.search import Hit, RowMatch

HELP = """Search the tables of a corpus for a question; no labels are needed.

`target-bench search ./tables 'which city has the most visitors'` prints the best tables. With
several --retriever, their rankings stand side by side.
"""


def search(
    corpus: Annotated[str, argument("A corpus by name, or the path of your own.")],
    question: Annotated[str, argument()],
    retrievers: Annotated[
        list[str] | None,
        option(
            "name, name:key=value,..., module:Class or file.py:Class; may be repeated. Default: "
            "bm25.",
            "--retriever",
        ),
    ] = None,
    k: Annotated[int, typer.Option("--top-k", "-k", help="How many tables.", min=1)] = 5,
    split: options.Split = None,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    yes: options.Yes = False,
    notes: options.Notes = False,
    full: Annotated[
        bool, typer.Option("--full", help="Print whole cells and all columns.")
    ] = False,
    as_json: options.AsJson = False,
    printed_as: options.PrintedAs = "text",
) -> None:
    """Print the tables that retrievers find for a question."""
    from target_bench.cli.output import ask_to_pay, print_cost
    from target_bench.data.load import load
    from target_bench.data.table_text import list_languages
    from target_bench.harness.search import TableSearch, find_rows

    named = dict.fromkeys(retrievers or ["bm25"])
    dataset = load(corpus, split, data_dir=data_dir)
    as_text = not as_json and printed_as == "text"
    confirm = print_cost if yes else ask_to_pay
    with TerminalObserver():  # prints warnings
        rankings = {
            name: TableSearch(dataset, name, confirm=confirm).search(question, k) for name in named
        }
    print_notes(
        dataset.notes if as_text else [n for n in dataset.notes if LEFT_OUT in n], notes, corpus
    )
    match = partial(find_rows, question=question, languages=list_languages(dataset.corpus))
    if not as_text:
        document = {name: [_record(hit, match) for hit in hits] for name, hits in rankings.items()}
        records = [{"retriever": name, **hit} for name, hits in document.items() for hit in hits]
        tables = [_ranking(name, hits, match, full) for name, hits in rankings.items()]
        print_as("json" if as_json else printed_as, document, records, tables)
        exit_if_incomplete(dataset.notes)
        return
    if not any(rankings.values()):
        say("No table was found.")
        exit_if_incomplete(dataset.notes)
        return
    (first, *others) = rankings.items()
    print_tables(_side_by_side(rankings) if others else _ranking(*first, match, full))
    best = next(hits[0] for hits in rankings.values() if hits)
    say("")
    print_tables(_sample(best, match, full))
    exit_if_incomplete(dataset.notes)


def _record(hit: "Hit", match: "Callable[[Table], list[RowMatch]]") -> Mapping[str, object]:
    from target_bench.data.highlights import cell_text

    rows = [
        {"row": row + 1, "cells": [cell_text(cell) for cell in hit.table.rows[row]]}
        for row, _ in match(hit.table)
    ]
    return {
        "rank": hit.rank,
        "database_id": hit.table.id.database_id,
        "table_id": hit.table.id.table_id,
        "file": hit.file,
        "score": hit.score,
        "title": hit.table.context.get("title"),
        "header": list(hit.table.header),
        "rows": rows,
    }


def _ranking(
    name: str, hits: Sequence["Hit"], match: "Callable[[Table], list[RowMatch]]", full: bool
) -> TextTable:
    rows = [
        [str(hit.rank), _score(hit.score), _label(hit), _matching_cells(hit.table, match, full)]
        for hit in hits
    ]
    columns = [
        Column("rank", right=True),
        Column("score", right=True),
        Column("table"),
        Column("best row"),
    ]
    return TextTable(columns, rows, name)


def _label(hit: "Hit") -> str:
    return hit.file or hit.table.id.label


def _matching_cells(table: "Table", match: "Callable[[Table], list[RowMatch]]", full: bool) -> str:
    """Return the cells of the best row that hold words of the question, with their columns."""
    from target_bench.data.highlights import cell_text

    for row, columns in match(table)[:1]:
        most = None if full else LONGEST_CELL
        cells = (
            f"{cut_text(table.header[j], most)}: {cut_text(cell_text(table.rows[row][j]), most)}"
            for j in columns
        )
        return cut_text(", ".join(cells), None if full else 2 * LONGEST_CELL)
    return ""


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.3f}"


def _side_by_side(rankings: Mapping[str, Sequence["Hit"]]) -> TextTable:
    deepest = max(map(len, rankings.values()))
    rows = [
        [str(i + 1), *(_label(hits[i]) if hits[i:] else "" for hits in rankings.values())]
        for i in range(deepest)
    ]
    return TextTable([Column("rank", right=True), *map(Column, rankings)], rows)


def _sample(hit: "Hit", match: "Callable[[Table], list[RowMatch]]", full: bool) -> TextTable:
    """Return the rows that match, or the first ones where none does (a title may)."""
    matches = match(hit.table)
    found = "rows that match best" if matches else "first rows"
    numbers = [row for row, _ in matches] or range(min(3, len(hit.table.rows)))
    matching = {column for _, columns in matches for column in columns}
    table = lay_out_sample(hit.table, numbers, f"{_label(hit)}: {found}", matching, full)
    columns = [Column("row", right=True), *table.columns]
    rows = [[str(i + 1), *row] for i, row in zip(numbers, table.rows, strict=True)]
    return replace(table, columns=columns, rows=rows)
