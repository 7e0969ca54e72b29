"""Base of all commands: entry point and exit codes, options, progress.

``main`` runs a command and turns errors into messages and exit codes. The options that several
commands share, and those that ``RunConfig`` declares, are made here.
"""

import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import typer
from typer.core import TyperGroup

from target_bench.core.credentials import mask_warnings, without_secrets
from target_bench.core.errors import PASSED_ON, PluginError, TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.run_config import OPTIONS, RunConfig, flag_of
from target_bench.core.text_tables import visible
from target_bench.core.user_code import described, place
from target_bench.core.version import __version__

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from target_bench.core.schema import Generation


INTERNAL_ERROR = 1

_STATE = {"debug": False}


def main(app: typer.Typer) -> None:
    """Run the command line and exit with its code; ``--debug`` may stand at any place of it."""
    # Pydantic would look for plug-ins in the metadata of every installed package: 20 to 40 ms.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if sys.argv[1:] == ["--version"]:
        typer.echo(f"target-bench {__version__}")
        sys.exit(0)
    _STATE["debug"] = "--debug" in sys.argv
    mask_warnings()
    try:
        app([word for word in sys.argv[1:] if word != "--debug"], prog_name="target-bench")
    except TargetBenchError as error:
        _say(f"Error: {error}")
        sys.exit(error.exit_code)
    except (*PASSED_ON, SystemExit):
        raise
    except BaseException as error:
        line_of_user = place(error)
        if line_of_user:  # code that is not ours, called where nobody expected it to raise
            _say(f"Error: a plug-in raised {described(error)}{line_of_user}")
            sys.exit(PluginError.exit_code)
        _say(
            f"Internal error: {described(error)}\n"
            "Unless `pip check` finds a package of the wrong version, this is a fault of "
            "target-bench; please report it with the output of --debug."
        )
        sys.exit(INTERNAL_ERROR)


def is_debugged() -> bool:
    """Whether tracebacks are shown."""
    return _STATE["debug"]


def _say(message: str) -> None:
    if _STATE["debug"]:
        message = f"{traceback.format_exc()}{message}"
    print(visible(without_secrets(message)), file=sys.stderr)  # noqa: T201 (the command line prints)


def _set_offline(value: bool) -> None:
    if value:
        os.environ["HF_HUB_OFFLINE"] = "1"  # huggingface_hub reads it, and ``data.download``


def option(help: str, *names: str, **settings: Any) -> Any:
    """Return an option; its help says what its default means."""
    return typer.Option(*names, help=help, show_default=False, **settings)


def argument(help: str | None = None, **settings: Any) -> Any:
    """Return an argument."""
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
        flag_of(name),
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
            given = {n: value for n, value in given.items() if on_line(context, n)}
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
Out = config_option("out")
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


def on_line(context: typer.Context, name: str) -> bool:
    """Whether a parameter stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


_PACKAGE = Path(__file__).parent.parent
_ACTIVE: list["TerminalObserver"] = []


@contextmanager
def paused() -> Iterator[None]:
    """Take the bar off the terminal, as long as a question stands there."""
    active = [observer.bars for observer in _ACTIVE if observer.bars is not None]
    for bars in active:
        bars.stop()
    try:
        yield
    finally:
        for bars in active:
            bars.start()


class TerminalObserver(Observer):
    """One line per stage with a bar where the number of steps is known, on standard error.

    Bars are drawn on a terminal only. Elsewhere, as in a log, a stage that takes long has a line a
    minute. Each warning is printed once, also those that Python's ``warnings`` are given.
    """

    def __init__(self) -> None:
        self.notes: dict[str, None] = {}
        self.warned: set[str] = set()
        self.bars = _make_bars() if sys.stderr.isatty() else None
        self._task: TaskID | None = None
        self._name = ""

    def __enter__(self) -> Self:
        if self.bars is not None:
            self.bars.start()
        _ACTIVE.append(self)
        self._show_other = warnings.showwarning
        warnings.showwarning = self._show
        return self

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        if self.notes and error is None:
            count = len(self.notes)
            several = f"{count} on the tables: target-bench describe corpus CORPUS"
            self.say(next(iter(self.notes)) if count == 1 else several, "Note: ")
        warnings.showwarning = self._show_other
        _ACTIVE.remove(self)
        if self.bars is not None:
            self.bars.stop()

    def _show(
        self, message: Any, category: type[Warning], filename: str, *where: Any, **more: Any
    ) -> None:
        if category is UserWarning and Path(filename).is_relative_to(_PACKAGE):
            self.warning(str(message))
        else:
            self._show_other(clean(str(message)), category, filename, *where, **more)

    def stage(self, name: str, total: int | None = None) -> None:
        """Replace the bar of the stage before."""
        self.finished()
        self._name, self._total, self._done, self._failed = clean(name), total, 0, 0
        if self.bars is not None:
            self._task = self.bars.add_task(self._name, total=total)
        self._begun = self._last_line = time.monotonic()

    def advance(self, steps: int) -> None:
        """Move the bar."""
        if self.bars is not None and self._task is not None:
            self.bars.advance(self._task, steps)
        if not self._name or self.bars is not None:
            return
        self._done += steps
        now = time.monotonic()
        if now - self._last_line >= 60 and self._total and self._done:
            self._last_line = now
            left = (now - self._begun) / self._done * (self._total - self._done)
            far = f"{self._done:,} of {self._total:,}, about {left:,.0f} s left"
            self.say(f"{self._label}: {far}")

    def finished(self) -> None:
        """Remove the bar."""
        if self.bars is not None and self._task is not None:
            self.bars.remove_task(self._task)
        self._task, self._name = None, ""

    def answered(self, generation: "Generation") -> None:
        """Count failed answers beside the name of the stage."""
        if generation.error is not None and self._name:
            self._failed += 1
            if self.bars is not None and self._task is not None:
                self.bars.update(self._task, description=self._label)

    @property
    def _label(self) -> str:
        return f"{self._name} ({self._failed:,} failed)" if self._failed else self._name

    def waiting(self, reason: str, seconds: float) -> None:
        """Say that nothing happens for a while, and why."""
        self.say(f"Waiting {seconds:.0f} s: {clean(reason)}")

    def warning(self, message: str) -> None:
        """Print a warning that was not printed before."""
        message = clean(message)
        if message not in self.warned:
            self.warned.add(message)
            self.say(message, "Warning: ")

    def note(self, message: str) -> None:
        """Keep a note on the data; results are printed with it, and else it is at the end."""
        self.notes[message] = None

    def say(self, message: str, heading: str = "") -> None:
        """Print a line, above the bar where there is one."""
        if self.bars is None:
            print(f"{heading}{message}", file=sys.stderr)  # noqa: T201 (the command line prints)
            return
        from rich.text import Text

        line = Text.assemble((heading, "yellow"), message)
        self.bars.console.print(line, soft_wrap=True)


def clean(text: str) -> str:
    """Return a text of others without secrets and control characters."""
    return visible(without_secrets(text))


def _make_bars() -> "Progress":
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        console=Console(file=sys.stderr, emoji=False),
        transient=True,
    )


class Commands(TyperGroup):
    """The commands at the top, whose errors are without the words of pydantic."""

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
