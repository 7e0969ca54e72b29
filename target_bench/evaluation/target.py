"""TARGET: load -> embed_corpus -> retrieve once at the largest k -> generate -> score.

The stages are imported when a benchmark is made or run, so that importing ``TARGET`` stays cheap.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from target_bench.core.observer import Observer
from target_bench.evaluation.options import (
    EXTRACTIVE,
    RUNS,
    TOP_K,
    DataKeywords,
    Keywords,
    PromptOptions,
    RunOptions,
    check_names,
    of,
    options_of,
)

if TYPE_CHECKING:
    from target_bench.core.contract import RetrieverLike
    from target_bench.data.select import CorpusLike, Loaded, Loader
    from target_bench.evaluation.pipeline import Cell
    from target_bench.evaluation.results import Results
    from target_bench.evaluation.stages.consent import Confirm
    from target_bench.evaluation.stages.generate import GeneratorLike
    from target_bench.evaluation.stages.retrieve import Subject


class TARGET:
    """The benchmark: one or more tasks, each on one or more corpora.

    Args:
        tasks: a task (``"Table Retrieval"`` or ``"retrieval"``, in any case, perhaps with settings:
            ``"text-to-sql:engine=duckdb,timeout=10"``) for all corpora that serve it, or a pair of
            a task and a corpus or list of corpora, as in ``("Table Retrieval", "OTTQA")``. A
            corpus is a name, the path of a folder or database of your own (``"./tables"``), or a
            loaded ``Dataset``. Default: table retrieval.
        data_dir: the folder with the release files, or one with a sub-folder a corpus; default:
            ``$TARGET_BENCH_DATA``.
        out: where run folders go.
        observer: hears of progress and warnings.
        loader: what loads corpora, to share them with another benchmark.

    Raises:
        ConfigError: an unknown task or corpus, an invalid setting of a task, a corpus that does not
            serve the task, or an installed package of a version that does not work.
        DataError: there is nothing readable at a path.
    """

    def __init__(
        self,
        *tasks: "str | tuple[str, CorpusLike | Sequence[CorpusLike]]",
        data_dir: str | Path | None = None,
        out: str | Path = RUNS,
        observer: Observer | None = None,
        loader: "Loader | None" = None,
    ) -> None:
        from target_bench.core import registry, requirements
        from target_bench.data.select import Loader, once, tasks_and_corpora

        requirements.check()

        wanted = tasks or ("retrieval",)
        self._pairs = once(pair for task in wanted for pair in tasks_and_corpora(task))
        for text in dict.fromkeys(text for text, _ in self._pairs):
            registry.create("task", text)  # an invalid setting is reported before anything runs
        self._out = Path(out)
        self._observer = observer or Observer()
        self._loader = loader or Loader(data_dir, self._observer)

    def run(
        self,
        retriever: "RetrieverLike | str",
        split: str | None = None,
        top_k: int | Sequence[int] = TOP_K,
        *,
        generator: "GeneratorLike | str" = EXTRACTIVE,
        confirm: "Confirm | None" = None,
        **options: Unpack[Keywords],
    ) -> "Results":
        """Evaluate one retriever, and for tasks about answers one generator, on every pair.

        Args:
            retriever: an object with ``embed_corpus`` and ``retrieve``; or text as on the command
                line: ``"bm25:k1=0.9"``, ``"oracle"`` or ``"no-context"``.
            split: ``train``, ``validation`` (``dev``, ``val``) or ``test``; default: each corpus's
                own, the one its paper reports on.
            top_k: one cutoff, several, or text such as ``"1,5,10"``. Retrieval runs once, at the
                largest.
            generator: what answers: an object with ``generate``; or text: ``"extractive"``,
                ``"openai:model=..."``, ``"gold"`` or ``"empty"``.
            confirm: is asked before requests that may cost money; default: they are sent unasked.
            options: ``limit``, ``database``, ``distractors``, ``on_error``, ``retry_failed``,
                ``latency``, ``memory`` and ``indexes``, as ``RunOptions`` describes them;
                ``prompt``, ``tables``, ``prompt_tokens``, ``table_format``, ``schema_scope`` and
                ``structured``, as ``PromptOptions`` does.

        Raises:
            ConfigError: an unknown option, or an invalid argument.
            DataError: the corpus is missing or broken.
            PluginError: the retriever failed, with ``on_error="stop"`` or while indexing; or the
                generator failed as a whole. A failed answer is recorded and counts as wrong.
            StoreError: the run folder cannot be written or read.
        """
        from target_bench.core import registry
        from target_bench.evaluation import inputs, pipeline
        from target_bench.evaluation.results import Results

        given = {"split": split, "top_k": top_k, **options}
        check_names(given, [*options_of(RunOptions, PromptOptions)])
        chosen, prompting = of(RunOptions, given), of(PromptOptions, given)
        prompting.check_tables(chosen.top_k[-1])
        subject = inputs.subject(retriever, self._observer)
        answering = inputs.Answering(generator, prompting, confirm=confirm)
        cells = [
            (text, replace(self._cell(loaded, subject, chosen), confirm=confirm))
            for text, loaded in self._load_all(chosen)
        ]
        results = []
        for text, cell in cells:
            task = registry.create("task", text)
            results.append(pipeline.evaluate(task, cell, replace(answering, task=text)))
        return Results(results)

    def score(
        self,
        run_file: str | Path | None = None,
        split: str | None = None,
        top_k: int | Sequence[int] = TOP_K,
        *,
        predictions: str | Path | None = None,
        order: str | Path | None = None,
        **options: Unpack[DataKeywords],
    ) -> "Results":
        """Score rankings, or answers, that were made elsewhere.

        Args:
            run_file: for the task retrieval: a TREC run, or JSON lines as a run folder's
                ``retrieval.jsonl`` holds them.
            split: as for ``run``.
            top_k: as for ``run``.
            predictions: for tasks about answers: a file that the generator ``replay`` reads.
            order: a JSON list of query ids, for predictions with an answer a line.
            options: ``limit``, ``database`` and ``distractors``, as for ``run``.

        Raises:
            ConfigError: an unknown option, or an invalid argument.
            DataError: the corpus or the file is missing or broken, or names queries or tables that
                the corpus does not have.
            StoreError: the run folder cannot be written or read.
        """
        from target_bench.core import registry
        from target_bench.evaluation import inputs, pipeline
        from target_bench.evaluation.results import Results

        given = {"split": split, "top_k": top_k, **options}
        check_names(given, ["split", "top_k", *DataKeywords.__annotations__])
        chosen = replace(of(RunOptions, given), on_error="record")
        results = []
        for text, loaded in self._load_all(chosen):
            subject = inputs.subject("no-context", self._observer)
            answering = None
            task = registry.create("task", text)
            if task.name == "retrieval":
                subject = inputs.given_rankings(run_file, loaded, chosen.limit, self._observer)
            else:
                answers = inputs.given_answers(predictions, order, loaded, self._observer)
                answering = replace(answers, task=text)
            cell = self._cell(loaded, subject, chosen)
            results.append(pipeline.evaluate(task, cell, answering))
        return Results(results)

    def _cell(self, loaded: "Loaded", subject: "Subject", options: RunOptions) -> "Cell":
        from target_bench.evaluation.pipeline import Cell

        asked = loaded.of_database(options.database).limited(options.limit)
        return Cell(asked, subject, options, self._out, self._observer)

    def _load_all(self, options: RunOptions) -> "list[tuple[str, Loaded]]":
        from target_bench.data.select import task_named

        chosen = (options.split, options.distractors, options.database)
        return [
            (text, self._loader.load(corpus, *chosen).of_task(task_named(text)))
            for text, corpus in self._pairs
        ]
