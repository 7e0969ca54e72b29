"""One cell of an evaluation as it is asked for: a retriever on a split, and how it is answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.contract import Observer
from target_bench.core.prompt_writer import PromptWriter
from target_bench.core.schema import Dataset
from target_bench.core.task import Task
from target_bench.data.select import Loaded
from target_bench.evaluation.inputs import Answering
from target_bench.evaluation.run_options import RunOptions
from target_bench.evaluation.stages.consent import Confirm
from target_bench.evaluation.stages.generate import Answerer
from target_bench.evaluation.stages.retrieve import Subject
from target_bench.evaluation.stages.score import labelled


@dataclass(frozen=True)
class Cell:
    """One retriever on one split, or a split alone.

    Attributes:
        loaded: the split.
        subject: what ranks; None for a task that retrieves nothing.
        options: the cutoffs, and how the retriever is run.
        out: the folder of all runs.
        observer: gets progress and warnings.
        confirm: is asked before a retriever that may cost money goes to work, or None.
    """

    loaded: Loaded
    subject: Subject | None
    options: RunOptions
    out: Path
    observer: Observer
    confirm: Confirm | None = None

    @property
    def cutoffs(self) -> Sequence[int]:
        """The cutoffs, ascending; retrieval runs once, at the largest. Empty without a subject."""
        return self.options.top_k if self.subject is not None else ()

    @property
    def dataset(self) -> Dataset:
        """Tables and queries."""
        return self.loaded.dataset

    @property
    def depth(self) -> int:
        """How many tables a ranking holds."""
        return self.cutoffs[-1] if self.cutoffs else 0


@dataclass(frozen=True)
class Asking:
    """How the queries of a cell are answered.

    Attributes:
        task: a task that is about answers.
        answerer: what answers.
        prompter: what it is asked with.
        depth: how many tables stand in a prompt.
        written: task and prompt options as they were asked for, for the manifest.
    """

    task: Task[Any]
    answerer: Answerer
    prompter: PromptWriter
    depth: int
    written: Mapping[str, Any]


def asking_of(task: Task[Any], cell: Cell, answering: Answering) -> Asking:
    """Return what is asked of whom in a cell; errors as for ``Answering``, and ``DataError``."""
    labelled(task, cell.dataset)
    answerer = answering.answerer(task, cell.observer)
    follows_schema = bool(getattr(answerer.generator, "follows_schema", False))
    depth = cell.depth if task.retrieves else most_given(task, cell.dataset)
    tables = answering.prompting.tables
    return Asking(
        task,
        answerer,
        answering.prompter(task, cell.dataset.databases, follows_schema),
        depth if tables is None else min(tables, depth),
        {"task": answering.task or task.name, "prompting": answering.prompting.to_json()},
    )


def most_given(task: Task[Any], dataset: Dataset) -> int:
    """How many tables a query is given at most, by a task that retrieves nothing."""
    return max(len(task.given_tables(query, dataset.corpus)) for query in dataset.queries)
