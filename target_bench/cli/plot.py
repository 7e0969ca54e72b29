"""``target-bench plot``: pictures of stored runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from target_bench.cli.compare import RunNames, RunsIn, Slices
from target_bench.cli.options import By, DataDir, Debug
from target_bench.core.errors import ConfigError

HELP = "Draw stored runs as .svg or .png files (extra plots)."

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)

To = Annotated[
    Path, typer.Option("--output", "-o", help="The picture, .svg or .png.", show_default=False)
]
MetricName = Annotated[
    str | None,
    typer.Option("--metric", help="Which score. Default: the main one.", show_default=False),
]


@app.command("recall-at-k", help="Recall at every k of retrieval runs, with 95% bands.")
def recall_at_k(
    runs: RunNames,
    output: To,
    data_dir: DataDir = None,
    log: Annotated[bool, typer.Option("--log", help="k on a logarithmic scale.")] = False,
    out: RunsIn = Path("runs"),
    debug: Debug = False,
) -> None:
    """Draw recall over k."""
    from target_bench.reporting.plots import draw

    draw.recall_at_k(_folders(runs, out), output, data_dir, log)
    typer.echo(output)


@app.command("distractors", help="A score over the number of tables mixed in.")
def distractors(
    runs: RunNames,
    output: To,
    metric: MetricName = None,
    out: RunsIn = Path("runs"),
    debug: Debug = False,
) -> None:
    """Draw a score over distractors."""
    from target_bench.reporting.plots import draw

    draw.over_distractors(_folders(runs, out), output, metric)
    typer.echo(output)


@app.command("pareto", help="A score over time a query, and over cost, with the Pareto front.")
def pareto(
    runs: RunNames,
    output: To,
    metric: MetricName = None,
    out: RunsIn = Path("runs"),
    debug: Debug = False,
) -> None:
    """Draw a score over time and cost."""
    from target_bench.reporting.plots import draw

    draw.pareto(_folders(runs, out), output, metric)
    typer.echo(output)


@app.command("slices", help="Bars of a score for every part of the queries.")
def slices(
    runs: RunNames,
    output: To,
    slices: Slices = None,
    by: By = None,
    metric: MetricName = None,
    out: RunsIn = Path("runs"),
    debug: Debug = False,
) -> None:
    """Draw a score by slice."""
    from target_bench.reporting.plots import draw

    parts = [*(slices or ()), *(by or ())]
    if not parts:
        raise ConfigError("name a property of the queries with --by, as in --by difficulty")
    draw.by_slice(_folders(runs, out), output, parts, metric)
    typer.echo(output)


def _folders(runs: Sequence[str], out: Path) -> list[Path]:
    from target_bench.runs.find import find

    return [find(run, out) for run in runs]
