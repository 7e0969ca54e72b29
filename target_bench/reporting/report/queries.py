"""The queries of a report: the outcome of each, and the data that the page's script reads."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

import numpy as np

from target_bench.core.schema import NO_DATABASE, Dataset, Generation, Query, Table, TableId
from target_bench.data.highlights import cell_text
from target_bench.data.table_text import list_languages, stop_words
from target_bench.metrics.scores import find_correctness_metric
from target_bench.reporting.report.report_runs import ReportRun, ShownTables
from target_bench.reporting.web import valid
from target_bench.runs.slicing import divide, read_properties

COLUMNS = 60  # of a table that are embedded
LONGEST_TEXT = 20_000  # characters of a question, an answer, a statement
_LONGEST_METADATA = 2_000

Outcomes = tuple[Sequence[str], Sequence[str]]
"""The outcome of the ranking of each query, and of its answer; no answers in a run of rankings."""


def pack(value: Any) -> str:
    """Return JSON as base64 of zlib of ASCII: nothing in it can end an element."""
    encoded = json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    return base64.b64encode(zlib.compress(encoded, 6)).decode("ascii")


def cut_text(text: str, longest: int = LONGEST_TEXT) -> str | list[Any]:
    """Return the text, or if it is longer ``[its beginning, how many characters are left out]``."""
    return text if len(text) <= longest else [text[:longest], len(text) - longest]


# Outcomes


def list_outcomes(run: ReportRun, queries: Sequence[Query]) -> Outcomes:
    """Return the outcome of each query in a run."""
    rankings = [judge_ranking(query, run.tables[query.id]) for query in queries]
    if run.answers is None:
        return rankings, []
    metric = find_correctness_metric(run.scores)
    judgements = run.result.run.judgements
    values = run.values[metric] if metric else np.full(len(queries), np.nan)
    return rankings, [
        judge_answer(
            float(value),
            run.result.run.answers[query.id].error,
            judgements[query.id].record.get("verdict") if query.id in judgements else None,
        )
        for query, value in zip(queries, values, strict=True)
    ]


def judge_ranking(query: Query, shown: ShownTables) -> str:
    """Return where the gold tables are: first, found, partly or missed; else why not known."""
    n_gold, ranks = len(set(query.gold)), shown.gold_ranks
    if shown.error is not None:
        return "failed"
    if not n_gold:
        return "unlabelled"
    if len(ranks) == n_gold:
        return "first" if ranks[-1] == n_gold else "found"
    return "partly" if ranks else "missed"


def judge_answer(value: float, error: str | None, verdict: str | None) -> str:
    """Return the outcome of an answer: its verdict if it was executed, else by its main metric."""
    if verdict is not None:
        return verdict.replace("_", " ")
    if error is not None:
        return "failed"
    if isnan(value):
        return "not judged"
    return "right" if value == 1 else "wrong" if value == 0 else "partly"


_SEVERITY = {
    **{"failed": 3, "missed": 2, "wrong": 2, "partly": 1},
    **dict.fromkeys(("first", "found", "unlabelled", "right", "correct", "not judged"), 0),
}


def order_by_failure(outcomes: Sequence[Outcomes]) -> list[int]:
    """Return the queries as numbers, the worst first by the outcome of any run.

    Every verdict on SQL but ``correct`` is as bad as a wrong answer.
    """
    worst = [
        max(_SEVERITY.get(outcome, 2) for outcome in each)
        for each in zip(*(answers or rankings for rankings, answers in outcomes), strict=True)
    ]
    return sorted(range(len(worst)), key=lambda i: -worst[i])


def compute_recall_curve(
    queries: Sequence[Query], ranks: Sequence[Sequence[int]], depth: int
) -> list[float]:
    """Return the mean recall at 1, 2, ... ``depth`` by the ranks of gold; empty without any."""
    recalled, n = np.zeros(depth + 1), 0
    for query, its_ranks in zip(queries, ranks, strict=True):
        if query.gold:
            n += 1
            for rank in its_ranks:
                recalled[rank] += 1 / len(set(query.gold))
    return (recalled[1:].cumsum() / n).tolist() if n else []


def measure_overlap(runs: Sequence[ReportRun], queries: Sequence[Query]) -> list[float]:
    """Return for each query the share of the shown tables that all rankings have.

    This is what there is to see without gold tables; empty with fewer than two runs that rank.
    """
    ranked = [run for run in runs if run.is_ranked]
    if len(ranked) < 2:
        return []
    shares = []
    for query in queries:
        shown = [{*run.tables[query.id].tables} for run in ranked]
        n = max(map(len, shown))
        shares.append(round(len(set.intersection(*shown)) / n, 3) if n else 1.0)
    return shares


# Data of the page


def collect_data(
    runs: Sequence[ReportRun],
    dataset: Dataset,
    outcomes: Sequence[Outcomes],
    limits: Mapping[str, int],
) -> dict[str, Any]:
    """Return all that the page's script reads of queries, runs and tables."""
    queries = dataset.queries
    numbers = _number_tables(runs, queries)
    return {
        "stop_words": sorted(frozenset().union(*map(stop_words, list_languages(dataset.corpus)))),
        "labelled": any(query.gold for query in queries),
        "slices": [
            {
                "name": name,
                "values": [str(value) for value in divided.values],
                "codes": divided.codes.tolist(),
            }
            for name, column in read_properties(queries).items()
            if (divided := divide(column)).is_informative
        ],
        "common": measure_overlap(runs, queries),
        "runs": [
            _describe_run(run, queries, *its) for run, its in zip(runs, outcomes, strict=True)
        ],
        "queries": [_describe_query(query, runs, numbers) for query in queries],
        "tables": [
            _describe_table(dataset.corpus[table], limits["rows"], limits["cell"])
            for table in numbers
        ],
    }


def _number_tables(runs: Sequence[ReportRun], queries: Sequence[Query]) -> dict[TableId, int]:
    """Return a number for each table that is shown: gold tables first, then by their best rank."""
    best: dict[TableId, int] = {table: 0 for query in queries for table in query.gold}
    for query in queries:
        for run in runs:
            for rank, table in enumerate(run.tables[query.id].tables, start=1):
                best[table] = min(best.get(table, rank), rank)
    return {table: n for n, table in enumerate(sorted(best, key=best.__getitem__))}


def _describe_run(
    run: ReportRun, queries: Sequence[Query], rankings: Sequence[str], answers: Sequence[str]
) -> dict[str, Any]:
    return {
        "label": valid(run.label),
        "ranked": not run.is_given,
        "answered": run.answers is not None,
        "outcome": rankings,
        "answer": answers,
        "first": [next(iter(run.tables[query.id].gold_ranks), 0) for query in queries],
        "values": {
            name: [None if isnan(v) else round(v, 6) for v in values.tolist()]
            for name, values in run.values.items()
        },
    }


def _describe_query(
    query: Query, runs: Sequence[ReportRun], numbers: Mapping[TableId, int]
) -> dict[str, Any]:
    facts = {str(name): _metadata_text(value) for name, value in query.metadata.items()}
    if query.database_id != NO_DATABASE:
        facts = {"database": _metadata_text(query.database_id)} | facts
    remarks = [remark for run in runs for remark in run.remarks.get(query.id, ())]
    facts["remarks"] = "; ".join(dict.fromkeys(remarks))
    answers = (query.answer,) if isinstance(query.answer, str) else query.answer
    return {
        "id": query.id,
        "text": cut_text(query.text),
        "answers": [cut_text(answer) for answer in answers if answer],
        "gold": [numbers[table] for table in dict.fromkeys(query.gold)],
        "facts": {name: value for name, value in facts.items() if value not in ("", None)},
        "runs": [_describe_in_run(query, run, numbers) for run in runs],
    }


def _metadata_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cut_text(str(value), _LONGEST_METADATA)


def _describe_in_run(
    query: Query, run: ReportRun, numbers: Mapping[TableId, int]
) -> dict[str, Any]:
    shown = run.tables[query.id]
    tables = [numbers[table] for table in shown.tables]
    record: dict[str, Any] = {"tables": tables, "scores": shown.scores, "n": shown.n}
    if shown.error is not None:
        record["error"] = cut_text(shown.error)
    if run.answers is not None:
        record["answer"] = _describe_answer(run.result.run.answers[query.id])
    if (judged := run.result.run.judgements.get(query.id)) is not None:
        record["judged"] = {
            name: cut_text(value) if isinstance(value, str) else value
            for name, value in run.task.view.detail(judged.record).items()
        }
    return record


_FACTS = (
    *("input_tokens", "output_tokens", "cost", "seconds"),
    *("finish_reason", "truncated", "cached"),
)


def _describe_answer(answer: Generation) -> dict[str, Any]:
    record = asdict(answer)
    facts = {name: record[name] for name in _FACTS if record[name] not in (None, False)}
    if answer.error is not None:
        facts["error"] = cut_text(answer.error)
    return facts | {"text": cut_text(answer.text)}


def _describe_table(table: Table, rows: int, longest: int) -> dict[str, Any]:
    """Return a table: a NULL is null, any other cell text."""
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
