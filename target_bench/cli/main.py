"""The table of commands: each stands in the file of its group."""

import typer

from target_bench.cli import (
    ask,
    compare,
    data,
    describe,
    gate,
    labels,
    leaderboard,
    plugins,
    run,
    runs,
    search,
    sweep,
    tables,
)
from target_bench.cli.command_line import Commands, TaskCommand

app = typer.Typer(
    name="target-bench",
    cls=Commands,
    help="Which table retriever finds the right table, and what does that do to the answer?\n\n"
    "`target-bench --version` prints the version; with `--debug` every command shows tracebacks.",
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
app.command("gate", help=gate.HELP, context_settings={"allow_extra_args": True})(gate.gate)
app.command("report", help=compare.REPORT_HELP)(compare.report)
app.command("plot", help=compare.PLOT_HELP)(compare.plot)
app.command("check", help=plugins.CHECK_HELP)(plugins.check)
app.command("list", help=plugins.LIST_HELP)(plugins.list_)
app.command("ask", help=ask.HELP)(ask.ask)
app.command("search", help=search.HELP)(search.search)
app.command("describe", help=describe.DESCRIBE_HELP)(describe.describe)
app.add_typer(runs.app, name="runs")
app.add_typer(leaderboard.app, name="leaderboard")
app.add_typer(labels.app, name="labels")
app.add_typer(tables.app, name="tables")
app.add_typer(data.app, name="data")
