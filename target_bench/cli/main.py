"""``target-bench``: the commands, and how errors become messages and exit codes."""

import sys
import traceback

import typer

from target_bench import requirements
from target_bench.cli import (
    caching,
    checking,
    comparing,
    describing,
    exporting,
    generating,
    leaderboards,
    listing,
    plotting,
    pulling,
    reporting,
    run,
    runs,
    submitting,
    sweeping,
    training,
    verifying,
)
from target_bench.cli.options import debugging
from target_bench.errors import ConfigError, TargetBenchError
from target_bench.secrets import without_secrets

INTERNAL_ERROR = 1

app = typer.Typer(
    name="target-bench",
    help="Which table retriever finds the right table, and what does that do to the answer?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run", help=run.HELP)(run.run)
app.command("sweep", help=sweeping.HELP)(sweeping.sweep)
app.command("list", help=listing.HELP)(listing.list_)
app.command("describe", help=describing.HELP)(describing.describe)
app.command("pull", help=pulling.HELP)(pulling.pull)
app.command("score", help=run.SCORE_HELP)(run.score)
app.command("generate", help=generating.HELP)(generating.generate)
app.command("verify-gold", help=verifying.HELP)(verifying.verify_gold)
app.command("check", help=checking.HELP)(checking.check)
app.command("export", help=exporting.HELP)(exporting.export)
app.command("compare", help=comparing.HELP)(comparing.compare)
app.add_typer(runs.app, name="runs")
app.add_typer(plotting.app, name="plot")
app.command("report", help=reporting.HELP)(reporting.report)
app.command("submit", help=submitting.HELP)(submitting.submit)
app.command("verify", help=submitting.VERIFY_HELP)(submitting.verify)
app.add_typer(leaderboards.app, name="leaderboard")
app.add_typer(training.app, name="train")
app.add_typer(caching.app, name="cache")


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
