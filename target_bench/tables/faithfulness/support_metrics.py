"""Metrics of faithfulness that need no reference: shares of facts and cells with support.

They are rules, after the idea of entailment by a table (PARENT; Dhingra et al. 2019) and of facts
that a text supports (FActScore; Min et al. 2023), and have no paper of their own.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import Metric, MetricDefinition, MetricSpec
from target_bench.core.reasoning import READING
from target_bench.tables.faithfulness.support import Support

Floats = NDArray[np.float64]

VERSION = "support:2"
"""The version of the rules, for identities and signatures: raise it if values can change."""

DESCRIPTIONS, TABLES = "descriptions", "tables"


def _precision(one: Support) -> float | None:
    return one.precision


def _coverage(one: Support) -> float | None:
    return one.coverage


def _of_sentences(examples: Any) -> Sequence[Support]:
    found: Sequence[Support] = examples.supports
    return found


def _as_judged(examples: Any) -> Sequence[Support]:
    found: Sequence[Support] = examples.judged
    return found


def _of_tables(examples: Any) -> Sequence[Support]:
    return [one.support for one in examples]


def _of_judged_tables(examples: Any) -> Sequence[Support]:
    return [one.judged_support for one in examples]


Reader = Callable[[Any], Sequence[Support]]
"""Examples -> the support of each answer."""


class MeanSupport(Metric[Any]):
    """The mean over answers of a share of facts or cells that the other side supports.

    Args:
        spec: the declaration.
        read: what gives the support of each answer.
        share: the share of one answer; None where the metric is not over it.
        reading: how the answers were read, for the signature.
    """

    def __init__(
        self,
        spec: MetricSpec,
        read: Reader,
        share: Callable[[Support], float | None],
        reading: str = READING,
    ) -> None:
        self.spec = spec
        self._read = read
        self._share = share
        self._reading = reading

    @property
    def signature(self) -> str:
        """Name, version of the rules, and how answers were read."""
        return f"{self.name}|{VERSION}|facts:numbers,dates,names|{self._reading}"

    def statistics(self, examples: Any) -> Floats:
        """Return (n, 2): the share of each answer and 1, or zeros where it has none."""
        shares = map(self._share, self._read(examples))
        rows = [(0.0, 0.0) if share is None else (share, 1.0) for share in shares]
        return np.array(rows, dtype=np.float64).reshape(-1, 2)

    def value(self, totals: Floats) -> Floats:
        """Return the mean; NaN of nothing, so too for an answer that the metric is not over."""
        counted = totals[..., 1]
        out: Floats = np.full_like(counted, np.nan)
        np.divide(totals[..., 0], counted, out=out, where=counted != 0)
        return out

    def counted(self, statistics: Floats) -> int:
        """Return the number of answers with a share."""
        return int(statistics[:, 1].sum())

    def weights(self, statistics: Floats) -> Floats:
        """Return 1 for an answer with a share, else 0."""
        return statistics[:, 1]


def _definition(
    name: str,
    label: str,
    description: str,
    of: str,
    read: Reader,
    share: Callable[[Support], float | None],
    needs: tuple[str, ...] = (),
) -> MetricDefinition:
    spec = MetricSpec(
        name, label, description, of=of, deterministic="a judge" not in needs, needs=needs
    )

    def make(reading: str = READING) -> MeanSupport:
        return MeanSupport(spec, read, share, reading)

    return MetricDefinition(spec, make)


FACTS_SUPPORTED = _definition(
    "support[facts]",
    "facts supported",
    "mean share of a sentence's numbers, dates and names that the table supports",
    DESCRIPTIONS,
    _of_sentences,
    _precision,
)
CELLS_COVERED = _definition(
    "coverage[cells]",
    "cells covered",
    "mean share of the highlighted cells that the sentence says",
    DESCRIPTIONS,
    _of_sentences,
    _coverage,
)
CELLS_SUPPORTED = _definition(
    "support[cells]",
    "cells supported",
    "mean share of a table's cells that the text supports",
    TABLES,
    _of_tables,
    _precision,
)
FACTS_COVERED = _definition(
    "coverage[facts]",
    "facts covered",
    "mean share of the text's numbers, dates and names that the tables hold",
    TABLES,
    _of_tables,
    _coverage,
)

FACTS_JUDGED = _definition(
    "support[judged]",
    "facts supported (judged)",
    "the same with the facts that a judge finds supported (needs judged_by=GENERATOR)",
    DESCRIPTIONS,
    _as_judged,
    _precision,
    ("a judge",),
)


CELLS_JUDGED = _definition(
    "support[judged_cells]",
    "cells supported (judged)",
    "the same with the cells that a judge finds supported (needs cells_judged_by=GENERATOR)",
    TABLES,
    _of_judged_tables,
    _precision,
    ("a judge",),
)


def sentence_support_metrics(judged: bool, reading: str = READING) -> list[Metric[Any]]:
    """Make the metrics of table-to-text that need no reference.

    Args:
        judged: whether a model was asked about the facts that rules do not support.
        reading: how the answers were read, for the signatures.
    """
    made = [FACTS_SUPPORTED, CELLS_COVERED, *([FACTS_JUDGED] if judged else [])]
    return [definition.make(reading) for definition in made]


def table_support_metrics(judged: bool = False, reading: str = READING) -> list[Metric[Any]]:
    """Make the metrics of text-to-table that need no reference; arguments as for sentences."""
    made = [CELLS_SUPPORTED, FACTS_COVERED, *([CELLS_JUDGED] if judged else [])]
    return [definition.make(reading) for definition in made]
