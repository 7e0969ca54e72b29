"""``target-bench report``: runs on the same queries as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from target_bench.cli.options import RUNS, By, DataDir, Debug

HELP = """Write a report of one or more runs: scores, charts, and every query to look at.

`target-bench report runs/retrieval-mini-test-* -o report.html` writes one file that holds all its
data and asks nothing of a network. Runs on other queries or tables get a file of their own.
"""


def report(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Run folders, their ids, or how these begin.", metavar="RUN...", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file.")] = Path("report.html"),
    depth: Annotated[int, typer.Option(help="Tables of each ranking that are shown.")] = 10,
    rows: Annotated[int, typer.Option(help="Rows of each table that are shown.")] = 50,
    cell: Annotated[int, typer.Option(help="Characters of a cell that are shown.")] = 300,
    max_size: Annotated[
        float,
        typer.Option(
            help="Megabytes from which on prompts (from half of it) and tables low in rankings are "
            "left out."
        ),
    ] = 100,
    prompt: Annotated[
        list[Path] | None,
        typer.Option(
            "--prompt",
            help="A YAML file with prompts of your own that a run was asked with; may be repeated.",
            show_default=False,
        ),
    ] = None,
    by: By = None,
    data_dir: DataDir = None,
    debug: Debug = False,
) -> None:
    """Open the runs, load their data, write the file."""
    from target_bench.cli.progress import TerminalObserver
    from target_bench.reporting.report import Limits, write_report
    from target_bench.reporting.report.report_runs import of_same_data
    from target_bench.reporting.report.shown_tables import TableSize
    from target_bench.runs.find import find

    sets = of_same_data([find(run, RUNS) for run in runs])
    limits = Limits(depth, TableSize(rows, cell), max_size)
    if len(sets) > 1:
        typer.echo(f"The runs are on {len(sets)} sets of queries or tables: a report of each.")
    for name, folders in sets.items():
        path = out if len(sets) == 1 else out.with_name(f"{out.stem}-{name}{out.suffix}")
        with TerminalObserver() as observer:
            write_report(
                folders,
                path,
                data_dir,
                limits=limits,
                prompts=prompt or (),
                by=by or (),
                observer=observer,
            )
        n = f", {len(folders)} {'run' if len(folders) == 1 else 'runs'}" if len(sets) > 1 else ""
        typer.echo(f"{path}: {path.stat().st_size / 1e6:,.1f} MB{n}")
