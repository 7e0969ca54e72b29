"""What pages show of an arena: a board of metrics, two charts, and tables of all figures."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from target_bench.core.errors import ConfigError
from target_bench.harness.arena.arena import Arena
from target_bench.harness.arena.human_agreement import FILE_ORDER, HumanAgreement, Mean
from target_bench.harness.arena.known_errors import ErrorDetection
from target_bench.models.perturbations.drawing import CHANGES, ERRORS, HARMLESS_CHANGES
from target_bench.reporting.web import asset, score

FOLDER = Path(__file__).parent
"""Where the templates of these parts are."""

_LEFT, _PLOT, _RIGHT, _ROW = 170, 420, 100, 22


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A metric on the board.

    Attributes:
        label: its name for people.
        about: its declaration in a line; empty for the order of the file.
        spearman: its agreement with people; None where it was not tested on their rankings.
        p: of its test against the order of the file; None for that itself.
        errors: what it does with known errors; None where that was not tested.
        kept: of how many kinds of harmless changes it scores every table as the reference.
        kinds: how many kinds of harmless changes there are.
        seconds: of processor time for 1,000 tables.
        is_used: whether it scores the runs of the report.
        is_baseline: whether it is the order of the file.
    """

    label: str
    about: str
    spearman: Mean
    p: float | None
    errors: ErrorDetection | None
    kept: int
    kinds: int
    seconds: float
    is_used: bool
    is_baseline: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A metric's line of a chart: its name, where marks stand (None: nowhere), numbers as text."""

    name: str
    y: int
    low: float
    high: float
    marks: tuple[float | None, ...]
    text: str
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over one axis, from left to right."""

    width: int
    height: int
    left: int
    lines: list[Line]
    ticks: list[tuple[float, str]]


@dataclass(frozen=True)
class ArenaView:
    """An arena as pages show it.

    Attributes:
        arena: its figures.
        key: what the ids of its elements begin with.
        used: names of the metrics that score the runs of the report.
    """

    arena: Arena
    key: str
    used: Collection[str] = ()

    @property
    def board(self) -> list[BoardRow]:
        """A row per metric, the one that agrees most with people first."""
        return [self._row(one) for one in self.arena.people]

    def _row(self, one: HumanAgreement) -> BoardRow:
        name, spec = one.name, self.arena.specs.get(one.name)
        errors = next((found for found in self.arena.errors if found.name == name), None)
        harmless = [] if errors is None else [errors.by_change[change] for change in self.harmless]
        return BoardRow(
            self.arena.label(name),
            spec.description if spec else "",
            one.means["spearman"],
            self.against_file_order.get(name),
            errors,
            sum(share.value == 1 for share in harmless),
            len(harmless),
            1000 * one.seconds / one.pairs,
            name in self.used,
            name == FILE_ORDER,
        )

    @property
    def harmless(self) -> list[str]:
        """The changes that keep the meaning and were made."""
        return [name for name in HARMLESS_CHANGES if name in self.arena.errors[0].by_change]

    @property
    def changes(self) -> list[str]:
        """The changes that were made, harmless ones first."""
        made = self.arena.errors[0].by_change
        return [*self.harmless, *(name for name in ERRORS if name in made)]

    @property
    def against_file_order(self) -> Mapping[str, float]:
        """Metric -> p of its test against the order of the file."""
        pairs = ((one.first, one.second, one.p) for one in self.arena.tests)
        found = ((a if b == FILE_ORDER else b, p) for a, b, p in pairs if FILE_ORDER in (a, b))
        return dict(found)

    @property
    def quartiles(self) -> list[float]:
        """Lowest, quartiles and highest rho under drawn weights."""
        return [float(np.quantile(self.arena.weights.drawn, q)) for q in (0, 0.25, 0.5, 0.75, 1)]

    @property
    def agreement(self) -> Chart:
        """Spearman's rho of each metric with its interval."""
        arena = self.arena
        means = [(arena.label(one.name), one.means["spearman"], one.name) for one in arena.people]
        lows = (np.floor(5 * mean.low) / 5 for _, mean, _ in means if mean.low == mean.low)
        ticks = [round(float(value), 1) for value in np.arange(min([-0.2, *lows]), 1.01, 0.2)]
        lines = [
            (name, mean.low, mean.high, (mean.value,), score(mean.value), metric == FILE_ORDER)
            for name, mean, metric in means
        ]
        return _chart(lines, ticks)

    @property
    def detection(self) -> Chart:
        """Specificity and sensitivity of each metric, joined by a line."""
        lines = []
        for one in self.arena.errors:
            found = (one.specificity.value, one.sensitivity.value)
            text = " / ".join(score(value, 2) for value in found[::-1])
            known = [value for value in found if value == value] or found
            label = self.arena.label(one.name)
            lines.append((label, min(known), max(known), found, text, False))
        return _chart(lines, [0, 0.2, 0.4, 0.6, 0.8, 1.0])


def arena_views(arenas: Sequence[Arena], used: Collection[str]) -> list[ArenaView]:
    """Return the arenas as a report of runs shows them.

    Args:
        arenas: their figures.
        used: names of the metrics that score the runs.

    Raises:
        ConfigError: none of these is a metric of an arena.
    """
    for arena in arenas:
        if not set(arena.specs) & set(used):
            raise ConfigError(
                f"--arena: no metric that was tested on {arena.corpus} scores these runs; it is "
                "about metrics of tables, for runs of text-to-table"
            )
    return [ArenaView(arena, f"arena-{n}", used) for n, arena in enumerate(arenas, start=1)]


def arena_style() -> str:
    """Return the style of these parts."""
    return asset("arena.css", FOLDER)


def arena_context() -> dict[str, object]:
    """Return the values that the templates of these parts need besides the views."""
    return {"abouts": {name: change.about for name, change in CHANGES.items()}, "heat": _heat}


def _heat(share: float) -> str:
    """Return the class of a cell that is coloured by a share: one of eleven."""
    return f"heat-{round(10 * share)}" if share == share else "heat-none"


def _chart(
    lines: Sequence[tuple[str, float, float, tuple[float, ...], str, bool]], ticks: Sequence[float]
) -> Chart:
    first, last = ticks[0], ticks[-1]

    def at(value: float) -> float:
        known = first if value != value else value
        return round(_LEFT + _PLOT * (known - first) / (last - first), 1)

    def shown(marks: Sequence[float]) -> tuple[float | None, ...]:
        return tuple(at(mark) if mark == mark else None for mark in marks)

    return Chart(
        _LEFT + _PLOT + _RIGHT,
        _ROW * (len(lines) + 1) + 18,
        _LEFT,
        [
            Line(name, _ROW * (k + 1), at(low), at(high), shown(marks), text, plain)
            for k, (name, low, high, marks, text, plain) in enumerate(lines)
        ],
        [(at(tick), f"{tick:.1f}".replace("-", "−")) for tick in ticks],
    )
