"""Ratings of answers by people, and how the metrics of a run correlate with them."""

import random
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.observer import Observer
from target_bench.core.schema import Corpus, Query
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

Floats = NDArray[np.float64]
CriteriaName = Literal["totto", "struc-bench", "side-by-side"]

_ONE_TO_TEN = tuple((n, str(n)) for n in range(1, 11))
CONTENT = Criterion(
    "content",
    "How similar is the content to that of the reference? 1: nothing is the same, 10: all cells "
    "hold the same.",
    _ONE_TO_TEN,
)
FORMAT = Criterion(
    "format",
    "How similar is the format: rows, columns, their order, the way it is written? 1: not at all, "
    "10: the same.",
    _ONE_TO_TEN,
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
        criteria: what is asked. ``totto``: the four axes of ToTTo's raters (Parikh et al. 2020);
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
    try:
        for run in runs:
            if not run.run.answers:
                raise ConfigError(f"{run.run.folder}: is a run of rankings; people rate answers")
        dataset = loaded.of_task(runs[0].task).dataset
        highlighted = [query for query in dataset.queries if query.metadata.get(HIGHLIGHTED)]
        if len(runs) == 2:
            criteria = "side-by-side"
        elif criteria is None:
            criteria = "totto" if highlighted else "struc-bench"
        queries = highlighted if criteria == "totto" else list(dataset.queries)
        if not queries:
            raise ConfigError("--criteria totto: no query has highlighted cells; use struc-bench")
        random.Random(seed).shuffle(queries)  # noqa: S311 (no secret)
        return [_item(query, runs, dataset.corpus, criteria, seed) for query in queries[:sample]]
    finally:
        for run in runs:
            run.close()


def _item(
    query: Query, runs: Sequence[ReportRun], corpus: Corpus, criteria: CriteriaName, seed: int
) -> Item:
    references = [("reference", text) for text in filter(None, query.references)]
    if criteria == "side-by-side":
        order = [*runs]
        random.Random(f"{seed} {query.id}").shuffle(order)  # noqa: S311
        key = {"query_id": query.id, "a": order[0].run.identity.key, "b": order[1].run.identity.key}
        shown = [(f"answer {x}", _answer(r, query)) for x, r in zip("AB", order, strict=True)]
        return Item(key, query.text, (BETTER,), (*shown, *references))
    (run,) = runs
    own = {"query_id": query.id, "run": run.run.identity.key}
    texts = (("answer", _answer(run, query)), *references)
    if criteria == "struc-bench":
        return Item(own, query.text, (CONTENT, FORMAT), texts)
    ids = (run.given.get(query.id) or query.gold)[:MOST_TABLES]
    tables = tuple(_table(query, corpus, table_id) for table_id in ids)
    cells = sum(len(table.marked) for table in tables)
    covered = Criterion(
        "covered_cells",
        f"How many of the {cells} highlighted cells does it cover?",
        tuple((n, str(n)) for n in range(cells + 1)),
    )
    asked = (FLUENCY, FAITHFULNESS, covered, *((INFORMATION,) if references else ()))
    return Item({**own, "cells": cells}, query.text, asked, texts, tables)


def _answer(run: ReportRun, query: Query) -> str:
    answer = run.run.answers[query.id].generation
    return answer.text if answer.error is None else "(there is no answer)"


def _table(query: Query, corpus: Corpus, table_id: Any) -> ShownTable:
    table = corpus[table_id]
    rows = grid_rows(table)
    marked = are_places(rows, query.metadata.get(HIGHLIGHTED) or ())
    named = (table.context.get(name) for name in ("title", "section_title", "section_text"))
    places = sorted({*range(min(len(rows), MOST_ROWS)), *(row for row, _ in marked)})
    return shown_table(" · ".join(str(part) for part in named if part), rows, places, marked)


def read_ratings(
    files: Sequence[Path], runs: Sequence[Result]
) -> dict[str, dict[str, dict[str, float]]]:
    """Read ratings of a run, or of two side by side.

    Args:
        files: as for ``read_records``.
        runs: the run or the two runs that the form is about.

    Returns:
        Criterion -> annotator -> query id -> rating. ``coverage`` is the share of the highlighted
        cells that the answer covers; ``better`` is 1 for the first run, 0 for the second and .5
        for a tie.

    Raises:
        DataError: a record is of another run or query, or a rating is not possible.
    """
    given: dict[str, dict[str, dict[str, float]]] = {}
    keys = [run.identity.key for run in runs]
    for record in read_records(files):
        query_id = str(record.get("query_id"))
        place = f"{record['file']}: {query_id!r:.60}"
        of = [record.get(name) for name in (("a", "b") if len(runs) == 2 else ("run",))]
        if sorted(map(str, of)) != sorted(keys):
            raise DataError(
                f"{place}: is of the run {' and '.join(map(str, of))!r:.60}, and "
                f"{' and '.join(run.folder.name for run in runs)} has {' and '.join(keys)!r}; name "
                "the run whose form was filled in"
            )
        if query_id not in runs[0].answers:
            raise DataError(f"{place}: the run has no answer to this query")
        try:
            for name, value in _numbers(record, keys).items():
                said = given.setdefault(name, {}).setdefault(record["annotator"], {})
                if query_id in said:
                    raise ValueError(f"{name}: {record['annotator']!r:.60} rated it twice")
                said[query_id] = value
        except ValueError as error:
            raise DataError(f"{place}: {error}") from error
    if not given:
        raise DataError(f"{', '.join(map(str, files))}: no answer is rated")
    return given


def _numbers(record: Mapping[str, Any], keys: Sequence[str]) -> dict[str, float]:
    if len(keys) == 2:
        better = BETTER.reply(record.get("better"))
        first = {"A": record["a"], "B": record["b"]}.get(str(better))
        return (
            {} if better is None else {"better": 0.5 if first is None else float(first == keys[0])}
        )
    numbers = {}
    for criterion in (FLUENCY, FAITHFULNESS, INFORMATION, CONTENT, FORMAT):
        reply = criterion.reply(record.get(criterion.name))
        if reply is not None:
            numbers[criterion.name] = float(reply)
    if record.get("covered_cells") not in (None, ""):
        cells = int(record.get("cells") or 0)
        options = tuple((n, str(n)) for n in range(cells + 1))
        covered = Criterion("covered_cells", "", options).reply(record["covered_cells"])
        numbers["coverage"] = float(covered or 0) / max(cells, 1)
    return numbers


def rating_agreement(
    run: Result, ratings: Mapping[str, Mapping[str, Mapping[str, float]]]
) -> dict[str, Any]:
    """Correlate ratings with every metric of a run, answer by answer, and raters with each other.

    An answer has the mean of its ratings. A metric that is better when lower has its own sign.

    Returns:
        ``means`` (criterion -> mean), ``metrics`` and ``raters``: lists of (criterion, metric or
        pair of raters, ``Correlations``).
    """
    ids = sorted({query for by in ratings.values() for said in by.values() for query in said})
    places = {query_id: i for i, query_id in enumerate(run.query_ids)}
    at = np.array([places.get(query_id, -1) for query_id in ids], dtype=np.intp)
    means, metrics, raters = {}, [], []
    for criterion, by_rater in ratings.items():
        columns = {
            name: np.array([said.get(query_id, np.nan) for query_id in ids])
            for name, said in by_rater.items()
        }
        known = [np.array([c[i] for c in columns.values()]) for i in range(len(ids))]
        mean = np.array(
            [one[~np.isnan(one)].mean() if (~np.isnan(one)).any() else np.nan for one in known]
        )
        means[criterion] = float(np.nanmean(mean))
        for metric, values in run.per_query.items():
            found = np.where(at >= 0, values[at], np.nan)
            metrics.append((criterion, metric, correlations(mean, found)))
        for (one, first), (two, second) in combinations(columns.items(), 2):
            raters.append((criterion, f"{one} and {two}", correlations(first, second)))
    return {"answers": len(ids), "means": means, "metrics": metrics, "raters": raters}
