"""Base of all commands: entry point and exit codes, options, progress.

``main`` runs a command and turns errors into messages and exit codes. The options that several
commands share, and those that dataclasses declare, are made here.
"""

import gc
import inspect
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, TextIO, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from target_bench.cli.earlier_spellings import MOVED_COMMANDS, MOVED_OPTIONS, MOVED_OUT
from target_bench.core import registry
from target_bench.core.errors import PASSED_ON, ConfigError, PluginError, TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.settings import about, amount, cutoffs, options_of, without_secrets
from target_bench.core.text_tables import visible
from target_bench.core.user_code import described, place
from target_bench.core.version import __version__
from target_bench.harness.run_options import RunOptions, Selection

if TYPE_CHECKING:
    from rich.progress import TaskID

    from target_bench.core.schema import Generation


INTERNAL_ERROR = 1

_OBJECTS = 50_000
"""New objects after which Python looks for cycles; it finds few, as most objects live on."""

_STATE = {"debug": False}


def main(app: typer.Typer) -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(_OBJECTS)
    if sys.argv[1:] == ["--version"]:
        typer.echo(f"target-bench {__version__}")
        sys.exit(0)
    sys.exit(_exit_code(app))


def _exit_code(app: typer.Typer) -> int:
    try:
        return app(standalone_mode=True) or 0
    except TargetBenchError as error:
        _say(f"Error: {error}")
        return error.exit_code
    except (*PASSED_ON, SystemExit):
        raise
    except BaseException as error:
        found = registry.unmet_requirements()
        if found:
            _say(f"Error: {registry.unmet_message(found)}")
            return ConfigError.exit_code
        line_of_user = place(error)
        if line_of_user:  # code that is not ours, called where nobody expected it to raise
            _say(f"Error: a plug-in raised {described(error)}{line_of_user}")
            return PluginError.exit_code
        _say(
            f"Internal error: {described(error)}\n"
            "This is a fault of target-bench; please report it with the output of --debug."
        )
        return INTERNAL_ERROR


def _say(message: str) -> None:
    if _STATE["debug"]:
        message = f"{traceback.format_exc()}{message}"
    print(visible(without_secrets(message)), file=sys.stderr)  # noqa: T201 (the command line prints)


def _set_debug(value: bool) -> None:
    _STATE["debug"] = value


def _set_offline(value: bool) -> None:
    if value:
        os.environ["HF_HUB_OFFLINE"] = "1"  # huggingface_hub reads it, and ``data.download``


def declared(group: type, name: str) -> Any:
    """Return the option of the command line that a field of a dataclass declares."""
    found = about(options_of(group)[name])
    return typer.Option(flag_of(options_of(group)[name]), help=found.help, show_default=found.shown)


def flag_of(each: "Field[Any]") -> str:
    """Return the spelling of an option on the command line."""
    return about(each).flag or f"--{each.name.replace('_', '-')}"


Debug = Annotated[
    bool,
    typer.Option("--debug", callback=_set_debug, is_eager=True, help="Show tracebacks."),
]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        callback=_set_offline,
        is_eager=True,
        help="Download nothing, data or models; the same as HF_HUB_OFFLINE=1.",
    ),
]
DataDir = Annotated[Path | None, declared(Selection, "data_dir")]
Corpora = Annotated[list[str] | None, declared(Selection, "corpora")]
Split = Annotated[str | None, declared(RunOptions, "split")]
Database = Annotated[str | None, declared(RunOptions, "database")]
Limit = Annotated[int | None, declared(RunOptions, "limit")]
Indexes = Annotated[Path | None, declared(RunOptions, "indexes")]
RetryFailed = Annotated[bool, declared(RunOptions, "retry_failed")]
Yes = Annotated[
    bool, typer.Option("--yes", help="Send requests that may cost money without asking.")
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="NAME",
        help="Show scores for each value of a property of the queries, as in difficulty, hardness, "
        "gold_tables or database; may be repeated.",
        show_default=False,
    ),
]
_SKIP_BAD = "In a folder of your own, leave out files that cannot be read; a note names them."
SkipBad = Annotated[bool, typer.Option("--skip-bad", help=_SKIP_BAD)]
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
        called.__signature__ = own.replace(parameters=whole)  # type: ignore[attr-defined]  # typer reads it
        called.__annotations__ = {each.name: each.annotation for each in whole} | {"return": None}
        return called

    return decorate


def _parameter(each: "Field[Any]", hint: Any) -> inspect.Parameter:
    default: Any = each.default
    if about(each).read in _WRITTEN:
        default = None if default is None else ",".join(map(str, default))
        hint = str | None if default is None else str
    elif hint in (tuple[str, ...], tuple[Any, ...]):
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


_EVERY = 60.0
"""Seconds between two lines on a stage, where no bar is drawn."""


_PACKAGE = Path(__file__).parent.parent


_ACTIVE: list["TerminalObserver"] = []


@contextmanager
def paused() -> Iterator[None]:
    """Take the bar off the terminal, as long as a question stands there."""
    active = [observer for observer in _ACTIVE if not observer._progress.disable]
    for observer in active:
        observer._progress.stop()
    try:
        yield
    finally:
        for observer in active:
            observer._progress.start()


class TerminalObserver(Observer):
    """One line per stage with a bar where the number of steps is known, on standard error.

    Bars are drawn on a terminal only. Elsewhere, as in a log, a stage that takes long has a line a
    minute: how far it is, and how much longer it takes at this rate. Warnings are printed always,
    each once; those that this package gives to Python's ``warnings``, as of a damaged file in the
    cache, too.
    """

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._console = Console(file=sys.stderr, emoji=False)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None
        self._warned: set[str] = set()

    def __enter__(self) -> "TerminalObserver":
        self._progress.start()
        _ACTIVE.append(self)
        self._show_other = warnings.showwarning
        warnings.showwarning = self._show
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        warnings.showwarning = self._show_other
        _ACTIVE.remove(self)
        if not self._progress.disable:  # else rich before 14.3 prints an empty line
            self._progress.stop()

    def _show(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if category is UserWarning and Path(filename).is_relative_to(_PACKAGE):
            self.warning(str(message))
        else:
            shown = visible(without_secrets(str(message)))
            self._show_other(shown, category, filename, lineno, file, line)

    def stage(self, name: str, total: int | None = None) -> None:
        """Replace the bar of the stage before."""
        self.finished()
        name = visible(without_secrets(name))
        self._task = self._progress.add_task(name, total=total)
        self._name, self._total, self._done, self._failed = name, total, 0, 0
        self._begun = self._said = time.monotonic()

    def advance(self, steps: int) -> None:
        """Move the bar."""
        if self._task is not None:
            self._progress.advance(self._task, steps)
            self._done += steps
            if not self._console.is_terminal:
                self._say()

    def finished(self) -> None:
        """Remove the bar."""
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None

    def answered(self, generation: "Generation") -> None:
        """Count failed answers beside the name of the stage."""
        if generation.error is not None and self._task is not None:
            self._failed += 1
            self._progress.update(self._task, description=self._label())

    def _label(self) -> str:
        return f"{self._name} ({self._failed:,} failed)" if self._failed else self._name

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._said < _EVERY or not self._total or not self._done:
            return
        self._said = now
        left = (now - self._begun) / self._done * (self._total - self._done)
        self._console.print(
            f"{self._label()}: {self._done:,} of {self._total:,}, about {left:,.0f} s left",
            markup=False,
            highlight=False,
        )

    def waiting(self, reason: str, seconds: float) -> None:
        """Say that nothing happens for a while, and why."""
        said = f"Waiting {seconds:.0f} s: {visible(without_secrets(reason))}"
        self._console.print(said, markup=False, highlight=False)

    def warning(self, message: str) -> None:
        """Print a warning that was not printed before."""
        message = visible(without_secrets(message))
        if message not in self._warned:
            self._warned.add(message)
            from rich.text import Text

            line = Text.assemble(("Warning: ", "yellow"), message)
            self._console.print(line, soft_wrap=True)


class Commands(TyperGroup):
    """The commands at the top; of one that moved the error shows the new spelling."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first argument names.

        Raises:
            ConfigError: it stands in a group now, or is a script of the repository.
        """
        for name in (" ".join(args[:2]), *args[:1]):
            if name in MOVED_OUT:
                raise ConfigError(
                    f"`target-bench {name}` is no command any more: in a checkout of the "
                    f"repository run `{MOVED_OUT[name]}`"
                )
        for words in (args[:2], args[:1]):
            new = MOVED_COMMANDS.get(" ".join(words))
            if new is not None:
                rest = args[len(words) :]
                raise ConfigError(
                    f"`target-bench {' '.join(words)}` is now "
                    f"`target-bench {' '.join([new, *rest])}`"
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
