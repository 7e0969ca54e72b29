"""Ratings of answers by people, and how the metrics of a run correlate with them."""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.observer import Observer
from target_bench.core.schema import Corpus, Query
from target_bench.data.highlights import HIGHLIGHTED
from target_bench.data.linearisation import are_places
from target_bench.data.table_text import grid_rows
from target_bench.metrics.correlation import correlations
from target_bench.metrics.stats import compare
from target_bench.reporting.labels.form import (
    Criterion,
    Item,
    read_records,
    shown_table,
)
from target_bench.reporting.report.report_runs import ReportRun, open_runs
from target_bench.runs.result import Result

CriteriaName = Literal["totto", "struc-bench", "abilities", "side-by-side"]

_NO_YES = {0: "no", 1: "yes"}
_TEN = {n: str(n) for n in range(1, 11)}


def _criteria(options: Mapping[Any, str], **questions: str) -> tuple[Criterion, ...]:
    """Return criteria, named as their keywords, that have the same options."""
    return tuple(Criterion(name, text, tuple(options.items())) for name, text in questions.items())


ABILITIES = _criteria(
    _TEN,
    coverage="Coverage: how much of what the reference holds is there? 10: all.",
    formatting="Formatting: how well is it written as was asked? 10: without a fault.",
    reasoning="Reasoning: how well is put together what the text does not say in one place, each "
    "value where it belongs? 10: all of it.",
    comprehension="Comprehension: how well are text and instruction understood, in tables, rows "
    "and columns? 10: fully.",
    pragmatics="Pragmatics: how useful is it as it is? 10: nothing has to be changed.",
    hallucination="Hallucination: how much is not made up? 10: nothing is made up.",
)
"""The dimensions of Struc-Bench's ability map (Tang et al. 2024)."""
STRUC_BENCH = _criteria(
    _TEN,
    content="How similar is the content to that of the reference? 1: nothing is the same, 10: all "
    "cells hold the same.",
    format="How similar is the format: rows, columns, their order, the way it is written? 1: not "
    "at all, 10: the same.",
) + _criteria(
    _NO_YES,
    element="Does a cell hold another value than in the reference, or none?",
    element_format="Is a right value written in another form: unit, date, decimals?",
    structure="Are tables, rows or columns missing, or are there others?",
    structure_naming="Do tables, rows or columns have other names?",
)
"""Content, format and types of errors of Struc-Bench."""
(BETTER,) = _criteria({"A": "A", "B": "B", "tie": "neither"}, better="Which answer is better?")


def _totto(cells: int, information: Iterable[str]) -> tuple[Criterion, ...]:
    """Return the four axes of ToTTo's raters (Parikh et al. 2020).

    Args:
        cells: how many cells are highlighted.
        information: ``information``, or ``information_1`` and so on, of each reference.
    """
    references = {name: name.replace("information", "reference") for name in information}
    return (
        *_criteria(
            {0: "not fluent", 1: "mostly fluent", 2: "fluent"},
            fluency="Is the sentence grammatical and natural?",
        ),
        *_criteria(
            _NO_YES,
            faithfulness="Is everything that it says supported by the table or by a reference?",
        ),
        *_criteria(
            {n: str(n) for n in range(cells + 1)},
            covered_cells=f"How many of the {cells} highlighted cells does it cover?",
        ),
        *_criteria(
            {-1: "less", 0: "neither", 1: "more"},
            **{
                name: f"Does it say strictly more or less than the {text.replace('_', ' ')}?"
                for name, text in references.items()
            },
        ),
    )


_INFORMATION = re.compile(r"information(_\d+)?")

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
        folders: the runs. Side by side the two answers to a query stand together, in random
            order; else each answer is rated by itself, those of all runs mixed.
        criteria: what is rated. ``totto``: the four axes of ToTTo's raters (Parikh et al. 2020),
            information beside each different reference; ``struc-bench``: content, format and types
            of errors (Tang et al. 2024); ``abilities``: the dimensions of their ability map, of two
            runs side by side. Default: ``side-by-side`` of two runs, ``totto`` where queries have
            highlighted cells, else ``struc-bench``.
        sample: how many queries, drawn at random; default: all.
        seed: of the draw and of the order of the answers.
        data_dir: as for ``TARGET``.
        observer: gets warnings.

    Raises:
        ConfigError: a run has no answers, or the criteria do not fit the runs or the queries.
        DataError: the data are missing, or not what they were.
        StoreError: a folder holds no finished run.
    """
    folders = list(dict.fromkeys(folder.resolve() for folder in folders))
    if criteria is None and len(folders) == 2:
        criteria = "side-by-side"
    if criteria == "side-by-side" and len(folders) != 2:
        raise ConfigError(f"--criteria side-by-side is of two runs, not of {len(folders)}")
    runs, loaded = open_runs(folders, data_dir, observer or Observer())
    answered = {run.run.folder.resolve() for run in runs if run.run.answers}
    for folder in folders:  # of rankings under answers of another run nothing is opened
        if folder not in answered:
            raise ConfigError(f"{folder}: is a run of rankings; people rate answers")
    dataset = loaded.of_task(runs[0].task).dataset
    highlighted = [query for query in dataset.queries if query.metadata.get(HIGHLIGHTED)]
    if criteria is None:
        criteria = "totto" if highlighted else "struc-bench"
    queries = highlighted if criteria == "totto" else list(dataset.queries)
    if not queries:
        raise ConfigError("--criteria totto: no query has highlighted cells; use struc-bench")
    random.Random(seed).shuffle(queries)  # noqa: S311 (no secret)
    drawn = queries[:sample]
    if criteria == "side-by-side" or (criteria == "abilities" and len(runs) == 2):
        return [_pair(query, runs, seed, with_abilities=criteria == "abilities") for query in drawn]
    items = [_item(query, run, dataset.corpus, criteria) for run in runs for query in drawn]
    if len(runs) > 1:
        random.Random(seed).shuffle(items)  # noqa: S311
    return items


def _pair(query: Query, runs: Sequence[ReportRun], seed: int, with_abilities: bool) -> Item:
    """Return the answers of two runs, with the question which is better and abilities of each."""
    first, second = runs
    if random.Random(f"{seed} {query.id}").random() < 0.5:  # noqa: S311
        first, second = second, first
    key = {"query_id": query.id, "a": first.run.identity.key, "b": second.run.identity.key}
    texts = (("answer A", _answer(first, query)), ("answer B", _answer(second, query)))
    sided = [
        replace(each, name=f"{each.name}_{letter}", question=f"{letter.upper()}. {each.question}")
        for each in (ABILITIES if with_abilities else ())
        for letter in "ab"
    ]
    return Item(key, query.text, (*sided, BETTER), (*texts, *_references(query)))


def _item(query: Query, run: ReportRun, corpus: Corpus, rated: CriteriaName) -> Item:
    key: dict[str, str | int] = {"query_id": query.id, "run": run.run.identity.key}
    references = _references(query)
    texts = (("answer", _answer(run, query)), *references)
    if rated != "totto":
        return Item(key, query.text, ABILITIES if rated == "abilities" else STRUC_BENCH, texts)
    given = run.tables[query.id].tables if run.is_given else ()
    tables = []
    for table_id in (given or query.gold)[:MOST_TABLES]:
        table = corpus[table_id]
        rows = grid_rows(table)
        marked = are_places(rows, query.metadata.get(HIGHLIGHTED) or ())
        titles = (table.context.get(name) for name in ("title", "section_title", "section_text"))
        places = sorted({*range(min(len(rows), MOST_ROWS)), *(row for row, _ in marked)})
        title = " · ".join(str(part) for part in titles if part)
        tables.append(shown_table(title, rows, places, marked))
    cells = key["cells"] = sum(len(table["marked"]) for table in tables)
    names = [name.replace("reference", "information").replace(" ", "_") for name, _ in references]
    return Item(key, query.text, _totto(cells, names), texts, tuple(tables))


def _references(query: Query) -> tuple[tuple[str, str], ...]:
    """Return the different references, with numbers where there are several."""
    texts = list(dict.fromkeys(filter(None, query.references)))
    if len(texts) == 1:
        return (("reference", texts[0]),)
    return tuple((f"reference {number}", text) for number, text in enumerate(texts, start=1))


def _answer(run: ReportRun, query: Query) -> str:
    answer = run.run.answers[query.id].generation
    return answer.text if answer.error is None else "(there is no answer)"


Ratings = dict[str, dict[str, dict[str, float]]]
"""Criterion -> annotator -> query id -> rating."""

SHARES = ("fluent", "less", "neutral", "more")
"""Criteria that are the shares of one reply, as the paper on ToTTo prints them."""


def read_ratings(files: Sequence[Path], runs: Sequence[Result]) -> list[Ratings]:
    """Read ratings of one or more runs.

    Args:
        files: as for ``read_records``.
        runs: those that the form is about.

    Returns:
        The ratings of each run. ``coverage`` is the share of the highlighted cells that the answer
        covers, ``information`` the mean over references of -1 (less), 0 and 1 (more). ``fluent``,
        ``less``, ``neutral`` and ``more`` are shares: 1 or 0 of a reply. ``better`` is 1 for a run
        whose answer is the better one, 0 for the other one and .5 for a tie. An ability is a
        tenth of its reply.

    Raises:
        DataError: a record is of another run or query, or a rating is not possible.
    """
    ratings: list[Ratings] = [{} for _ in runs]
    places = {run.identity.key: place for place, run in enumerate(runs)}
    for record in read_records(files):
        query_id = str(record.get("query_id"))
        place = f"{record['file']}: {query_id!r:.60}"
        is_pair = "a" in record
        named = [str(record.get(name)) for name in (("a", "b") if is_pair else ("run",))]
        if not places.keys() >= {*named}:
            raise DataError(
                f"{place}: is of the run {' and '.join(named)!r:.60}, and "
                f"{' and '.join(run.folder.name for run in runs)} has {' and '.join(places)!r}; "
                "name the run whose form was filled in (a second one with --beside)"
            )
        for key in named:
            if query_id not in runs[places[key]].answers:
                raise DataError(f"{place}: the run has no answer to this query")
        try:
            for key in named:
                rated = _rated_beside(record, key) if is_pair else _rated(record)
                for name, value in rated.items():
                    by_rater = ratings[places[key]].setdefault(name, {})
                    by_query = by_rater.setdefault(record["annotator"], {})
                    if query_id in by_query:
                        raise ValueError(f"{name}: {record['annotator']!r:.60} rated it twice")
                    by_query[query_id] = value
        except ValueError as error:
            raise DataError(f"{place}: {error}") from error
    if not any(ratings):
        raise DataError(f"{', '.join(map(str, files))}: no answer is rated")
    return ratings


def _rated_beside(record: Mapping[str, Any], key: str) -> dict[str, float]:
    """Return criterion -> rating of one of the two answers of a record.

    ``better`` is how often it is the better one: half for a tie.
    """
    end = "_a" if record["a"] == key else "_b"
    rated = _rated({name.removesuffix(end): v for name, v in record.items() if name.endswith(end)})
    reply = BETTER.reply(record.get("better"))
    if reply is not None:
        rated["better"] = 0.5 if reply == "tie" else float(record[str(reply).lower()] == key)
    return rated


def _rated(record: Mapping[str, Any]) -> dict[str, float]:
    """Return criterion -> rating of a record, without what is left open."""
    cells = int(record.get("cells") or 0)
    information = list(filter(_INFORMATION.fullmatch, record))
    criteria = (*_totto(cells, information), *STRUC_BENCH, *ABILITIES)
    replies = {each.name: each.reply(record.get(each.name)) for each in criteria}
    rated = {name: float(reply) for name, reply in replies.items() if reply is not None}
    rated |= {each.name: rated[each.name] / 10 for each in ABILITIES if each.name in rated}
    if "fluency" in rated:
        rated["fluent"] = float(rated["fluency"] == 2)
    if "covered_cells" in rated:
        rated["coverage"] = rated.pop("covered_cells") / max(cells, 1)
    if known := [rated.pop(name) for name in information if name in rated]:
        rated["information"] = fmean(known)
        for name, option in (("less", -1), ("neutral", 0), ("more", 1)):
            rated[name] = known.count(option) / len(known)
    return rated


def compare_ratings(first: Ratings, second: Ratings) -> list[dict[str, Any]]:
    """Compare the ratings of two runs on the queries of which both are rated.

    An answer has the mean of its ratings.

    Returns:
        One row a criterion: ``criterion``, ``n`` queries, the means ``first`` and ``second``, their
        ``difference``, and ``p`` of the paired randomisation test.
    """
    rows = []
    for criterion in [name for name in first if name in second]:
        means = [_means_of_queries(ratings[criterion]) for ratings in (first, second)]
        if ids := sorted(means[0].keys() & means[1].keys()):
            values = [np.array([mean[i] for i in ids]) for mean in means]
            tested = compare(values[0], values[1])
            row = {"criterion": criterion, "n": len(ids)}
            row |= {"first": float(values[0].mean()), "second": float(values[1].mean())}
            rows.append(row | {"difference": tested.difference, "p": tested.p})
    return rows


def rating_agreement(run: Result, ratings: Ratings) -> dict[str, Any]:
    """Correlate ratings with every metric of a run, answer by answer, and raters with each other.

    An answer has the mean of its ratings. A metric that is better when lower has its own sign.

    Returns:
        ``answers`` (how many are rated), ``means`` (criterion -> mean), ``metrics`` and ``raters``:
        lists of (criterion, metric or pair of raters, ``Correlations``).
    """
    by_criterion = {name: _means_of_queries(by_rater) for name, by_rater in ratings.items()}
    ids = sorted({query_id for means in by_criterion.values() for query_id in means})

    def in_order(values: Mapping[str, float]) -> list[float]:
        return [values.get(query_id, np.nan) for query_id in ids]

    metrics, raters = [], []
    for criterion in [name for name in ratings if name not in SHARES]:
        means = in_order(by_criterion[criterion])
        for metric, values in run.per_query.items():
            by_query = in_order(dict(zip(run.query_ids, values, strict=True)))
            metrics.append((criterion, metric, correlations(means, by_query)))
        for (rater, rated), (other, other_rated) in combinations(ratings[criterion].items(), 2):
            both = correlations(in_order(rated), in_order(other_rated))
            raters.append((criterion, f"{rater} and {other}", both))
    return {
        "answers": len(ids),
        "means": {name: fmean(means.values()) for name, means in by_criterion.items()},
        "metrics": metrics,
        "raters": raters,
    }


def _means_of_queries(by_rater: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    ids = {query_id for rated in by_rater.values() for query_id in rated}
    return {i: fmean(rated[i] for rated in by_rater.values() if i in rated) for i in ids}
