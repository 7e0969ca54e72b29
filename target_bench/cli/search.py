"""``target-bench search``: one question, the tables found, in the terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli.command_line import (
    AsJson,
    DataDir,
    Indexes,
    Offline,
    SkipBad,
    Split,
    Yes,
    argument,
    option,
)
from target_bench.cli.output import print_json

if TYPE_CHECKING:
    from target_bench.core.schema import Table
    from target_bench.core.text_tables import TextTable
    from target_bench.harness.search import Hit

HELP = """Search the tables of a corpus for a question; no labels are needed.

`target-bench search ./tables 'which city has the most visitors'` prints the best tables. With
several --retriever, their rankings stand side by side.
"""
_SAMPLE_ROWS = 3


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
    k: Annotated[int, typer.Option("-k", help="How many tables.", min=1)] = 5,
    split: Split = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    indexes: Indexes = None,
    skip_bad: SkipBad = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Print the tables that retrievers find for a question."""
    from target_bench.cli.output import agreed, announced
    from target_bench.data.load import load
    from target_bench.data.own_data import skipping_bad
    from target_bench.harness.search import TableSearch

    named = dict.fromkeys(retrievers or ["bm25"])
    dataset = load(skipping_bad(corpus) if skip_bad else corpus, split, data_dir=data_dir)
    confirm = announced if yes else agreed
    rankings = {
        name: TableSearch(dataset, name, indexes=indexes, confirm=confirm).search(question, k)
        for name in named
    }
    if as_json:
        print_json({name: list(map(_record, hits)) for name, hits in rankings.items()})
        return
    _print(rankings, dataset.notes)


def _record(hit: "Hit") -> Mapping[str, object]:
    return {
        "rank": hit.rank,
        "database_id": hit.table.id.database_id,
        "table_id": hit.table.id.table_id,
        "score": hit.score,
        "title": hit.table.context.get("title"),
        "header": list(hit.table.header),
    }


def _print(rankings: Mapping[str, Sequence["Hit"]], notes: Sequence[str]) -> None:
    from target_bench.core.text_tables import print_tables, say, visible

    for note in notes:
        typer.echo(f"note: {visible(note)}", err=True)
    if not any(rankings.values()):
        say("No table was found.")
        return
    (first, *others) = rankings.items()
    print_tables(_side_by_side(rankings) if others else _ranking(*first))
    best = next(hits[0].table for hits in rankings.values() if hits)
    say("")
    print_tables(_sample(best))


def _ranking(name: str, hits: Sequence["Hit"]) -> "TextTable":
    from target_bench.core.text_tables import Column, TextTable

    rows = [
        [str(hit.rank), _score(hit.score), str(hit.table.id), ", ".join(hit.table.header)]
        for hit in hits
    ]
    columns = [
        Column("rank", right=True),
        Column("score", right=True),
        Column("table"),
        Column("columns", prose=True),
    ]
    return TextTable(columns, rows, name)


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.3f}"


def _side_by_side(rankings: Mapping[str, Sequence["Hit"]]) -> "TextTable":
    from target_bench.core.text_tables import Column, TextTable

    deepest = max(map(len, rankings.values()))
    rows = [
        [str(i + 1), *(str(hits[i].table.id) if hits[i:] else "" for hits in rankings.values())]
        for i in range(deepest)
    ]
    return TextTable([Column("rank", right=True), *map(Column, rankings)], rows)


def _sample(table: "Table") -> "TextTable":
    from target_bench.core.text_tables import Column, TextTable
    from target_bench.data.table_text import cell_text

    rows = [[cell_text(cell) for cell in row] for row in table.rows[:_SAMPLE_ROWS]]
    more = len(table.rows) - len(rows)
    note = f"{more:,} more rows" if more else None
    columns = [Column(name, prose=True) for name in table.header]
    return TextTable(columns, rows, f"The first table, {table.id}", note=note)
