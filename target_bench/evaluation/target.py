"""TARGET: load -> embed_corpus -> retrieve once at the largest k -> generate -> score.

The stages are imported when a benchmark is made or run, so that importing ``TARGET`` stays cheap.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.schema import OnError

if TYPE_CHECKING:
    from target_bench.core.contract import RetrieverLike
    from target_bench.core.prompt_writer import SchemaScope
    from target_bench.core.serialization import Format
    from target_bench.core.task import Task
    from target_bench.data.select import CorpusLike, Loaded, Loader
    from target_bench.evaluation.cell import Cell
    from target_bench.evaluation.results import Results
    from target_bench.evaluation.stages.consent import Confirm
    from target_bench.evaluation.stages.generate import GeneratorLike
    from target_bench.evaluation.stages.retrieve import RetrievalOptions, Subject


class TARGET:
    """The benchmark: one or more tasks, each on one or more corpora.

    Args:
        tasks: a task (``"Table Retrieval"`` or its short name, in any case, perhaps with settings:
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
        out: str | Path = "runs",
        observer: Observer | None = None,
        loader: "Loader | None" = None,
    ) -> None:
        from target_bench.core import registry, requirements
        from target_bench.data.select import Loader, once, tasks_and_corpora

        requirements.check()

        wanted = tasks or (RANKING_TASK,)
        self._pairs = once(pair for task in wanted for pair in tasks_and_corpora(task))
        for text in dict.fromkeys(text for text, _ in self._pairs):
            registry.create("task", text)  # an invalid setting is reported before anything runs
        self._out = Path(out)
        self._observer = observer or Observer()
        self._loader = loader or Loader(data_dir, self._observer)

    def run(
        self,
        retriever: "RetrieverLike | str | None" = None,
        split: str | None = None,
        top_k: int | Sequence[int] = 10,
        *,
        limit: int | None = None,
        database: str | None = None,
        distractors: str | Sequence[str] = (),
        on_error: OnError = "stop",
        retry_failed: bool = False,
        latency: int = 0,
        memory: int | str | None = None,
        indexes: str | Path | None = None,
        generator: "GeneratorLike | str" = "extractive",
        prompt: str | Path | None = None,
        tables: int | None = None,
        prompt_tokens: int = 8000,
        table_format: "Format" = "markdown",
        schema_scope: "SchemaScope" = "database",
        structured: bool = True,
        confirm: "Confirm | None" = None,
        by: str | Sequence[str] = (),
    ) -> "Results":
        """Evaluate one retriever, and for tasks about answers one generator, on every pair.

        Args:
            retriever: an object with ``embed_corpus`` and ``retrieve``; or text as on the command
                line: ``"bm25:k1=0.9"``, ``"oracle"`` or ``"no-context"``. Tasks that are given
                their tables, or need none, ask no retriever.
            split: ``train``, ``validation`` (``dev``, ``val``) or ``test``; default: each corpus's
                own, the one its paper reports on.
            top_k: one cutoff or several. Retrieval runs once, at the largest.
            limit: look at the first queries only.
            database: look at the queries of this database only.
            distractors: tables to mix in, each as ``"ottqa:split=train,n=1000,seed=7"``: a corpus
                or the path of a folder, and which part of it. A smaller ``n`` is part of a larger.
            on_error: at a query the retriever fails on, ``stop`` (what is finished stays on disk)
                or ``record`` the failure, score it 0 and go on.
            retry_failed: ask again the queries that are recorded as failed, and no others; those
                that fail again are recorded again.
            latency: time this many single queries (at most 500) in a pass after the batches.
            memory: what the retriever should keep to, in bytes or as ``"500MB"``.
            indexes: a folder of saved indexes: an index that fits is read from there, any other
                is built and saved there.
            generator: what answers: an object with ``generate``; or text: ``"extractive"``,
                ``"openai:model=..."``, ``"gold"`` or ``"empty"``.
            prompt: a YAML file with prompts of your own.
            tables: how many tables of the ranking, from the first, stand in a prompt; at most, and
                by default, as many as the largest cutoff.
            prompt_tokens: about how many tokens the tables of a prompt may take.
            table_format: how tables are written in a prompt.
            schema_scope: for tasks about databases: whether a prompt shows all tables of the first
                retrieved ``database``, or the retrieved ``tables`` of it alone.
            structured: whether the answer has to be JSON of the task's schema, if it has one and
                the generator follows schemas.
            confirm: is asked before requests that may cost money; default: nobody is.
            by: properties of the queries, as ``"difficulty"``; every metric is then scored for
                each of their values too (``Result.by``).

        Raises:
            ConfigError: an argument that cannot be.
            DataError: the corpus is missing or broken.
            PluginError: the retriever failed, with ``on_error="stop"`` or while indexing; or the
                generator failed as a whole. A failed answer is recorded and counts as wrong.
            StoreError: the run folder cannot be written or read.
        """
        from target_bench.core.memory import n_bytes
        from target_bench.evaluation import inputs, pipeline, sliced_results
        from target_bench.evaluation.results import Results
        from target_bench.evaluation.stages.retrieve import RetrievalOptions
        from target_bench.evaluation.stages.score import cutoffs

        ks = cutoffs(top_k)
        _check_arguments(limit, on_error, latency)
        options = RetrievalOptions(
            on_error=on_error,
            retry_failed=retry_failed,
            latency=latency,
            memory=None if memory is None else n_bytes(memory),
            indexes=None if indexes is None else Path(indexes),
            confirm=confirm,
        )
        subject = self._subject(retriever)
        own_prompt = None if prompt is None else Path(prompt)
        answering = inputs.Answering(
            generator,
            own_prompt,
            prompt_tokens,
            table_format,
            confirm=confirm,
            schema_scope=schema_scope,
            structured=structured,
            tables=_checked_tables(tables, ks if subject else None),
        )
        cells = [
            self._cell(text, one.of_database(database).limited(limit), subject, ks, options)
            for text, one in self._load_all(split, distractors, database)
        ]
        names = sliced_results.checked(
            [by] if isinstance(by, str) else by, [cell.dataset for _, _, cell in cells]
        )
        results = (
            pipeline.evaluate(task, cell, replace(answering, task=text))
            for text, task, cell in cells
        )
        return Results([sliced_results.added(result, names) for result in results])

    def score(
        self,
        run_file: str | Path | None = None,
        split: str | None = None,
        top_k: int | Sequence[int] = 10,
        *,
        predictions: str | Path | None = None,
        order: str | Path | None = None,
        limit: int | None = None,
        database: str | None = None,
        distractors: str | Sequence[str] = (),
        by: str | Sequence[str] = (),
    ) -> "Results":
        """Score rankings, or answers, that were made elsewhere.

        Args:
            run_file: for the task retrieval: a TREC run, or JSON lines as a run folder's
                ``retrieval.jsonl`` holds them.
            split: as for ``run``.
            top_k: as for ``run``.
            predictions: for tasks about answers: a file that the generator ``replay`` reads.
            order: a JSON list of query ids, for predictions with an answer a line.
            limit: as for ``run``.
            database: as for ``run``.
            distractors: as for ``run``.
            by: as for ``run``.

        Raises:
            ConfigError: an argument that cannot be.
            DataError: the corpus or the file is missing or broken, or names queries or tables that
                the corpus does not have.
            StoreError: the run folder cannot be written or read.
        """
        from target_bench.data.select import task_class
        from target_bench.evaluation import inputs, pipeline, sliced_results
        from target_bench.evaluation.results import Results
        from target_bench.evaluation.stages.retrieve import RetrievalOptions
        from target_bench.evaluation.stages.score import cutoffs
        from target_bench.runs.manifest import NO_CONTEXT

        ks = cutoffs(top_k)
        _check_arguments(limit, "record", 0)
        options = RetrievalOptions(on_error="record")
        results = []
        for text, loaded in self._load_all(split, distractors, database):
            one = loaded.of_database(database).limited(limit)
            subject = inputs.subject(NO_CONTEXT, self._observer)
            answering = inputs.Answering("empty", task=text)
            if task_class(text).answer == "ranking":
                subject = inputs.given_rankings(run_file, loaded, limit, self._observer)
            else:
                given = inputs.given_answers(predictions, order, loaded, self._observer)
                answering = replace(given, task=text)
            _, task, cell = self._cell(text, one, subject, ks, options)
            names = sliced_results.checked([by] if isinstance(by, str) else by, [cell.dataset])
            results.append(sliced_results.added(pipeline.evaluate(task, cell, answering), names))
        return Results(results)

    def _subject(self, retriever: "RetrieverLike | str | None") -> "Subject | None":
        """What ranks; None where no task retrieves."""
        from target_bench.data.select import task_class
        from target_bench.evaluation import inputs

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
        return inputs.subject(retriever, self._observer)

    def _cell(
        self,
        text: str,
        loaded: "Loaded",
        subject: "Subject | None",
        cutoffs: list[int],
        options: "RetrievalOptions",
    ) -> "tuple[str, Task[Any], Cell]":
        """A task as it was asked for, the task, and what it is asked of."""
        from target_bench.data.select import make_task
        from target_bench.evaluation.cell import Cell

        task = make_task(text)
        ranked, ks = (subject, cutoffs) if task.retrieves else (None, [])
        return text, task, Cell(loaded, ranked, ks, options, self._out, self._observer)

    def _load_all(
        self, split: str | None, distractors: str | Sequence[str], database: str | None
    ) -> "list[tuple[str, Loaded]]":
        from target_bench.data.select import task_named

        specs = (distractors,) if isinstance(distractors, str) else tuple(distractors)
        return [
            (text, self._loader.load(corpus, split, specs, database).of_task(task_named(text)))
            for text, corpus in self._pairs
        ]


def _checked_tables(tables: int | None, cutoffs: list[int] | None) -> int | None:
    """The number of tables of a prompt; ``cutoffs`` are None where nothing is retrieved."""
    if tables is not None and cutoffs is None and tables < 1:
        raise ConfigError(f"tables={tables}: a prompt holds at least 1 table")
    if tables is not None and cutoffs is not None and not 1 <= tables <= cutoffs[-1]:
        raise ConfigError(
            f"tables={tables}: a prompt holds at least 1 table, and no more than are retrieved "
            f"(top_k={cutoffs[-1]})"
        )
    return tables


def _check_arguments(limit: int | None, on_error: str, latency: int) -> None:
    if limit is not None and limit < 1:
        raise ConfigError(f"limit={limit}: at least 1 query is needed")
    if on_error not in get_args(OnError):
        raise ConfigError(f"on_error={on_error!r}: expected {' or '.join(get_args(OnError))}")
    if latency < 0:
        raise ConfigError(f"latency={latency}: a number of queries cannot be negative")
