"""Ratings of answers by people, and how the metrics of a run correlate with them."""

import random
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.observer import Observer
from target_bench.core.schema import Corpus, Query, TableId
from target_bench.data.highlights import HIGHLIGHTED
from target_bench.data.linearisation import are_places
from target_bench.data.table_text import grid_rows
from target_bench.metrics.correlation import correlations
from target_bench.reporting.labels.form import (
    Criterion,
    Item,
    ShownTable,
    read_records,
    shown_table,
)
from target_bench.reporting.report.report_runs import ReportRun, open_runs
from target_bench.runs.result import Result

CriteriaName = Literal["totto", "struc-bench", "side-by-side"]


def _numbers(first: int, last: int) -> tuple[tuple[int, str], ...]:
    return tuple((n, str(n)) for n in range(first, last + 1))


CONTENT = Criterion(
    "content",
    "How similar is the content to that of the reference? 1: nothing is the same, 10: all cells "
    "hold the same.",
    _numbers(1, 10),
)
FORMAT = Criterion(
    "format",
    "How similar is the format: rows, columns, their order, the way it is written? 1: not at all, "
    "10: the same.",
    _numbers(1, 10),
)
FLUENCY = Criterion(
    "fluency",
    "Is the sentence grammatical and natural?",
    ((0, "not fluent"), (1, "mostly fluent"), (2, "fluent")),
)
FAITHFULNESS = Criterion(
    "faithfulness",
    "Is everything that it says supported by the table or by a reference?",
    ((0, "no"), (1, "yes")),
)
INFORMATION = Criterion(
    "information",
    "Does it say more or less than the reference?",
    ((-1, "less"), (0, "as much"), (1, "more")),
)
BETTER = Criterion(
    "better", "Which answer is better?", (("A", "A"), ("B", "B"), ("tie", "neither"))
)


def _covered(cells: int) -> Criterion:
    question = f"How many of the {cells} highlighted cells does it cover?"
    return Criterion("covered_cells", question, _numbers(0, cells))


MOST_ROWS = 60
"""Rows of a table that a form shows; those with highlighted cells are shown in any case."""
MOST_TABLES = 3
"""Tables of a query that a form shows."""
RATE_HELP = "Rate each answer by itself; you are not told which system gave it."


def rating_items(
    folders: Sequence[Path],
    criteria: CriteriaName | None = None,
    *,
    sample: int | None = None,
    seed: int = 0,
    data_dir: str | Path | None = None,
    observer: Observer | None = None,
) -> list[Item]:
    """Return items about the answers of a run, without its name and its scores.

    Args:
        folders: the run; of two runs each query's answers stand side by side, in random order.
        criteria: what is rated. ``totto``: the four axes of ToTTo's raters (Parikh et al. 2020);
            ``struc-bench``: content and format (Tang et al. 2023). Default: ``side-by-side`` of two
            runs, ``totto`` where queries have highlighted cells, else ``struc-bench``.
        sample: how many answers, drawn at random; default: all.
        seed: of the draw and of the order of the answers.
        data_dir: as for ``TARGET``.
        observer: gets warnings.

    Raises:
        ConfigError: a run has no answers, or the criteria do not fit the runs or the queries.
        DataError: the data are missing, or not what they were.
        StoreError: a folder holds no finished run.
    """
    if criteria is not None and (criteria == "side-by-side") != (len(folders) == 2):
        raise ConfigError(f"--criteria {criteria}: side-by-side is of two runs, the others of one")
    runs, loaded = open_runs(folders, data_dir, observer or Observer())
    for run in runs:
        if not run.run.answers:
            raise ConfigError(f"{run.run.folder}: is a run of rankings; people rate answers")
    dataset = loaded.of_task(runs[0].task).dataset
    highlighted = [query for query in dataset.queries if query.metadata.get(HIGHLIGHTED)]
    if criteria is None and len(runs) == 1:
        criteria = "totto" if highlighted else "struc-bench"
    queries = highlighted if criteria == "totto" else list(dataset.queries)
    if not queries:
        raise ConfigError("--criteria totto: no query has highlighted cells; use struc-bench")
    random.Random(seed).shuffle(queries)  # noqa: S311 (no secret)
    drawn = queries[:sample]
    if len(runs) == 2:
        return [_pair(query, runs, seed) for query in drawn]
    return [_item(query, runs[0], dataset.corpus, criteria == "totto") for query in drawn]


def _pair(query: Query, runs: Sequence[ReportRun], seed: int) -> Item:
    first, second = runs
    if random.Random(f"{seed} {query.id}").random() < 0.5:  # noqa: S311
        first, second = second, first
    key = {"query_id": query.id, "a": first.run.identity.key, "b": second.run.identity.key}
    texts = (("answer A", _answer(first, query)), ("answer B", _answer(second, query)))
    return Item(key, query.text, (BETTER,), (*texts, *_references(query)))


def _item(query: Query, run: ReportRun, corpus: Corpus, is_totto: bool) -> Item:
    key = {"query_id": query.id, "run": run.run.identity.key}
    references = _references(query)
    texts = (("answer", _answer(run, query)), *references)
    if not is_totto:
        return Item(key, query.text, (CONTENT, FORMAT), texts)
    given = run.tables[query.id].tables if run.is_given else ()
    ids = (given or query.gold)[:MOST_TABLES]
    tables = tuple(_table(query, corpus, table_id) for table_id in ids)
    cells = sum(len(table.marked) for table in tables)
    compared = (INFORMATION,) if references else ()
    criteria = (FLUENCY, FAITHFULNESS, _covered(cells), *compared)
    return Item({**key, "cells": cells}, query.text, criteria, texts, tables)


def _references(query: Query) -> tuple[tuple[str, str], ...]:
    return tuple(("reference", text) for text in query.references if text)


def _answer(run: ReportRun, query: Query) -> str:
    answer = run.run.answers[query.id].generation
    return answer.text if answer.error is None else "(there is no answer)"


def _table(query: Query, corpus: Corpus, table_id: TableId) -> ShownTable:
    table = corpus[table_id]
    rows = grid_rows(table)
    marked = are_places(rows, query.metadata.get(HIGHLIGHTED) or ())
    titles = (table.context.get(name) for name in ("title", "section_title", "section_text"))
    places = sorted({*range(min(len(rows), MOST_ROWS)), *(row for row, _ in marked)})
    return shown_table(" · ".join(str(part) for part in titles if part), rows, places, marked)


Ratings = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Criterion -> annotator -> query id -> rating."""


def read_ratings(files: Sequence[Path], runs: Sequence[Result]) -> Ratings:
    """Read ratings of a run, or of two side by side.

    Args:
        files: as for ``read_records``.
        runs: the run or the two runs that the form is about.

    Returns:
        The ratings. ``coverage`` is the share of the highlighted cells that the answer covers;
        ``better`` is 1 for the first run, 0 for the second and .5 for a tie.

    Raises:
        DataError: a record is of another run or query, or a rating is not possible.
    """
    ratings: dict[str, dict[str, dict[str, float]]] = {}
    keys = [run.identity.key for run in runs]
    for record in read_records(files):
        query_id = str(record.get("query_id"))
        place = f"{record['file']}: {query_id!r:.60}"
        named = [str(record.get(name)) for name in (("a", "b") if len(runs) == 2 else ("run",))]
        if sorted(named) != sorted(keys):
            raise DataError(
                f"{place}: is of the run {' and '.join(named)!r:.60}, and "
                f"{' and '.join(run.folder.name for run in runs)} has {' and '.join(keys)!r}; name "
                "the run whose form was filled in"
            )
        if query_id not in runs[0].answers:
            raise DataError(f"{place}: the run has no answer to this query")
        try:
            for name, value in _rated(record, keys).items():
                by_query = ratings.setdefault(name, {}).setdefault(record["annotator"], {})
                if query_id in by_query:
                    raise ValueError(f"{name}: {record['annotator']!r:.60} rated it twice")
                by_query[query_id] = value
        except ValueError as error:
            raise DataError(f"{place}: {error}") from error
    if not ratings:
        raise DataError(f"{', '.join(map(str, files))}: no answer is rated")
    return ratings


def _rated(record: Mapping[str, Any], keys: Sequence[str]) -> dict[str, float]:
    """Return criterion -> rating of a record, without what is left open."""
    if len(keys) == 2:
        reply = BETTER.reply(record.get("better"))
        if reply is None:
            return {}
        won = {"A": record["a"], "B": record["b"], "tie": None}[str(reply)]
        return {"better": 0.5 if won is None else float(won == keys[0])}
    cells = int(record.get("cells") or 0)
    criteria = (FLUENCY, FAITHFULNESS, INFORMATION, CONTENT, FORMAT, _covered(cells))
    replies = {each.name: each.reply(record.get(each.name)) for each in criteria}
    rated = {name: float(reply) for name, reply in replies.items() if reply is not None}
    if "covered_cells" in rated:
        rated["coverage"] = rated.pop("covered_cells") / max(cells, 1)
    return rated


def rating_agreement(run: Result, ratings: Ratings) -> dict[str, Any]:
    """Correlate ratings with every metric of a run, answer by answer, and raters with each other.

    An answer has the mean of its ratings. A metric that is better when lower has its own sign.

    Returns:
        ``means`` (criterion -> mean), ``metrics`` and ``raters``: lists of (criterion, metric or
        pair of raters, ``Correlations``).
    """
    ids = sorted(
        {query_id for by in ratings.values() for rated in by.values() for query_id in rated}
    )
    places = {query_id: i for i, query_id in enumerate(run.query_ids)}
    at = np.array([places.get(query_id, -1) for query_id in ids], dtype=np.intp)
    means, metrics, raters = {}, [], []
    for criterion, by_rater in ratings.items():
        table = np.array([[by.get(q, np.nan) for q in ids] for by in by_rater.values()])
        n = (~np.isnan(table)).sum(axis=0)
        mean = np.where(n > 0, np.nansum(table, axis=0) / np.maximum(n, 1), np.nan)
        means[criterion] = float(np.nanmean(mean))
        for metric, values in run.per_query.items():
            of_rated = np.where(at >= 0, values[at], np.nan)
            metrics.append((criterion, metric, correlations(mean, of_rated)))
        for (rater, first), (other_rater, second) in combinations(
            zip(by_rater, table, strict=True), 2
        ):
            raters.append((criterion, f"{rater} and {other_rater}", correlations(first, second)))
    return {"answers": len(ids), "means": means, "metrics": metrics, "raters": raters}
