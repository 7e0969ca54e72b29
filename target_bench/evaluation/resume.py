"""Going on with a stored run: other answers to its rankings, or its scores again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.observer import Observer
from target_bench.core.schema import Query, Retrieval
from target_bench.data.select import Loaded, Loader, task_named, task_text, tasks_and_corpora
from target_bench.evaluation import pipeline
from target_bench.evaluation.inputs import Answering
from target_bench.evaluation.options import PromptOptions, RunOptions
from target_bench.evaluation.pipeline import Cell
from target_bench.evaluation.results import Results
from target_bench.evaluation.stages.generate import Answerer
from target_bench.evaluation.stages.retrieve import Subject
from target_bench.runs import answer_log, record_log
from target_bench.runs.answer_log import Answered
from target_bench.runs.run_identity import (
    answers_fingerprint,
    earlier_note,
    is_earlier,
    queries_fingerprint,
)
from target_bench.runs.store import read_run


class StoredRun:
    """A finished retrieval, or a run of answers with the retrieval it is built on.

    Args:
        folder: the run folder.
        data_dir: as for ``TARGET``.
        observer: hears of progress and warnings.
        out: the folder of all runs; default: where the run folder lies.

    Raises:
        StoreError: the folder holds no run, or one whose parts are missing.
    """

    def __init__(
        self,
        folder: Path,
        data_dir: str | Path | None = None,
        observer: Observer | None = None,
        out: Path | None = None,
    ) -> None:
        folder = folder.resolve()
        self._folder = folder
        self._out = out or folder.parent
        self._data_dir = data_dir
        self._observer = observer or Observer()
        self._manifest = read_run(folder)
        self._rankings = folder
        if "retrieval_run" in self._asked:
            self._rankings = folder.parent / self._asked["retrieval_run"]
        self._retrieval = read_run(self._rankings)

    @property
    def _asked(self) -> dict[str, Any]:
        asked: dict[str, Any] = self._manifest["asked"]
        return asked

    @property
    def task(self) -> str:
        """Short name of its task."""
        return str(self._manifest["identity"]["task"])

    @property
    def task_text(self) -> str:
        """Its task with the settings that the run was asked for with."""
        return str(self._asked.get("task", self.task))

    def generate(
        self, answering: Answering, task: str | None = None, retry_failed: bool = False
    ) -> Results:
        """Have the stored rankings answered.

        Args:
            answering: what answers, and how.
            task: a task about answers, perhaps with settings; default: that of the run.
            retry_failed: ask again the queries that are recorded as failed.

        Raises:
            ConfigError: the run is about retrieval and no task is named, its corpus does not serve
                the task, or cannot be loaded again.
            DataError: the corpus is missing, broken, or another one than it was.
            StoreError: the retrieval is not finished.
        """
        text = task_text(task) if task else self.task_text
        name = task_named(text)
        made = registry.create("task", text)
        if name == "retrieval":
            raise ConfigError(
                f"{self._folder} is about retrieval; name the task of the answers with --task"
            )
        cell = self._cell(name, retry_failed)
        answering.prompting.check_tables(cell.depth)
        tasks_and_corpora((name, cell.dataset))
        return Results([pipeline.evaluate(made, cell, replace(answering, task=text))])

    def score(self, task: str | None = None) -> Results:
        """Score what is stored with the metrics as they are now; errors as for ``generate``.

        Args:
            task: the task of the run with other settings; default: as the run was asked for.
        """
        text = task_text(task) if task else self.task_text
        if task_named(text) != self.task:
            raise ConfigError(
                f"{self._folder} is about {self.task}, not about {task_named(text)}; other answers "
                f"to its rankings are made by: target-bench generate {self._folder} --task {text}"
            )
        made = registry.create("task", text)
        cell = self._cell(self.task, retry_failed=False)
        if self.task == "retrieval":
            return Results([pipeline.retrieve(cell)[0]])
        stored = answer_log.read(self._folder / "generations.jsonl")

        def answer(query: Query) -> Answered:
            if query.id not in stored:
                raise StoreError(f"{self._folder}: query {query.id!r} has no answer yet")
            return stored[query.id]

        identity = self._manifest["identity"]
        if is_earlier(identity):
            raise DataError(
                f"{earlier_note(self._folder)}: its scores cannot be computed again. Answer again "
                f"with target-bench generate {self._rankings} --task {self.task}"
            )
        wanted = identity["queries_fingerprint"]
        self._check_same(
            "queries or reference answers", wanted, answers_fingerprint(cell.dataset.queries)
        )
        answerer = Answerer(
            self._asked["generator"],
            identity["generator"],
            answer=answer,
            prompt=identity["prompt"],
        )
        tables = identity["retrieval"].get("tables")
        answering = Answering(answerer, PromptOptions(tables=tables), task=text)
        result = pipeline.evaluate(made, cell, answering)
        self._tell_of_other_metrics(read_run(result.folder)["identity"]["metrics"])
        return Results([result])

    def _tell_of_other_metrics(self, now: Sequence[str]) -> None:
        """Say that metrics or the reading of answers changed since the run was scored."""
        earlier = self._manifest["identity"]["metrics"]
        names = [found.partition("|")[0] for found in now if found not in earlier]
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            self._observer.warning(
                f"{self._folder.name} was scored in another way before ({', '.join(names[:3])}"
                f"{more}: see their signatures): its stored answers were scored again, nothing was "
                "generated"
            )

    def load(self) -> Loaded:
        """The tables and queries that the run was of, seen to be what they were.

        Raises:
            ConfigError: the corpus was made in Python.
            DataError: it is missing, broken, or another one than it was.
        """
        corpus, identity = self._asked["corpus"], self._retrieval["identity"]
        if corpus is None:
            raise ConfigError(
                f"{self._folder} is of a corpus that was made in Python; run it again from there"
            )
        loader = Loader(self._data_dir, self._observer)
        mixed_in = tuple(self._asked["distractors"])
        database = self._asked.get("database")
        loaded = loader.load(corpus, identity["split"], mixed_in, database)
        loaded = loaded.of_task(self._asked.get("about", "retrieval"))
        loaded = loaded.of_database(database)
        loaded = loaded.limited(self._asked.get("limit"))
        corpus_now, queries = loaded.dataset.corpus.fingerprint, loaded.dataset.queries
        self._check_same("tables", identity["corpus_fingerprint"], corpus_now)
        self._check_same("queries", identity["queries_fingerprint"], queries_fingerprint(queries))
        return loaded

    def _cell(self, task: str, retry_failed: bool) -> Cell:
        identity = self._retrieval["identity"]
        loaded = self.load().of_task(task)
        stored = record_log.read(self._rankings / "retrieval.jsonl")

        def rank(query: Query, _k: int) -> Retrieval:
            if query.id not in stored:
                raise StoreError(
                    f"{self._rankings}: query {query.id!r} has no ranking yet; finish the run with "
                    "the command that began it"
                )
            return stored[query.id]

        subject = Subject(self._retrieval["asked"]["retriever"], identity["retriever"], rank=rank)
        cutoffs = tuple(identity["top_k"])
        options = RunOptions(top_k=cutoffs, on_error="record", retry_failed=retry_failed)
        return Cell(loaded, subject, options, self._out, self._observer)

    def _check_same(self, what: str, then: str, now: str) -> None:
        if then != now:
            raise DataError(
                f"{self._folder}: the {what} of {self._asked['corpus']} are not what they were "
                f"(fingerprint {then[:12]} then, {now[:12]} now), so what is stored does not "
                "belong to them. Name the data of the run with --data-dir, or run again."
            )
