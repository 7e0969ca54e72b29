"""Options that several commands share, and options made from their declarations."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import Field
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from target_bench.core import registry
from target_bench.core.settings import about, amount, cutoffs
from target_bench.evaluation.run_options import RunOptions, Selection, options_of

_STATE = {"debug": False}


def _set_debug(value: bool) -> None:
    _STATE["debug"] = value


def debugging() -> bool:
    """Whether ``--debug`` was given."""
    return _STATE["debug"]


def declared(group: type, name: str) -> Any:
    """Return the option of the command line that a field of a dataclass declares."""
    found = about(options_of(group)[name])
    return typer.Option(flag_of(options_of(group)[name]), help=found.help, show_default=found.shown)


def flag_of(each: "Field[Any]") -> str:
    """How an option is written on the command line."""
    return about(each).flag or f"--{each.name.replace('_', '-')}"


Debug = Annotated[
    bool,
    typer.Option("--debug", callback=_set_debug, is_eager=True, help="Show tracebacks."),
]
DataDir = Annotated[Path | None, declared(Selection, "data_dir")]
Corpora = Annotated[list[str] | None, declared(Selection, "corpora")]
Split = Annotated[str | None, declared(RunOptions, "split")]
Database = Annotated[str | None, declared(RunOptions, "database")]
Limit = Annotated[int | None, declared(RunOptions, "limit")]
RetryFailed = Annotated[bool, declared(RunOptions, "retry_failed")]
Yes = Annotated[
    bool, typer.Option("--yes", help="Send requests that may cost money without asking.")
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="NAME",
        help="Scores of each value of a property of the queries too, as in difficulty, hardness, "
        "gold_tables or database; may be repeated.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]

Given = Mapping[str, Any]
"""Option -> what the command line gives, of the options that stand there."""

_WRITTEN = (amount, cutoffs)
"""Readers of text that the command line passes on as it is."""


def with_options(
    *groups: type, only: Collection[str] | None = None, without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that dataclasses declare, in place of its argument ``given``.

    Args:
        groups: the dataclasses.
        only: names of the options that are meant; None for all.
        without: names of the options that are not.
    """
    parameters = [
        _parameter(each, get_type_hints(group)[name])
        for group in groups
        for name, each in options_of(group).items()
        if (only is None or name in only) and name not in without
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)

        @wraps(command)
        def called(**values: Any) -> None:
            found = {each.name: values.pop(each.name) for each in parameters}
            context: typer.Context = values["context"]
            command(**values, given={n: v for n, v in found.items() if on_line(context, n)})

        whole: list[inspect.Parameter] = []
        for each in own.parameters.values():
            whole += parameters if each.name == "given" else [each]
        called.__signature__ = own.replace(parameters=whole)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in whole} | {"return": None}
        return called

    return decorate


def _parameter(each: "Field[Any]", hint: Any) -> inspect.Parameter:
    default: Any = each.default
    if about(each).read in _WRITTEN:
        default = None if default is None else ",".join(map(str, default))
        hint = str | None if default is None else str
    elif hint == tuple[str, ...]:
        hint, default = list[str] | None, None
    option = typer.Option(flag_of(each), help=about(each).help, show_default=about(each).shown)
    return inspect.Parameter(
        each.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=Annotated[hint, option],
    )


def on_line(context: typer.Context, name: str) -> bool:
    """Whether a parameter stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def unread(given: Iterable["tuple[str, str]"], tasks: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each option that was given though none of the tasks reads it.

    Args:
        given: (name, how it is written) of options that tasks may read.
        tasks: what is run, perhaps with settings. Each names the options that it reads in its
            attribute ``reads``; one without it is taken to read all.
    """
    run = {task: _reads(task) for task in tasks}
    known = {task: _reads(task) or frozenset() for task in registry.names("task")}
    for name, written in given:
        readers = sorted(task for task, reads in known.items() if name in reads)
        if readers and not any(reads is None or name in reads for reads in run.values()):
            yield (
                f"{written} changes nothing here: it is read for {' and '.join(readers)}, not for "
                f"{' or '.join(sorted(run))}"
            )


def _reads(task: str) -> frozenset[str] | None:
    """Names of the options that a task reads; None where it does not say."""
    target = registry.parse("task", task).target
    found: frozenset[str] | None = getattr(registry.resolve("task", target), "reads", None)
    return found
