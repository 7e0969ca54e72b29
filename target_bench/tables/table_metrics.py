"""Metrics of tables as answers: validity, H-Score, headers and cells, P-Score, TabXEval's rubric.

The H-Score and the P-Score are those of Struc-Bench (Tang et al. 2023), the scores of headers and
cells those of Wu et al. (2022), the rubric that of Pancholi et al. (2025), by rules.
``metrics.tables`` and ``metrics.table_comparison`` have the definitions; here are their means.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import Metric, MetricDefinition, MetricSpec, by_name
from target_bench.core.reasoning import READING
from target_bench.core.registry import installed_version
from target_bench.tables.answer_tables import FORMATS, TableFormat
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.comparison import TableComparison
from target_bench.tables.header_cell_scores import PRF, Part, Similarity
from target_bench.tables.official_sides import HTML_PARSER

Floats = NDArray[np.float64]
Compared = Sequence[ComparedTables]
Counted = tuple[float, float]
"""A sum, and the number of values in it."""

VERSION = "tables:10"
"""The version of these metrics and of reading tables, for identities."""

OF = "tables"


class MeanOfTables(Metric[Compared]):
    """The mean of a value that answers, or their tables, have.

    Args:
        spec: the declaration.
        measure: an answer beside its reference -> the sum of its values, and how many they are; 0
            of an answer that the metric is not over.
        parser: what HTML is parsed with, for the signature.
        packages: distributions besides those that read tables which can change a value.
    """

    def __init__(
        self,
        spec: MetricSpec,
        measure: Callable[[ComparedTables], Counted],
        parser: str = HTML_PARSER,
        packages: Sequence[str] = (),
    ) -> None:
        self.spec = spec
        self._measure = measure
        self._parser = parser
        self._packages = packages

    @property
    def signature(self) -> str:
        """Name, definition, how answers are read, and the packages with their versions."""
        lxml = ["lxml"] if self._parser == "lxml" else []
        packages = ("beautifulsoup4", "pylatexenc", *lxml, *self._packages)
        parsers = [f"{name}=={installed_version(name)}" for name in packages]
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

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """Return the lowest and the highest value; a count may be 1 at least."""
        lowest, highest = super().bounds(statistics)
        return lowest, highest if self.spec.higher_is_better else max(highest, 1.0)

    def weights(self, statistics: Floats) -> Floats:
        """Return the number of values of each answer."""
        return statistics[:, 1]


def _define(
    name: str,
    label: str,
    description: str,
    measure: Callable[[ComparedTables], Counted],
    source: str = "Tang et al. 2023",
    packages: Sequence[str] = (),
    **more: Any,
) -> MetricDefinition:
    spec = MetricSpec(name, label, description, source, of=OF, **more)

    def make(parser: str = HTML_PARSER) -> MeanOfTables:
        return MeanOfTables(spec, measure, parser, packages)

    return MetricDefinition(spec, make)


def _official(
    table_format: TableFormat, content: float, structure: float, **more: int
) -> tuple[MetricDefinition, MetricDefinition]:
    """Define content and format of the official H-Score of a format, with their highest values."""
    suffix, label = (
        ("", "") if table_format == "text" else (f"[{table_format}]", f" ({_UPPER[table_format]})")
    )
    about = (
        f"of {_UPPER[table_format]}, strucbench: sum of sub-scores as the official code has them"
    )

    def measure(field: str) -> Callable[[ComparedTables], Counted]:
        def of_one(one: ComparedTables) -> Counted:
            found = one.h_score if one.table_format == table_format else None
            return (0.0, 0.0) if found is None else (getattr(found, field), 1.0)

        return of_one

    found = []
    for place, (field, what, highest) in enumerate(
        (("content", "content", content), ("structure", "format", structure))
    ):
        found.append(
            _define(
                f"h_{field}{suffix}",
                f"H {field}{label}",
                f"H-Score, {what}, {about}, at most {highest:.0f}, no lower bound",
                measure(field),
                scale="unbounded",
                highest=highest,
                rank=more["rank"] + place if more else None,
            )
        )
    return found[0], found[1]


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
_FIRST_RANK = 15
_UPPER: dict[TableFormat, str] = {"text": "text", "html": "HTML", "latex": "LaTeX"}


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
H_CONTENT, H_STRUCTURE = _official("text", 2.0, 4.0, rank=_FIRST_RANK + 6)
H_CONTENT_HTML, H_STRUCTURE_HTML = _official("html", 2.0, 3.0)
H_CONTENT_LATEX, H_STRUCTURE_LATEX = _official("latex", 3.0, 4.0)
_H_SCORES: dict[TableFormat, tuple[MetricDefinition, ...]] = {
    "text": (H_CONTENT, H_STRUCTURE),
    "html": (H_CONTENT_HTML, H_STRUCTURE_HTML),
    "latex": (H_CONTENT_LATEX, H_STRUCTURE_LATEX),
}
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


def _of_comparisons(read: Callable[[TableComparison], float]) -> Callable[[Any], Counted]:
    def measure(one: ComparedTables) -> Counted:
        return float(sum(map(read, one.comparisons))), float(len(one.comparisons))

    return measure


_PANCHOLI = "Pancholi et al. 2025"
_COMPARING = ("pint", "python-dateutil", "rapidfuzz", "scipy")


def _count(name: str, what: str, read: Callable[[TableComparison], float]) -> MetricDefinition:
    return _define(
        name,
        name.replace("_", " "),
        f"mean number of {what} by table",
        _of_comparisons(read),
        _PANCHOLI,
        _COMPARING,
        scale="unbounded",
        highest=0.0,
        digits=2,
        higher_is_better=False,
    )


TABXEVAL = _define(
    "tabxeval",
    "TabXEval",
    "mean over tables of 1 less the penalty of the rubric, by rules, all weights of the paper 1",
    _of_comparisons(lambda one: one.score()),
    _PANCHOLI,
    _COMPARING,
    rank=_FIRST_RANK + 10,
)
MISSING_ROWS = _count("missing_rows", "rows missing", lambda one: one.structure.missing_rows)
MISSING_COLUMNS = _count(
    "missing_columns", "columns missing", lambda one: one.structure.missing_columns
)
MISSING_CELLS = _count(
    "missing_cells", "cells empty in matched rows", lambda one: one.structure.missing_cells
)
EXTRA_ROWS = _count("extra_rows", "rows too many", lambda one: one.structure.extra_rows)
EXTRA_COLUMNS = _count("extra_columns", "columns too many", lambda one: one.structure.extra_columns)
EXTRA_CELLS = _count(
    "extra_cells", "cells filled that are empty", lambda one: one.structure.extra_cells
)
PARTIAL_CELLS = _count(
    "partial_cells",
    "matched cells that differ",
    lambda one: sum(1 for cell in one.cells if cell.outcome == "partial"),
)

DEFINITIONS = HEADER_CELL | by_name(
    H_CONTENT_V2,
    H_STRUCTURE_V2,
    VALID_STRICT,
    VALID_LENIENT,
    H_CONTENT,
    H_STRUCTURE,
    H_CONTENT_HTML,
    H_STRUCTURE_HTML,
    H_CONTENT_LATEX,
    H_STRUCTURE_LATEX,
    TABXEVAL,
    MISSING_ROWS,
    MISSING_COLUMNS,
    MISSING_CELLS,
    EXTRA_ROWS,
    EXTRA_COLUMNS,
    EXTRA_CELLS,
    PARTIAL_CELLS,
)
"""Every metric of tables that needs no judge, in the order in which scores are recorded."""


def table_metrics(
    parser: str = HTML_PARSER,
    judged: bool = False,
    formats: Collection[TableFormat] = FORMATS,
) -> list[Metric[Compared]]:
    """Make every metric of tables.

    Args:
        parser: what HTML is parsed with.
        judged: those of a judge too.
        formats: how the tables are written; the official H-Scores of others are left out.
    """
    found = [*DEFINITIONS.values(), *([P_CONTENT, P_STRUCTURE] if judged else [])]
    left_out = {
        one.spec.name for name in _H_SCORES.keys() - set(formats) for one in _H_SCORES[name]
    }
    return [one.make(parser) for one in found if one.spec.name not in left_out]


def validity(parser: str = HTML_PARSER) -> list[Metric[Compared]]:
    """Make the metrics of tables that need no reference; ``parser`` as in ``table_metrics``."""
    return [one.make(parser) for one in (VALID_STRICT, VALID_LENIENT)]
