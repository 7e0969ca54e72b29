"""``target-bench sweep``: the cells of a YAML file, looked at or run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from target_bench.cli import options
from target_bench.cli.command_line import is_debugged
from target_bench.cli.options import option
from target_bench.cli.output import (
    INTERRUPTED,
    ask_to_pay,
    describe_cost,
    exit_if_incomplete,
    print_as,
    print_cost,
    redirect_prints,
)
from target_bench.core.errors import ConfigError, PluginError, StoreError
from target_bench.core.text_tables import (
    Column,
    TextTable,
    count_noun,
    print_tables,
    say,
    say_wrapped,
)

if TYPE_CHECKING:
    from target_bench.harness.consent import Estimate
    from target_bench.harness.sweeps import CellOutcome, Executor, PlannedCell, Sweep
    from target_bench.harness.sweeps.cell import SweepCell

HELP = """Run all cells of a sweep, or continue a sweep that was stopped.

A YAML file lists corpora, distractors, retrievers, generators and so on; the cells are the product
of all lists. `--dry-run` shows the cells, what is done already and what the rest would cost. Exit
codes: 0, 2 (the file is invalid), 3 (a cell or a query failed, or a file of tables cannot be read),
4 (a run folder cannot be written or read), 130 (interrupted).
"""


def sweep(
    file: Annotated[Path, typer.Argument(help="The YAML file of the sweep.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the cells and their states; run nothing.")
    ] = False,
    workers: Annotated[
        int | None, option("Number of cells that run at the same time. Default: 1.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the runs. Default: as the file says.")
    ] = None,
    executor: Annotated[
        Literal["local", "ray"], typer.Option(help="Where cells run: here, or on a Ray cluster.")
    ] = "local",
    address: Annotated[str | None, option("The address of the Ray cluster.")] = None,
    cpus: Annotated[float | None, option("On Ray: cores per cell. Default: 1.")] = None,
    as_json: options.AsJson = False,
    printed_as: options.PrintedAs = "text",
    yes: options.Yes = False,
    offline: options.Offline = False,
) -> None:
    """Look at the cells of a file, or run them."""
    from target_bench.cli.progress import SweepView
    from target_bench.harness.sweeps import Sweep

    runner = _make_executor(executor, workers=workers, address=address, cpus=cpus)
    form: options.PrintedForm = "json" if as_json else printed_as
    view = SweepView()
    try:
        with redirect_prints():
            loaded = Sweep.load(file, out=out, observer=view)
        if dry_run:
            _show(loaded, form)
            exit_if_incomplete(view.warned)
            return
        _agree(loaded.estimates, yes)
        view.n_cells = len(loaded.cells)
        with view, redirect_prints():
            outcomes = loaded.run(runner, view)
    except KeyboardInterrupt:
        typer.echo(
            "Interrupted. Answered queries are kept; run the same command again to resume.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    _print(loaded, outcomes, form)
    _raise_failures(outcomes, is_debugged())
    exit_if_incomplete(view.warned)


def _make_executor(name: Literal["local", "ray"], **settings: Any) -> "Executor":
    """Return the executor with the settings that were given; those of the other one are refused."""
    from target_bench.harness.sweeps import Local, Ray

    given = {setting: value for setting, value in settings.items() if value is not None}
    for setting, value in given.items():
        owner = "local" if setting == "workers" else "ray"
        if owner != name:
            raise ConfigError(f"--{setting} {value}: only for --executor {owner}")
    return Local(**given) if name == "local" else Ray(**given)


def _agree(estimates: "Sequence[Estimate]", yes: bool) -> None:
    """Print the requests that may cost money, and ask once for all cells."""
    if yes:
        for estimate in estimates:
            print_cost(estimate)
    elif estimates and not ask_to_pay(*estimates):
        raise ConfigError("nothing was sent: you did not confirm the requests")


def _show(loaded: "Sweep", form: options.PrintedForm) -> None:
    """Print the cells and their states, and what may cost money."""
    rows, estimates = [], list(map(asdict, loaded.estimates))
    for planned in loaded.cells:
        state = {
            "key": planned.key,
            "state": planned.state,
            "folder": str(planned.folder) if planned.folder else None,
            "recorded": planned.recorded,
            "n_queries": planned.n_queries,
        }
        rows.append(planned.cell.to_json() | state)
    cells = [
        row | {"estimates": list(map(asdict, planned.estimates))}
        for row, planned in zip(rows, loaded.cells, strict=True)
    ]
    document = {"name": loaded.name, "cells": cells, "estimates": estimates}
    print_as(form, document, rows, [_plan_table(loaded.cells)])
    if form == "text":
        n_finished = sum(planned.state == "finished" for planned in loaded.cells)
        n_cells = count_noun(len(loaded.cells), "cell")
        say(f"{n_cells}, {n_finished} of them finished; runs in {loaded.out}")
        for estimate in loaded.estimates:
            say(f"To be sent to {estimate.plugin}: {describe_cost(estimate)}")


def _print(loaded: "Sweep", outcomes: "list[CellOutcome]", form: options.PrintedForm) -> None:
    """Print and write what the cells show, and print their scores."""
    from target_bench.reporting import conclusions
    from target_bench.runs.record_log import write_file

    concluded = conclusions.conclude(o.result for o in outcomes if o.result is not None)
    path = loaded.out / f"{loaded.name}.conclusions.md"
    if concluded:
        text = conclusions.to_markdown(loaded.name, concluded)
        write_file(path, text.encode("utf-8", "surrogatepass"))
    ranked = [table for each in concluded for table in conclusions.lay_out(each, _PLACES)]
    tables = _outcome_tables(outcomes)
    if form != "text":
        rows = [outcome.to_row() for outcome in outcomes]
        document = {
            "name": loaded.name,
            "cells": rows,
            "conclusions": [each.to_json() for each in concluded],
        }
        print_as(form, document, rows, [*ranked, *tables])
        return
    for each in concluded:
        for sentence in conclusions.describe(each):
            say_wrapped(sentence)
        say("")
    print_tables(*ranked, *tables)
    states = Counter(outcome.state for outcome in outcomes)
    counts = ", ".join(f"{states[s]} {s}" for s in ("finished", "reused", "failed") if states[s])
    say(f"{count_noun(len(outcomes), 'cell')}: {counts}")
    say(f"{loaded.out / loaded.name}.results.csv (.json) and .sweep.json")
    if concluded:
        say(f"The conclusions are in {path}")


def _raise_failures(outcomes: "list[CellOutcome]", traces: bool) -> None:
    """Name the cells that failed, and those with failed queries."""
    lines = []
    for outcome in outcomes:
        cell = outcome.cell
        if outcome.error is not None:
            lines.append(f"cell {cell.number} failed ({cell}): {outcome.error}")
            lines += [outcome.trace] if traces and outcome.trace else []
        elif n_failed := outcome.counts["failed_queries"]:
            lines.append(
                f"cell {cell.number} ({cell}): {n_failed} of {outcome.counts['n_queries']} "
                "queries failed (scored 0); run the same command again to retry them"
            )
    if not lines:
        return
    if any(outcome.error is not None for outcome in outcomes):
        lines.append("Answered queries are kept; run the same command again to retry what failed.")
    of_store = any(outcome.exit_code == StoreError.exit_code for outcome in outcomes)
    raise (StoreError if of_store else PluginError)("\n".join(lines))


_PLACES = 10  # of a ranking that the terminal shows; the file has all of them


def _plan_table(cells: "Sequence[PlannedCell]") -> TextTable:
    """Return one row per cell: its state, and the requests that may cost money."""
    paid = any(cell.estimates for cell in cells)
    columns = [*_CELL, Column("state"), Column("answered")]
    columns += [Column(name, right=True) for name in ("requests", "tokens", "cost") if paid]
    rows = []
    shared, names = _names([planned.cell for planned in cells])
    for planned, name in zip(cells, names, strict=True):
        row = [str(planned.cell.number), name, planned.state]
        row.append(f"{planned.recorded} of {planned.n_queries}")
        if paid:
            row += _sizes(planned.estimates) if planned.estimates else [""] * 3
        rows.append(row)
    title = ": ".join(filter(None, (count_noun(len(cells), "cell"), " | ".join(shared))))
    return TextTable(columns, rows, title)


def _outcome_tables(outcomes: "Sequence[CellOutcome]") -> list[TextTable]:
    """Return one row per cell with its main scores, grouped by task."""
    tasks = dict.fromkeys(outcome.cell.task_name for outcome in outcomes)
    return [_scores(task, [o for o in outcomes if o.cell.task_name == task]) for task in tasks]


def _scores(task: str, outcomes: "Sequence[CellOutcome]") -> TextTable:
    from target_bench.runs.score_tables import choose_metrics, metric_column, score_cell
    from target_bench.runs.times import STAGES, describe_left_out

    _, names = _names([outcome.cell for outcome in outcomes])
    answered = any(outcome.cell.generator is not None for outcome in outcomes)
    retrieved = any(outcome.cell.retriever is not None for outcome in outcomes)
    scores = [outcome.scores for outcome in outcomes]
    metrics = choose_metrics(scores, answered, retrieved)
    columns = [*_CELL, *map(metric_column, metrics), Column("seconds", right=True)]
    rows = []
    for outcome, name in zip(outcomes, names, strict=True):
        values = [
            "failed" if outcome.error else score_cell(metric, outcome.scores.get(metric))
            for metric in metrics
        ]
        rows.append([str(outcome.cell.number), name, *values, _seconds(outcome)])
    times = [outcome.result.times for outcome in outcomes if outcome.result]
    note = describe_left_out(times, STAGES)
    return TextTable(columns, rows, f"{task}; scores and their 95% intervals", note=note)


def _seconds(outcome: "CellOutcome") -> str:
    """Of indexing, ranking and answering together; a dash where one of them is not cold."""
    from target_bench.runs.times import STAGES

    if outcome.result is None:
        return ""
    times = outcome.result.times
    if set(STAGES) & times.left_out.keys():
        return "–"
    known = [times.seconds[stage] for stage in STAGES if stage in times.seconds]
    return f"{sum(known):.1f}" if known else ""


_CELL = (Column("", right=True), Column(""))


def _names(cells: "Sequence[SweepCell]") -> tuple[list[str], list[str]]:
    """Return the parts that all cells share, and those of each that they do not."""
    parts = [cell.parts for cell in cells]
    shared = [part for part in parts[0] if len(cells) > 1 and all(part in p for p in parts)]
    return shared, [" | ".join(part for part in each if part not in shared) for each in parts]


def _sizes(estimates: "Sequence[Estimate]") -> list[str]:
    """Write requests, tokens and cost; blank or unknown where one of them is not known."""
    from target_bench.harness.sweeps.plan import sum_if_known

    tokens = sum_if_known(estimate.input_tokens for estimate in estimates)
    cost = sum_if_known(estimate.cost for estimate in estimates)
    return [
        f"{sum(estimate.requests for estimate in estimates):,}",
        "" if tokens is None else f"{tokens:,}",
        "unknown" if cost is None else f"{cost:.4f}",
    ]
