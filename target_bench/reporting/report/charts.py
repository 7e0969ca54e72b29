"""Coordinates of lines, bars and labels in charts; the template draws them as SVG."""

from collections.abc import Mapping, Sequence
from math import cos, floor, isnan, log, pi, sin
from typing import Any

from target_bench.core.metric import MetricSpec
from target_bench.core.task import SummaryBlock
from target_bench.reporting.report.summary import Sliced

SERIES = 8
"""Colours there are, and so the runs that charts show; a ninth one has the colour of the first."""

Chart = dict[str, Any]
"""Numbers and texts by the names that the template has for them."""

_WIDTH, _HEIGHT = 440, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 10, 40
_TICK = 22  # pixels between numbers below an axis
_BAR, _GAP, _NAME = 14, 12, 18  # heights of a bar, of the space between groups, of their names
_LONGEST_NAME = 44


def series(i: int) -> int:
    """Return the colour of the i-th run, from 1."""
    return i % SERIES + 1


def recall_chart(
    labels: Sequence[str], curves: Sequence[Sequence[float]], cutoffs: Sequence[int]
) -> Chart:
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

    def line(i: int, curve: Sequence[float]) -> Chart:
        return {
            "series": series(i),
            "points": " ".join(f"{x(k)},{y(value)}" for k, value in enumerate(curve, start=1)),
            "dots": [
                (x(k), y(curve[k - 1]), f"{labels[i]}: recall@{k} {curve[k - 1]:.3f}")
                for k in cutoffs
                if k <= len(curve)
            ],
        }

    step = next(step for step in (0.02, 0.05, 0.1, 0.2) if round((high - low) / step) <= 6)
    levels = [high - step * n for n in range(floor((high - low) / step + 1e-9) + 1)]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": right,
        "top": _TOP,
        "bottom": bottom,
        "x_ticks": [(x(k), str(k)) for k in _numbered(cutoffs, depth, x)],
        "y_ticks": [(y(level), f"{level:.{2 if step < 0.1 else 1}f}") for level in levels],
        "lines": [line(i, curve) for i, curve in enumerate(curves) if curve],
    }


def _numbered(cutoffs: Sequence[int], depth: int, x: Any) -> list[int]:
    """Return the values of k that are written: ends, then cutoffs, as far as there is room."""
    candidates = [1, depth, *reversed([k for k in cutoffs if k < depth])]
    candidates += range(2, depth) if depth <= 10 else ()
    numbered: list[int] = []
    for k in candidates:
        if all(abs(x(k) - x(other)) >= _TICK for other in numbered):
            numbered.append(k)
    return sorted(numbered)


def slice_chart(
    labels: Sequence[str], metrics: Sequence[str], specs: Sequence[MetricSpec], sliced: Sliced
) -> Chart:
    """Draw horizontal bars, one a run, in groups below their name; from 0 to the largest value.

    Args:
        labels: what the runs are called.
        metrics: the metric of each.
        specs: its declaration.
        sliced: the means.
    """
    drawn = [mean for means in sliced.means for mean in means if not isnan(mean)]
    top = max([*(spec.top for spec in specs), *drawn])
    longest = _WIDTH - 48  # the rest is for the value behind the bar
    groups, y = [], 4
    for i, value in enumerate(sliced.values):
        bars = []
        for j, means in enumerate(sliced.means):
            text = "no value" if isnan(means[i]) else specs[j].text(means[i])
            width = None if isnan(means[i]) else round(max(means[i], 0) / top * longest, 1)
            title = f"{labels[j]}: {metrics[j]} {text}"
            bars.append(
                {"series": series(j), "y": y + _NAME + j * (_BAR + 2), "width": width, "text": text}
                | {"title": title}
            )
        short = value if len(value) <= _LONGEST_NAME else f"{value[: _LONGEST_NAME - 1]}…"
        groups.append({"y": y, "name": short, "value": value, "n": sliced.n[i], "bars": bars})
        y += _NAME + len(bars) * (_BAR + 2) + _GAP
    return {"width": _WIDTH, "height": y, "bar": _BAR, "groups": groups}


def is_even(chart: Chart) -> bool:
    """Whether all bars of a chart of slices say the same, as 1.000."""
    return len({bar["text"] for group in chart["groups"] for bar in group["bars"]}) == 1


_RADAR_HEIGHT, _RADIUS = 320, 112
_X, _Y = _WIDTH / 2, _RADAR_HEIGHT / 2
_RINGS = (0.25, 0.5, 0.75, 1.0)
_FEWEST = 3


def radars(labels: Sequence[str], summaries: Sequence[Sequence[SummaryBlock]]) -> list[Chart]:
    """Draw every profile of three shares or more that the summaries of the runs have.

    Profiles of one label with the same names are in one chart, from 0 in the middle to 1.

    Args:
        labels: what the runs are called.
        summaries: the summary of each run.
    """
    by_chart: dict[tuple[str, str, tuple[str, ...]], list[Chart]] = {}
    for i, (label, blocks) in enumerate(zip(labels, summaries, strict=True)):
        for block in blocks:
            if len(block.profile) >= _FEWEST:
                key = (block.label, block.text, tuple(block.profile))
                by_chart.setdefault(key, []).append(_profile(label, series(i), block.profile))
    return [
        {
            "label": label,
            "note": note,
            "width": _WIDTH,
            "height": _RADAR_HEIGHT,
            "centre": (_X, _Y),
            "rings": [_points([_at(i, len(names), r) for i in range(len(names))]) for r in _RINGS],
            "scale": [(*_at(0, len(names), share), f"{share:g}") for share in _RINGS],
            "spokes": [_spoke(name, i, len(names)) for i, name in enumerate(names)],
            "profiles": profiles,
        }
        for (label, note, names), profiles in by_chart.items()
    ]


def _profile(label: str, colour: int, shares: Mapping[str, float]) -> Chart:
    corners = [_at(i, len(shares), share) for i, share in enumerate(shares.values())]
    texts = [f"{label}: {name} {share:.2f}" for name, share in shares.items()]
    dots = [(x, y, text) for (x, y), text in zip(corners, texts, strict=True)]
    return {"label": label, "series": colour, "points": _points(corners), "dots": dots} | {
        "shares": shares
    }


def _spoke(name: str, i: int, n: int) -> Chart:
    x, y = _at(i, n, 1.12)
    anchor = "middle" if abs(x - _X) < 1 else "start" if x > _X else "end"
    return {"name": name, "end": _at(i, n, 1.0), "at": (x, y + 4), "anchor": anchor}


def _at(i: int, n: int, share: float) -> tuple[float, float]:
    """Return the place of a share on the i-th of n axes; the first points up, then clockwise."""
    angle = 2 * pi * i / n - pi / 2
    length = _RADIUS * min(max(share, 0.0), 1.12)
    return round(_X + length * cos(angle), 1), round(_Y + length * sin(angle), 1)


def _points(corners: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in corners)
