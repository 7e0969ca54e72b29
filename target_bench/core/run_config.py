"""``RunConfig``: what to run. Each option of a run is declared here, and nowhere else.

The command line, YAML files, the keywords of ``evaluate``, the cells of a sweep and the manifest of
a run are made from the fields of this one model. A new option is a new field.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StrictBool,
    ValidationError,
    ValidationInfo,
)

from target_bench.core.errors import ConfigError, unknown_name
from target_bench.core.schema import TableFormat
from target_bench.core.settings import read_cutoffs, read_texts, read_whole

if TYPE_CHECKING:
    from target_bench.core.task import Task

SchemaScope = Literal["database", "tables"]
"""What a prompt shows: all tables of the first retrieved database, or the retrieved ones alone."""

P = ParamSpec("P")
T = TypeVar("T")

Panel = Literal["Data", "Retrieval", "Answers"]

PAPER = "paper"
"""The name of the prompts of TARGET's paper."""

_PAPER_PROMPTS = Path(__file__).parents[1] / "models" / "prompts" / PAPER


@dataclass(frozen=True, slots=True)
class Option:
    """Declare how an option is shown; its name, type and default are those of the field.

    Attributes:
        help: what it does, in the words of ``--help``.
        panel: where ``--help`` shows an option that only some runs need.
        flag: how it is written on the command line; default: ``--its-name``.
        axis: the list of a sweep's file that holds alternatives of it; "" where all cells share it.
        show_default: whether ``--help`` shows its default.
    """

    help: str
    panel: Panel | None = None
    flag: str = ""
    axis: str = ""
    show_default: bool = True


def _read_metrics(value: Any) -> tuple[Any, ...]:
    if value == ():
        return ()  # without numpy, which the functions need
    from target_bench.core.metric_function import read_metrics

    return read_metrics(value)


def _validator(read: Callable[..., Any], *more: Any) -> BeforeValidator:
    """Return a validator that reads a value of the field with this name, or raises its error."""

    def validate(value: Any, info: ValidationInfo) -> Any:
        return value if value is None else read(info.field_name, value, *more)

    return BeforeValidator(validate)


def _read_prompt(_: str, value: Any) -> Any:
    """Return the path of prompts; ``paper`` stands for those of the paper."""
    return _PAPER_PROMPTS if str(value) == PAPER else value


Texts = Annotated[tuple[str, ...], BeforeValidator(lambda v, info: read_texts(info.field_name, v))]
Cutoffs = Annotated[tuple[int, ...], _validator(read_cutoffs)]
Metrics = Annotated[tuple[Any, ...], BeforeValidator(_read_metrics)]


class RunConfig(BaseModel):
    """Hold what to run, under the same names in Python, YAML and, with dashes, on the command line.

    ```python
    from target_bench import RunConfig

    config = RunConfig(corpora="mini", retrievers=["bm25:k1=0.9"], top_k=[1, 10])
    print(config.retrievers, config.top_k)  # ('bm25:k1=0.9',) (1, 10)
    ```

    Raises:
        ConfigError: an unknown option, with near misses, or an invalid value.
    """

    # Built when first made: ``--help`` needs the fields alone.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    corpora: Annotated[
        Texts,
        Option(
            "A corpus by name, or the path of your own (./tables); may be repeated.",
            "Data",
            flag="--corpus",
        ),
    ] = ()
    tasks: Annotated[
        Texts,
        Option(
            "A task by name (target-bench list tasks) or file.py:Class, with settings as in "
            "text-to-sql:engine=duckdb (target-bench describe task text-to-sql lists them); may be "
            "repeated. Default: retrieval; with --generator, the tasks that the corpus has answers "
            "for; all: both.",
            flag="--task",
            show_default=False,
        ),
    ] = ()
    retrievers: Annotated[
        Texts,
        Option(
            "name, name:key=value,..., module:Class, file.py:Class, oracle or no-context; may be "
            "repeated. NAME=... gives it a name in tables and plots, as in ours=file.py:Mine. "
            "Default: bm25, tfidf, lsa and random.",
            flag="--retriever",
        ),
    ] = ()
    split: Annotated[
        str | None,
        Option(
            "train, validation (dev, val) or test; mini_dev for bird. Default: that of the corpus.",
            "Data",
            axis="splits",
            show_default=False,
        ),
    ] = None
    top_k: Annotated[
        Cutoffs,
        Option(
            "Cutoffs, as in 1,5,10,50; may be repeated. Default: 1,5,10.",
            "Retrieval",
            show_default=False,
        ),
    ] = (1, 5, 10)
    limit: Annotated[
        int | None,
        _validator(read_whole, 1),
        Option("Only N queries, a fixed sample spread over the databases.", "Data"),
    ] = None
    distractors: Annotated[
        Texts,
        Option(
            "Tables to mix in: a corpus or the path of a folder, with split, n, seed and "
            "near_copies, as in ottqa:split=train,n=1000,seed=7; may be repeated.",
            "Data",
            show_default=False,
        ),
    ] = ()
    metrics: Annotated[
        Metrics,
        Option(
            "A metric besides those of the task: a function or class in a file, as in "
            "my_metrics.py:short; may be repeated.",
            flag="--metric",
        ),
    ] = ()
    generators: Annotated[
        Texts,
        Option(
            "Generators, for tasks with answers: name:key=value,..., gold or empty; may be "
            "repeated. Default: extractive.",
            "Answers",
            flag="--generator",
        ),
    ] = ()
    prompt: Annotated[
        Path | None,
        _validator(_read_prompt),
        Option(
            "A YAML file with your own prompts, or paper: the prompts of TARGET's paper.",
            "Answers",
            axis="prompts",
        ),
    ] = None
    tables: Annotated[
        int | None,
        _validator(read_whole, 1),
        Option(
            "Number of retrieved tables in a prompt. Default: the largest cutoff.",
            "Answers",
            axis="tables",
        ),
    ] = None
    table_format: Annotated[
        TableFormat,
        Option("How tables are written in a prompt.", "Answers", axis="table_formats"),
    ] = "markdown"
    schema_scope: Annotated[
        SchemaScope,
        Option(
            "Text-to-SQL: show all tables of the first retrieved database, or the retrieved ones.",
            "Answers",
            axis="schema_scopes",
        ),
    ] = "database"
    structured: Annotated[
        StrictBool,
        Option(
            "Whether an answer must be JSON: in text-to-SQL, and in fact verification if the "
            "generator follows JSON schemas.",
            "Answers",
            flag="--structured/--free-text",
        ),
    ] = True
    latency: Annotated[
        int,
        _validator(read_whole, 0),
        Option("Measure the latency of this many single queries (at most 500).", "Retrieval"),
    ] = 0
    keep_source: Annotated[
        StrictBool,
        Option(
            "Whether a copy of your own source files lies in the run folder; runs why reads it.",
            flag="--source/--no-source",
        ),
    ] = True
    data_dir: Annotated[
        Path | None,
        Option(
            "Folder with the release files, or with one sub-folder per corpus. Default: "
            "$TARGET_BENCH_DATA.",
            "Data",
            show_default=False,
        ),
    ] = None
    columns: Annotated[
        str | None,
        Option(
            "What is in which field of a data set of the hub (hf:owner/name) in no known layout, "
            "as in query=question,answer=answers,table=table.rows; also title and files.",
            "Data",
            show_default=False,
        ),
    ] = None
    out: Annotated[Path, Option("Folder of the runs.")] = Path("runs")

    def __init__(self, **options: Any) -> None:
        check_option_names(options)
        if options.get("columns") and options.get("corpora"):
            options["corpora"] = add_columns(options["corpora"], options["columns"])
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise ConfigError(_describe_errors(error)) from None

    def replace_options(self, **options: Any) -> "RunConfig":
        """Return a copy with other values of these options."""
        return RunConfig(**{**dict(self), **options})

    def check_prompt_tables(self) -> None:
        """Raise ``ConfigError`` if a prompt would hold more tables than are retrieved."""
        if self.tables is not None and self.tables > self.top_k[-1]:
            raise ConfigError(
                f"tables={self.tables}: a prompt holds no more tables than are retrieved "
                f"(top_k={self.top_k[-1]})"
            )

    def prompt_json(self) -> dict[str, Any]:
        """Return the options that say how prompts are written, as JSON."""
        return {name: _as_json(getattr(self, name)) for name in OPTIONS if name in PROMPT_OPTIONS}

    def run_json(self) -> dict[str, Any]:
        """Return the options that say how a run is made, as JSON; its manifest holds them."""
        return {name: _as_json(getattr(self, name)) for name in OPTIONS if name in RUN_OPTIONS}


def _get_option(name: str) -> Option:
    return next(m for m in RunConfig.model_fields[name].metadata if isinstance(m, Option))


OPTIONS: Mapping[str, Option] = {name: _get_option(name) for name in RunConfig.model_fields}
"""Name -> how the option is shown."""

PROMPT_OPTIONS = frozenset(
    name for name, option in OPTIONS.items() if option.panel == "Answers"
) - {"generators"}
"""The options that only tasks about answers read."""

PLUGIN_LISTS = ("corpora", "tasks", "retrievers", "generators")

RUN_OPTIONS = (
    frozenset(OPTIONS)
    - PROMPT_OPTIONS
    - {
        *PLUGIN_LISTS,
        "columns",
        "data_dir",
        "keep_source",
        "out",
    }
)
"""The options of how a run is made; columns are settings of a corpus."""

READ_BY_SOME = PROMPT_OPTIONS | {"generators", "run_file", "predictions", "order"}
"""The options, those of ``score`` too, that some tasks read and others do not."""

EXTRACTIVE = "extractive"
"""The generator that answers where none is named; it needs no model."""

TOP_K: Sequence[int] = RunConfig.model_fields["top_k"].default
RUNS: Path = RunConfig.model_fields["out"].default


def add_columns(corpora: Any, columns: str) -> tuple[Any, ...]:
    """Return corpora, those of the hub with columns among their settings, once.

    Raises:
        ConfigError: none is a data set of the hub.
    """
    listed = corpora if isinstance(corpora, list | tuple) else (corpora,)
    is_hub = [isinstance(name, str) and name.startswith("hf:") for name in listed]
    if not any(is_hub):
        raise ConfigError(f"columns={columns!r}: for a data set of the hub, as hf:owner/name")
    return tuple(
        f"{name}{',' if ':' in name[3:] else ':'}{columns}"
        if of_hub and not name.endswith(columns)
        else name
        for name, of_hub in zip(listed, is_hub, strict=True)
    )


def check_option_names(names: Iterable[str]) -> None:
    """Raise ``ConfigError``, with near misses, for a name that no option has."""
    for name in names:
        if name not in OPTIONS:
            raise ConfigError(unknown_name("option", name, list(OPTIONS)))


def read_option(name: str, value: Any, where: str = "") -> Any:
    """Return the value of one option from what a user gave."""
    try:
        return getattr(RunConfig(**{name: value}), name)
    except ConfigError as error:
        raise ConfigError(f"{where or name}{str(error).removeprefix(name)}") from None


def spell_flag(name: str) -> str:
    """Return the spelling of an option on the command line."""
    return OPTIONS[name].flag or f"--{name.replace('_', '-')}"


def options_read(task: "type[Task[Any]]") -> frozenset[str]:
    """Return those of ``READ_BY_SOME`` that a task reads."""
    if task.answer == "ranking":
        return frozenset({"run_file"})
    reads = {"generators", "prompt", "predictions", "order"}
    if task.source == "retrieved":
        reads.add("tables")
    if task.answer == "sql":  # a prompt shows schemas
        reads |= {"schema_scope", "structured"}
    elif task.source != "none":
        reads.add("table_format")
    return frozenset(reads | {"structured"} if task.prompt.schema else reads)


def _document(names: Iterable[str]) -> str:
    return "".join(f"\n    {name}: {OPTIONS[name].help}" for name in names)


RunConfig.__doc__ = f"{getdoc(RunConfig)}\n\nAttributes:{_document(OPTIONS)}"


def takes_options(function: Callable[P, T]) -> Callable[P, T]:
    """Show the options that a function takes as ``**options`` in its signature and docstring."""
    own = signature(function).parameters
    names = [name for name in OPTIONS if name not in own and name not in PLUGIN_LISTS]
    fields = RunConfig.model_fields
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=fields[name].default) for name in names
    ]
    parameters = [p for p in own.values() if p.kind is not Parameter.VAR_KEYWORD]
    function.__signature__ = Signature([*parameters, *options])  # type: ignore[attr-defined]  # help() reads it
    function.__doc__ = f"{getdoc(function)}\n\nOptions:{_document(names)}"
    return function


def _describe_errors(error: ValidationError) -> str:
    """Return a line for each invalid value: the option, the value, and what it may be."""
    lines = []
    for each in error.errors():
        expected = _EXPECTED.get(each["type"], each["msg"]).format(**each.get("ctx", {}))
        lines.append(f"{each['loc'][0]}={each['input']!r}: expected {expected}")
    return "\n".join(lines)


_EXPECTED = {
    "literal_error": "{expected}",
    "bool_type": "true or false",
    "string_type": "text",
    "path_type": "a path",
}
"""Kind of error -> what was expected, in the words of this package."""


def _as_json(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value.resolve())
    if isinstance(value, tuple):
        return [_as_json(each) for each in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return str(getattr(value, "name", None) or getattr(value, "__name__", value))  # a plug-in
