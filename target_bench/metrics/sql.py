"""Metrics of SQL by what it returns: execution accuracy under two rules, soft F1 and R-VES.

A query is judged once, under every rule, from the results of the gold and of the predicted
statement. The metrics are means over judged queries; a query that cannot be run is in no mean.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, nan, sqrt
from typing import Any, Literal, Self, get_args

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
from target_bench.core.schema import Executed, SQLOutcome

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


LeftOut = Literal["missing", "unusable", "engines"]
"""Why a query is not runnable: its database is missing, or cannot be read, or the engine that
judges cannot translate the gold or has another result of it than SQLite."""

_SCORES = {"ex[bird]": "bird", "ex[spider]": "spider", "soft_f1": "soft_f1"}
"""Name of a score in a record -> field of ``JudgedAnswer``."""

_OTHERS = (
    *("reason", "sql", "gold_sql", "rows", "gold_rows", "result", "gold_result", "outcome"),
    *("left_out", "database", "engine", "notes"),
)
"""Further fields of ``JudgedAnswer`` in a record."""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer, judged; a field is None where nothing was read, or nothing run.

    Attributes:
        query_id: the query.
        verdict: the outcome of the prediction by the rule that was chosen.
        bird: 1 if right by BIRD's rule, else 0.
        spider: 1 if right by Spider's test-suite rule, else 0.
        soft_f1: BIRD's soft F1, a fraction (rarely above 1).
        time_ratio: gold time over predicted time (see ``time_ratio``); 0 if wrong by BIRD's rule,
            NaN if right and not run at least twice.
        gold_sql: the gold.
        sql: the prediction.
        reason: why it failed; empty if nothing went wrong, or if the result is wrong.
        rows: number of rows of the prediction's result.
        gold_rows: number of rows of the gold's.
        result: beginning of the prediction's result (``target_bench.sql.worker.preview``).
        gold_result: beginning of the gold's.
        outcome: that of running the prediction.
        left_out: why the query is not runnable.
        database: id of the database that the prediction ran on.
        engine: ``sqlite`` or ``duckdb``, which ran the gold.
        notes: on the databases as they were run.
    """

    query_id: str
    verdict: Verdict = "not_runnable"  # stays where ``left_out`` says why; no score counts it
    bird: float = 0.0
    spider: float = 0.0
    soft_f1: float = 0.0
    time_ratio: float = 0.0
    gold_sql: str = ""
    sql: str | None = None
    reason: str = ""
    rows: int | None = None
    gold_rows: int | None = None
    result: Mapping[str, Any] | None = None
    gold_result: Mapping[str, Any] | None = None
    outcome: SQLOutcome | None = None
    left_out: LeftOut | None = None
    database: str | None = None
    engine: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_final(self) -> bool:
        """Whether judging it again would give the same: no database was locked or damaged."""
        return self.left_out != "unusable" and self.outcome != "unusable"

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON without the query; without scores if it is not runnable."""
        scores = {name: getattr(self, field) for name, field in _SCORES.items()}
        scores["time_ratio"] = None if isnan(self.time_ratio) else self.time_ratio
        if self.left_out is not None:
            scores = dict.fromkeys(scores)
        others = {name: getattr(self, name) for name in _OTHERS}
        return {"verdict": self.verdict, **others, **scores, "notes": list(self.notes)}

    @classmethod
    def from_json(cls, query_id: str, record: Mapping[str, Any]) -> Self:
        """Read a judged answer from its record.

        Raises:
            KeyError, TypeError, ValueError: it is not the record of a judged answer.
        """
        verdict = record["verdict"]
        if verdict not in get_args(Verdict):
            raise ValueError(f"verdict {verdict!r} is not one of {', '.join(get_args(Verdict))}")
        scores: dict[str, Any] = {}
        if verdict != "not_runnable":
            scores = {field: float(record[name]) for name, field in _SCORES.items()}
            ratio = record["time_ratio"]
            scores["time_ratio"] = nan if ratio is None else float(ratio)
        others = {name: record[name] for name in _OTHERS}
        others |= {"reason": str(record["reason"]), "notes": tuple(record["notes"])}
        return cls(query_id, verdict, **scores, **others)


def give_verdict(
    answer: JudgedAnswer,
    gold: Executed,
    predicted: Executed | None,
    values: Mapping[str, float],
    rule: Rule,
    pair: tuple[Executed, Executed | None],
) -> JudgedAnswer:
    """Give an answer its verdict and scores, by values that a worker computed from the rows.

    Args:
        answer: the answer.
        gold: the gold's result.
        predicted: the prediction's result; None if there is no prediction. As in BIRD, an empty
            statement that was run nonetheless has an empty result, which can be right.
        values: what ``sql_results.compare_results`` returns; a rule that is not in it has 0.
        rule: which rule the verdict follows.
        pair: gold and prediction as that rule runs them: Spider's drops DISTINCT and repairs
            operators (``target_bench.sql.normalisation``).
    """
    if predicted is None:
        return replace(answer, verdict="no_prediction")
    scores: dict[str, Any] = {name: values.get(name, 0.0) for name in ("bird", "spider", "soft_f1")}
    ratio = 0.0
    if scores["bird"]:
        is_timed = len(gold.seconds) > 1 or len(predicted.seconds) > 1
        ratio = time_ratio(gold.seconds, predicted.seconds) if is_timed else nan
    verdict: Verdict = "correct" if scores[rule] else _name_failure(*pair)
    return replace(answer, verdict=verdict, time_ratio=ratio, **scores)


def _name_failure(gold: Executed, predicted: Executed | None) -> Verdict:
    """Return the verdict on a prediction that is not correct."""
    if gold.outcome != "executed":
        return "gold_failed"
    if predicted is None:
        return "no_prediction"
    if predicted.outcome == "unusable":  # the database that the prediction itself names
        return "error"
    return "wrong_result" if predicted.outcome == "executed" else predicted.outcome


@dataclass(frozen=True)
class JudgedSQL:
    """Judged answers; n queries.

    Attributes:
        answers: the judged answer to each query.
        gold_retrieved: whether all gold tables of each query were retrieved; empty where no query
            has retrieved tables.
    """

    answers: Sequence[JudgedAnswer]
    gold_retrieved: Sequence[bool] = ()


class MeanOverQueries(RatioMetric[JudgedSQL]):
    """The mean of a value of each judged query; ``not_runnable`` ones are left out."""

    def __init__(self, spec: MetricSpec, measure: Callable[[JudgedAnswer], float]) -> None:
        self.spec = spec
        self._measure = measure

    @property
    def signature(self) -> str:
        """Name, definition, and how answers are read."""
        return f"{self.name}|{self.spec.description}|{READING}"

    def statistics(self, examples: JudgedSQL) -> Floats:
        """Return (n, 2): the value of each query, and 1; two zeros where it is not runnable."""
        runnable = np.array([answer.verdict != "not_runnable" for answer in examples.answers])
        values = np.array([self._measure(answer) for answer in examples.answers], dtype=np.float64)
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
    measure: Callable[[JudgedAnswer], float],
    name: str,
    label: str,
    description: str,
    source: str,
    needs: tuple[str, ...] = ("databases",),
    **fields: Any,
) -> MetricDefinition:
    """Define a metric as the mean over queries of what it measures of each answer."""
    spec = MetricSpec(name, label, description, source, "SQL", needs=needs, **fields)
    return MetricDefinition(spec, partial(MeanOverQueries, spec, measure))


DEFINITIONS = by_name(
    _define(
        lambda answer: answer.bird,
        "ex[bird]",
        "EX",
        "share of queries with the gold's set of rows (BIRD, Li et al. 2023)",
        "Li et al. 2023",
        rank=10,
        decides=True,
    ),
    _define(
        lambda answer: answer.spider,
        "ex[spider]",
        "EX (Spider)",
        "share of queries with the gold's rows under some order of columns, in order if the "
        "gold says order by, DISTINCT ignored (Spider test suite, Zhong et al. 2020)",
        "Zhong et al. 2020",
        rank=11,
    ),
    _define(
        lambda answer: answer.soft_f1,
        "soft_f1",
        "soft F1",
        "mean F1 of values, row by row, as a fraction (BIRD mini-dev)",
        "BIRD mini-dev",
        rank=13,
    ),
    _define(
        lambda answer: 100 * sqrt(reward(answer.time_ratio)),
        "r_ves",
        "R-VES",
        "mean of 100 * sqrt(reward of gold time over predicted time), 0-111.8 (BIRD mini-dev)",
        "BIRD mini-dev",
        needs=("databases", TIMED),
        rank=14,
        scale="percent",
        highest=100 * sqrt(1.25),
        digits=2,
    ),
    _define(
        lambda answer: float(answer.verdict == "unknown_table"),
        "unknown_table",
        "unknown table",
        "share of queries whose prediction names a table that is not there",
        "SQLite",
        higher_is_better=False,
    ),
    _define(
        lambda answer: float(answer.verdict == "unknown_column"),
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
