"""The metrics of tables that are tested: those of the package, and a user's own."""

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import registry
from target_bench.core.contract import plugin_errors
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.metric import Metric, MetricDefinition, MetricSpec, by_name
from target_bench.metrics.run_scores import declared
from target_bench.metrics.text import JudgedAnswers
from target_bench.tables.answer_tables import AnswerTable
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.grid_similarity import grits
from target_bench.tables.hscore_text import h_score_of_table
from target_bench.tables.reading import matched
from target_bench.tables.relative_mapping import relative_mapping
from target_bench.tables.table_metrics import OF, MeanOfTables
from target_bench.tables.tree_similarity import teds

Floats = NDArray[np.float64]
Rows = tuple[tuple[str, ...], ...]
Measure = Callable[[AnswerTable, AnswerTable], float]
"""Reference and answer -> how alike they are."""


def of_pairs(measure: Measure) -> Callable[[ComparedTables], tuple[float, float]]:
    """Return a measure of answers from one of tables: the mean, 0 of a table without a pair."""

    def mean(one: ComparedTables) -> tuple[float, float]:
        pairs = matched(one.answer, one.reference)
        found = [
            0.0
            if i is None or j is None
            else measure(one.reference.tables[j], one.answer.tables[i])
            for i, j in pairs
        ]
        return sum(found), float(len(found))

    return mean


def _define(
    name: str, label: str, about: str, source: str, measure: Measure, **more: Any
) -> MetricDefinition:
    spec = MetricSpec(name, label, about, source, of=OF, **more)
    return MetricDefinition(spec, lambda: MeanOfTables(spec, of_pairs(measure)))


def _official(content: bool) -> Measure:
    def measure(reference: AnswerTable, answer: AnswerTable) -> float:
        found = h_score_of_table(answer.padded(), reference.padded())
        return found.content if content else found.structure

    return measure


OF_TABLES = by_name(
    _define(
        "equal", "exact match", "share of tables of which every cell is equal, in its place", "",
        lambda reference, answer: float(reference.rows == answer.rows),
    ),
    _define(
        "rms_f1", "RMS F1", "Relative Mapping Similarity: headers and values of paired entries",
        "Liu et al. 2023",
        lambda reference, answer: relative_mapping(reference.padded(), answer.padded()).f1,
    ),
    _define(
        "grits", "GriTS (content)", "similarity of the most similar rows and columns, in order",
        "Smock et al. 2023",
        lambda reference, answer: grits(reference.padded(), answer.padded()),
    ),
    _define(
        "teds", "TEDS", "edit distance of the tables as trees", "Zhong et al. 2020",
        lambda reference, answer: teds(reference.rows, answer.rows),
    ),
    _define(
        "h_content[table]", "H content (official)", "H-Score, content, of one table, official",
        "Tang et al. 2023", _official(content=True), scale="unbounded", highest=2.0,
    ),
    _define(
        "h_structure[table]", "H structure (official)", "H-Score, format, of one table, official",
        "Tang et al. 2023", _official(content=False), scale="unbounded", highest=4.0,
    ),
)  # fmt: skip
"""Metrics of single tables that are not scores of a task."""

DEFAULT = (
    "equal",
    "cell_precision",
    "cell_recall",
    "cell_f1",
    "cell_f1[chrf]",
    "rougeL",
    "rms_f1",
    "grits",
    "teds",
    "h_content[table]",
    "h_structure[table]",
    "h_content[v2]",
    "h_structure[v2]",
    "tabxeval",
)
"""The metrics that need no model, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class MetricUnderTest:
    """A metric under test.

    Attributes:
        metric: of tables, or of texts: then it reads the tables as Markdown.
    """

    metric: Metric[Any]

    @property
    def spec(self) -> MetricSpec:
        """Its declaration."""
        return self.metric.spec

    def values(self, pairs: Sequence[ComparedTables]) -> tuple[Floats, float]:
        """Score answers beside their references.

        Returns:
            (n,) values, higher for the better ones; NaN where the metric is not over a pair. And
            the seconds of processor time it took, reading the tables left out.

        Raises:
            PluginError: the metric raises, or does not give a row for every pair.
        """
        if not pairs:
            return np.empty(0), 0.0
        examples: Any = [ComparedTables(p.text, p.gold, p.table_format) for p in pairs]
        for one in examples:
            one.answer.tables, one.reference.tables  # noqa: B018 (read before the clock runs)
        if self.spec.of != OF:
            examples = JudgedAnswers([p.text for p in pairs], [(p.gold,) for p in pairs])
        started = time.process_time()
        with plugin_errors(f"metric {self.spec.name}", "scoring"):
            found = self.metric.per_query(self.metric.statistics(examples))
        seconds = time.process_time() - started
        if np.shape(found) != (len(pairs),):
            raise PluginError(
                f"metric {self.spec.name}: expected a value for each of {len(pairs)} pairs, found "
                f"an array of shape {np.shape(found)}"
            )
        return found if self.spec.higher_is_better else -found, seconds


def metric_under_test(name: str) -> MetricUnderTest:
    """Find a metric to test.

    Args:
        name: one of ``OF_TABLES`` or a metric of tables or texts in the registry, perhaps with
            settings; or ``file.py:name`` of a class that is a metric, or of a function: rows of
            the reference, rows of the answer -> a number, higher for the better table.

    Raises:
        ConfigError: there is no such metric, or it reads neither tables nor texts.
    """
    if name in OF_TABLES:
        return MetricUnderTest(OF_TABLES[name]())
    target = registry.parse("metric", name).target
    found = registry.resolve("metric", target, also=OF_TABLES)
    if inspect.isfunction(found):
        return MetricUnderTest(_of_function(found, target))
    made = registry.create("metric", name)
    spec = declared(made, name)
    if spec.of not in (OF, "texts"):
        raise ConfigError(f"{name}: is a metric of {spec.of}; expected one of tables or of texts")
    return MetricUnderTest(made)


def _of_function(function: Callable[[Rows, Rows], float], target: str) -> Metric[Any]:
    name = target.rpartition(":")[2]

    def measured(reference: Rows, answer: Rows) -> float:
        found: object = function(reference, answer)
        if not isinstance(found, Real | np.bool_):
            raise TypeError(f"it has to return a number, not {found!r}")
        return float(found)

    measure = of_pairs(lambda reference, answer: measured(reference.rows, answer.rows))
    about = inspect.getdoc(function) or ""
    spec = MetricSpec(name, name, about.partition("\n")[0], of=OF, scale="unbounded")
    return MeanOfTables(spec, measure)
