"""The dry stage of a sweep: everything is loaded and built once, and nothing is asked or written.

What is invalid is reported before anything runs; the runs on disk say what is done already.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from target_bench.core.contract import is_paid
from target_bench.core.errors import StoreError
from target_bench.core.identity import is_no_context
from target_bench.core.observer import Observer
from target_bench.core.schema import GenerationRequest, Query, TableId
from target_bench.core.settings import named
from target_bench.core.task import given_tables
from target_bench.core.task_names import make_task
from target_bench.data.load import tasks_and_corpora
from target_bench.harness.consent import Estimate, estimate_generator, estimate_judge
from target_bench.harness.evaluate import load_queries
from target_bench.harness.run_system import Setup, set_up
from target_bench.harness.score import scorable
from target_bench.harness.sweeps.cell import SweepCell, loader_of
from target_bench.harness.systems import System, make_generator, make_retriever
from target_bench.harness.yaml_file import YamlFile
from target_bench.models.prompts.prompting import may_repair
from target_bench.runs.manifest import run_key
from target_bench.runs.record_log import ANSWERS, JUDGEMENTS, RANKINGS
from target_bench.runs.result import read_run
from target_bench.runs.store import find_folder

State = Literal["new", "begun", "done", "damaged"]

SAMPLE = 64
"""From how many queries, evenly taken, prompts are estimated whose tables are not known yet."""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell, and what is there of it.

    Attributes:
        cell: the cell.
        key: what identifies its run: the end of its folder's name.
        folder: its run folder, if there is one.
        state: whether it is finished, begun or new; ``damaged`` if its run folder cannot be read
            or is of another version: the cell will fail.
        recorded: how many of its queries are ranked, or answered, on disk.
        n_queries: how many it has.
        estimates: what is to be sent to a retriever, generator or judge that may cost money.
    """

    cell: SweepCell
    key: str
    folder: Path | None
    state: State
    recorded: int
    n_queries: int
    estimates: tuple[Estimate, ...] = ()


def planned(cells: Sequence[SweepCell], file: YamlFile, observer: Observer) -> list[PlannedCell]:
    """Look at every cell: those of one split, which stand together, share its data.

    Args:
        cells: the cells.
        file: the file they come from.
        observer: gets loading.

    Raises:
        ConfigError: cells are invalid; with the entry of each problem.
        DataError: so if it is the data of all that are.
    """
    planner = _Planner(file, observer)
    looked_at = [planner.planned(cell) for cell in cells]
    file.raise_problems()
    return [cell for cell in looked_at if cell is not None]


class _Planner:
    """Builds each retriever and generator once, and keeps the data of one split."""

    def __init__(self, file: YamlFile, observer: Observer) -> None:
        self._file, self._observer = file, observer
        self._retrievers: dict[str, System] = {}
        self._generators: dict[tuple[str, str], System] = {}
        self._estimated: set[str] = set()

    def planned(self, cell: SweepCell) -> PlannedCell | None:
        """Return the state of a cell; None, and its problems in the file, if it is invalid."""

        def collecting(entry: str) -> AbstractContextManager[None]:
            return self._file.collecting(self._file.at(entry))

        config, n_problems = cell.config, len(self._file.problems)
        retriever = task = generator = loaded = setup = None
        with collecting("retrievers"):
            retriever = self._retriever(cell.retriever)
        with collecting("tasks"):
            task = make_task(cell.task)
        with collecting("generators"):
            if task is not None and cell.generator is not None:
                if task.source == "retrieved":
                    config.check_tables()
                key = cell.generator, cell.task
                if key not in self._generators:
                    made = make_generator(cell.generator, task, config, self._observer)
                    self._generators[key] = made
                generator = self._generators[key]
        with collecting("distractors" if config.distractors else "corpora"):
            if task is not None:
                tasks_and_corpora((cell.task, cell.corpus))
                loader = loader_of(cell, self._observer)
                loaded = load_queries(cell.task, cell.corpus, config, loader)
        if task is None or loaded is None or len(self._file.problems) > n_problems:
            return None
        with collecting("prompts" if config.prompt else "tables"):
            setup = set_up(
                config,
                task,
                loaded,
                retriever,
                generator,
                task_text=cell.task,
                observer=self._observer,
            )
        if setup is None or len(self._file.problems) > n_problems:
            return None
        return self._with_state(cell, setup)

    def _retriever(self, text: str | None) -> System | None:
        if text is not None and text not in self._retrievers:
            self._retrievers[text] = make_retriever(named(text)[1], self._observer)
        return None if text is None else self._retrievers[text]

    def _with_state(self, cell: SweepCell, setup: Setup) -> PlannedCell:
        """Return the state of a cell: of its rankings, or of its answers if it has any."""
        estimates: list[Estimate | None] = []
        rankings = None
        if setup.retriever is not None:
            ranked = setup if setup.generator is None else setup.rankings()
            rankings = _on_disk(cell, ranked, "retrieval.jsonl")
            if rankings.state != "done" and rankings.key not in self._estimated:
                self._estimated.add(rankings.key)  # once for all cells that share the rankings
                estimates.append(_of_retriever(setup, rankings.recorded))
        if setup.generator is None:
            assert rankings is not None
            return replace(rankings, estimates=tuple(filter(None, estimates)))
        answers = _on_disk(cell, setup, "generations.jsonl")
        if answers.state != "done":
            with suppress(StoreError):  # the cell fails before it asks, and says why
                folder = rankings.folder if rankings else None
                estimates.append(_of_generator(setup, folder, answers.folder))
                estimates.append(_of_judge(setup, answers.folder))
        return replace(answers, estimates=tuple(filter(None, estimates)))


def _on_disk(cell: SweepCell, setup: Setup, log: str) -> PlannedCell:
    """Return what is there of a run, whose queries are lines of a log."""
    n_queries, identity = len(setup.dataset.queries), setup.identity()
    key = run_key(json.loads(json.dumps(identity)))
    folder = find_folder(cell.config.out, identity)
    if folder is None:
        return PlannedCell(cell, key, None, "new", 0, n_queries)
    path = folder / log
    n_lines = path.read_bytes().count(b"\n") if path.exists() else 0
    return PlannedCell(cell, key, folder, _state(cell, folder), min(n_lines, n_queries), n_queries)


def _state(cell: SweepCell, folder: Path) -> State:
    """``done`` if running the cell would ask nothing."""
    if not (folder / "manifest.json").exists():
        return "begun"
    try:
        run = read_run(folder)
    except StoreError:
        return "damaged"
    try:
        failed = run.counts.failed + (run.answer_counts.failed if run.answer_counts else 0)
    except StoreError:
        return "begun"  # scores are computed again
    to_time = cell.config.latency and cell.generator is None and run.manifest.latency_ms is None
    return "begun" if to_time or failed else "done"


def _of_retriever(setup: Setup, n_recorded: int) -> Estimate | None:
    """Return the texts that a retriever would send at most; None for one that costs nothing."""
    retriever, dataset = setup.retriever, setup.dataset
    if retriever is None or retriever.plugin is None or not is_paid(retriever.plugin):
        return None
    n_queries = len(dataset.queries) - n_recorded
    return Estimate(retriever.label, len(dataset.corpus) + n_queries, None, None)


def _of_judge(setup: Setup, answered: Path | None) -> Estimate | None:
    """Return the answers without a judgement, if judging them may cost money."""
    assert setup.generator is not None
    judged = JUDGEMENTS.read(answered) if answered else {}
    queries = scorable(setup.task, setup.dataset).queries
    n_left = sum(query.id not in judged for query in queries)
    return estimate_judge(setup.task, setup.generator.label, n_left)


def _of_generator(setup: Setup, ranked: Path | None, answered: Path | None) -> Estimate | None:
    """Return the requests that a cell would send, their tokens, and their cost; None if none.

    Where the rankings are on disk these are the very prompts, less those whose answers are
    recorded anywhere. Else they are estimated from a sample of queries, with the gold tables and
    others of the corpus in place of those that will be retrieved.

    Args:
        setup: what ranks and answers what.
        ranked: the folder of the rankings, if there is one.
        answered: the folder of the answers, if there is one.
    """
    assert setup.generator is not None
    assert setup.prompter is not None
    generator, retriever = setup.generator.plugin, setup.retriever
    prompter, depth = setup.prompter, setup.prompt_depth
    if not getattr(generator, "paid", False):
        return None
    done = ANSWERS.read(answered) if answered else {}
    queries: Sequence[Query] = [q for q in setup.dataset.queries if q.id not in done]
    if not queries:
        return None
    corpus = setup.dataset.corpus
    rankings = RANKINGS.read(ranked) if ranked else {}
    share = 1.0
    if retriever is not None and not all(q.id in rankings for q in queries):
        rankings = {}
        sample = queries[:: -(-len(queries) // SAMPLE)]
        share, queries = len(queries) / len(sample), sample

    def tables(query: Query) -> Sequence[TableId]:
        if retriever is None:
            return given_tables(setup.task, query)
        if rankings:
            return rankings[query.id].tables
        if is_no_context(retriever.identity):
            return ()
        others = corpus.ids[:: max(1, len(corpus.ids) // depth)]
        return tuple(dict.fromkeys([*query.gold, *others]))

    def requests() -> Iterator[GenerationRequest]:
        for query in queries:
            shown = prompter.tables(corpus, tables(query)[:depth])
            yield prompter.prompted(query, shown).request

    repairs = may_repair(prompter, generator)
    return estimate_generator(generator, setup.generator.label, requests(), repairs, share)
