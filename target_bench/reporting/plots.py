"""Pictures of stored runs, as .svg, .pdf or .png files with the same bytes each time.

Each function takes run folders of one task that were asked the same queries, and the path of the
picture. Each raises

* ``ConfigError`` for a name or run that cannot be drawn, before anything is drawn,
* ``DataError`` for runs that were asked different queries, or whose corpus is missing,
* ``StoreError`` where a run is damaged, or the picture cannot be written.

``metric`` is the score that is drawn; default: the main one.
"""

import io
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, MissingExtraError, StoreError
from target_bench.core.metric import MetricSpec, Score, compute_score
from target_bench.core.observer import Observer
from target_bench.harness.resume import ResumedRun
from target_bench.metrics import stats
from target_bench.metrics.retrieval import judge, parse
from target_bench.metrics.scores import canonical_name, spec_of
from target_bench.reporting.compare import leading_metric
from target_bench.runs.differences import check_same_data, labels
from target_bench.runs.record_log import write_file
from target_bench.runs.result import Result, read_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = NDArray[np.float64]


def recall_at_k(
    folders: Sequence[Path],
    path: Path,
    data_dir: Path | None = None,
    observer: Observer | None = None,
) -> None:
    """Recall at every k down to the depth of each run, with 95% bands (the paper's Figure 2).

    Args:
        folders: retrieval runs.
        path: the picture.
        data_dir: as for ``evaluate``; the gold tables are read from the corpus.
        observer: gets what is noted about the corpus; default: warnings of Python.
    """
    runs = read(folders, path)
    curves = [recall_at_every_k(run, data_dir, observer or Observer()) for run in runs]
    with _picture(path, _subject(runs)) as axes:
        for i, (name, curve) in enumerate(zip(labels(runs), curves, strict=True)):
            ks = np.arange(1, len(curve[0]) + 1)
            _line_with_band(axes, i, name, ks, *curve, markevery=1 + len(ks) // 13)
        axes.locator_params("x", integer=True)
        axes.set(xlabel="k (tables)", ylabel="recall@k", ylim=(0, 1.02))


def over_distractors(folders: Sequence[Path], path: Path, metric: str | None = None) -> None:
    """Draw a score over the number of tables mixed in, with 95% intervals; one line per run.

    The runs were asked the same queries about differently many tables.
    """
    runs = read(folders, path)
    name, spec = _metric(runs, metric or runs[0].headline)
    lines: dict[str, dict[int, Result]] = {}
    for run in runs:
        n = sum(distractor.n for distractor in run.rankings_run.manifest.distractors)
        if n in lines.setdefault(run.label, {}):
            raise ConfigError(f"two runs of {run.label} have equally many distractors; name one")
        lines[run.label][n] = run
    sizes = sorted({n for points in lines.values() for n in points})
    if len(sizes) < 2:
        raise ConfigError(
            f"all runs have {sizes[0]:,} distractors; name runs with different --distractors"
        )
    names = labels([next(iter(points.values())) for points in lines.values()])
    with _picture(path, _subject(runs)) as axes:
        for i, (label, points) in enumerate(zip(names, lines.values(), strict=True)):
            scores = [points[n][name] for n in sorted(points)]
            bands = ([getattr(s, part) for s in scores] for part in ("value", "low", "high"))
            _line_with_band(axes, i, label, sorted(points), *bands)
        _wide_axis(axes, sizes)
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes], rotation=30 if len(sizes) > 6 else 0)
        axes.minorticks_off()
        axes.set_xlabel("distractor tables")
        _score_axis(axes, name, spec)


def pareto(folders: Sequence[Path], path: Path, metric: str | None = None) -> None:
    """Draw a score over milliseconds per query.

    A run is on the Pareto front if none is both better and faster; the front is a line. A run of
    whose time something came out of a cache has no place; its name stands below the picture.
    """
    runs = read(folders, path)
    name, spec = _metric(runs, metric)
    names, times, scores = labels(runs), list(map(milliseconds, runs)), [run[name] for run in runs]
    points = {
        i: (time, score.value)
        for i, (time, score) in enumerate(zip(times, scores, strict=True))
        if time is not None and not isnan(score.value)
    }
    if not points:
        raise ConfigError(
            f"none of the runs was timed, without anything from a cache, and has a {name}"
        )
    places = list(points)
    best = [places[place] for place in front(list(points.values()), spec.higher_is_better)]
    untimed = [legend_label(label) for label, x in zip(names, times, strict=True) if x is None]
    with _picture(path, _subject(runs)) as axes:
        line = np.array([points[i] for i in best]).T
        axes.plot(*line, "--", color="#777777", linewidth=1.2, zorder=1, label="Pareto front")
        for i, (time, value) in points.items():
            look = line_style(i) | {"linestyle": "none", "markersize": 8}
            look |= {} if i in best else {"markerfacecolor": "white"}
            bars = _errors([scores[i]])
            label = legend_label(names[i])
            axes.errorbar([time], [value], bars, label=label, capsize=2, elinewidth=1, **look)
        axes.set_xlim(left=0)
        _wide_axis(axes, sorted(time for time, _ in points.values()), 20)
        axes.set_xlabel("milliseconds per query")
        _score_axis(axes, name, spec)
        if untimed:
            below = f"without a time of its own: {', '.join(untimed)}"
            axes.figure.supxlabel(below, fontsize="small")


# Data besides scores


def read(folders: Sequence[Path], path: Path) -> list[Result]:
    """Return the runs, each once, after seeing that one picture of them can be written there."""
    check_path(path)
    runs = [read_run(f) for f in {folder.resolve(): folder for folder in folders}.values()]
    advice = "A picture is of runs of one task on the same queries."
    check_same_data(runs, ("task", "queries_fingerprint"), advice)
    over: dict[tuple[str, ...], list[Result]] = {}
    for run in runs:
        over.setdefault(run.command.distractors, []).append(run)
    for group in over.values():
        check_same_data(group, ["corpus_fingerprint"], advice)
    return runs


def recall_at_every_k(
    run: Result, data_dir: Path | None, observer: Observer
) -> tuple[Curve, Curve, Curve]:
    """Recall at 1, 2, ... down to the depth of the rankings, with its 95% interval.

    The gold tables are read from the corpus
    again.
    """
    path = run.folder / "retrieval.jsonl"
    if not path.exists():
        rankings = run.command.retrieval_run
        named = f"; name the retrieval run {rankings}"
        raise ConfigError(
            f"{run.folder.name} holds no rankings"
            f"{named if rankings else ': its tables are given, not retrieved'}"
        )
    queries = ResumedRun(run, data_dir, observer).load().dataset.queries
    stored = run.rankings
    missing = [query.id for query in queries if query.id not in stored]
    if missing:
        raise StoreError(f"{path}: query {missing[0]!r} has no ranking; run the same command again")
    depth = run.identity.top_k[-1]
    judged = judge([stored[q.id].tables for q in queries], [q.gold for q in queries], depth)
    points = []
    for metric in (parse(f"recall@{k}") for k in range(1, depth + 1)):
        statistics = metric.statistics(judged)
        points.append((compute_score(metric, statistics), *stats.interval(metric, statistics)))
    recall, low, high = np.array(points).T
    return recall, low, high


def milliseconds(run: Result) -> float | None:
    """Wall-clock time a query: retrieval in batches, and generation if there was any.

    None where nothing was timed, or a part of it came out of a cache.
    """
    times = run.times
    if {"retrieve", "generate"} & times.left_out.keys():
        return None
    return (times.retrieve or 0.0) + (times.generate or 0.0) or None


def front(points: Sequence[tuple[float, float]], higher_is_better: bool = True) -> list[int]:
    """Find the places of the points that no other beats, cheapest first.

    A point beats another if it is as cheap and as good, and one of both is better.
    """
    sign = 1 if higher_is_better else -1
    best = [
        i
        for i, (x, y) in enumerate(points)
        if not any(u <= x and sign * v >= sign * y and (u, v) != (x, y) for u, v in points)
    ]
    return sorted(best, key=points.__getitem__)


def _metric(runs: Sequence[Result], metric: str | None) -> tuple[str, MetricSpec]:
    """Return a metric, by default the one that leads, and its declaration."""
    name = canonical_name(metric) if metric else leading_metric(runs)[0]
    return name, spec_of(name, runs[0].scores.get(name))


# Parts of pictures


def _line_with_band(
    axes: "Axes", i: int, name: str, xs: Any, values: Any, low: Any, high: Any, **look: Any
) -> None:
    axes.fill_between(xs, low, high, color=line_style(i)["color"], alpha=0.15, linewidth=0)
    axes.plot(xs, values, label=legend_label(name), **line_style(i), **look)


def _subject(runs: Sequence[Result]) -> str:
    """Return task and data of all runs, for a title."""
    corpora = dict.fromkeys(f"{run.corpus} {run.split}" for run in runs)
    return f"{', '.join(corpora)} · {runs[0].task.replace('_', ' ')}"


def _errors(scores: Sequence[Score]) -> list[list[float]]:
    return [[max(0, s.value - s.low) for s in scores], [max(0, s.high - s.value) for s in scores]]


def _wide_axis(axes: "Axes", xs: Sequence[float], widest: float = 50) -> None:
    """Make the axis of these ascending values logarithmic where they lie far from each other."""
    least = next((x for x in xs if x > 0), xs[-1])
    if xs[-1] > widest * least:
        axes.set_xscale("symlog", linthresh=least)


def _score_axis(axes: "Axes", metric: str, spec: MetricSpec) -> None:
    axes.set_ylabel(metric if spec.higher_is_better else f"{metric} (lower is better)")
    if spec.scale == "share":
        low, high = axes.get_ylim()
        axes.set_ylim(max(0, low) if low > 0.02 else -0.02, min(1.02, max(high, 0.1)))


# Style and files

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#000000", "#8C6D31"),
)
"""Distinguishable by all kinds of colour vision (Okabe & Ito 2008; brown in place of yellow)."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", ":", "-.")

_STYLE: Mapping[str, Any] = {
    "svg.hashsalt": "target-bench",
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "figure.dpi": 100,
}
_SIGNED = {
    ".svg": ("Date",),
    ".pdf": ("CreationDate", "Creator", "Producer"),
    ".png": ("Software",),
}
"""Entries with a date or the version of matplotlib, which are left out."""


def check_path(path: Path) -> None:
    """See that a picture can be written there, before the work is done."""
    if path.suffix.lower() not in _SIGNED:
        raise ConfigError(f"{path}: expected a file that ends in .svg, .pdf or .png")
    try:
        import matplotlib  # noqa: F401 (whether it is there)
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "a plot") from error


@contextmanager
def _picture(path: Path, title: str) -> Iterator[Any]:
    """Give the axes of an empty picture; what is drawn is then written."""
    import matplotlib
    from matplotlib.figure import Figure

    chosen: dict[Any, Any] = {**matplotlib.rcParamsDefault, **_STYLE}
    with matplotlib.rc_context(chosen):
        drawn = Figure(figsize=(5.6, 3.9), layout="constrained")
        axes = drawn.subplots()
        axes.set_title(title)
        yield axes
        save_picture(drawn, axes, path)


def line_style(i: int) -> dict[str, Any]:
    """Colour, marker and dashes of the i-th line; no two of the first 64 are alike."""
    turn, place = divmod(i, len(COLOURS))
    return {
        "color": COLOURS[place],
        "marker": MARKERS[(place + turn) % len(MARKERS)],
        "linestyle": DASHES[(place + turn) % len(DASHES)],
    }


def legend_label(name: str) -> str:
    """Return a name for the legend, in lines that break after commas where possible."""
    return "\n".join(textwrap.wrap(re.sub(r",(?=\S)", ", ", name), 34, break_on_hyphens=False))


def save_picture(drawn: "Figure", axes: "Axes", path: Path) -> None:
    """Write the picture as a whole, with a legend beside it if there is more than one name."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        longest = max(len(line) for name in names for line in name.split("\n"))
        drawn.set_figwidth(drawn.get_figwidth() + 0.6 + 0.085 * longest)  # inches
        drawn.legend(handles, names, loc="outside right upper")
    kind = path.suffix.lower()
    buffer = io.BytesIO()
    drawn.savefig(buffer, format=kind[1:], metadata=dict.fromkeys(_SIGNED[kind]), dpi=150)
    write_file(path, buffer.getvalue(), "-o")
