"""Coordinates of lines, bars and labels in a chart; the template draws them as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isnan, log

from target_bench.core.metric import MetricSpec
from target_bench.reporting.report.summary import Sliced

SERIES = 8
"""Colours there are; the ninth run has that of the first."""

_WIDTH, _HEIGHT = 440, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 14, 10, 40
_BAR, _GAP, _ROOM = 14, 12, 150  # a bar's height, space between groups, room for their names
_LONGEST_NAME = 17


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A run's line: its points as SVG has them, and its dots with what they say."""

    series: int
    points: str
    dots: list[tuple[float, float, str]]


@dataclass(frozen=True, slots=True)
class LineChart:
    """Recall over k."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    lines: list[Line]


def recall_chart(
    labels: Sequence[str], curves: Sequence[Sequence[float]], cutoffs: Sequence[int]
) -> LineChart:
    """Lines of recall over k, dots at the cutoffs; k is on a logarithmic scale from 20 on.

    A run without rankings has an empty curve, and no line; one run at least has a curve.
    """
    depth = max(map(len, curves))
    lowest = min(floor(10 * min(curve)) / 10 for curve in curves if curve)
    low, high = min(lowest, 0.9), 1.0
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def x(k: int) -> float:
        if depth == 1:
            return (_LEFT + right) / 2
        share = log(k) / log(depth) if depth > 20 else (k - 1) / (depth - 1)
        return round(_LEFT + share * (right - _LEFT), 1)

    def y(value: float) -> float:
        return round(bottom - (value - low) / (high - low) * (bottom - _TOP), 1)

    def line(i: int, curve: Sequence[float]) -> Line:
        points = " ".join(f"{x(k)},{y(value)}" for k, value in enumerate(curve, start=1))
        dots = [
            (x(k), y(curve[k - 1]), f"{labels[i]}: recall@{k} {curve[k - 1]:.3f}")
            for k in cutoffs
            if k <= len(curve)
        ]
        return Line(series(i), points, dots)

    step = 0.1 if high - low <= 0.6 else 0.2
    levels = [high - step * n for n in range(round((high - low) / step) + 1)]
    return LineChart(
        _WIDTH,
        _HEIGHT,
        _LEFT,
        right,
        _TOP,
        bottom,
        [Tick(x(k), str(k)) for k in _apart(cutoffs, depth)],
        [Tick(y(level), f"{level:.1f}") for level in levels],
        [line(i, curve) for i, curve in enumerate(curves) if curve],
    )


def _apart(cutoffs: Sequence[int], depth: int) -> list[int]:
    """Return the values of k that are labelled."""
    wanted = {1, depth, *(k for k in cutoffs if k <= depth)}
    if depth <= 10:
        wanted |= set(range(1, depth + 1))
    return sorted(wanted)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, or a place where there is none (``width`` None)."""

    series: int
    y: float
    width: float | None
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class Group:
    """The bars of one value of a slice."""

    y: float
    name: str
    full_name: str
    n: int
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class BarChart:
    """A metric by the values of a slice."""

    width: int
    height: int
    left: int
    bar: int
    groups: list[Group]


def slice_chart(
    labels: Sequence[str], metrics: Sequence[str], specs: Sequence[MetricSpec], found: Sliced
) -> BarChart:
    """Draw horizontal bars, one a run, in groups; from 0 to the largest value of the metric.

    Args:
        labels: what the runs are called.
        metrics: the metric of each.
        specs: its declaration.
        found: the means.
    """
    drawn = [mean for means in found.means for mean in means if not isnan(mean)]
    top = max([*(spec.top for spec in specs), *drawn])
    longest = _WIDTH - _ROOM - 48
    groups, y = [], 4
    for i, value in enumerate(found.values):
        bars = []
        for j, means in enumerate(found.means):
            known = not isnan(means[i])
            text = specs[j].text(means[i]) if known else "no value"
            width = round(max(means[i], 0) / top * longest, 1) if known else None
            title = f"{labels[j]}: {metrics[j]} {text}"
            bars.append(Bar(series(j), y + j * (_BAR + 2), width, text, title))
        middle = y + len(bars) * (_BAR + 2) / 2
        groups.append(Group(middle, _shortened(value), value, found.n[i], bars))
        y += max(len(bars) * (_BAR + 2), 30) + _GAP
    return BarChart(_WIDTH, y, _ROOM, _BAR, groups)


def series(i: int) -> int:
    """Return the colour of the i-th run, from 1."""
    return i % SERIES + 1


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
