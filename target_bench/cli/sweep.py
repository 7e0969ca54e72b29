"""``target-bench sweep``: the cells of a YAML file, looked at or run."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from target_bench.cli.command_line import (
    AsJson,
    Offline,
    PrintedAs,
    PrintedForm,
    Yes,
    is_debugged,
    option,
)
from target_bench.cli.output import INTERRUPTED, agreed, announced, print_as, size
from target_bench.core.errors import ConfigError, PluginError, StoreError
from target_bench.core.text_tables import Column, TextTable, counted

if TYPE_CHECKING:
    from target_bench.cli.sweep_progress import SweepView
    from target_bench.core.built_in import Kind
    from target_bench.harness.stages.consent import Estimate
    from target_bench.harness.sweeps import CellOutcome, Executor, PlannedCell, Sweep
    from target_bench.harness.sweeps.cell import SweepCell
    from target_bench.reporting.conclusions import Conclusion

HELP = """Run all cells of a sweep, or continue a sweep that was stopped.

A YAML file lists corpora, distractors, retrievers, generators and so on; the cells are the product
of all lists. `--dry-run` shows the cells, what is done already and what the rest would cost. Exit
codes: 0, 2 (the file is invalid), 3 (a cell or a query failed), 4 (a run folder cannot be written
or read), 130 (interrupted).
"""


def sweep(
    file: Annotated[Path, typer.Argument(help="The YAML file of the sweep.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the cells and their states; run nothing.")
    ] = False,
    workers: Annotated[
        int | None, option("Number of cells that run at the same time. Default: 1.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory limit of all workers together, as in 8GB.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the runs. Default: as the file says.")
    ] = None,
    executor: Annotated[
        Literal["local", "ray"], typer.Option(help="Where cells run: here, or on a Ray cluster.")
    ] = "local",
    address: Annotated[str | None, option("The address of the Ray cluster.")] = None,
    cpus: Annotated[float | None, option("On Ray: cores per cell. Default: 1.")] = None,
    retries: Annotated[
        int | None,
        option("On Ray: how often a cell whose worker was lost is begun again. Default: 1."),
    ] = None,
    as_json: AsJson = False,
    printed_as: PrintedAs = "text",
    quiet: Annotated[bool, typer.Option("--quiet", help="Print results and errors only.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print every stage of every cell, and tracebacks.")
    ] = False,
    yes: Yes = False,
    offline: Offline = False,
) -> None:
    """Look at the cells of a file, or run them."""
    from target_bench.cli.sweep_progress import NORMAL, QUIET, VERBOSE, SweepView
    from target_bench.harness.sweeps import Sweep

    if quiet and verbose:
        raise ConfigError("--quiet and --verbose: choose one of them")
    on_ray = {"address": address, "cpus": cpus, "retries": retries}
    runner = _executor(executor, {"workers": workers}, on_ray)
    form: PrintedForm = "json" if as_json else printed_as
    view = SweepView(level=QUIET if quiet else VERBOSE if verbose else NORMAL)
    try:
        with redirect_stdout(sys.stderr):
            loaded = Sweep.load(file, out=out, memory=memory, observer=view)
        if dry_run:
            _show(loaded, form)
            return
        _agree(loaded, yes)
        outcomes = _run(loaded, runner, view)
    except KeyboardInterrupt:
        typer.echo("Interrupted. Answered queries are kept; the same command continues.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    _print(loaded, outcomes, form)
    _tell_failures(outcomes, verbose or is_debugged())


def _executor(
    name: Literal["local", "ray"], of_local: dict[str, Any], of_ray: dict[str, Any]
) -> "Executor":
    """Return the executor with the settings that were given; those of the other one are refused."""
    from target_bench.harness.sweeps import Local, Ray

    own, others, other = (
        (of_local, of_ray, "ray") if name == "local" else (of_ray, of_local, "local")
    )
    for setting, value in others.items():
        if value is not None:
            raise ConfigError(f"--{setting} {value}: only for --executor {other}")
    settings = {setting: value for setting, value in own.items() if value is not None}
    return Local(**settings) if name == "local" else Ray(**settings)


def _run(loaded: "Sweep", executor: "Executor", view: "SweepView") -> "list[CellOutcome]":
    view.n_cells = len(loaded.cells)
    with view, redirect_stdout(sys.stderr):
        return loaded.run(executor, view)


def _agree(loaded: "Sweep", yes: bool) -> None:
    """Print the requests that may cost money, and ask once for all cells."""
    estimates = loaded.estimates
    if yes:
        for estimate in estimates:
            announced(estimate)
    elif estimates and not agreed(*estimates):
        raise ConfigError("nothing was sent: the requests were not agreed to")


def _show(loaded: "Sweep", form: PrintedForm) -> None:
    from target_bench.core.text_tables import say
    from target_bench.harness.sweeps.cell import described

    estimates = loaded.estimates
    cells = [
        described(planned.cell)
        | {
            "key": planned.key,
            "state": planned.state,
            "folder": str(planned.folder) if planned.folder else None,
            "recorded": planned.recorded,
            "n_queries": planned.n_queries,
        }
        for planned in loaded.cells
    ]
    to_pay = [list(map(asdict, planned.estimates)) for planned in loaded.cells]
    document = {
        "name": loaded.name,
        "cells": [c | {"estimates": e} for c, e in zip(cells, to_pay, strict=True)],
        "estimates": list(map(asdict, estimates)),
    }
    print_as(form, document, cells, [plan_table(loaded.cells)])
    if form != "text":
        return
    n_done = sum(planned.state == "done" for planned in loaded.cells)
    lines = [f"{counted(len(loaded.cells), 'cell')}, {n_done} of them done; runs in {loaded.out}"]
    lines += [f"To be sent to {e.plugin}: {size(e)}" for e in estimates]
    for line in lines:
        say(line)


def _print(loaded: "Sweep", outcomes: "list[CellOutcome]", form: PrintedForm) -> None:
    from target_bench.core.text_tables import fits, print_tables, say
    from target_bench.reporting import conclusions

    concluded = _concluded(outcomes)
    path, notes = _written(loaded, concluded)
    tables = outcome_tables(outcomes)
    if form != "text":
        cells = [outcome.as_row() for outcome in outcomes]
        document = {"name": loaded.name, "cells": cells}
        document |= {"conclusions": [each.to_json() for each in concluded]}
        ranked = [table for each in concluded for table in conclusions.tables(each, _PLACES)]
        print_as(form, document, cells, [*ranked, *tables])
        return
    _print_conclusions(concluded)
    if not concluded or len(outcomes) <= _PLACES or all(fits(table) for table in tables):
        print_tables(*tables)
    else:
        say("This terminal is too narrow for a line of each cell: its scores are in the files.")
    states = [outcome.state for outcome in outcomes]
    counts = ", ".join(
        f"{states.count(s)} {s}" for s in ("done", "reused", "failed") if s in states
    )
    files = f"{loaded.out / loaded.name}.results.csv (.parquet, .json) and .sweep.json"
    say(f"{counted(len(outcomes), 'cell')}: {counts}")
    say(files)
    for line in (*notes, *([f"The conclusions are in {path}"] if path else [])):
        say(line)


def _concluded(outcomes: "list[CellOutcome]") -> "list[Conclusion]":
    """Return the conclusions from the finished cells; of a sweep of one cell none."""
    from target_bench.reporting.conclusions import conclude

    cells: dict[Path, SweepCell] = {}
    for outcome in outcomes:
        if outcome.folder and not outcome.error:
            cells.setdefault(outcome.folder, outcome.cell)
    return conclude(cells, options={folder: cell.as_command for folder, cell in cells.items()})


def _written(loaded: "Sweep", concluded: "Sequence[Conclusion]") -> "tuple[Path | None, list[str]]":
    """Write the conclusions beside the runs: the file, and what there is to say of it."""
    if not concluded:
        return None, []
    from target_bench.reporting.conclusions import write

    return write(loaded.out, loaded.name, concluded)


def _print_conclusions(concluded: "Sequence[Conclusion]") -> None:
    from target_bench.core.text_tables import print_tables, say, say_wrapped
    from target_bench.reporting.conclusions import sentences, tables

    for conclusion in concluded:
        for sentence in sentences(conclusion):
            say_wrapped(sentence)
        say("")
        print_tables(*tables(conclusion, _PLACES))
        say("")


def _tell_failures(outcomes: "list[CellOutcome]", traces: bool) -> None:
    """Name the cells that failed, and those with failed queries.

    Raises:
        StoreError: a run folder could not be written or read.
        PluginError: anything else failed.
    """
    lines = []
    for outcome in outcomes:
        cell = outcome.cell
        if outcome.error is not None:
            lines.append(f"cell {cell.number} failed ({cell}): {outcome.error}")
            lines += [outcome.trace] if traces and outcome.trace else []
        elif n_failed := outcome.counts["failed_queries"]:
            lines.append(
                f"cell {cell.number} ({cell}): {n_failed} of {outcome.counts['n_queries']} "
                "queries failed (scored 0); retry_failed: true asks them again"
            )
    if not lines:
        return
    if any(outcome.error is not None for outcome in outcomes):
        lines.append("What is answered is kept; the same command runs what failed again.")
    of_store = any(outcome.exit_code == StoreError.exit_code for outcome in outcomes)
    raise (StoreError if of_store else PluginError)("\n".join(lines))


_PLACES = 10
"""Places of a ranking that the terminal shows; the file has all of them."""

_ALWAYS: "tuple[Kind, ...]" = ("retriever", "generator")
_HIDDEN = ("number", "task", "k", "retriever_name", "generator_name")


def plan_table(cells: "Sequence[PlannedCell]") -> TextTable:
    """Return one row per cell: its state, and the requests that may cost money."""
    paid = any(cell.estimates for cell in cells)
    axes = _axes([planned.cell for planned in cells])
    columns = [*_axis_columns(axes, task=True), Column("state"), Column("answered")]
    columns += [Column(name, right=True) for name in ("requests", "tokens", "cost") if paid]
    rows = []
    for planned, axis in zip(cells, axes, strict=True):
        row = [str(planned.cell.number), planned.cell.task_name, *axis.values(), planned.state]
        row.append(f"{planned.recorded} of {planned.n_queries}")
        if paid:
            row += _sizes(planned.estimates) if planned.estimates else [""] * 3
        rows.append(row)
    return TextTable(columns, rows, counted(len(cells), "cell"))


def outcome_tables(outcomes: "Sequence[CellOutcome]") -> list[TextTable]:
    """Return one row per cell with its main scores, grouped by task."""
    tasks = dict.fromkeys(outcome.cell.task_name for outcome in outcomes)
    return [_scores(task, [o for o in outcomes if o.cell.task_name == task]) for task in tasks]


def _scores(task: str, outcomes: "Sequence[CellOutcome]") -> TextTable:
    from target_bench.runs.result import metric_column, metrics_worth_a_column, score_cell
    from target_bench.runs.times import STAGES, left_out_note

    axes = _axes([outcome.cell for outcome in outcomes])
    answered = any(outcome.cell.generator is not None for outcome in outcomes)
    retrieved = any(outcome.cell.retriever is not None for outcome in outcomes)
    scores = [outcome.scores for outcome in outcomes]
    metrics = metrics_worth_a_column(scores, answered, retrieved)
    columns = [*_axis_columns(axes), *map(metric_column, metrics), Column("seconds", right=True)]
    rows = []
    for outcome, axis in zip(outcomes, axes, strict=True):
        cells = [str(outcome.cell.number), *axis.values()]
        for name in metrics:
            failed = outcome.error is not None
            cells.append("failed" if failed else score_cell(name, outcome.scores.get(name)))
        cells.append(_seconds(outcome))
        rows.append(cells)
    times = [outcome.result.times for outcome in outcomes if outcome.result]
    note = left_out_note((each.left_out for each in times), STAGES)
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


def _axes(cells: Sequence[Any]) -> list[dict[str, str]]:
    """Return retrievers, generators and what differs between cells: name -> text of each cell.

    A setting of a plug-in that differs has a column of its own; the others stand with its name.
    """
    from target_bench.harness.sweeps.cell import described, plugin_settings

    rows = [described(cell) for cell in cells]
    chosen = [plugin_settings(cell) for cell in cells]
    names = dict.fromkeys(name for row in (*rows, *chosen) for name in row)
    texts = {kind: {row[kind] for row in rows} for kind in _ALWAYS}
    own = {name for name in names if "." in name and _differs(name, chosen)}
    shown = [{**row, **each} for row, each in zip(rows, chosen, strict=True)]
    for row in shown:
        for kind in _ALWAYS:
            if row[kind] is not None and len(texts[kind]) > 1:
                row[kind] = row.get(f"{kind}_name") or _without(kind, row[kind], own)
    kept = [
        name
        for name in names
        if name in own
        or (name in _ALWAYS and any(row[name] is not None for row in rows))
        or ("." not in name and name not in (*_HIDDEN, *_ALWAYS) and _differs(name, rows))
    ]
    return [{name: _cell(row.get(name)) for name in kept} for row in shown]


def _cell(value: Any) -> str:
    """Return a value as users write it: lists without quotes."""
    return "" if value is None else str(value).replace('"', "")


def _differs(name: str, rows: Sequence[dict[str, Any]]) -> bool:
    return len({row.get(name) for row in rows}) > 1


def _without(kind: "Kind", text: str, names: set[str]) -> str:
    """Return a plug-in without these settings."""
    from target_bench.core import registry
    from target_bench.core.settings import written_settings

    target, given = registry.divided(kind, text)
    written = written_settings(given, text)
    left = [f"{k}={value}" for k, value in written.items() if f"{kind}.{k}" not in names]
    return ":".join([target, *([",".join(left)] if left else [])])


def _axis_columns(axes: Sequence[dict[str, str]], task: bool = False) -> list[Column]:
    named = [*(["task"] if task else []), *(axes[0] if axes else ())]
    return [Column("", right=True, label="cell"), *map(_axis_column, named)]


def _axis_column(name: str) -> Column:
    setting = name.rpartition(".")[2]
    heading = setting.replace("_", "\n")
    return Column(heading, prose="." in name, label=setting.replace("_", " "))


def _sizes(estimates: "Sequence[Estimate]") -> list[str]:
    """Write requests, tokens and cost; blank or unknown where one of them is not known."""
    tokens = [estimate.input_tokens for estimate in estimates]
    costs = [estimate.cost for estimate in estimates]
    n_tokens = "" if None in tokens else f"{sum(filter(None, tokens)):,}"
    cost = "unknown" if None in costs else f"{sum(filter(None, costs)):.4f}"
    return [f"{sum(estimate.requests for estimate in estimates):,}", n_tokens, cost]
