"""One cell of a sweep: a value that says what to run, and the function that runs it."""

import json
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from target_bench.core import registry
from target_bench.core.credentials import mask_config, mask_settings, without_secrets
from target_bench.core.errors import PASSED_ON, TargetBenchError
from target_bench.core.metric import Score
from target_bench.core.observer import Observer
from target_bench.core.registry import find_task
from target_bench.core.run_config import EXTRACTIVE, RunConfig, options_read
from target_bench.core.schema import Dataset
from target_bench.core.settings import split_name
from target_bench.core.text_tables import count_noun
from target_bench.core.user_code import describe_with_line
from target_bench.harness.yaml_file import add_name

if TYPE_CHECKING:
    from target_bench.runs.result import Result

CellState = Literal["new", "unfinished", "finished", "damaged", "reused", "failed"]
"""How a cell stands.

Before it is run (``plan``): ``new`` if nothing is on disk; ``finished`` if nothing is left to ask;
``damaged`` if its folder cannot be read or is of another version, so that the cell will fail; else
``unfinished``. Afterwards:
``finished``; ``reused`` if it was finished before; or ``failed``.
"""


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
    def task_name(self) -> str:
        """The task without them."""
        return find_task(self.task).name

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
    def parts(self) -> list[str]:
        """What it is made of, in words: task, data, retriever, generator and its prompt."""
        options = self.to_json()
        limit = None if options["limit"] is None else f"limit={options['limit']}"
        data = " ".join(filter(None, (options["corpus"], options["split"], limit)))
        parts = [
            options["task"],
            " + ".join([data, *self.config.distractors]),
            options["retriever"],
            options["generator"],
            options["prompt"],
        ]
        if options["tables"]:
            parts.append(count_noun(options["tables"], "table"))
        parts += [
            f"{name}={options[name]}"
            for name in ("table_format", "schema_scope")
            if options[name] not in (None, RunConfig.model_fields[name].default)
        ]
        return [part for part in parts if part]

    def __str__(self) -> str:
        return " | ".join(self.parts)

    def to_json(self) -> dict[str, Any]:
        """Return its number and options, without credentials and the folder of a prompt.

        Options that its task does not read are None.
        """
        config, read = self.config, options_read(find_task(self.task))
        prompt = {
            name: getattr(config, name) if name in read else None
            for name in ("prompt", "tables", "table_format", "schema_scope")
        }
        return {
            "number": self.number,
            "task": mask_settings(self.task),
            "corpus": mask_settings(self.corpus),
            "split": config.split,
            "distractors": " + ".join(config.distractors) or None,
            "limit": config.limit,
            "retriever": _mask_plugin(self.retriever),
            "generator": _mask_plugin(self.generator),
            "k": None if self.retriever is None else config.top_k[-1],
            **prompt,
            "prompt": prompt["prompt"] and prompt["prompt"].name,
        }

    def list_settings(self) -> dict[str, str]:
        """Return the settings of its plug-ins: ``retriever.k1`` -> text as it is, else JSON."""
        plugins: dict[registry.Kind, str | None] = {
            "task": self.task,
            "retriever": split_name(self.retriever)[1],
            "generator": split_name(self.generator)[1],
        }
        return {
            f"{kind}.{name}": value if isinstance(value, str) else json.dumps(value)
            for kind, text in plugins.items()
            if text is not None
            for name, value in mask_config(registry.parse(kind, text).settings).items()
        }


def _mask_plugin(plugin: str | None) -> str | None:
    """Return a plug-in with its name and without credentials."""
    if plugin is None:
        return None
    name, text = split_name(plugin)
    return add_name(name, mask_settings(text))


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """Outcome of a cell: picklable, and small for any number of queries.

    Attributes:
        cell: the cell.
        seconds: wall-clock seconds that the cell took this time.
        result: what its run folder holds; None if it failed.
        error: why it failed, or None.
        exit_code: of the error; 0 without one.
        trace: the traceback of what ``run_cell`` caught, which ``--debug`` prints; None for a lost
            worker.
    """

    cell: SweepCell
    seconds: float
    result: "Result | None" = None
    error: str | None = None
    exit_code: int = 0
    trace: str | None = None

    @property
    def state(self) -> CellState:
        """``finished``, ``reused`` or ``failed``."""
        if self.result is None:
            return "failed"
        return "reused" if self.result.run.reused else "finished"

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
        stored = self.result.stored if self.result else None
        answers = stored.answers if stored else None
        return {
            "n_queries": stored.counts.asked if stored else 0,
            "failed_queries": (answers or stored.counts).failed if stored else 0,
            "input_tokens": answers.input_tokens if answers else None,
            "output_tokens": answers.output_tokens if answers else None,
            "cost": answers.cost if answers else None,
        }

    def to_row(self) -> dict[str, Any]:
        """Return one flat row: settings, counts, seconds, milliseconds and scores.

        It is the same whether the cell was run now or reused.
        """
        row = self.cell.to_json() | self.cell.list_settings()
        row |= {
            "state": "failed" if self.error else "finished",
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


def run_cell(cell: SweepCell, observer: Observer) -> CellOutcome:
    """Run a cell, or resume it; only an interruption leaves it as an exception."""
    from target_bench.data.load import pair_with_corpora
    from target_bench.harness.evaluate import evaluate_pairs
    from target_bench.runs.result import Result

    observer.cell_started(cell.number, str(cell))
    cell_observer = observer.observe_cell(cell.number)
    start = time.perf_counter()
    try:
        (result,) = evaluate_pairs(
            pair_with_corpora(cell.task, cell.corpus),
            [cell.retriever],
            [cell.generator or EXTRACTIVE],
            cell.config,
            observer=cell_observer,
            loaded=share_data(cell),
        )
    except PASSED_ON:
        raise
    except BaseException as error:
        seconds, trace = time.perf_counter() - start, traceback.format_exc()
        if isinstance(error, TargetBenchError):
            return fail_cell(cell, str(error), error.exit_code, seconds, trace)
        return fail_cell(cell, describe_with_line(error), 1, seconds, trace)
    small = Result(result.run)  # without the queries
    return CellOutcome(cell, time.perf_counter() - start, small)


def fail_cell(
    cell: SweepCell, error: str, exit_code: int = 3, seconds: float = 0.0, trace: str | None = None
) -> CellOutcome:
    """Return the outcome of a cell that failed, also of one whose worker was lost."""
    trace = None if trace is None else without_secrets(trace)
    return CellOutcome(cell, seconds, None, without_secrets(error), exit_code, trace)


_DATA: dict[tuple[Any, ...], dict[Any, Dataset]] = {}
"""The data of the last cell: the next cell is often of the same split."""


def share_data(cell: SweepCell) -> dict[Any, Dataset]:
    """Return what is loaded of the data of a cell: that of the last cell, if of the same split."""
    config = cell.config
    split = (cell.corpus, config.split, config.distractors, config.data_dir)
    if split not in _DATA:
        _DATA.clear()
        _DATA[split] = {}
    return _DATA[split]


def forget_data() -> None:
    """Forget the last split: its files may have been edited since it was loaded."""
    _DATA.clear()
