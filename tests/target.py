"""Tasks with corpora, run and scored by tests, which share what is loaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from target_bench.core.observer import Observer, default_observer
from target_bench.core.run_config import EXTRACTIVE, RUNS, TOP_K, RunConfig
from target_bench.core.schema import Dataset
from target_bench.data.load import drop_repeated, pair_with_corpora
from target_bench.harness.evaluate import evaluate_pairs, make_tasks
from target_bench.harness.score_external import score_external
from target_bench.runs.result import Results


class TARGET:
    """A benchmark: pairs of tasks and corpora, as ``("retrieval", "mini")``."""

    def __init__(
        self,
        *tasks: Any,
        data_dir: str | Path | None = None,
        out: str | Path = RUNS,
        observer: Observer | None = None,
        loaded: dict[Any, Dataset] | None = None,
    ) -> None:
        given = [task for each in tasks for task in (each if isinstance(each, list) else [each])]
        named = (task if isinstance(task, tuple) else (task,) for task in given)
        self._pairs = drop_repeated(pair for each in named for pair in pair_with_corpora(*each))
        self._out = Path(out)
        make_tasks(self._pairs, RunConfig())
        self._observer = observer or default_observer()
        self._loaded = {} if loaded is None else loaded
        self._data_dir = data_dir

    def run(
        self,
        retriever: Any = None,
        split: str | None = None,
        top_k: int | Sequence[int] = TOP_K,
        *,
        generator: Any = EXTRACTIVE,
        name: str | Sequence[str] | None = None,
        confirm: Any = None,
        by: str | Sequence[str] = (),
        **options: Any,
    ) -> Results:
        """Evaluate; arguments as of ``evaluate``."""
        return Results(
            evaluate_pairs(
                self._pairs,
                retriever if isinstance(retriever, list | tuple) else [retriever],
                ["empty" if generator is None else generator],
                self._configure(split, top_k, options),
                observer=self._observer,
                confirm=confirm,
                names=name,
                by=by,
                loaded=self._loaded,
            )
        )

    def _configure(self, split: str | None, top_k: Any, options: dict[str, Any]) -> RunConfig:
        return RunConfig(
            split=split, top_k=top_k, out=self._out, **{"data_dir": self._data_dir, **options}
        )

    def score(
        self,
        run_file: str | Path | None = None,
        split: str | None = None,
        top_k: int | Sequence[int] = TOP_K,
        *,
        predictions: str | Path | None = None,
        order: str | Path | None = None,
        confirm: Any = None,
        by: str | Sequence[str] = (),
        **options: Any,
    ) -> Results:
        """Score a file; arguments as of the command ``score``."""
        return score_external(
            self._pairs,
            self._configure(split, top_k, options),
            run_file=run_file,
            predictions=predictions,
            order=order,
            observer=self._observer,
            confirm=confirm,
            by=by,
        )
