"""``target-bench gate``: an exit code for continuous integration."""

from pathlib import Path
from typing import Annotated

import typer

from target_bench.cli import options
from target_bench.cli.options import argument, option
from target_bench.cli.output import expand_pattern, fold_notes, print_as
from target_bench.core.errors import ConfigError
from target_bench.core.run_config import RUNS

FAILED = 1
HELP = """Fail if a run is worse than a baseline: exit code 1, Markdown, JUnit.

`target-bench gate baseline.json --run RUN --fail-on 'recall@10<-0.01'` fails if recall@10 is lower
than the baseline's by more than .01 and the paired test shows that this is not noise. Write the
baseline with `target-bench gate baseline.json --run RUN --update`.
"""


def gate(
    context: typer.Context,
    baseline: Annotated[
        str,
        argument(
            "A baseline file (.json), a run, or a file of another harness.", metavar="BASELINE"
        ),
    ],
    run: Annotated[
        str,
        option(
            "The run to check: a folder, or its name or id in `runs list`; or a file as BASELINE.",
            metavar="RUN",
        ),
    ],
    fail_on: Annotated[
        list[str] | None,
        option(
            "What fails, as in 'recall@10<-0.01'; may be repeated. Default: a drop of more than "
            ".01 in the main metric of the task.",
            metavar="RULE",
        ),
    ] = None,
    slices: options.Slices = None,
    by: options.By = None,
    alpha: Annotated[float, typer.Option(help="Level of the paired test.")] = 0.05,
    junit: Annotated[Path | None, option("Write JUnit XML to this file.")] = None,
    markdown: Annotated[Path | None, option("Write Markdown to this file.")] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write the run to BASELINE, and check nothing.")
    ] = False,
    out: options.RunsIn = RUNS,
    id_column: options.IdColumn = None,
    value_column: options.ValueColumn = None,
    as_json: options.AsJson = False,
    printed_as: options.PrintedAs = "text",
    every_note: options.Notes = False,
) -> None:
    """Check the rules, write the files, print the table."""
    run, *others = [name for each in (run, *context.args) for name in expand_pattern(each)]
    if others:
        raise ConfigError(
            f"--run is one run, and {1 + len(others)} are named: {', '.join([run, *others])}. If a "
            "pattern matches several runs, name the one to check, or run it into a new folder "
            "(--out)"
        )
    if update:
        if fail_on:
            raise ConfigError("--update checks nothing: leave out --fail-on")
        _update(Path(baseline), run, out)
        return
    from target_bench.core.text_tables import say, say_wrapped
    from target_bench.reporting.gate import gate as checked
    from target_bench.runs.record_log import write_file

    outcome = checked(
        baseline,
        run,
        fail_on or (),
        slices=slices or (),
        by=by or (),
        alpha=alpha,
        out=out,
        id_column=id_column,
        value_column=value_column,
    )
    if junit is not None:
        write_file(junit, outcome.junit(), "--junit")
    if markdown is not None:
        write_file(markdown, outcome.markdown().encode(), "--markdown")
    form = "json" if as_json else printed_as
    if form in ("text", "markdown"):
        say_wrapped(outcome.sentence)
        say("")
    shown, count = fold_notes(outcome, every_note) if form == "text" else (outcome, "")
    print_as(form, outcome.to_json(), outcome.to_records(), [shown.table()])
    if count:
        say(count)
    if outcome.failed:
        raise typer.Exit(FAILED)


def _update(path: Path, run: str, out: Path) -> None:
    from target_bench.reporting.gate import find_run_to_check
    from target_bench.runs.baseline_file import write_baseline
    from target_bench.runs.result import read_run

    stored = read_run(find_run_to_check(run, out))
    write_baseline(stored, path)
    typer.echo(f"{path}: {stored.folder.name}, {path.stat().st_size / 1e3:,.0f} KB")
