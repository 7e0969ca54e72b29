"""The options that several commands share, and those that ``RunConfig`` declares."""

import os
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from target_bench.core.run_config import OPTIONS, RunConfig, spell_flag


def _set_offline(value: bool) -> None:
    if value:
        os.environ["HF_HUB_OFFLINE"] = "1"  # huggingface_hub reads it, and ``data.download``


def option(help: str, *names: str, **settings: Any) -> Any:
    """Declare an option whose help names its default."""
    return typer.Option(*names, help=help, show_default=False, **settings)


def argument(help: str | None = None, **settings: Any) -> Any:
    """Declare an argument."""
    return typer.Argument(help=help, show_default=False, **settings)


def group(help: str) -> typer.Typer:
    """Return a group of commands."""
    return typer.Typer(help=help, no_args_is_help=True, rich_markup_mode="markdown")


def config_option(name: str) -> Any:
    """Return the annotation of a parameter that sets an option of ``RunConfig``."""
    option, field = OPTIONS[name], RunConfig.model_fields[name]
    # A tuple is an option that may be repeated.
    type_ = list[str] | None if isinstance(field.default, tuple) else field.annotation
    shown = typer.Option(
        spell_flag(name),
        help=option.help,
        show_default=option.show_default,
        rich_help_panel=option.panel,
    )
    return Annotated[type_, shown]


def takes_config(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each of these fields of ``RunConfig``.

    The command gets ``given``: name -> value, of those that stand on the command line.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(context: typer.Context, **values: Any) -> None:
            given = {name: values.pop(name) for name in names}
            given = {n: value for n, value in given.items() if is_on_line(context, n)}
            command(context=context, given=given, **values)

        parameters = [
            Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        ]
        for name in names:
            default = RunConfig.model_fields[name].default
            default = None if isinstance(default, tuple) else default
            annotation = config_option(name)
            parameters.append(
                Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            )
        for name, parameter in signature(command).parameters.items():
            if name not in ("context", "given"):
                parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__doc__ = command.__doc__
        return run

    return decorate


Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        callback=_set_offline,
        is_eager=True,
        help="Download nothing, data or models; the same as HF_HUB_OFFLINE=1.",
    ),
]
DataDir = config_option("data_dir")
Split = config_option("split")
Yes = Annotated[
    bool, typer.Option("--yes", help="Send requests that may cost money without asking.")
]
By = Annotated[
    list[str] | None,
    option(
        "Show scores for each value of a property of the queries, as in difficulty, "
        "hardness, gold_tables or database; may be repeated.",
        "--by",
        metavar="NAME",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Print all metrics and notes, and the task's summary."),
]
Notes = Annotated[bool, typer.Option("--verbose", "-v", help="Print every note on runs and data.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, with all figures.")]
PrintedForm = Literal["text", "markdown", "csv", "json"]
PrintedAs = Annotated[PrintedForm, typer.Option("--format", help="How it is printed.")]


def is_on_line(context: typer.Context, name: str) -> bool:
    """Whether a parameter stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


# Options of commands that read runs

RunNames = Annotated[
    list[str],
    argument(
        "Runs as `runs list` calls them, their ids, how these begin, or folders; or a folder of "
        "runs: the newest of each system, on the queries of the last one.",
        metavar="RUN",
    ),
]
IdColumn = Annotated[
    str | None,
    option("Of files of another harness: the column of ids.", "--id", metavar="NAME"),
]
ValueColumn = Annotated[
    str | None,
    option("Of such files: the column of values.", "--value", metavar="NAME"),
]
RunsIn = Annotated[Path, typer.Option("--out", help="The folder of all runs.")]
Slices = Annotated[
    list[str] | None,
    option(
        "Only these queries, as in difficulty=hard or gold_tables>1 (= != > >= < <=); a name "
        "alone, as in db_id, makes a row of each value; may be repeated.",
        "--slice",
    ),
]
