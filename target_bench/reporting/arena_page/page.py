"""The arena as one HTML file that needs no network and no other file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from target_bench.components.perturbations.drawing import CHANGES, ERRORS, HARMLESS_CHANGES
from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.version import __version__
from target_bench.evaluation.arena.arena import Arena
from target_bench.evaluation.arena.human_agreement import FILE_ORDER
from target_bench.reporting.web import asset, environment, score, security_policy
from target_bench.runs.record_log import cannot

_FOLDER = Path(__file__).parent
_LEFT, _PLOT, _RIGHT, _ROW = 170, 420, 100, 22


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


def write_page(arena: Arena, out: Path) -> Path:
    """Write the page.

    Raises:
        ConfigError: the path is a folder.
        StoreError: the file cannot be written.
    """
    if out.is_dir():
        raise ConfigError(f"-o {out}: is a folder; name a file, as in arena.html")
    script, style = asset("page.js"), f"{asset('theme.css')}\n{asset('arena.css', _FOLDER)}"
    page = environment(_FOLDER).get_template("arena.html.j2")
    made = arena.errors[0].by_change
    harmless = [name for name in HARMLESS_CHANGES if name in made]
    text = page.render(
        version=__version__,
        arena=arena,
        agreement=_agreement(arena),
        detection=_detection(arena),
        changes=[*harmless, *(name for name in ERRORS if name in made)],
        abouts={name: change.about for name, change in CHANGES.items()},
        n_harmless=len(harmless),
        heat=_heat,
        drawn=[float(np.quantile(arena.weights.drawn, q)) for q in (0, 0.25, 0.5, 0.75, 1)],
        against=_against(arena),
        script=script,
        style=style,
        policy=security_policy([script], [style]),
    )
    try:
        atomic_write(out, text.encode())
    except OSError as error:
        raise StoreError(cannot("be written", out, error)) from error
    return out


def _against(arena: Arena) -> dict[str, float]:
    """Return metric -> p of its test against the order of the file."""
    pairs = ((one.first, one.second, one.p) for one in arena.tests)
    found = ((a if b == FILE_ORDER else b, p) for a, b, p in pairs if FILE_ORDER in (a, b))
    return dict(found)


def _heat(share: float) -> str:
    """Return the class of a cell that is coloured by a share: one of eleven."""
    return f"heat-{round(10 * share)}" if share == share else "heat-none"


def _agreement(arena: Arena) -> Chart:
    """Draw Spearman's rho of each metric with its interval."""
    means = [(arena.label(one.name), one.means["spearman"], one.name) for one in arena.people]
    low = min([-0.2, *(np.floor(5 * mean.low) / 5 for _, mean, _ in means if mean.low == mean.low)])
    ticks = [round(float(value), 1) for value in np.arange(low, 1.01, 0.2)]
    lines = [
        (name, mean.low, mean.high, (mean.value,), score(mean.value), metric == FILE_ORDER)
        for name, mean, metric in means
    ]
    return _chart(lines, ticks)


def _detection(arena: Arena) -> Chart:
    """Draw specificity and sensitivity of each metric, joined by a line."""
    lines = []
    for one in arena.errors:
        found = (one.specificity.value, one.sensitivity.value)
        text = " / ".join(score(value, 2) for value in found[::-1])
        known = [value for value in found if value == value] or found
        lines.append((arena.label(one.name), min(known), max(known), found, text, False))
    return _chart(lines, [0, 0.2, 0.4, 0.6, 0.8, 1.0])


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
