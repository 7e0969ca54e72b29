"""``target-bench compare``, ``plot`` and ``report``: stored runs side by side."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from target_bench.cli import options
from target_bench.cli.options import argument, option
from target_bench.cli.output import check_output, find_finished_runs, fold_notes, print_json
from target_bench.cli.progress import TerminalObserver
from target_bench.core.errors import ConfigError
from target_bench.core.run_config import RUNS

COMPARE_HELP = """Compare stored runs on the same queries: intervals, paired tests, effect sizes.

`target-bench compare runs` compares the newest run of each system with bm25, else with the oldest
run. `target-bench compare RUN RUN --metric recall@10 --slice 'gold_tables>1'` compares those that
are named: as `runs list` calls them, by id, by folder, or by the first characters of these. Runs of
several corpora, also those of a folder, give the table of a paper: methods × corpora, the best
marked, tested against a baseline.

`target-bench compare a.csv b.csv --id question --value faithfulness` compares per-query values that
any other harness wrote: CSV, Parquet, JSON lines, or Inspect's .eval.
"""


def compare(
    runs: options.RunNames,
    metrics: Annotated[
        list[str] | None,
        option("A metric; may be repeated. Default: the main ones of the task.", "--metric"),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="The run that the others are compared with. Default: the first; of a folder of "
            "runs bm25, else the oldest.",
            metavar="RUN",
        ),
    ] = None,
    slices: options.Slices = None,
    by: options.By = None,
    out: options.RunsIn = RUNS,
    id_column: options.IdColumn = None,
    value_column: options.ValueColumn = None,
    as_json: options.AsJson = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX (booktabs).")] = False,
    printed_as: options.PrintedAs = "text",
    every_note: options.Notes = False,
) -> None:
    """Print the comparison."""
    if as_json + latex + (printed_as != "text") > 1:
        raise ConfigError("choose one of --json, --latex and --format")
    from target_bench.core.text_tables import (
        csv_text,
        has_colours,
        say,
        say_as_it_is,
        say_wrapped,
        terminal_width,
    )
    from target_bench.reporting import layouts
    from target_bench.reporting.compare import compare as compare_runs
    from target_bench.reporting.sentences import describe_comparison

    comparison = compare_runs(
        find_finished_runs(runs),
        metrics or (),
        baseline,
        slices or (),
        by=by or (),
        out=out,
        id_column=id_column,
        value_column=value_column,
    )
    if as_json or printed_as == "json":
        print_json(comparison.to_json())
    elif printed_as == "csv":
        say(csv_text(comparison.to_records()).rstrip())
    elif latex:
        say(layouts.to_latex(comparison))
    elif printed_as == "markdown":
        say(layouts.to_markdown(comparison))
    else:
        sentences = list(describe_comparison(comparison))
        for sentence in sentences:
            say_wrapped(sentence)
        if sentences:
            say("")
        shown, count = fold_notes(comparison, every_note)
        say_as_it_is(layouts.to_text(shown, terminal_width(), has_colours()))
        if count:
            say(count)


PLOT_HELP = """Draw stored runs as .svg, .pdf or .png files (extra plots).

recall-at-k: recall at every k of retrieval runs, with 95% bands. distractors: a score over the
number of tables mixed in. pareto: a score over time per query, with the Pareto front.
"""

Plot = Literal["recall-at-k", "distractors", "pareto"]

_OPTIONS: Mapping[Plot, Collection[str]] = {
    "recall-at-k": ("data_dir",),
    "distractors": ("metric",),
    "pareto": ("metric",),
}
"""The options of each kind."""

_VARIED = {"recall-at-k": "cutoffs", "distractors": "tables"}
"""In what the runs of a folder may differ beside systems."""


def plot(
    context: typer.Context,
    kind: Annotated[Plot, argument(metavar="KIND")],
    runs: options.RunNames,
    output: Annotated[Path, option("The file: .svg, .pdf or .png.", "--out", "-o")],
    metric: Annotated[str | None, option("Which score. Default: the main one.")] = None,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
) -> None:
    """Draw, and say where."""
    from target_bench.reporting import plots
    from target_bench.runs.newest import COMPARED

    check_output(output, "-o", "plot.svg")
    for name in ("metric", "data_dir"):
        if context.params[name] and name not in _OPTIONS[kind]:
            raise ConfigError(f"--{name.replace('_', '-')} is not for plot {kind}")
    varied = _VARIED.get(kind)
    folders = _find_named_runs(runs, [name for name in COMPARED if name != varied])
    if kind == "recall-at-k":
        with TerminalObserver() as observer:
            plots.recall_at_k(folders, output, data_dir, observer)
    elif kind == "distractors":
        plots.over_distractors(folders, output, metric)
    else:
        plots.pareto(folders, output, metric)
    typer.echo(output)


def _find_named_runs(runs: Sequence[str], shared: Sequence[str]) -> list[Path]:
    """Return the run folders that are named, and say what of a folder of runs is left out."""
    from target_bench.core.text_tables import say_wrapped
    from target_bench.reporting.compare import find_runs

    folders, notes = find_runs(find_finished_runs(runs), RUNS, shared)
    for note in notes:
        say_wrapped(note)
    return folders


REPORT_HELP = """Write a report of one or more runs: scores, charts, and every query to look at.

`target-bench report runs` writes one file, report.html, that holds all its data and asks nothing of
a network. Runs on other queries or tables get a file of their own.
"""


def report(
    runs: options.RunNames,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file.")] = Path("report.html"),
    by: options.By = None,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
) -> None:
    """Open the runs, load their data, write the file."""
    from target_bench.core.text_tables import count_noun
    from target_bench.reporting.report import write_report
    from target_bench.reporting.report.report_runs import group_by_data
    from target_bench.runs.newest import REPORTED

    check_output(out, "-o", "report.html")
    sets = group_by_data(_find_named_runs(runs, REPORTED))
    if len(sets) > 1:
        typer.echo(f"The runs are on {len(sets)} sets of queries or tables: a report of each.")
    for name, folders in sets.items():
        path = out if len(sets) == 1 else out.with_name(f"{out.stem}-{name}{out.suffix}")
        with TerminalObserver() as observer:
            write_report(folders, path, data_dir, by=by or (), observer=observer)
        n = f", {count_noun(len(folders), 'run')}" if len(sets) > 1 else ""
        typer.echo(f"{path}: {path.stat().st_size / 1e6:,.1f} MB{n}")
