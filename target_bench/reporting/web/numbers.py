"""Numbers as people read them."""

from math import isfinite

__all__ = ["count", "interval", "milliseconds", "score", "seconds"]

NONE = "–"
"""What stands for a number that is not known."""


def count(value: float | None) -> str:
    """``12,779``."""
    return NONE if value is None else f"{value:,.0f}"


def score(value: float | None, digits: int = 3) -> str:
    """``0.842``; metrics from 0 to 100 with ``digits`` 2."""
    if value is None or not isfinite(value):
        return NONE
    return f"{value:.{digits}f}".replace("-", "−")


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """``0.831–0.853``."""
    if low is None or high is None:
        return NONE
    return f"{score(low, digits)}–{score(high, digits)}"


def seconds(value: float | None) -> str:
    """``0.8 ms``, ``85 ms``, ``1.24 s``, ``12.4 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if value is None or not isfinite(value):
        return NONE
    if value < 1:
        return milliseconds(1000 * value)
    if value < 59.95:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    minutes, left = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {left} s" if left else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{count(hours)} h {minutes} min"


def milliseconds(value: float | None) -> str:
    """``0.03 ms``, ``8.5 ms``, ``85 ms``, ``1,240 ms``."""
    if value is None or not isfinite(value):
        return NONE
    return (
        f"{value:.2f} ms" if value < 1 else f"{value:.1f} ms" if value < 10 else f"{value:,.0f} ms"
    )
