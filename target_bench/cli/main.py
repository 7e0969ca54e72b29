"""The table of commands: each stands in the file of its group."""

from collections.abc import Callable

import typer

from target_bench.cli import (
    ask,
    compare,
    data,
    describe,
    gate,
    leaderboard,
    plugins,
    run,
    runs,
    search,
    sweep,
    tables,
)
from target_bench.cli.command_line import Commands

QUESTION = "Which table retriever finds the right table, and what does that do to the answer?"
USE = {
    "target-bench run mini": "compare four retrievers, without downloads",
    "target-bench run mini --retriever my.py:Retriever": "your own, as bm25 or dense are named",
    "target-bench search ./tables 'a question'": "search your own tables",
    "target-bench report runs": "a page of every question and its ranking",
}
"""Command -> what it does."""

app = typer.Typer(
    name="target-bench",
    cls=Commands,
    help=f"{QUESTION}\n\n"
    "`target-bench --version` prints the version; with `--debug` every command shows tracebacks.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@app.callback()
def use(context: typer.Context) -> None:
    """Print four lines of use where no command is given."""
    if context.invoked_subcommand is None:
        from target_bench.core.text_tables import say, say_wrapped, terminal_width

        say_wrapped(QUESTION)
        say("")
        widest = max(map(len, USE)) + 5
        beside = (terminal_width() or 100) >= widest + max(map(len, USE.values()))
        for command, meaning in USE.items():
            say(
                f"  {command}".ljust(widest) + meaning
                if beside
                else f"  {command}\n      {meaning}"
            )
        say("\ntarget-bench --help lists all commands.")


def _add(panel: str, commands: dict[str, tuple[Callable[..., None], str]]) -> None:
    for name, (function, help) in commands.items():
        extra = {"allow_extra_args": True} if name == "gate" else None
        app.command(name, help=help, context_settings=extra, rich_help_panel=panel)(function)


_add(
    "Evaluate",
    {
        "run": (run.run, run.HELP),
        "score": (run.score, run.SCORE_HELP),
        "sweep": (sweep.sweep, sweep.HELP),
        "gate": (gate.gate, gate.HELP),
    },
)
_add(
    "Look",
    {
        "compare": (compare.compare, compare.COMPARE_HELP),
        "report": (compare.report, compare.REPORT_HELP),
        "plot": (compare.plot, compare.PLOT_HELP),
        "search": (search.search, search.HELP),
    },
)
app.add_typer(runs.app, name="runs", rich_help_panel="Look")
app.add_typer(tables.app, name="tables", rich_help_panel="Look")
_add("Data", {"describe": (describe.describe, describe.DESCRIBE_HELP), "ask": (ask.ask, ask.HELP)})
app.add_typer(data.app, name="data", rich_help_panel="Data")
_add(
    "Extend",
    {"list": (plugins.list_, plugins.LIST_HELP), "check": (plugins.check, plugins.CHECK_HELP)},
)
app.add_typer(leaderboard.app, name="leaderboard", rich_help_panel="Share")
