"""One cell of a sweep: a value that says what to run, and the function that runs it."""

import json
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from target_bench.core import registry, user_code
from target_bench.core.credentials import mask_config, mask_settings, without_secrets
from target_bench.core.errors import PASSED_ON, TargetBenchError
from target_bench.core.metric import Score
from target_bench.core.observer import Observer
from target_bench.core.registry import find_task
from target_bench.core.run_config import EXTRACTIVE, RunConfig, options_read
from target_bench.core.settings import split_name
from target_bench.core.text_tables import count_noun
from target_bench.harness.yaml_file import with_name

if TYPE_CHECKING:
    from target_bench.data.load import LoadOnce
    from target_bench.runs.result import Result


@dataclass(frozen=True, slots=True)
class SweepCell:
    """One task on one split with one retriever (and one generator): picklable, and complete.

    Attributes:
        number: its place in the sweep, from 1.
        config: what is run, as by ``target-bench run``: one corpus, one task, and at most one
            retriever and one generator.
        gpus: how many GPUs it needs, for executors that place cells by that.
    """

    number: int
    config: RunConfig
    gpus: float = 0.0

    @property
    def task(self) -> str:
        """The task with its settings."""
        return self.config.tasks[0]

    @property
    def corpus(self) -> str:
        """A name, or the path of one's own."""
        return self.config.corpora[0]

    @property
    def retriever(self) -> str | None:
        """The retriever, perhaps with a name (``ours=bm25``); None where nothing is retrieved."""
        return next(iter(self.config.retrievers), None)

    @property
    def generator(self) -> str | None:
        """What answers, in the same way; None for a task about rankings."""
        return next(iter(self.config.generators), None)

    @property
    def task_name(self) -> str:
        """Short name of the task."""
        return find_task(self.task).name

    @property
    def parts(self) -> list[str]:
        """What it is made of, in words: task, data, retriever, generator and its prompt."""
        options = self.config
        limit = "" if options.limit is None else f"limit={options.limit}"
        data = " ".join(filter(None, (mask_settings(self.corpus), options.split, limit)))
        parts = [mask_settings(self.task), " + ".join([data, *options.distractors])]
        for name, text in (named_and_masked(p) for p in (self.retriever, self.generator)):
            parts += [with_name(name, text)] if text is not None else []
        if self.generator is not None:
            parts += [options.prompt.name] if options.prompt else []
            parts += [count_noun(options.tables, "table")] if options.tables else []
            for name in ("table_format", "schema_scope"):
                value = getattr(options, name)
                default = RunConfig.model_fields[name].default
                parts += [f"{name}={value}"] if value != default else []
        return parts

    def __str__(self) -> str:
        return " | ".join(self.parts)


def named_and_masked(plugin: str | None) -> tuple[str | None, str | None]:
    """Return what a plug-in is called, if anything, and its text without credentials."""
    name, text = split_name(plugin)
    return name, None if text is None else mask_settings(text)


def described(cell: SweepCell) -> dict[str, Any]:
    """Return the options of a cell as JSON, without paths of this machine."""
    options, name = cell.config, cell.task_name
    answered = cell.generator is not None
    scoped = answered and "schema_scope" in options_read(find_task(cell.task))
    retriever_name, retriever = named_and_masked(cell.retriever)
    generator_name, generator = named_and_masked(cell.generator)
    names = {"retriever_name": retriever_name, "generator_name": generator_name}
    return {
        "number": cell.number,
        "task": name,
        "task_settings": mask_settings(cell.task).removeprefix(name).lstrip(":") or None,
        "corpus": mask_settings(cell.corpus),
        "split": options.split,
        "distractors": " + ".join(options.distractors) or None,
        "limit": options.limit,
        "retriever": retriever,
        "generator": generator,
        "prompt": None if options.prompt is None else options.prompt.name,
        **{key: given for key, given in names.items() if given is not None},
        "k": None if cell.retriever is None else options.top_k[-1],
        "tables": options.tables,
        "table_format": options.table_format if answered else None,
        "schema_scope": options.schema_scope if scoped else None,
    }


def plugin_settings(cell: SweepCell) -> dict[str, str]:
    """Return the settings of a cell's plug-ins: ``retriever.k1`` -> text as it is, else JSON."""
    texts: dict[registry.Kind, str | None] = {
        "task": cell.task,
        "retriever": split_name(cell.retriever)[1],
        "generator": split_name(cell.generator)[1],
    }
    return {
        f"{kind}.{name}": value if isinstance(value, str) else json.dumps(value)
        for kind, text in texts.items()
        if text is not None
        for name, value in mask_config(registry.parse(kind, text).settings).items()
    }


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """Outcome of a cell: picklable, and small for any number of queries.

    Attributes:
        cell: the cell.
        seconds: wall-clock seconds that the cell took this time.
        result: what its run folder holds; None if it failed.
        error: why it failed, or None.
        exit_code: that of the error, 0 without one.
        trace: the traceback of an error that is a fault of ours or of a plug-in.
    """

    cell: SweepCell
    seconds: float
    result: "Result | None" = None
    error: str | None = None
    exit_code: int = 0
    trace: str | None = None

    @property
    def state(self) -> Literal["done", "reused", "failed"]:
        """Its state; ``reused``: all of it was there already."""
        if self.result is None:
            return "failed"
        return "reused" if self.result.run.reused else "done"

    @property
    def scores(self) -> Mapping[str, Score]:
        """Metric name -> score; empty if it failed."""
        return {} if self.result is None else self.result.scores

    @property
    def folder(self) -> Path | None:
        """Its run folder; None if it failed."""
        return None if self.result is None else self.result.folder

    @property
    def counts(self) -> dict[str, Any]:
        """Queries, failed queries (which count as wrong), tokens of prompts and answers, and cost.

        Tokens are None where the provider does not count them, the cost without a price table.
        """
        answers = self.result.stored.answers if self.result else None
        failed = (answers or self.result.stored.counts).failed if self.result else 0
        return {
            "n_queries": self.result.stored.counts.asked if self.result else 0,
            "failed_queries": failed,
            "input_tokens": answers.input_tokens if answers else None,
            "output_tokens": answers.output_tokens if answers else None,
            "cost": answers.cost if answers else None,
        }

    def as_row(self) -> dict[str, Any]:
        """Return one flat row: settings, counts, seconds, milliseconds and scores."""
        row = described(self.cell) | plugin_settings(self.cell)
        row |= {
            "state": "failed" if self.error else "done",  # the same when it is reused
            "error": self.error,
            "folder": str(self.folder) if self.folder else None,
            **self.counts,
        }
        if self.result is not None:
            row |= {f"seconds.{stage}": s for stage, s in self.result.times.seconds.items()}
            latency = self.result.times.latency or {}
            row |= {f"latency_ms.{p}": latency[p] for p in ("p50", "p95", "p99") if p in latency}
        for name, score in self.scores.items():
            value = score.to_json()
            row |= {name: value["value"]}
            row |= {f"{name}.{bound}": value[bound] for bound in ("low", "high")}
        return row

    def as_event(self) -> dict[str, Any]:
        """Return it as observers get it; see ``Observer.cell_finished``."""
        return {
            "state": self.state,
            "error": self.error,
            "folder": str(self.folder) if self.folder else None,
            "seconds": round(self.seconds, 6),
            "scores": {name: s.to_json()["value"] for name, s in self.scores.items()},
            "specs": {name: s.spec.to_json() for name, s in self.scores.items() if s.spec},
            **self.counts,
        }


def run_cell(cell: SweepCell, observer: Observer) -> CellOutcome:
    """Run a cell, or go on with it where it was stopped. No error leaves it but an interruption."""
    from target_bench.data.load import tasks_and_corpora
    from target_bench.harness.evaluate import evaluate_pairs
    from target_bench.runs.result import Result

    observer.cell_started(cell.number, str(cell))
    of_cell = observer.of_cell(cell.number)
    start = time.perf_counter()
    try:
        (result,) = evaluate_pairs(
            tasks_and_corpora((cell.task, cell.corpus)),
            cell.retriever,
            cell.generator or EXTRACTIVE,
            cell.config,
            load_once=keep_split(cell, of_cell),
            observer=of_cell,
        )
    except PASSED_ON:
        raise
    except BaseException as error:
        ours = isinstance(error, TargetBenchError)
        message = (
            str(error) if ours else user_code.describe_exception(error) + user_code.place(error)
        )
        code = error.exit_code if isinstance(error, TargetBenchError) else 1
        return failed(cell, message, time.perf_counter() - start, code, traceback.format_exc())
    small = Result(result.run)  # without the queries
    return CellOutcome(cell, time.perf_counter() - start, small)


def failed(
    cell: SweepCell, error: str, seconds: float = 0.0, exit_code: int = 3, trace: str | None = None
) -> CellOutcome:
    """Return the outcome of a cell that has none of its own, such as one whose worker was lost."""
    trace = None if trace is None else without_secrets(trace)
    return CellOutcome(cell, seconds, None, without_secrets(error), exit_code, trace)


_KEPT: dict[tuple[Any, ...], "LoadOnce"] = {}


def keep_split(cell: SweepCell, observer: Observer) -> "LoadOnce":
    """Return what loads the data of a cell; a process keeps one split at a time."""
    from target_bench.data.load import make_loader

    options = cell.config
    key = (cell.corpus, options.split, options.distractors, options.data_dir)
    if key not in _KEPT:
        _KEPT.clear()
        _KEPT[key] = make_loader(options.data_dir, observer)
    return _KEPT[key]


def forget_data() -> None:
    """Let the data of the last cell go, so that the next one reads its files again."""
    _KEPT.clear()
