"""Where the profiles of runs stand in a radar chart; the template draws it as SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from target_bench.core.task import SummaryBlock
from target_bench.reporting.report.charts import series

_WIDTH, _HEIGHT, _RADIUS = 440, 320, 112
_X, _Y = _WIDTH / 2, _HEIGHT / 2
_RINGS = (0.25, 0.5, 0.75, 1.0)
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class Spoke:
    """An axis: its outer end, and its name with the place where that is written."""

    name: str
    end: tuple[float, float]
    at: tuple[float, float]
    anchor: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The shares of a run: the corners of its shape, and what they say."""

    label: str
    series: int
    points: str
    dots: list[tuple[float, float, str]]
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Radar:
    """Profiles of one label with the same names, one a run."""

    label: str
    note: str
    width: int
    height: int
    centre: tuple[float, float]
    rings: list[str]
    scale: list[tuple[float, float, str]]
    spokes: list[Spoke]
    profiles: list[Profile]


def radars(labels: Sequence[str], summaries: Sequence[Sequence[SummaryBlock]]) -> list[Radar]:
    """Draw every profile of three shares or more that the summaries of the runs have.

    Profiles of one label with the same names are in one chart, from 0 in the middle to 1.

    Args:
        labels: what the runs are called.
        summaries: the summary of each run.
    """
    found: dict[tuple[str, str, tuple[str, ...]], list[Profile]] = {}
    for i, (label, blocks) in enumerate(zip(labels, summaries, strict=True)):
        for block in blocks:
            if len(block.profile) >= _FEWEST:
                profile = _profile(label, series(i), block.profile)
                key = (block.label, block.text, tuple(block.profile))
                found.setdefault(key, []).append(profile)
    return [_radar(*about, profiles) for about, profiles in found.items()]


def _profile(label: str, colour: int, shares: Mapping[str, float]) -> Profile:
    corners = [_at(i, len(shares), share) for i, share in enumerate(shares.values())]
    said = [f"{label}: {name} {share:.2f}" for name, share in shares.items()]
    dots = [(x, y, text) for (x, y), text in zip(corners, said, strict=True)]
    return Profile(label, colour, _points(corners), dots, shares)


def _radar(label: str, note: str, names: Sequence[str], profiles: list[Profile]) -> Radar:
    n = len(names)
    rings = [_points([_at(i, n, share) for i in range(n)]) for share in _RINGS]
    scale = [(*_at(0, n, share), f"{share:g}") for share in _RINGS]
    spokes = [_spoke(name, i, n) for i, name in enumerate(names)]
    return Radar(label, note, _WIDTH, _HEIGHT, (_X, _Y), rings, scale, spokes, profiles)


def _spoke(name: str, i: int, n: int) -> Spoke:
    x, y = _at(i, n, 1.12)
    anchor = "middle" if abs(x - _X) < 1 else "start" if x > _X else "end"
    return Spoke(name, _at(i, n, 1.0), (x, y + 4), anchor)


def _at(i: int, n: int, share: float) -> tuple[float, float]:
    """Return the place of a share on the i-th of n axes; the first points up, then clockwise."""
    angle = 2 * pi * i / n - pi / 2
    length = _RADIUS * min(max(share, 0.0), 1.12)
    return round(_X + length * cos(angle), 1), round(_Y + length * sin(angle), 1)


def _points(corners: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in corners)
