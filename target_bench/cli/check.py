"""``target-bench check``: whether a plug-in keeps the contract."""

import json
import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from target_bench.cli.options import AsJson, Debug
from target_bench.core.errors import ConfigError, PluginError

HELP = """Check whether a retriever or a task keeps the contract; exit code 3 if it does not.

`target-bench check my_file.py:MyRetriever:size=3` runs the same checks as
target_bench.testing.check_retriever.
"""

_LEFT_OUT = "left out with --skip"


def check(
    retriever: Annotated[
        str | None,
        typer.Argument(
            help="A name with settings, module:Class or file.py:Class.", show_default=False
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task", help="A task, written likewise, in place of a retriever.", show_default=False
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus", help="Data to check a task on. Default: mini.", show_default=False
        ),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            "--skip", help="A check to leave out, as NAME or NAME=REASON.", show_default=False
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            help="How far scores may lie apart that should be the same. Default: 1e-4.",
            min=0,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Run the checks and print the report."""
    from target_bench import testing
    from target_bench.cli.progress import TerminalObserver
    from target_bench.core.redaction import masked_settings

    left_out = (item.partition("=") for item in skip or ())
    reasons = {name: reason or _LEFT_OUT for name, _, reason in left_out}
    with TerminalObserver() as observer, redirect_stdout(sys.stderr):
        if task is not None:
            from target_bench.data.splits import load

            checks = testing.task_checks(task, load(corpus or "mini"), skip=reasons)
        elif retriever is not None:
            checks = testing.retriever_checks(
                retriever,
                skip=reasons,
                tolerance=testing.TOLERANCE if tolerance is None else tolerance,
            )
        else:
            raise ConfigError("name a retriever to check, or a task with --task")
        report = testing.run(masked_settings(task or retriever or ""), checks, observer)
    if as_json:
        json.dump(report.to_json(), sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")
    else:
        typer.echo(str(report))
    if report.failed:
        names = ", ".join(outcome.check for outcome in report.failed)
        raise PluginError(f"{report.plugin} does not keep the contract: {names}")
