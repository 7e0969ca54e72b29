"""``target-bench``: the commands, and how errors become messages and exit codes."""

import sys
import traceback

import typer

from target_bench.cli import (
    cache,
    check,
    compare,
    describe,
    export,
    generate,
    leaderboard,
    list_plugins,
    plot,
    pull,
    report,
    run,
    runs,
    submit,
    sweep,
    train,
    verify_gold,
)
from target_bench.cli.options import debugging
from target_bench.core import requirements
from target_bench.core.errors import ConfigError, TargetBenchError
from target_bench.core.redaction import without_secrets

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
app.command("sweep", help=sweep.HELP)(sweep.sweep)
app.command("list", help=list_plugins.HELP)(list_plugins.list_)
app.command("describe", help=describe.HELP)(describe.describe)
app.command("pull", help=pull.HELP)(pull.pull)
app.command("score", help=run.SCORE_HELP)(run.score)
app.command("generate", help=generate.HELP)(generate.generate)
app.command("verify-gold", help=verify_gold.HELP)(verify_gold.verify_gold)
app.command("check", help=check.HELP)(check.check)
app.command("export", help=export.HELP)(export.export)
app.command("compare", help=compare.HELP)(compare.compare)
app.add_typer(runs.app, name="runs")
app.add_typer(plot.app, name="plot")
app.command("report", help=report.HELP)(report.report)
app.command("submit", help=submit.HELP)(submit.submit)
app.command("verify", help=submit.VERIFY_HELP)(submit.verify)
app.add_typer(leaderboard.app, name="leaderboard")
app.add_typer(train.app, name="train")
app.add_typer(cache.app, name="cache")


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
