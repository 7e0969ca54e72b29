"""Entry point: runs a command and turns errors into messages and exit codes."""

import atexit
import gc
import os
import sys
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from target_bench.core.credentials import mask_warnings
from target_bench.core.errors import PASSED_ON, PluginError, TargetBenchError
from target_bench.core.observer import clean
from target_bench.core.user_code import describe_exception, find_user_line
from target_bench.core.version import __version__

INTERNAL_ERROR = 1

_STATE = {"debug": False}


def main(app: typer.Typer) -> None:
    """Run the command line and exit with its code; ``--debug`` may stand at any place of it."""
    # Pydantic would look for plug-ins in the metadata of every installed package: 20 to 40 ms.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # At its end Python would look for cycles among all objects, twice: 100 ms of a short run.
    atexit.register(gc.freeze)
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
        line_of_user = find_user_line(error)
        if line_of_user:  # code that is not ours, called where nobody expected it to raise
            _say(f"Error: a plug-in raised {describe_exception(error)}{line_of_user}")
            sys.exit(PluginError.exit_code)
        _say(
            f"Internal error: {describe_exception(error)}\n"
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
    print(clean(message), file=sys.stderr)  # noqa: T201 (the command line prints)


class Commands(TyperGroup):
    """The commands at the top, whose errors are without the words of pydantic."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise
