"""The queries of a report: what became of each, and all that is shown.

The data lie in blocks of compressed JSON, which the page unpacks when they are needed.
"""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

import numpy as np

from target_bench.core.schema import NO_DATABASE, Corpus, Dataset, Query, Table, TableId
from target_bench.data.table_text import cell_text
from target_bench.metrics.scores import deciding_metric
from target_bench.reporting.report.report_runs import ReportRun, ShownTables
from target_bench.runs.record_log import Answered
from target_bench.runs.slicing import by_property, partition

RETRIEVED = ("first", "found", "partly", "missed", "failed", "unlabelled")
"""All gold tables at the top; all of them somewhere; some; none; no ranking; no gold table known;
no table answers the query."""

QUERIES_PER_BLOCK = 64
TABLES_PER_BLOCK = 16
COLUMNS = 60
"""Columns of a table that are embedded."""
LONGEST_TEXT = 20_000
"""Characters of a question, an answer, a statement: what is longer is cut, and says so."""

_LISTED = 600  # characters of a question in the list and the search
_SEARCHED = 200  # characters of a reference answer in the search
_METADATA = 2_000  # characters of an entry of the metadata

Block = tuple[str, str]
"""How the page's script asks for it; base64 of zlib of ASCII JSON: nothing can end an element."""


def pack_block(name: str, value: Any) -> Block:
    """Return a block of a JSON value; NaN and infinity are not allowed in it."""
    encoded = json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    return name, base64.b64encode(zlib.compress(encoded, 6)).decode("ascii")


def cut_text(text: str, longest: int = LONGEST_TEXT) -> str | list[Any]:
    """Return the text, or if it is longer ``[its beginning, how many characters are left out]``."""
    return text if len(text) <= longest else [text[:longest], len(text) - longest]


# What became of each query


def list_outcomes(run: ReportRun, queries: Sequence[Query]) -> tuple[list[str], list[str]]:
    """Say what became of each query in a run."""
    rankings = [ranking_outcome(query, run.tables[query.id]) for query in queries]
    if run.answers is None:
        return rankings, []
    metric = deciding_metric(run.scores)
    values = run.values[metric] if metric else np.full(len(queries), np.nan)
    return rankings, [
        answer_outcome(
            float(values[i]),
            run.run.answers[query.id].generation.error,
            run.run.judgements.get(query.id, {}).get("verdict"),
        )
        for i, query in enumerate(queries)
    ]


_SEVERITY = {
    **{"failed": 3, "missed": 2, "wrong": 2, "partly": 1},
    **dict.fromkeys(("first", "found", "unlabelled", "right", "correct", "not judged"), 0),
}


def severity(ranking: str, answer: str | None) -> int:
    """Return how bad an outcome is: that of the answer, where there is one, else of the ranking.

    Every verdict on SQL but ``correct`` is as bad as a wrong answer.
    """
    return _SEVERITY.get(ranking if answer is None else answer, 2)


def ranking_outcome(query: Query, shown: ShownTables) -> str:
    """Return the outcome of a ranking, one of ``RETRIEVED``."""
    n_gold, ranks = len(set(query.gold)), shown.gold_ranks
    if shown.error is not None:
        return "failed"
    if not n_gold:
        return "unlabelled"
    if len(ranks) == n_gold:
        return "first" if ranks[-1] == n_gold else "found"
    return "partly" if ranks else "missed"


def answer_outcome(value: float, error: str | None, verdict: str | None) -> str:
    """Return the outcome of an answer: its verdict if it was executed, else by its main metric."""
    if verdict is not None:
        return verdict.replace("_", " ")
    if error is not None:
        return "failed"
    if isnan(value):
        return "not judged"
    return "right" if value == 1 else "wrong" if value == 0 else "partly"


def recall_curve(
    queries: Sequence[Query], ranks: Sequence[Sequence[int]], depth: int
) -> list[float]:
    """Return the mean recall at 1, 2, ..., ``depth``; empty without gold tables.

    ``ranks`` are those of each query's gold tables.
    """
    recalled, n = np.zeros(depth + 1), 0
    for query, of_gold in zip(queries, ranks, strict=True):
        if query.gold:
            n += 1
            for rank in of_gold:
                recalled[rank] += 1 / len(set(query.gold))
    return (recalled[1:].cumsum() / n).tolist() if n else []


def share_in_common(runs: Sequence[ReportRun], queries: Sequence[Query]) -> list[float]:
    """Return for each query how far rankings agree: what there is to see without gold tables.

    It is the share of the shown tables that all rankings have, of the longest one; 1 where none
    has any. Empty with fewer than two runs that rank.
    """
    ranked = [run for run in runs if run.is_ranked]
    if len(ranked) < 2:
        return []
    shares = []
    for query in queries:
        shown = [{*run.tables[query.id].tables} for run in ranked]
        n = max(map(len, shown))
        shares.append(len(set.intersection(*shown)) / n if n else 1.0)
    return shares


# What the page gets


def number_tables(runs: Sequence[ReportRun], queries: Sequence[Query]) -> dict[TableId, int]:
    """Return the number of each table that is shown: gold tables first, then by their best rank."""
    best: dict[TableId, int] = {table: 0 for query in queries for table in query.gold}
    for query in queries:
        for run in runs:
            for rank, table in enumerate(run.tables[query.id].tables, start=1):
                best[table] = min(best.get(table, rank), rank)
    return {table: n for n, table in enumerate(sorted(best, key=best.__getitem__))}


def index_blocks(
    runs: Sequence[ReportRun],
    queries: Sequence[Query],
    of_runs: Sequence[tuple[Sequence[str], Sequence[str]]],
) -> Iterator[Block]:
    """Yield the data of the list, the search and the filters, and one block per metric and run."""
    index = {
        "ids": [query.id for query in queries],
        "texts": [cut_text(query.text, _LISTED) for query in queries],
        "answers": [cut_text(" | ".join(_list_answers(query)), _SEARCHED) for query in queries],
        "n_gold": [len(set(query.gold)) for query in queries],
        "slices": [
            {
                "name": name,
                "values": [str(value) for value in divided.values],
                "codes": divided.codes.tolist(),
            }
            for name, column in by_property(queries).items()
            if (divided := partition(column)).groups
        ],
        "common": [round(share, 3) for share in share_in_common(runs, queries)],
        "runs": [
            {
                "first": [next(iter(run.tables[query.id].gold_ranks), 0) for query in queries],
                "outcome": [RETRIEVED.index(outcome) for outcome in rankings],
                "answer": answers,
            }
            for run, (rankings, answers) in zip(runs, of_runs, strict=True)
        ],
    }
    yield pack_block("index", index)
    for i, run in enumerate(runs):
        for j, values in enumerate(run.values.values()):
            rounded = [None if isnan(v) else round(v, 6) for v in values.tolist()]
            yield pack_block(f"values-{i}-{j}", rounded)


def query_blocks(
    runs: Sequence[ReportRun], dataset: Dataset, tables: Mapping[TableId, int]
) -> Iterator[Block]:
    """Yield all there is to each query."""
    for first in range(0, len(dataset.queries), QUERIES_PER_BLOCK):
        queries = dataset.queries[first : first + QUERIES_PER_BLOCK]
        shown = [_query(query, runs, tables) for query in queries]
        yield pack_block(f"queries-{first // QUERIES_PER_BLOCK}", shown)


def _query(
    query: Query, runs: Sequence[ReportRun], tables: Mapping[TableId, int]
) -> dict[str, Any]:
    facts = {str(name): _metadata_text(value) for name, value in query.metadata.items()}
    if query.database_id != NO_DATABASE:
        facts = {"database": _metadata_text(query.database_id)} | facts
    remarks = [remark for run in runs for remark in run.remarks.get(query.id, ())]
    facts["remarks"] = "; ".join(dict.fromkeys(remarks))
    return {
        "id": query.id,
        "text": cut_text(query.text),
        "answers": [cut_text(answer) for answer in _list_answers(query) if answer],
        "gold": [tables[table] for table in dict.fromkeys(query.gold)],
        "facts": {name: value for name, value in facts.items() if value not in ("", None)},
        "runs": [_describe_in_run(query, run, tables) for run in runs],
    }


def _describe_in_run(query: Query, run: ReportRun, tables: Mapping[TableId, int]) -> dict[str, Any]:
    shown = run.tables[query.id]
    record: dict[str, Any] = {
        "tables": [tables[table] for table in shown.tables],
        "scores": shown.scores,
        "n": shown.n,
    }
    if shown.error is not None:
        record["error"] = cut_text(shown.error)
    if run.answers is not None:
        record["answer"] = _answer(run.run.answers[query.id])
    judged = run.run.judgements.get(query.id)
    if judged is not None:
        record["judged"] = {
            name: cut_text(value) if isinstance(value, str) else value
            for name, value in run.task.view.detail(judged).items()
        }
    return record


_FACTS = (
    *("input_tokens", "output_tokens", "cost", "seconds"),
    *("finish_reason", "truncated", "cached"),
)


def _answer(answer: Answered) -> dict[str, Any]:
    record = asdict(answer.generation) | {"truncated": answer.truncated}
    facts = {name: record[name] for name in _FACTS if record[name] not in (None, False)}
    if answer.generation.error is not None:
        facts["error"] = cut_text(answer.generation.error)
    return facts | {"text": cut_text(answer.generation.text)}


def _list_answers(query: Query) -> Sequence[str]:
    return (query.answer,) if isinstance(query.answer, str) else query.answer


def _metadata_text(value: Any) -> Any:
    """Return an entry of the metadata as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cut_text(value if isinstance(value, str) else str(value), _METADATA)


def table_blocks(
    tables: Mapping[TableId, int], corpus: Corpus, rows: int, cell: int
) -> Iterator[Block]:
    """Yield the tables."""
    ids = list(tables)
    for first in range(0, len(ids), TABLES_PER_BLOCK):
        some = [corpus[table] for table in ids[first : first + TABLES_PER_BLOCK]]
        shown = [_table(table, rows, cell) for table in some]
        yield pack_block(f"tables-{first // TABLES_PER_BLOCK}", shown)


def _table(table: Table, rows: int, longest: int) -> dict[str, Any]:
    """Return a table as the page's script reads it: a NULL is null, any other cell text."""
    titles = [str(table.context.get(name) or "") for name in ("title", "section_title")]
    return {
        "id": list(table.id),
        "title": cut_text(" – ".join(filter(None, titles)), 300),
        "header": [cut_text(str(name), longest) for name in table.header[:COLUMNS]],
        "rows": [
            [None if cell is None else cut_text(cell_text(cell), longest) for cell in row[:COLUMNS]]
            for row in table.rows[:rows]
        ],
        "n_rows": len(table.rows),
        "n_columns": len(table.header),
    }
