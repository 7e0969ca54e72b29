"""Coordinates of lines and labels in the chart of recall; the template draws them as SVG."""

from collections.abc import Sequence
from math import floor, log
from typing import Any

from target_bench.core.text_tables import score_text

SERIES = 8
"""Colours there are, and so the runs that charts show; a ninth one has the colour of the first."""

Chart = dict[str, Any]
"""Numbers and texts by the names that the template has for them."""

_WIDTH, _HEIGHT = 440, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 10, 40
_TICK = 22  # pixels between numbers below an axis


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
                (x(k), y(curve[k - 1]), f"{labels[i]}: recall@{k} {score_text(curve[k - 1])}")
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
        "x_ticks": [(x(k), str(k)) for k in _choose_ticks(cutoffs, depth, x)],
        "y_ticks": [(y(level), f"{level:.{2 if step < 0.1 else 1}f}") for level in levels],
        "lines": [line(i, curve) for i, curve in enumerate(curves) if curve],
    }


def _choose_ticks(cutoffs: Sequence[int], depth: int, x: Any) -> list[int]:
    """Return the values of k that are written: ends, then cutoffs, as far as there is room."""
    candidates = [1, depth, *reversed([k for k in cutoffs if k < depth])]
    candidates += range(2, depth) if depth <= 10 else ()
    numbered: list[int] = []
    for k in candidates:
        if all(abs(x(k) - x(other)) >= _TICK for other in numbered):
            numbered.append(k)
    return sorted(numbered)
