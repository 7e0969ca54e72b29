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
from target_bench.harness.stored import load_same_data
from target_bench.metrics import stats
from target_bench.metrics.retrieval import match_gold, parse
from target_bench.metrics.scores import canonical_name, find_spec
from target_bench.reporting.compare import leading_metric
from target_bench.runs.differences import check_same_data, make_labels
from target_bench.runs.record_log import write_file
from target_bench.runs.result import Result, read_main_metric, read_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curve = NDArray[np.float64]


def recall_at_k(
    folders: Sequence[Path],
    path: Path,
    data_dir: Path | None = None,
    observer: Observer | None = None,
) -> None:
    """Draw recall at every k down to the depth of each run, with 95% bands.

    The gold tables are read from the corpus; ``observer`` gets the notes on it.
    """
    runs = read_runs(folders, path)
    curves = [recall_at_every_k(run, data_dir, observer or Observer()) for run in runs]
    with _picture(path, runs) as axes:
        for i, (name, curve) in enumerate(zip(make_labels(runs), curves, strict=True)):
            ks = np.arange(1, len(curve[0]) + 1)
            _line_with_band(axes, i, name, ks, *curve, markevery=1 + len(ks) // 13)
        axes.locator_params("x", integer=True)
        axes.set(xlabel="k (tables)", ylabel="recall@k", ylim=(0, 1.02))


def over_distractors(folders: Sequence[Path], path: Path, metric: str | None = None) -> None:
    """Draw a score over the number of tables mixed in, with 95% intervals; one line per run.

    The runs were asked the same queries about differently many tables.
    """
    runs = read_runs(folders, path)
    name = canonical_name(metric) if metric else read_main_metric(runs[0])
    lines: dict[str, dict[int, Result]] = {}
    for run in runs:
        n = sum(distractor.n for distractor in run.rankings_result.run.manifest.distractors)
        if n in lines.setdefault(run.command.label, {}):
            raise ConfigError(
                f"two runs of {run.command.label} have equally many distractors; name one"
            )
        lines[run.command.label][n] = run
    sizes = sorted({n for points in lines.values() for n in points})
    if len(sizes) < 2:
        raise ConfigError(
            f"all runs have {sizes[0]:,} distractors; name runs with different --distractors"
        )
    names = make_labels([next(iter(points.values())) for points in lines.values()])
    with _picture(path, runs) as axes:
        for i, (label, points) in enumerate(zip(names, lines.values(), strict=True)):
            scores = [points[n][name] for n in sorted(points)]
            bands = ([getattr(s, part) for s in scores] for part in ("value", "low", "high"))
            _line_with_band(axes, i, label, sorted(points), *bands)
        _scale_x(axes, sizes, widest=50)
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes], rotation=30 if len(sizes) > 6 else 0)
        axes.minorticks_off()
        axes.set_xlabel("distractor tables")
        _label_y(axes, name, find_spec(name, runs[0].stored.scores.get(name)))


def pareto(folders: Sequence[Path], path: Path, metric: str | None = None) -> None:
    """Draw a score over milliseconds per query.

    A run is on the Pareto front if none is both better and faster; the front is a line. A run of
    whose time something came out of a cache is not drawn; its name stands below the picture.
    """
    runs = read_runs(folders, path)
    name = canonical_name(metric) if metric else leading_metric(runs)[0]
    spec = find_spec(name, runs[0].stored.scores.get(name))
    names, times = make_labels(runs), list(map(milliseconds, runs))
    scores = [run[name] for run in runs]
    points = {
        i: (time, score.value)
        for i, (time, score) in enumerate(zip(times, scores, strict=True))
        if time is not None and not isnan(score.value)
    }
    if not points:
        raise ConfigError(f"no run has both {name} and times measured without a cache")
    drawn = list(points)
    best = [drawn[i] for i in find_front(list(points.values()), spec.higher_is_better)]
    with _picture(path, runs) as axes:
        line = np.array([points[i] for i in best]).T
        axes.plot(*line, "--", color="#777777", linewidth=1.2, zorder=1, label="Pareto front")
        for i, (time, value) in points.items():
            look = line_style(i) | {"linestyle": "none", "markersize": 8}
            look |= {} if i in best else {"markerfacecolor": "white"}
            bars = _error_bars(scores[i])
            label = legend_label(names[i])
            axes.errorbar([time], [value], bars, label=label, capsize=2, elinewidth=1, **look)
        axes.set_xlim(left=0)
        _scale_x(axes, sorted(time for time, _ in points.values()), widest=20)
        axes.set_xlabel("milliseconds per query")
        _label_y(axes, name, spec)
        untimed = [legend_label(n) for n, time in zip(names, times, strict=True) if time is None]
        if untimed:
            below = f"without a time of its own: {', '.join(untimed)}"
            axes.figure.supxlabel(below, fontsize="small")


# Data of a picture


def read_runs(folders: Sequence[Path], path: Path) -> list[Result]:
    """Return the runs, each once, after a check that a picture of them can be written there."""
    if path.suffix.lower() not in _DATED:
        raise ConfigError(f"{path}: expected a file that ends in .svg, .pdf or .png")
    try:
        import matplotlib  # noqa: F401 (whether it is there)
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "a plot") from error
    runs = [read_run(f) for f in {folder.resolve(): folder for folder in folders}.values()]
    advice = "A picture is of runs of one task on the same queries."
    check_same_data(runs, ("task", "queries_fingerprint"), advice)
    by_distractors: dict[tuple[str, ...], list[Result]] = {}
    for run in runs:
        by_distractors.setdefault(run.command.distractors, []).append(run)
    for group in by_distractors.values():
        check_same_data(group, ["corpus_fingerprint"], advice)
    return runs


def recall_at_every_k(
    run: Result, data_dir: Path | None, observer: Observer
) -> tuple[Curve, Curve, Curve]:
    """Return recall at 1, 2, ... down to the depth of the rankings, with its 95% interval."""
    path = run.folder / "retrieval.jsonl"
    if not path.exists():
        rankings = run.command.retrieval_run
        why = f"; name the retrieval run {rankings}"
        raise ConfigError(
            f"{run.folder.name} holds no rankings"
            f"{why if rankings else ': its tables are given, not retrieved'}"
        )
    queries = load_same_data(run, data_dir, observer).queries
    stored = run.run.rankings
    missing = [query.id for query in queries if query.id not in stored]
    if missing:
        raise StoreError(
            f"{path}: query {missing[0]!r} has no ranking; finish the run with "
            "the command that began it"
        )
    depth = run.identity.top_k[-1]
    judged = match_gold([stored[q.id].tables for q in queries], [q.gold for q in queries], depth)
    points = []
    for metric in (parse(f"recall@{k}") for k in range(1, depth + 1)):
        statistics = metric.statistics(judged)
        points.append((compute_score(metric, statistics), *stats.interval(metric, statistics)))
    recall, low, high = np.array(points).T
    return recall, low, high


def milliseconds(run: Result) -> float | None:
    """Return the wall-clock time a query, of ranking and answering.

    None where nothing was timed, or a part of it came out of a cache.
    """
    times = run.times
    if {"retrieve", "generate"} & times.left_out.keys():
        return None
    return sum(times.milliseconds.values()) or None


def find_front(points: Sequence[tuple[float, float]], higher_is_better: bool = True) -> list[int]:
    """Find the points, as numbers, that no other beats, cheapest first.

    A point beats another if it is as cheap and as good, and one of both is better.
    """
    sign = 1 if higher_is_better else -1
    best = [
        i
        for i, (x, y) in enumerate(points)
        if not any(u <= x and sign * v >= sign * y and (u, v) != (x, y) for u, v in points)
    ]
    return sorted(best, key=points.__getitem__)


# Parts of pictures


def _line_with_band(
    axes: "Axes", i: int, name: str, xs: Any, values: Any, low: Any, high: Any, **look: Any
) -> None:
    axes.fill_between(xs, low, high, color=line_style(i)["color"], alpha=0.15, linewidth=0)
    axes.plot(xs, values, label=legend_label(name), **line_style(i), **look)


def _error_bars(score: Score) -> list[list[float]]:
    return [[max(0, score.value - score.low)], [max(0, score.high - score.value)]]


def _scale_x(axes: "Axes", xs: Sequence[float], widest: float) -> None:
    """Make the axis of these ascending values logarithmic where they lie far from each other."""
    least = next((x for x in xs if x > 0), xs[-1])
    if xs[-1] > widest * least:
        axes.set_xscale("symlog", linthresh=least)


def _label_y(axes: "Axes", metric: str, spec: MetricSpec) -> None:
    axes.set_ylabel(metric if spec.higher_is_better else f"{metric} (lower is better)")
    if spec.scale == "share":
        low, high = axes.get_ylim()
        axes.set_ylim(max(0, low) if low > 0.02 else -0.02, min(1.02, max(high, 0.1)))


# Style and files

# All kinds of colour vision tell them apart (Okabe & Ito 2008; brown in place of yellow).
_COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#000000", "#8C6D31"),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES = ("-", "--", ":", "-.")

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
# Entries with a date or the version of matplotlib are left out: the same runs, the same bytes.
_DATED = {
    ".svg": ("Date",),
    ".pdf": ("CreationDate", "Creator", "Producer"),
    ".png": ("Software",),
}


@contextmanager
def _picture(path: Path, runs: Sequence[Result]) -> Iterator[Any]:
    """Give the axes of an empty picture; it is written at the end, with a legend beside it."""
    import matplotlib
    from matplotlib.figure import Figure

    corpora = dict.fromkeys(f"{run.identity.data}" for run in runs)
    style: dict[Any, Any] = {**matplotlib.rcParamsDefault, **_STYLE}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(5.6, 3.9), layout="constrained")
        axes = figure.subplots()
        axes.set_title(f"{', '.join(corpora)} · {runs[0].identity.task.replace('_', ' ')}")
        yield axes
        handles, names = axes.get_legend_handles_labels()
        if len(names) > 1:
            longest = max(len(line) for name in names for line in name.split("\n"))
            figure.set_figwidth(figure.get_figwidth() + 0.6 + 0.085 * longest)  # inches
            figure.legend(handles, names, loc="outside right upper")
        suffix, buffer = path.suffix.lower(), io.BytesIO()
        metadata = dict.fromkeys(_DATED[suffix])
        figure.savefig(buffer, format=suffix[1:], metadata=metadata, dpi=150)
        write_file(path, buffer.getvalue(), "-o")


def line_style(i: int) -> dict[str, Any]:
    """Return colour, marker and dashes of the i-th line; no two of the first 64 are alike."""
    turn, column = divmod(i, len(_COLOURS))
    return {
        "color": _COLOURS[column],
        "marker": _MARKERS[(column + turn) % len(_MARKERS)],
        "linestyle": _DASHES[(column + turn) % len(_DASHES)],
    }


def legend_label(name: str) -> str:
    """Return a name for the legend, in lines that break after commas where possible."""
    return "\n".join(textwrap.wrap(re.sub(r",(?=\S)", ", ", name), 34, break_on_hyphens=False))
