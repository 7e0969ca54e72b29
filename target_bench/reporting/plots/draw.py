"""The pictures: recall over k and distractors, score over time and cost, by slice, profiles."""

from collections.abc import Sequence
from contextlib import suppress
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from target_bench.core.errors import ConfigError
from target_bench.core.metric import MetricSpec, Score
from target_bench.core.observer import Observer
from target_bench.metrics.scores import spec_of
from target_bench.reporting.compare import leading_metric
from target_bench.reporting.plots import plot_data, style
from target_bench.runs import slicing
from target_bench.runs.labels import labels
from target_bench.runs.measured import MissingPluginError
from target_bench.runs.result import Result
from target_bench.runs.slicing import Mask, part_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW = 12
"""Up to this many cutoffs each has a mark."""


def recall_at_k(
    folders: Sequence[Path],
    path: Path,
    data_dir: Path | None = None,
    log_scale: bool = False,
    observer: Observer | None = None,
) -> None:
    """Recall at every k down to the depth of each run, with 95% bands (the paper's Figure 2).

    Args:
        folders: retrieval runs, asked the same queries.
        path: the picture, .svg, .pdf or .png.
        data_dir: as for ``TARGET``; the gold tables are read from the corpus.
        log_scale: k on a logarithmic scale.
        observer: gets what is noted about the corpus; default: warnings of Python.

    Raises:
        ConfigError: a name or run that cannot be drawn.
        DataError: the corpus is missing, or the runs were asked different queries.
        StoreError: a run is damaged, or the picture cannot be written.
    """
    style.check_path(path)
    runs = plot_data.read(folders)
    plot_data.check_same_queries(runs)
    names = labels(runs)
    observer = observer or Observer()
    curves = [plot_data.recall_at_every_k(run, data_dir, observer) for run in runs]
    with style.settings():
        drawn, (axes,) = style.figure(5.6 + style.room_for(names), 3.9)
        for i, (name, (recall, low, high)) in enumerate(zip(names, curves, strict=True)):
            ks = np.arange(1, len(recall) + 1)
            look = style.line_style(i)
            axes.fill_between(ks, low, high, color=look["color"], alpha=0.15, linewidth=0)
            every = 1 if len(ks) <= _FEW else max(1, len(ks) // 10)
            axes.plot(ks, recall, label=style.label(name), markevery=every, **look)
        if log_scale:
            axes.set_xscale("log")
        _whole_numbers(axes, max(len(recall) for recall, _, _ in curves), log_scale)
        label = f"recall@k{plot_data.mark(runs)}"
        axes.set(xlabel="k (tables)", ylabel=label, title=plot_data.subject(runs))
        axes.set_ylim(0, 1.02)
        style.legend(drawn, axes)
        style.save(drawn, path)


def over_distractors(folders: Sequence[Path], path: Path, metric: str | None = None) -> None:
    """Draw a score over the number of tables mixed in, with 95% intervals; one line per run.

    Args:
        folders: runs that were asked the same queries about differently many tables.
        path: the picture, .svg, .pdf or .png.
        metric: which score; default: the main one.

    Raises:
        ConfigError: a name or run that cannot be drawn, or all have equally many distractors.
        DataError: the runs were asked different queries.
        StoreError: a run is damaged, or the picture cannot be written.
    """
    style.check_path(path)
    runs = plot_data.read(folders)
    plot_data.check_same_queries(runs)
    name = metric or runs[0].headline
    spec = spec_of(name, runs[0].scores.get(name))
    lines: dict[str, list[tuple[int, Result]]] = {}
    for run in runs:
        n = sum(one.n for one in run.retrieval.manifest.distractors)
        lines.setdefault(run.label, []).append((n, run))
    sizes = sorted({n for points in lines.values() for n, _ in points})
    if len(sizes) < 2:
        raise ConfigError(
            f"all runs have {sizes[0]:,} distractors; name runs with different --distractors"
        )
    for label, points in lines.items():
        if len({n for n, _ in points}) < len(points):
            raise ConfigError(f"two runs of {label} have equally many distractors; name one")
    names = labels([points[0][1] for points in lines.values()])
    with style.settings():
        drawn, (axes,) = style.figure(5.6 + style.room_for(names), 3.9)
        for i, (label, points) in enumerate(zip(names, lines.values(), strict=True)):
            ordered = sorted(points, key=lambda point: point[0])
            scores = [_score(run, name) for _, run in ordered]
            xs = [n for n, _ in ordered]
            look = style.line_style(i)
            low, high = [s.low for s in scores], [s.high for s in scores]
            axes.fill_between(xs, low, high, color=look["color"], alpha=0.15, linewidth=0)
            axes.plot(xs, [s.value for s in scores], label=style.label(label), **look)
        if sizes[-1] > 50 * next(n for n in sizes if n):
            axes.set_xscale("symlog", linthresh=next(n for n in sizes if n))
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes], rotation=30 if len(sizes) > 6 else 0)
        axes.minorticks_off()
        axes.set(
            xlabel="distractor tables",
            ylabel=_axis_label(name, spec),
            title=plot_data.subject(runs),
        )
        _score_axis(axes, spec)
        style.legend(drawn, axes)
        style.save(drawn, path)


def pareto(folders: Sequence[Path], path: Path, metric: str | None = None) -> None:
    """Draw a score over milliseconds per query, and over cost a query where a run cost something.

    A run is on the Pareto front if none is both better and cheaper; the front is a line. A run of
    whose time something came out of a cache has no place; its name stands below the picture.

    Args:
        folders: runs that were asked the same queries.
        path: the picture, .svg, .pdf or .png.
        metric: which score; default: the main one.

    Raises:
        ConfigError: a name or run that cannot be drawn, or nothing was timed.
        DataError: the runs were asked different queries.
        StoreError: a run is damaged, or the picture cannot be written.
    """
    style.check_path(path)
    runs = plot_data.read(folders)
    plot_data.check_same_queries(runs)
    name = metric or leading_metric(runs)[0]
    spec = spec_of(name, runs[0].scores.get(name))
    names = labels(runs)
    times = [milliseconds(run) for run in runs]
    panels = [("milliseconds per query", times)]
    untimed = [style.label(name) for name, x in zip(names, times, strict=True) if x is None]
    costs: list[float | None] = [_cost(run) for run in runs]
    if any(costs):
        panels.append(("cost a query", costs))
    with style.settings():
        width = 4.8 * len(panels) + 0.8 + style.room_for(names)
        drawn, all_axes = style.figure(width, 3.9, len(panels))
        for axes, (what, xs) in zip(all_axes, panels, strict=True):
            _pareto_panel(axes, runs, names, name, xs)
            axes.set(xlabel=what, ylabel=_axis_label(name, spec))
            _score_axis(axes, spec)
        all_axes[0].set_title(plot_data.subject(runs))
        if untimed:
            drawn.supxlabel(f"without a time of its own: {', '.join(untimed)}", fontsize="small")
        style.legend(drawn, all_axes[0])
        style.save(drawn, path)


def by_slice(
    folders: Sequence[Path], path: Path, slices: Sequence[str], metric: str | None = None
) -> None:
    """Bars of a score for every part of the queries, with 95% intervals.

    Args:
        folders: runs that were asked the same queries.
        path: the picture, .svg, .pdf or .png.
        slices: as for ``compare``; a name alone makes a bar of each value.
        metric: which score; default: the main one.

    Raises:
        ConfigError: a name, run or slice that cannot be drawn.
        DataError: the runs were asked different queries.
        StoreError: a run is damaged, or the picture cannot be written.
    """
    style.check_path(path)
    runs = plot_data.read(folders)
    plot_data.check_same_queries(runs)
    name = metric or leading_metric(runs)[0]
    spec = spec_of(name, runs[0].scores.get(name))
    names = labels(runs)
    wanted = [slicing.parse(text) for text in slices]
    masks = slicing.parts(runs[0].slices, wanted, len(runs[0].query_ids))
    parts = [_parts(run, name, list(masks.values())) for run in runs]
    counted = [score.n for score in parts[0]]
    ticks = [f"{style.label(p or 'all')} ({n:,})" for p, n in zip(masks, counted, strict=True)]
    rows = max(1, len(ticks)) * (0.22 * len(runs) + 0.25)
    with style.settings():
        drawn, (axes,) = style.figure(6.4 + style.room_for(names), max(2.6, 1.2 + rows))
        thickness = 0.8 / len(runs)
        for i, found in enumerate(parts):
            scores = np.array([one.value for one in found])
            bounds = np.array([(one.low, one.high) for one in found])
            errors = np.abs(np.maximum(0, (bounds - scores[:, None]) * [-1, 1])).T
            places = np.arange(len(found)) + (i - (len(runs) - 1) / 2) * thickness
            axes.barh(
                places,
                scores,
                thickness * 0.9,
                xerr=errors,
                label=style.label(names[i]),
                color=style.COLOURS[i % len(style.COLOURS)],
                error_kw={"elinewidth": 1, "capsize": 2, "ecolor": "#444444"},
            )
        axes.set_yticks(range(len(ticks)), ticks)
        axes.set_ylim(len(ticks) - 0.5, -0.5)  # a part without a judged query has a place too
        axes.grid(axis="y", visible=False)
        axes.set(xlabel=_axis_label(name, spec), title=plot_data.subject(runs))
        axes.set_xlim(0, 1.02 if spec.scale == "share" else None)
        style.legend(drawn, axes)
        style.save(drawn, path)


def radar(folders: Sequence[Path], path: Path) -> None:
    """Draw the profiles that the task of the runs gives, as abilities; one line per run.

    Args:
        folders: runs that were asked the same queries.
        path: the picture, .svg, .pdf or .png.

    Raises:
        ConfigError: a name or run that cannot be drawn, or a task without a profile.
        DataError: the runs were asked different queries.
        StoreError: a run is damaged, or the picture cannot be written.
    """
    style.check_path(path)
    runs = plot_data.read(folders)
    plot_data.check_same_queries(runs)
    names = labels(runs)
    label, profiles = plot_data.profiles(runs)
    corners = list(profiles[0])
    angles = np.linspace(0, 2 * np.pi, len(corners) + 1)
    with style.settings():
        drawn, (axes,) = style.figure(5.6 + style.room_for(names), 4.6, projection="polar")
        polar: Any = axes
        polar.set_theta_offset(np.pi / 2)
        polar.set_theta_direction(-1)
        for i, (name, shares) in enumerate(zip(names, profiles, strict=True)):
            values = [shares[corner] for corner in corners]
            line = style.label(name), style.line_style(i)
            polar.plot(angles, [*values, values[0]], label=line[0], **line[1])
        polar.set_xticks(angles[:-1], corners)
        polar.set_ylim(0, 1)
        polar.set_yticks([0.25, 0.5, 0.75, 1])
        polar.set_title(f"{plot_data.subject(runs)}: {label}")
        style.legend(drawn, axes)
        style.save(drawn, path)


def _parts(run: Result, metric: str, masks: Sequence[Mask]) -> list[Score]:
    measured = run.measured(metric)
    return [part_score(measured, mask, run.scores[metric]) for mask in masks]


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

    Args:
        points: (cost, score) pairs.
        higher_is_better: whether a higher score is better.
    """
    sign = 1 if higher_is_better else -1
    best = [
        i
        for i, (x, y) in enumerate(points)
        if not any(u <= x and sign * v >= sign * y and (u, v) != (x, y) for u, v in points)
    ]
    return sorted(best, key=points.__getitem__)


def _pareto_panel(
    axes: "Axes",
    runs: Sequence[Result],
    names: Sequence[str],
    metric: str,
    xs: Sequence[float | None],
) -> None:
    known = [
        i for i, x in enumerate(xs) if x is not None and not isnan(_score(runs[i], metric).value)
    ]
    if not known:
        raise ConfigError(
            f"none of the runs was timed, without anything from a cache, and has a {metric}"
        )
    points = [(float(xs[i] or 0), _score(runs[i], metric).value) for i in known]
    spec = spec_of(metric, runs[0].scores.get(metric))
    best = front(points, spec.higher_is_better)
    axes.plot(
        [points[i][0] for i in best],
        [points[i][1] for i in best],
        color="#777777",
        linewidth=1.2,
        linestyle="--",
        zorder=1,
        label="Pareto front",
    )
    for place, i in enumerate(known):
        look = style.line_style(i) | {"linestyle": "none"}
        on_front = place in best
        x, y = points[place]
        axes.errorbar(
            [x],
            [y],
            _errors([_score(runs[i], metric)]),
            label=style.label(names[i]),
            capsize=2,
            elinewidth=1,
            markersize=8,
            markerfacecolor=look["color"] if on_front else "white",
            **look,
        )
    positive = [x for x, _ in points if x > 0]
    if positive and max(positive) > 20 * min(positive):
        if len(positive) == len(points):
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=min(positive))
    else:
        axes.set_xlim(left=0)


def _cost(run: Result) -> float | None:
    """Of an answer; None where it is not known."""
    cost = run.answer_counts.cost if run.answer_counts is not None else None
    return None if cost is None else cost / run.n_queries


def _score(run: Result, metric: str) -> Any:
    with suppress(MissingPluginError):
        run.measured(metric)
    return run.scores[metric]


def _errors(scores: Sequence[Any]) -> list[list[float]]:
    return [[max(0, s.value - s.low) for s in scores], [max(0, s.high - s.value) for s in scores]]


def _axis_label(metric: str, spec: MetricSpec) -> str:
    return metric if spec.higher_is_better else f"{metric} (lower is better)"


def _score_axis(axes: "Axes", spec: MetricSpec) -> None:
    if spec.scale == "share":
        low, high = axes.get_ylim()
        axes.set_ylim(max(0, low) if low > 0.02 else -0.02, min(1.02, max(high, 0.1)))


def _whole_numbers(axes: "Axes", largest: int, log_scale: bool) -> None:
    steps = [k for k in (1, 2, 3, 5, 10, 20, 25, 50, 100, 200, 500, 1000) if k <= largest]
    if not log_scale:
        step = max(1, largest // 10)
        steps = [1, *range(step if step > 1 else 2, largest + 1, step)]
    axes.set_xticks(steps, [f"{k:,}" for k in steps])
    axes.minorticks_off()
