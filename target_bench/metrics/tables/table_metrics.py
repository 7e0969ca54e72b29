"""Metrics of tables as answers: validity, H-Score, headers and cells, P-Score.

The H-Score and the P-Score are those of Struc-Bench (Tang et al. 2023), the scores of headers and
cells those of Wu et al. (2022). ``metrics.tables`` has the definitions; here are their means.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import Metric, MetricDefinition, MetricSpec, by_name
from target_bench.core.reasoning import READING
from target_bench.core.registry import installed_version
from target_bench.metrics.tables.compared_tables import ComparedTables
from target_bench.metrics.tables.header_cell_scores import PRF, Part, Similarity
from target_bench.metrics.tables.official_sides import HTML_PARSER

Floats = NDArray[np.float64]
Compared = Sequence[ComparedTables]
Counted = tuple[float, float]
"""A sum, and the number of values in it."""

VERSION = "tables:2"
"""The version of these metrics and of reading tables, for identities."""

OF = "tables"


class MeanOfTables(Metric[Compared]):
    """The mean of a value that answers, or their tables, have.

    Args:
        spec: the declaration.
        measure: an answer beside its reference -> the sum of its values, and how many they are; 0
            of an answer that the metric is not over.
        parser: what HTML is parsed with, for the signature.
    """

    def __init__(
        self,
        spec: MetricSpec,
        measure: Callable[[ComparedTables], Counted],
        parser: str = HTML_PARSER,
    ) -> None:
        self.spec = spec
        self._measure = measure
        self._parser = parser

    @property
    def signature(self) -> str:
        """Name, definition, how answers are read, and the parsers with their versions."""
        packages = ("beautifulsoup4", "pylatexenc", *(["lxml"] if self._parser == "lxml" else []))
        parsers = [f"{name}:{installed_version(name)}" for name in packages]
        parts = [self.name, self.spec.description, VERSION, READING, f"html:{self._parser}"]
        return "|".join([*parts, *parsers])

    def statistics(self, examples: Compared) -> Floats:
        """Return (n, 2): the sum of the values of each answer, and how many they are."""
        return np.array([self._measure(one) for one in examples], dtype=np.float64).reshape(-1, 2)

    def value(self, totals: Floats) -> Floats:
        """Return the mean; NaN of nothing, so too for an answer that the metric is not over."""
        counted = totals[..., 1]
        out: Floats = np.full_like(counted, np.nan)
        np.divide(totals[..., 0], counted, out=out, where=counted != 0)
        return out

    def counted(self, statistics: Floats) -> int:
        """Return the number of answers with a value."""
        return int((statistics[:, 1] > 0).sum())

    def weights(self, statistics: Floats) -> Floats:
        """Return the number of values of each answer."""
        return statistics[:, 1]


def _define(
    name: str,
    label: str,
    description: str,
    measure: Callable[[ComparedTables], Counted],
    source: str = "Tang et al. 2023",
    **more: Any,
) -> MetricDefinition:
    spec = MetricSpec(name, label, description, source, of=OF, **more)

    def make(parser: str = HTML_PARSER) -> MeanOfTables:
        return MeanOfTables(spec, measure, parser)

    return MetricDefinition(spec, make)


def _official(read: Callable[[Any], float]) -> Callable[[ComparedTables], Counted]:
    def measure(one: ComparedTables) -> Counted:
        found = one.h_score
        return (0.0, 0.0) if found is None else (read(found), 1.0)

    return measure


def _judged(place: int) -> Callable[[ComparedTables], Counted]:
    def measure(one: ComparedTables) -> Counted:
        return (0.0, 0.0) if one.p_score is None else (one.p_score[place], 1.0)

    return measure


def _of_pairs(similarity: Similarity, part: Part, field: str) -> Callable[[Any], Counted]:
    def measure(one: ComparedTables) -> Counted:
        found: list[PRF] = [scores[part] for _, scores in one.pairs(similarity) if part in scores]
        return float(sum(getattr(prf, field) for prf in found)), float(len(found))

    return measure


_WU = "Wu et al. 2022"
_PARTS: tuple[tuple[Part, str, str], ...] = (
    ("cells", "cell", "cells with their headers"),
    ("row_header", "row_header", "row headers"),
    ("col_header", "column_header", "column headers"),
)
_FIELDS = (("f1", "F1"), ("precision", "P"), ("recall", "R"))
_SIMILARITIES: tuple[tuple[Similarity, str, str], ...] = (
    ("exact", "", "equal texts"),
    ("chrf", "[chrf]", "chrF of the most similar one"),
)
_FIRST_RANK = 14


def _header_cell_definitions() -> list[MetricDefinition]:
    found = []
    for similarity, suffix, how in _SIMILARITIES:
        for part, name, what in _PARTS:
            for field, letter in _FIELDS:
                leads = part == "cells" and field == "f1"
                found.append(
                    _define(
                        f"{name}_{field}{suffix}",
                        f"{name.replace('_', ' ')} {letter}{' (chrF)' if suffix else ''}",
                        f"mean {field} of {what} over tables, {how}",
                        _of_pairs(similarity, part, field),
                        _WU,
                        rank=(_FIRST_RANK + bool(suffix)) if leads else None,
                        decides=leads and not suffix,
                    )
                )
    return found


HEADER_CELL = by_name(*_header_cell_definitions())

CELL_F1 = HEADER_CELL["cell_f1"]
CELL_PRECISION = HEADER_CELL["cell_precision"]
CELL_RECALL = HEADER_CELL["cell_recall"]
ROW_HEADER_F1 = HEADER_CELL["row_header_f1"]
ROW_HEADER_PRECISION = HEADER_CELL["row_header_precision"]
ROW_HEADER_RECALL = HEADER_CELL["row_header_recall"]
COLUMN_HEADER_F1 = HEADER_CELL["column_header_f1"]
COLUMN_HEADER_PRECISION = HEADER_CELL["column_header_precision"]
COLUMN_HEADER_RECALL = HEADER_CELL["column_header_recall"]
CELL_F1_CHRF = HEADER_CELL["cell_f1[chrf]"]
CELL_PRECISION_CHRF = HEADER_CELL["cell_precision[chrf]"]
CELL_RECALL_CHRF = HEADER_CELL["cell_recall[chrf]"]
ROW_HEADER_F1_CHRF = HEADER_CELL["row_header_f1[chrf]"]
ROW_HEADER_PRECISION_CHRF = HEADER_CELL["row_header_precision[chrf]"]
ROW_HEADER_RECALL_CHRF = HEADER_CELL["row_header_recall[chrf]"]
COLUMN_HEADER_F1_CHRF = HEADER_CELL["column_header_f1[chrf]"]
COLUMN_HEADER_PRECISION_CHRF = HEADER_CELL["column_header_precision[chrf]"]
COLUMN_HEADER_RECALL_CHRF = HEADER_CELL["column_header_recall[chrf]"]

VALID_STRICT = _define(
    "valid[strict]",
    "valid (strict)",
    "share of answers that are the tables asked for and nothing else, without a fault",
    lambda one: (float(one.answer.strict_error is None), 1.0),
    "",
    rank=_FIRST_RANK + 4,
)
VALID_LENIENT = _define(
    "valid[lenient]",
    "valid (lenient)",
    "share of answers in which a table can be read",
    lambda one: (float(one.answer.error is None), 1.0),
    "",
    rank=_FIRST_RANK + 5,
)
H_CONTENT_V2 = _define(
    "h_content[v2]",
    "H content (v2)",
    "mean similarity of cells, symmetric, 0-1: edit distance and common subsequence",
    lambda one: (one.h_score_v2.content, 1.0),
    rank=_FIRST_RANK + 2,
)
H_STRUCTURE_V2 = _define(
    "h_structure[v2]",
    "H structure (v2)",
    "mean similarity of header, numbers of rows and columns, symmetric, 0-1",
    lambda one: (one.h_score_v2.structure, 1.0),
    rank=_FIRST_RANK + 3,
)
H_CONTENT = _define(
    "h_content",
    "H content",
    "H-Score, content, strucbench: sum of sub-scores as the official code has them, at most 2 "
    "(LaTeX 3), no lower bound",
    _official(lambda found: found.content),
    scale="unbounded",
    highest=2.0,
    rank=_FIRST_RANK + 6,
)
H_STRUCTURE = _define(
    "h_structure",
    "H structure",
    "H-Score, format, strucbench: sum of sub-scores as the official code has them, at most 4 "
    "(HTML 3), no lower bound",
    _official(lambda found: found.structure),
    scale="unbounded",
    highest=4.0,
    rank=_FIRST_RANK + 7,
)
_JUDGE: dict[str, Any] = {
    "scale": "unbounded",
    "highest": 10.0,
    "digits": 2,
    "deterministic": False,
    "needs": ("a model as judge",),
}
P_CONTENT = _define(
    "p_content",
    "P content",
    "P-Score, content, 0-10: mean of a model's replies in both orders, over pairs with both",
    _judged(0),
    rank=_FIRST_RANK + 8,
    **_JUDGE,
)
P_STRUCTURE = _define(
    "p_structure",
    "P structure",
    "P-Score, format, 0-10: mean of a model's replies in both orders, over pairs with both",
    _judged(1),
    rank=_FIRST_RANK + 9,
    **_JUDGE,
)

DEFINITIONS = HEADER_CELL | by_name(
    H_CONTENT_V2,
    H_STRUCTURE_V2,
    VALID_STRICT,
    VALID_LENIENT,
    H_CONTENT,
    H_STRUCTURE,
)
"""Every metric of tables that needs no judge, in the order in which scores are recorded."""


def table_metrics(parser: str = HTML_PARSER, judged: bool = False) -> list[Metric[Compared]]:
    """Make every metric of tables.

    Args:
        parser: what HTML is parsed with.
        judged: those of a judge too.
    """
    found = [*DEFINITIONS.values(), *([P_CONTENT, P_STRUCTURE] if judged else [])]
    return [one.make(parser) for one in found]
