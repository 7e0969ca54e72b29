"""``evaluate``: retrievers on corpora, from tables and questions to scores."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.observer import Observer
from target_bench.harness.run_options import EXTRACTIVE, RUNS, TOP_K, Keywords
from target_bench.harness.target import TARGET

if TYPE_CHECKING:
    from target_bench.core.contract import RetrieverLike
    from target_bench.data.select import CorpusLike
    from target_bench.harness.stages.consent import Confirm
    from target_bench.harness.stages.generate import GeneratorLike
    from target_bench.runs.result import Results


def evaluate(
    retriever: "RetrieverLike | str | Sequence[RetrieverLike | str] | None",
    corpus: "CorpusLike | Sequence[CorpusLike]",
    *,
    task: str | Sequence[str] = RANKING_TASK,
    generator: "GeneratorLike | str" = EXTRACTIVE,
    split: str | None = None,
    top_k: int | Sequence[int] = TOP_K,
    by: str | Sequence[str] = (),
    name: str | Sequence[str] | None = None,
    data_dir: str | Path | None = None,
    out: str | Path = RUNS,
    observer: Observer | None = None,
    confirm: "Confirm | None" = None,
    **options: Unpack[Keywords],
) -> "Results":
    """Evaluate retrievers, and for tasks about answers a generator, on corpora.

    ```python
    from target_bench import evaluate

    results = evaluate("bm25", "mini")
    print(results["bm25"]["recall@10"])  # 0.988 [0.968, 0.995]
    ```

    Args:
        retriever: an object with ``embed_corpus`` and ``retrieve``; or text as on the command
            line: ``"bm25:k1=0.9"`` or ``"ours=file.py:Mine"`` (with a name); or a list of these.
            None for a task that is given its tables, or needs none.
        corpus: a name (``"mini"``), the path of a folder or database of your own (``"./tables"``),
            a ``Dataset`` that ``load`` returned, or a list of these.
        task: a task with its settings, as ``"text-to-sql:engine=duckdb"``, or a list of them.
        generator: what answers: an object with ``generate``, or text such as
            ``"openai:model=..."``.
        split: ``train``, ``validation`` or ``test``; default: the one that the paper of the
            corpus reports on.
        top_k: the cutoffs. Retrieval runs once, at the largest.
        by: properties of the queries, as ``"difficulty"``, each of whose values gets scores.
        name: what tables and plots call the retriever, or each of a list.
        data_dir: the folder with the release files; default: ``$TARGET_BENCH_DATA``.
        out: where run folders go.
        observer: gets progress and warnings.
        confirm: is asked before requests that may cost money; default: they are sent unasked.
        options: the other options of ``run``, as in ``Options``.

    Returns:
        One result for each retriever, corpus and task.

    Raises:
        ConfigError: an invalid argument.
        DataError: a corpus is missing or broken.
        PluginError: the retriever failed, or the generator as a whole.
        StoreError: a run folder cannot be written or read.
    """
    tasks = [task] if isinstance(task, str) else task
    target = TARGET(
        [(text, corpus) for text in tasks], data_dir=data_dir, out=out, observer=observer
    )
    return target.run(
        retriever, split, top_k, generator=generator, by=by, name=name, confirm=confirm, **options
    )
