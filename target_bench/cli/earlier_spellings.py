"""Commands and options that earlier versions had, answered with what is written today."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from target_bench.core.errors import ConfigError

MOVED_COMMANDS = {
    "submit": "leaderboard submit",
    "verify": "leaderboard verify",
    "pull": "data pull",
    "cache": "data cache",
    "verify-gold": "data verify-gold",
    "export": "runs export",
}
"""Command at the top -> where it stands now."""

MOVED_OPTIONS = {
    "--engine": "text-to-sql:engine",
    "--rule": "text-to-sql:rule",
    "--timeout": "text-to-sql:timeout",
    "--repeats": "text-to-sql:repeats",
    "--workers": "text-to-sql:workers",
    "--labels": "fact-verification:labels",
    "--bertscore": "qa:bertscore",
}
"""Option of ``run``, ``score`` and ``generate`` -> the setting of a task that it has become."""


class Commands(TyperGroup):
    """The commands at the top; of one that moved the error shows the new spelling."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first argument names.

        Raises:
            ConfigError: it stands in a group now.
        """
        new = MOVED_COMMANDS.get(args[0]) if args else None
        if new is not None:
            raise ConfigError(
                f"`target-bench {args[0]}` is now `target-bench {' '.join([new, *args[1:]])}`"
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command.

        Raises:
            typer.BadParameter: a value is none of its choices; without the words of pydantic.
        """
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


class TaskCommand(TyperCommand):
    """A command whose options on tasks became settings of the task."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the arguments.

        Raises:
            ConfigError: an option that is a setting of a task now.
        """
        for argument, following in zip(args, [*args[1:], "..."], strict=True):
            option, equals, value = argument.partition("=")
            if option in MOVED_OPTIONS:
                raise ConfigError(
                    f"`{option}` is now a setting of the task: "
                    f"`--task {MOVED_OPTIONS[option]}={value if equals else following}`"
                )
            if option == "--":
                break
        return super().parse_args(ctx, args)
