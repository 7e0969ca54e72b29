"""``Options``: what to run, each option declared once for Python, YAML files and command lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from target_bench.core.errors import ConfigError
from target_bench.core.prompt_writer import PromptOptions, SchemaScope
from target_bench.core.schema import TableFormat
from target_bench.core.settings import (
    cutoffs,
    option,
    option_info,
    path,
    text,
    texts,
    whole,
)

if TYPE_CHECKING:
    from target_bench.core.metric_function import MetricLike
    from target_bench.core.task import Task


def _metrics(name: str, value: Any) -> tuple[Any, ...]:
    if value == ():
        return ()  # without numpy, which the functions need
    from target_bench.core.metric_function import read_metrics

    return read_metrics(name, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PromptOptions):
    """What to run. The same names in Python, in a YAML file and, with dashes, on the command line.

    ```python
    Options(corpora=["mini"], retrievers=["bm25:k1=0.9"], top_k=[1, 10])
    ```

    Attributes:
        corpora: names or paths.
        tasks: with their settings, as ``text-to-sql:engine=duckdb``; empty for those that the
            corpora serve.
        retrievers: with their settings; empty for the baselines.
        generators: what answers, with its settings; empty for the default one.
        split: the split; None for the corpus's own.
        top_k: the cutoffs, ascending. Retrieval runs once, at the largest.
        limit: how many queries are asked, a fixed sample spread over the databases; None for all.
        distractors: what is mixed in, each as ``ottqa:split=train,n=1000,seed=7``.
        latency: how many single queries are timed after the batches, at most 500.
        metrics: metrics besides those of the task: functions, objects of ``Metric``, or texts as
            ``file.py:short``.
        data_dir: the folder with the release files, or with one sub-folder per corpus; None for
            ``$TARGET_BENCH_DATA``.
        out: the folder of all runs.

    The options of prompts are those of ``PromptOptions``.

    Raises:
        ConfigError: an unknown option, or an invalid value.
    """

    corpora: tuple[str, ...] = option(
        (),
        "A corpus by name, or the path of your own (./tables); may be repeated.",
        texts,
        flag="--corpus",
    )
    tasks: tuple[str, ...] = option(
        (),
        "A task by name (target-bench list tasks) or file.py:Class, with settings as in "
        "text-to-sql:engine=duckdb (target-bench describe task text-to-sql lists them); may be "
        "repeated. Default: retrieval; with --generator, the tasks that the corpus has answers "
        "for; all: both.",
        texts,
        flag="--task",
        shown=False,
    )
    retrievers: tuple[str, ...] = option(
        (),
        "name, name:key=value,..., module:Class, file.py:Class, oracle or no-context; may be "
        "repeated. NAME=... gives it a name in tables and plots, as in ours=file.py:Mine. "
        "Default: bm25, tfidf, lsa and random.",
        texts,
        flag="--retriever",
    )
    generators: tuple[str, ...] = option(
        (),
        "Generators, for tasks with answers: name:key=value,..., gold or empty; may be "
        "repeated. Default: extractive.",
        texts,
        flag="--generator",
    )
    split: str | None = option(
        None,
        "train, validation (dev, val) or test; mini_dev for bird. Default: that of the corpus.",
        text,
        sweep="splits",
        axis=True,
        shown=False,
    )
    top_k: tuple[int, ...] = option(
        (1, 5, 10),
        "Cutoffs, as in 1,5,10,50; may be repeated. Default: 1,5,10.",
        cutoffs,
        sweep="top_k",
        shown=False,
    )
    limit: int | None = option(
        None, "Only N queries, a fixed sample spread over the databases.", whole(1), sweep="limit"
    )
    distractors: tuple[str, ...] = option(
        (),
        "Tables to mix in: a corpus or the path of a folder, with split, n, seed and "
        "near_copies, as in ottqa:split=train,n=1000,seed=7; may be repeated.",
        texts,
        shown=False,
    )
    latency: int = option(
        0,
        "Measure the latency of this many single queries (at most 500).",
        whole(0),
        sweep="latency",
    )
    metrics: tuple[Any, ...] = option(
        (),
        "A metric besides those of the task: a function or class in a file, as in "
        "my_metrics.py:short; may be repeated.",
        _metrics,
        flag="--metric",
        sweep="metrics",
    )
    data_dir: Path | None = option(
        None,
        "Folder with the release files, or with one sub-folder per corpus. Default: "
        "$TARGET_BENCH_DATA.",
        path,
        shown=False,
    )
    out: Path = option(Path("runs"), "Folder of the runs.", path)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Options":
        """Return the options that were given; defaults for all others.

        Raises:
            ConfigError: an unknown name, with near misses, or an invalid value.
        """
        check_names(given, list(OPTIONS))
        return cls(**given)

    @property
    def prompting(self) -> PromptOptions:
        """The options of prompts alone."""
        return PromptOptions(
            **{each.name: getattr(self, each.name) for each in fields(PromptOptions)}
        )

    def run_json(self) -> dict[str, Any]:
        """Option -> value, of those that say how a run is made."""
        return {name: value for name, value in self.to_json().items() if name in RUN_OPTIONS}


OPTIONS: "dict[str, Field[Any]]" = {each.name: each for each in fields(Options)}
"""Name -> field of every option."""

PROMPT_OPTIONS = frozenset(each.name for each in fields(PromptOptions))
"""The options that only tasks about answers read."""

READ_BY_SOME = PROMPT_OPTIONS | {"generators", "run_file", "predictions", "order"}
"""The options that some tasks read, and others do not."""

RUN_OPTIONS = (
    frozenset(OPTIONS)
    - PROMPT_OPTIONS
    - {
        *("corpora", "tasks", "retrievers", "generators", "data_dir", "out"),
    }
)
"""The options of how a run is made."""

EXTRACTIVE = "extractive"
"""The generator that answers where none is named; it needs no model."""

TOP_K: Sequence[int] = Options().top_k
"""The cutoffs where none are named."""

RUNS: Path = Options().out
"""The folder of all runs where none is named."""


class DataKeywords(TypedDict, total=False):
    """Options that select queries and tables, of ``TARGET.run`` and ``TARGET.score``."""

    limit: int | None
    distractors: str | Sequence[str]
    metrics: "MetricLike | Sequence[MetricLike]"


class Keywords(DataKeywords, total=False):
    """Options of ``evaluate`` that are no parameters of their own, as in ``Options``."""

    latency: int
    prompt: str | Path | None
    tables: int | None
    table_format: TableFormat
    schema_scope: SchemaScope
    structured: bool


def check_names(given: Iterable[str], known: Sequence[str]) -> None:
    """See that every option has a name that there is.

    Raises:
        ConfigError: an unknown name, with near misses.
    """
    for name in given:
        if name not in known:
            from target_bench.core.errors import unknown_name

            raise ConfigError(unknown_name("option", name, known))


def in_sweeps(axis: bool) -> "Iterator[tuple[str, Field[Any]]]":
    """(entry of a sweep's file, option): of the lists, or of the single values."""
    for each in OPTIONS.values():
        declared = option_info(each)
        if declared.sweep is not None and declared.axis == axis:
            yield declared.sweep, each


def read_option(name: str, value: Any, where: str = "") -> Any:
    """Return the value of an option from what a user gave.

    Args:
        name: of the option.
        value: what was given.
        where: what a message calls it; default: its name.

    Raises:
        ConfigError: it is invalid.
    """
    return option_info(OPTIONS[name]).read(where or name, value)


def flag_of(name: str) -> str:
    """Return the spelling of an option on the command line."""
    return option_info(OPTIONS[name]).flag or f"--{name.replace('_', '-')}"


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
