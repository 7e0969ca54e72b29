"""Metrics of SQL by what it returns: execution accuracy under two rules, soft F1 and R-VES.

A query is judged once, under every rule, from the results of the gold and of the predicted
statement. The metrics are means over judged queries; a query that cannot be run is in no mean.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan, nan, sqrt
from typing import Any, Literal

import numpy as np

from target_bench.core.metric import (
    Floats,
    Metric,
    MetricDefinition,
    MetricSpec,
    RatioMetric,
    by_name,
)
from target_bench.core.reasoning import READING
from target_bench.core.schema import Executed

VERSION = "sql:1"
"""The version of these metrics, for identities of runs: raise it if values can change."""

Rule = Literal["bird", "spider"]
"""Rule by which two results are equal; see ``target_bench.metrics.sql_results.compare_results``."""

Verdict = Literal[
    "correct",
    "wrong_result",
    "translation_differs",  # translated, it gives other rows than in SQLite, by which it is scored
    "syntax_error",
    "unknown_table",
    "unknown_column",
    "error",
    "forbidden",
    "timeout",
    "memory",
    "no_prediction",
    "gold_failed",
    "not_runnable",  # no database, or no result of the gold to compare with, so it is not scored
]
"""The outcome of a prediction."""


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A predicted statement, judged.

    Attributes:
        verdict: its outcome by the rule that was chosen.
        bird: 1 if right by BIRD's rule, else 0.
        spider: 1 if right by Spider's test-suite rule, else 0.
        soft_f1: BIRD's soft F1, a fraction (rarely above 1).
        time_ratio: gold time over predicted time (see ``time_ratio``); 0 if wrong by BIRD's rule,
            NaN if right and not run at least twice.
    """

    verdict: Verdict
    bird: float = 0.0
    spider: float = 0.0
    soft_f1: float = 0.0
    time_ratio: float = 0.0


def judge_results(
    gold: Executed | None,
    predicted: Executed | None,
    values: Mapping[str, float],
    rule: Rule = "bird",
    compared: tuple[Executed, Executed | None] | None = None,
) -> JudgedQuery:
    """Judge the results of gold and prediction by values that a worker computed from their rows.

    Args:
        gold: the gold's result; None if there is no database to run it on.
        predicted: the prediction's result; None if there is no prediction. As in BIRD, an empty
            statement that was run nonetheless has an empty result, which can be right.
        values: what ``sql_results.compare_results`` returns; a rule that is not in it has 0.
        rule: which rule the verdict follows.
        compared: both results under that rule, if it runs other text: Spider's drops DISTINCT and
            repairs operators (``target_bench.sql.normalisation``). Default: the two results above.
    """
    if gold is None:
        return JudgedQuery("not_runnable")
    if predicted is None:
        return JudgedQuery("no_prediction")
    scores = {name: values.get(name, 0.0) for name in ("bird", "spider", "soft_f1")}
    ratio = 0.0
    if scores["bird"]:
        is_timed = len(gold.seconds) > 1 or len(predicted.seconds) > 1
        ratio = time_ratio(gold.seconds, predicted.seconds) if is_timed else nan
    outcome: Verdict = "correct" if scores[rule] else _name_failure(*compared or (gold, predicted))
    return JudgedQuery(outcome, **scores, time_ratio=ratio)


def _name_failure(gold: Executed, predicted: Executed | None) -> Verdict:
    if gold.outcome != "executed":
        return "gold_failed"
    if predicted is None:
        return "no_prediction"
    if predicted.outcome == "unusable":  # the database that the prediction itself names
        return "error"
    return "wrong_result" if predicted.outcome == "executed" else predicted.outcome


@dataclass(frozen=True)
class JudgedSQL:
    """Judged predictions; n queries."""

    queries: Sequence[JudgedQuery]


class MeanOverQueries(RatioMetric[JudgedSQL]):
    """The mean of a value that each judged query has; queries that were not run are left out."""

    def __init__(self, spec: MetricSpec, measure: Callable[[JudgedQuery], float]) -> None:
        self.spec = spec
        self._measure = measure

    @property
    def signature(self) -> str:
        """Name, definition, and how answers are read."""
        return f"{self.name}|{self.spec.description}|{READING}"

    def statistics(self, examples: JudgedSQL) -> Floats:
        """Return (n, 2): the value of each query, and 1; two zeros where it is not runnable."""
        runnable = np.array([query.verdict != "not_runnable" for query in examples.queries])
        values = np.array([self._measure(query) for query in examples.queries], dtype=np.float64)
        unknown = int(np.isnan(values).sum())
        if unknown:
            raise ValueError(
                f"{self.name} is not known for {unknown} of {len(values)} queries: run gold and "
                "predicted SQL several times each to time them"
            )
        return np.column_stack([values, runnable]).astype(np.float64)


TIMED = "statements that are run several times"
"""What a metric of times needs besides databases (``MetricSpec.needs``)."""


def _define(
    measure: Callable[[JudgedQuery], float],
    name: str,
    label: str,
    description: str,
    source: str,
    needs: tuple[str, ...] = ("databases",),
    tolerance: float = 0.005,
    **fields: Any,
) -> MetricDefinition:
    spec = MetricSpec(
        name, label, description, source, "SQL", needs=needs, tolerance=tolerance, **fields
    )
    return MetricDefinition(spec, partial(MeanOverQueries, spec, measure))


DEFINITIONS = by_name(
    _define(
        lambda query: query.bird,
        "ex[bird]",
        "EX",
        "share of queries with the gold's set of rows (BIRD, Li et al. 2023)",
        "Li et al. 2023",
        rank=10,
        decides=True,
    ),
    _define(
        lambda query: query.spider,
        "ex[spider]",
        "EX (Spider)",
        "share of queries with the gold's rows under some order of columns, in order if the "
        "gold says order by, DISTINCT ignored (Spider test suite, Zhong et al. 2020)",
        "Zhong et al. 2020",
        rank=11,
    ),
    _define(
        lambda query: query.soft_f1,
        "soft_f1",
        "soft F1",
        "mean F1 of values, row by row, as a fraction (BIRD mini-dev)",
        "BIRD mini-dev",
        rank=13,
    ),
    _define(
        lambda query: 100 * sqrt(reward(query.time_ratio)),
        "r_ves",
        "R-VES",
        "mean of 100 * sqrt(reward of gold time over predicted time), 0-111.8 (BIRD mini-dev)",
        "BIRD mini-dev",
        needs=("databases", TIMED),
        tolerance=0.01,
        rank=14,
        scale="percent",
        highest=100 * sqrt(1.25),
        deterministic=False,
        digits=2,
    ),
    _define(
        lambda query: float(query.verdict == "unknown_table"),
        "unknown_table",
        "unknown table",
        "share of queries whose prediction names a table that is not there",
        "SQLite",
        higher_is_better=False,
    ),
    _define(
        lambda query: float(query.verdict == "unknown_column"),
        "unknown_column",
        "unknown column",
        "share of queries whose prediction names a column that is not there",
        "SQLite",
        higher_is_better=False,
    ),
)
"""Every metric of SQL, in the order in which scores are recorded."""

_ONLY_BY_NAME = ("unknown_table", "unknown_column")  # with --metric


def sql_metrics(timed: bool = False) -> list[Metric[JudgedSQL]]:
    """Make the metrics of SQL that every run has, with those of times if statements are timed."""
    definitions = [d for name, d in DEFINITIONS.items() if name not in _ONLY_BY_NAME]
    return [d.make() for d in definitions if timed or TIMED not in d.spec.needs]


# Times: BIRD's R-VES.

_REWARDS = ((2.0, 1.25), (1.0, 1.0), (0.5, 0.75), (0.25, 0.5))


def time_ratio(gold_seconds: Sequence[float], predicted_seconds: Sequence[float]) -> float:
    """Return the mean of gold time over predicted time; above 1 where the prediction is faster.

    As in BIRD's evaluation_ves.py, ratios three standard deviations or more from the mean are left
    out. Where all ratios are the same, as with a single run, that leaves none: the official code
    divides by zero and counts 0, and so does this. A predicted time of 0 counts 0, too.
    """
    if len(gold_seconds) != len(predicted_seconds):
        raise ValueError(
            f"{len(gold_seconds)} times of the gold query and {len(predicted_seconds)} of the "
            "predicted one: both must have run equally often"
        )
    if not gold_seconds or 0 in predicted_seconds:
        return 0.0
    ratios = np.array(gold_seconds, dtype=np.float64) / np.array(predicted_seconds)
    mean, deviation = ratios.mean(), ratios.std()
    kept = ratios[(ratios < mean + 3 * deviation) & (ratios > mean - 3 * deviation)]
    return float(kept.mean()) if len(kept) else 0.0


def reward(ratio: float) -> float:
    """Return R-VES's reward of a time ratio, .25 to 1.25; of 0, which a wrong query has, 0."""
    if ratio == 0 or isnan(ratio):
        return ratio
    return next((reward for least, reward in _REWARDS if ratio >= least), 0.25)
