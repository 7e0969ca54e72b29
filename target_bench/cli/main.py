"""``target-bench``: the commands, and how errors become messages and exit codes."""

import sys
import traceback

import typer

from target_bench.cli import (
    compare,
    data,
    describe,
    leaderboard,
    plugins,
    ratings,
    run,
    runs,
    sweep,
    train,
)
from target_bench.cli.earlier_spellings import Commands, TaskCommand
from target_bench.cli.options import debugging
from target_bench.core import requirements
from target_bench.core.errors import ConfigError, TargetBenchError
from target_bench.core.redaction import without_secrets

INTERNAL_ERROR = 1

app = typer.Typer(
    name="target-bench",
    cls=Commands,
    help="Which table retriever finds the right table, and what does that do to the answer?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run", help=run.HELP, cls=TaskCommand)(run.run)
app.command("score", help=run.SCORE_HELP, cls=TaskCommand)(run.score)
app.command("generate", help=run.GENERATE_HELP, cls=TaskCommand)(run.generate)
app.command("sweep", help=sweep.HELP)(sweep.sweep)
app.command("compare", help=compare.COMPARE_HELP)(compare.compare)
app.command("report", help=compare.REPORT_HELP)(compare.report)
app.add_typer(compare.plots, name="plot")
app.command("check", help=plugins.CHECK_HELP)(plugins.check)
app.command("list", help=plugins.LIST_HELP)(plugins.list_)
app.command("describe", help=describe.DESCRIBE_HELP)(describe.describe)
app.add_typer(runs.app, name="runs")
app.add_typer(ratings.app, name="ratings")
app.add_typer(leaderboard.app, name="leaderboard")
app.add_typer(data.app, name="data")
app.add_typer(train.app, name="train")


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(_exit_code())


def _exit_code() -> int:
    try:
        return app(standalone_mode=True) or 0
    except TargetBenchError as error:
        _say(f"Error: {error}")
        return error.exit_code
    except Exception as error:
        found = requirements.conflicts()
        if found:
            _say(f"Error: {requirements.message(found)}")
            return ConfigError.exit_code
        _say(
            f"Internal error: {type(error).__name__}: {error}\n"
            "This is a fault of target-bench; please report it with the output of --debug."
        )
        return INTERNAL_ERROR


def _say(message: str) -> None:
    if debugging():
        message = f"{traceback.format_exc()}{message}"
    print(without_secrets(message), file=sys.stderr)  # noqa: T201 (the command line prints)
