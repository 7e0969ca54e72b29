"""Options that several commands share."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.serialization import Format

_STATE = {"debug": False}


def _set_debug(value: bool) -> None:
    _STATE["debug"] = value


def debugging() -> bool:
    """Whether ``--debug`` was given."""
    return _STATE["debug"]


Debug = Annotated[
    bool,
    typer.Option("--debug", callback=_set_debug, is_eager=True, help="Show tracebacks."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Folder with the release files, or with a sub-folder a corpus. "
        "Default: $TARGET_BENCH_DATA.",
        show_default=False,
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        help="train, validation (dev, val) or test; mini_dev of bird. Default: the corpus's own.",
    ),
]
Database = Annotated[
    str | None, typer.Option("--database", help="Only the queries of this database, in any case.")
]
SchemaScopeName = Annotated[
    Literal["database", "tables"],
    typer.Option(
        "--schema-scope",
        help="Text-to-SQL: show all tables of the first retrieved database, or the retrieved ones.",
    ),
]
Structured = Annotated[
    bool,
    typer.Option(
        "--structured/--free-text",
        help="Text-to-SQL, and fact verification where the generator follows JSON schemas: "
        "whether an answer has to be JSON.",
    ),
]
PromptFile = Annotated[
    Path | None, typer.Option("--prompt", help="A YAML file with prompts of your own.")
]
PromptTokens = Annotated[
    int,
    typer.Option("--prompt-tokens", help="About how many tokens the tables of a prompt may take."),
]
TableFormat = Annotated[
    Format, typer.Option("--table-format", help="How tables are written in a prompt.")
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Send requests that may cost money without asking.")
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Ask the failed queries of a run again.")
]
TopK = Annotated[str, typer.Option("--top-k", help="Cutoffs, as in 1,5,10,50.")]
Limit = Annotated[int | None, typer.Option("--limit", help="Only the first queries.")]
Out = Annotated[Path, typer.Option("--out", help="Where run folders go.")]
RUNS = Path("runs")  # where they go unless told
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
Corpora = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus", help="A corpus by name, or the path of your own (./tables); may be repeated."
    ),
]
DistractorSpecs = Annotated[
    list[str] | None,
    typer.Option(
        "--distractors",
        help="Tables to mix in: a corpus or the path of a folder, with split, n and seed, as in "
        "ottqa:split=train,n=1000,seed=7; may be repeated.",
        show_default=False,
    ),
]


def cutoffs(text: str) -> list[int]:
    """Read ``1,5,10``.

    Raises:
        ConfigError: it is no list of whole numbers.
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"--top-k {text!r}: expected numbers with commas, as in 1,5,10") from None


_READ_BY_TASKS = {
    "generators": "--generator",
    "prompt": "--prompt",
    "prompt_tokens": "--prompt-tokens",
    "table_format": "--table-format",
    "run_file": "--run",
    "predictions": "--predictions",
    "order": "--order",
    "schema_scope": "--schema-scope",
    "structured": "--structured/--free-text",
}
"""Parameter -> the option; each task names those that it reads in ``reads``."""


def unread(context: typer.Context, tasks: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each option on the command line that none of the tasks reads."""
    run = {task: _reads(task) for task in tasks}
    for parameter, option in _READ_BY_TASKS.items():
        source = context.get_parameter_source(parameter)
        if source is not None and source.name == "COMMANDLINE":
            if any(reads is None or parameter in reads for reads in run.values()):
                continue
            readers = [name for name in registry.names("task") if parameter in (_reads(name) or ())]
            yield (
                f"{option} changes nothing here: it is read for {' and '.join(sorted(readers))}, "
                f"not for {' or '.join(sorted(run))}"
            )


def _reads(task: str) -> frozenset[str] | None:
    """Names of the options that a task reads; None where it does not say."""
    found: frozenset[str] | None = getattr(
        registry.resolve("task", registry.parse("task", task).target), "reads", None
    )
    return found
