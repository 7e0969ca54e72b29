"""``TARGET``: the class of the original package, over ``evaluate``.

The stages are imported when a benchmark is made or run, so that importing ``TARGET`` stays cheap.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.observer import Observer, default_observer
from target_bench.harness.options import (
    EXTRACTIVE,
    RUNS,
    TOP_K,
    DataKeywords,
    Keywords,
    Options,
    check_names,
)

if TYPE_CHECKING:
    from target_bench.core.contract import RetrieverLike
    from target_bench.data.load import Loader, TaskLike
    from target_bench.harness.stages.consent import Confirm
    from target_bench.harness.stages.generate import GeneratorLike
    from target_bench.runs.result import Results


class TARGET:
    """One or more tasks, each on one or more corpora; ``evaluate`` does the same as a function.

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
        from target_bench.data.load import Loader, once, tasks_and_corpora
        from target_bench.harness.prepare import check_tasks

        tasks_given: list[TaskLike] = []
        for given in [*tasks, downstream_tasks or []]:  # a tuple is a task with its corpora
            tasks_given += given if isinstance(given, list) else [cast("TaskLike", given)]
        self._pairs = once(
            pair for task in tasks_given or [RANKING_TASK] for pair in tasks_and_corpora(task)
        )
        self._out = Path(out)
        check_tasks(self._pairs, Options())
        self._observer = observer or default_observer()
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

        Arguments and errors are those of ``evaluate``.
        """
        from target_bench.harness.evaluate import evaluate_pairs

        return evaluate_pairs(
            self._pairs,
            retriever,
            generator,
            Options.of({"split": split, "top_k": top_k, "out": self._out, **options}),
            loader=self._loader,
            observer=self._observer,
            confirm=confirm,
            name=name,
            by=by,
        )

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
            options: ``limit``, ``database``, ``distractors``, ``gold_corrections``,
                ``gold_missing`` and ``metrics``, as for ``run``.

        Raises:
            ConfigError: an unknown option, or an invalid argument.
            DataError: the corpus or the file is missing or broken, or names queries or tables that
                the corpus does not have.
            StoreError: the run folder cannot be written or read.
        """
        from target_bench.harness.score_given import score_given

        given = {"split": split, "top_k": top_k, **options}
        check_names(given, ["split", "top_k", *DataKeywords.__annotations__])
        return score_given(
            self._pairs,
            Options.of({"out": self._out, **given}),
            run_file=run_file,
            predictions=predictions,
            order=order,
            loader=self._loader,
            observer=self._observer,
            confirm=confirm,
            by=by,
        )
