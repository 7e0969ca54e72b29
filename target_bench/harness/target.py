"""TARGET: load -> embed_corpus -> retrieve once at the largest k -> generate -> score.

The stages are imported when a benchmark is made or run, so that importing ``TARGET`` stays cheap.
"""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Unpack, cast

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import PromptOptions
from target_bench.core.settings import check_named_once, named, of, options_of
from target_bench.harness.run_options import (
    EXTRACTIVE,
    RUNS,
    TOP_K,
    DataKeywords,
    Keywords,
    RunOptions,
    check_names,
)

if TYPE_CHECKING:
    from target_bench.core.contract import RetrieverLike
    from target_bench.core.schema import Dataset
    from target_bench.core.task import Task
    from target_bench.data.select import Loaded, Loader, TaskLike
    from target_bench.harness.stages.consent import Confirm
    from target_bench.harness.stages.generate import GeneratorLike
    from target_bench.harness.stages.index import HeldIndex
    from target_bench.harness.stages.retrieve import Cell, RetrieverSpec
    from target_bench.runs.result import Results

_OBJECTS = 50_000
"""New objects after which a run has Python look for cycles; most objects of a run live on."""
_CHANGING = Lock()
_thresholds: list[tuple[int, int, int]] = []
"""What each run that is under way found."""


class TARGET:
    """The benchmark: one or more tasks, each on one or more corpora.

    Args:
        tasks: a task (``"Table Retrieval"`` or its short name, in any case, perhaps with settings:
            ``"text-to-sql:engine=duckdb,timeout=10"``) for all corpora that serve it, or a pair of
            a task and a corpus or list of corpora, as in ``("Table Retrieval", "OTTQA")``. A
            corpus is a name, the path of a folder or database of your own (``"./tables"``), or a
            loaded ``Dataset``. A list of tasks is as good as several. Default: table retrieval.
        downstream_tasks: more tasks, by the name that the original TARGET package gives them.
        data_dir: the folder with the release files, or one with one sub-folder per corpus; default:
            ``$TARGET_BENCH_DATA``.
        out: where run folders go.
        observer: gets progress and warnings; default: bars in a notebook (``Progress``), and no
            progress elsewhere.
        loader: what loads corpora, to share them with another benchmark.

    Raises:
        ConfigError: an unknown task or corpus, an invalid setting of a task, a corpus that does not
            serve the task, or an installed package of a version that does not work.
        DataError: there is nothing readable at a path.
    """

    def __init__(
        self,
        *tasks: "TaskLike | Sequence[TaskLike]",
        downstream_tasks: "TaskLike | Sequence[TaskLike] | None" = None,
        data_dir: str | Path | None = None,
        out: str | Path = RUNS,
        observer: Observer | None = None,
        loader: "Loader | None" = None,
    ) -> None:
        from target_bench.core import registry
        from target_bench.data.select import Loader, once, tasks_and_corpora

        registry.check_requirements()

        wanted = _one_by_one([*tasks, downstream_tasks or []]) or [RANKING_TASK]
        self._pairs = once(pair for task in wanted for pair in tasks_and_corpora(task))
        for text in dict.fromkeys(text for text, _ in self._pairs):
            registry.create("task", text)  # an invalid setting is reported before anything runs
        self._out = Path(out)
        self._observer = observer or _default_observer()
        self._loader = loader or Loader(data_dir, self._observer)

    def run(
        self,
        retriever: "RetrieverLike | str | Sequence[RetrieverLike | str] | None" = None,
        split: str | None = None,
        top_k: int | Sequence[int] = TOP_K,
        *,
        generator: "GeneratorLike | str" = EXTRACTIVE,
        name: str | Sequence[str] | None = None,
        confirm: "Confirm | None" = None,
        by: str | Sequence[str] = (),
        **options: Unpack[Keywords],
    ) -> "Results":
        """Evaluate retrievers, and for tasks about answers a generator, on every pair.

        Args:
            retriever: an object with ``embed_corpus`` and ``retrieve``; or text as on the command
                line: ``"bm25:k1=0.9"``, ``"ours=file.py:Mine"`` (with a name), ``"oracle"`` or
                ``"no-context"``; or a list of these, whose indexes then stay in memory together.
                Tasks that are given their tables, or need none, ask no retriever.
            split: ``train``, ``validation`` (``dev``, ``val``) or ``test``; default: each corpus's
                own, the one its paper reports on.
            top_k: one cutoff, several, or text such as ``"1,5,10"``. Retrieval runs once, at the
                largest.
            generator: what answers: an object with ``generate``; or text: ``"extractive"``,
                ``"openai:model=..."``, ``"gold"`` or ``"empty"``, each perhaps with a name.
            name: what tables, plots and reports call the retriever, or each of a list. It changes
                no result.
            confirm: is asked before requests that may cost money; default: they are sent unasked.
            by: properties of the queries, as ``"difficulty"``; every metric is then scored for
                each of their values too (``Result.by``).
            options: ``limit``, ``database``, ``within_database``, ``distractors``, ``on_error``,
                ``retry_failed``, ``latency``, ``memory``, ``indexes`` and ``metrics``, as in
                ``RunOptions``;
                ``prompt``, ``tables``, ``prompt_tokens``, ``table_format``, ``schema_scope``
                and ``structured``, as in ``PromptOptions``.

        Raises:
            ConfigError: an unknown option, or an invalid argument.
            DataError: the corpus is missing or broken.
            PluginError: the retriever failed, with ``on_error="stop"`` or while indexing; or the
                generator failed as a whole. A failed answer is recorded and counts as wrong.
            StoreError: the run folder cannot be written or read.
        """
        from target_bench.harness import pipeline
        from target_bench.harness.stages import generate
        from target_bench.harness.stages.index import HeldIndex
        from target_bench.runs.result import Results

        given = {"split": split, "top_k": top_k, **options}
        known = options_of(RunOptions, PromptOptions)
        if given.keys() - known.keys():
            check_names(given, [*known])
        chosen, prompting = of(RunOptions, given), of(PromptOptions, given)
        self._check_metrics(chosen)
        pairs = _with_names(_each(retriever), name)
        specs = [self._spec(one, chosen.within_database, called) for one, called in pairs]
        if specs[0] is not None and prompting.tables is not None:
            prompting.check_tables(chosen.top_k[-1])
        answer_options = generate.AnswerOptions(generator, prompting, confirm=confirm)
        with _reporting_its_end(self._observer), _few_collections():
            held, data = HeldIndex(), self._load_all(chosen)
            asked = [(text, loaded, spec) for spec in specs for text, loaded in data]
            cells = [self._cell(*one, chosen, confirm, held) for one in asked]
            names = _texts(by)
            if names:
                _check_properties(names, [cell.dataset for _, _, cell in cells])
            results = [
                pipeline.evaluate(task, cell, replace(answer_options, task=text))
                for text, task, cell in cells
            ]
        by_pair = [one for i in range(len(data)) for one in results[i :: len(data)]]
        once = {result.folder: result for result in by_pair}
        return Results(result.sliced(names) for result in once.values())

    def score(
        self,
        run_file: str | Path | None = None,
        split: str | None = None,
        top_k: int | Sequence[int] = TOP_K,
        *,
        predictions: str | Path | None = None,
        order: str | Path | None = None,
        confirm: "Confirm | None" = None,
        by: str | Sequence[str] = (),
        **options: Unpack[DataKeywords],
    ) -> "Results":
        """Score rankings, or answers, that were made elsewhere.

        Args:
            run_file: for the task retrieval: a TREC run, or JSON lines as a run folder's
                ``retrieval.jsonl`` holds them.
            split: as for ``run``.
            top_k: as for ``run``.
            predictions: for tasks about answers: a file that the generator ``replay`` reads.
            order: a JSON list of query ids, for predictions with one answer per line.
            confirm: is asked before a model that may cost money judges the answers; default: the
                answers are judged without a question.
            by: as for ``run``.
            options: ``limit``, ``database``, ``distractors`` and ``metrics``, as for ``run``.

        Raises:
            ConfigError: an unknown option, or an invalid argument.
            DataError: the corpus or the file is missing or broken, or names queries or tables that
                the corpus does not have.
            StoreError: the run folder cannot be written or read.
        """
        from target_bench.data.select import task_class
        from target_bench.harness import inputs, pipeline
        from target_bench.harness.stages import generate, retrieve
        from target_bench.runs.manifest import NO_CONTEXT
        from target_bench.runs.result import Results

        given = {"split": split, "top_k": top_k, **options}
        check_names(given, ["split", "top_k", *DataKeywords.__annotations__])
        chosen = replace(of(RunOptions, given), on_error="record")
        self._check_metrics(chosen)
        with _reporting_its_end(self._observer), _few_collections():
            results = []
            for text, loaded in self._load_all(chosen):
                spec = retrieve.retriever_spec(NO_CONTEXT, self._observer)
                answer_options = generate.AnswerOptions("empty", task=text)
                if task_class(text).answer == "ranking":
                    spec = inputs.given_rankings(run_file, loaded, chosen.limit, self._observer)
                else:
                    answers = inputs.given_answers(predictions, order, loaded, self._observer)
                    answer_options = replace(answers, task=text, confirm=confirm)
                _, task, cell = self._cell(text, loaded, spec, chosen)
                _check_properties(_texts(by), [cell.dataset])
                results.append(pipeline.evaluate(task, cell, answer_options))
        return Results(result.sliced(_texts(by)) for result in results)

    def _check_metrics(self, options: RunOptions) -> None:
        if options.metrics:
            from target_bench.core.metric_function import check_read
            from target_bench.data.select import task_class

            check_read(options.metrics, {text: task_class(text) for text, _ in self._pairs})

    def _spec(
        self, retriever: "RetrieverLike | str | None", within_database: bool, name: str | None
    ) -> "RetrieverSpec | None":
        """Return the retriever; None if no task retrieves."""
        from target_bench.data.select import task_class
        from target_bench.harness.stages import retrieve

        texts = dict.fromkeys(text for text, _ in self._pairs)
        retrieving = [text for text in texts if task_class(text).source == "retrieved"]
        if retriever is None and retrieving:
            raise ConfigError(
                f"the task {retrieving[0]} is about tables that are retrieved: name a retriever, "
                'as in run("bm25")'
            )
        if retriever is None:
            return None
        if texts and not retrieving:
            self._observer.warning(
                f"the retriever is not asked: {', '.join(texts)} takes tables that are given, or "
                "none"
            )
            return None
        own, asked = named(retriever)
        if within_database and asked not in retrieve.MODES:
            from target_bench.harness.stages import own_database

            asked = own_database.within_database(asked)
        return replace(retrieve.retriever_spec(asked, self._observer), name=own or name)

    def _cell(
        self,
        text: str,
        loaded: "Loaded",
        spec: "RetrieverSpec | None",
        options: RunOptions,
        confirm: "Confirm | None" = None,
        held: "HeldIndex | None" = None,
    ) -> "tuple[str, Task[Any], Cell]":
        """Return a task as it was asked for, the task, and what it is asked of."""
        from target_bench.data.select import make_task
        from target_bench.harness.stages.index import HeldIndex
        from target_bench.harness.stages.retrieve import Cell

        task = make_task(text)
        ranked = spec if task.retrieves else None
        asked = loaded.of_database(options.database).limited(options.limit)
        shared = (self._out, self._observer, confirm, held or HeldIndex())
        return text, task, Cell(asked, ranked, options, *shared)

    def _load_all(self, options: RunOptions) -> "list[tuple[str, Loaded]]":
        from target_bench.data.select import task_class

        chosen = (options.split, options.distractors, options.database)
        return [
            (text, _asked(self._loader.load(corpus, *chosen)).of_task(task_class(text)))
            for text, corpus in self._pairs
        ]


def _one_by_one(tasks: "Sequence[TaskLike | Sequence[TaskLike]]") -> "list[TaskLike]":
    """Return the tasks, those of a list one by one; a tuple is a task with its corpora."""
    found: list[TaskLike] = []
    for given in tasks:
        found += given if isinstance(given, list) else [cast("TaskLike", given)]
    return found


def _check_properties(names: Sequence[str], datasets: "Iterable[Dataset]") -> None:
    """See that queries have the properties by which scores are wanted, before anything runs.

    Raises:
        ConfigError: the queries of a dataset do not have one of them.
    """
    from target_bench.runs import slicing

    for dataset in datasets if names else ():
        slicing.check_names(slicing.by_property(dataset.queries), names)


def _each(
    retrievers: "RetrieverLike | str | Sequence[RetrieverLike | str] | None",
) -> "list[RetrieverLike | str | None]":
    if isinstance(retrievers, list | tuple):
        return [*retrievers] or [None]
    return [cast("RetrieverLike | str | None", retrievers)]


def _with_names(
    retrievers: "Sequence[RetrieverLike | str | None]", name: str | Sequence[str] | None
) -> "list[tuple[RetrieverLike | str | None, str | None]]":
    """Return each retriever with its name, or None.

    Raises:
        ConfigError: there are not as many names as retrievers, or two of one name.
    """
    check_named_once(one for one in retrievers if isinstance(one, str))
    if name is None:
        return [(one, None) for one in retrievers]
    names = _texts(name)
    if len(names) != len(retrievers) or len(set(names)) < len(names):
        raise ConfigError(
            f"name={name!r}: expected {len(retrievers)} names, each once, for as many retrievers"
        )
    return list(zip(retrievers, names, strict=True))


def _default_observer() -> Observer:
    from target_bench.core.progress import default_observer

    return default_observer()


@contextmanager
def _reporting_its_end(observer: Observer) -> Iterator[None]:
    try:
        yield
    finally:
        observer.finished()


@contextmanager
def _few_collections() -> Iterator[None]:
    """Have Python look for cycles less often, as the command line does, unless it does already."""
    with _CHANGING:
        before = gc.get_threshold()
        _thresholds.append(before)
        if 0 < before[0] < _OBJECTS:
            gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        with _CHANGING:  # the last of several runs in threads restores what the first found
            before = _thresholds.pop()
            if not _thresholds and gc.get_threshold()[0] == _OBJECTS:
                gc.set_threshold(*before)


def _texts(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def _asked(loaded: "Loaded") -> "Loaded":
    dataset = loaded.dataset
    if not dataset.queries:
        raise DataError(
            f"corpus {dataset.info.name}, split {dataset.split}: {len(dataset.corpus)} tables and "
            "no query. docs/data.md shows how queries are written, and target-bench ask writes "
            "some; target-bench search needs none."
        )
    return loaded
