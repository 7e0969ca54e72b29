"""The dry stage of a sweep: everything is loaded and built once, and nothing is asked or written.

What is invalid is reported before anything runs; the runs on disk say what is done already.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from target_bench.core.contract import is_paid
from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.identity import is_no_context
from target_bench.core.index_store import can_save
from target_bench.core.observer import Observer
from target_bench.core.schema import GenerationRequest, Query, TableId
from target_bench.core.task import Task, given_tables
from target_bench.core.task_names import make_task, task_class
from target_bench.data.load import Loaded, Loader, tasks_and_corpora
from target_bench.harness.identities import (
    answer_plan,
    answers_identity,
    retrieval_identity,
)
from target_bench.harness.options import EXTRACTIVE
from target_bench.harness.stages import consent, retrieve
from target_bench.harness.stages.consent import Estimate, of_judge
from target_bench.harness.stages.generate import AnswerOptions, AnswerPlan, GeneratorSpec
from target_bench.harness.stages.retrieve import Experiment, RetrieverSpec
from target_bench.harness.stages.score import scorable
from target_bench.harness.sweeps.cell import SweepCell
from target_bench.harness.sweeps.grid import Placed
from target_bench.harness.sweeps.sweep_file import SweepFile
from target_bench.models.prompts.prompting import may_repair
from target_bench.runs.manifest import run_key
from target_bench.runs.record_log import ANSWERS, JUDGEMENTS, RANKINGS
from target_bench.runs.result import read_run
from target_bench.runs.store import folder_of
from target_bench.runs.times import has_latency

State = Literal["new", "begun", "done", "unreadable"]
T = TypeVar("T")

SAMPLE = 64
"""From how many queries, evenly taken, prompts are estimated whose tables are not known yet."""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell, and what is there of it.

    Attributes:
        cell: the cell.
        key: what identifies its run: the end of its folder's name.
        folder: its run folder, if there is one.
        state: whether it is finished, begun or new; ``unreadable`` if its run folder is damaged or
            of another version: the cell will fail.
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


def planned(
    cells: Sequence[Placed], document: SweepFile, indexes: Path, observer: Observer
) -> list[PlannedCell]:
    """Look at every cell.

    Args:
        cells: those of one split stand together.
        document: the file they come from.
        indexes: the folder of saved indexes, for the retrievers that can save theirs.
        observer: gets loading.

    Raises:
        ConfigError: something is invalid; the message has a line for each.
        DataError: the same, if it is all about data.
    """
    planner = _Planner(document, indexes, observer)
    looked_at = [planner.look_at(placed) for placed in cells]
    planner.raise_problems()
    return [cell for cell in looked_at if cell is not None]


class _Planner:
    """Builds each part once and remembers what could not be."""

    def __init__(self, document: SweepFile, indexes: Path, observer: Observer) -> None:
        self._document = document
        self._indexes = indexes
        self._observer = observer
        self._data: tuple[Any, Loader] | None = None
        self._retrievers: dict[str, RetrieverSpec] = {}
        self._generators: dict[tuple[str, str], GeneratorSpec] = {}
        self._ranked: set[tuple[Path, str]] = set()
        self._problems: dict[str, Exception] = {}

    def look_at(self, placed: Placed) -> PlannedCell | None:
        """Return the state of a cell; None if it is invalid."""
        cell, places = placed.cell, placed.places
        spec = None
        if cell.retriever is not None:
            text = cell.retriever
            spec = self._told(places["retrievers"], lambda: self._retriever(text))
        task = self._told(places["tasks"], lambda: make_task(cell.task))
        if task is None:
            return None
        options = self._told(places["generators"], lambda: self._answer_options(cell, task))
        data_place = places["distractors" if cell.options.distractors else "corpora"]
        loaded = self._told(data_place, lambda: self._loaded(cell))
        unknown = spec is None and cell.retriever is not None
        if unknown or options is None or loaded is None:
            return None
        whole = Experiment(loaded, spec, cell.options, self._observer)
        cell = self._grouped(cell, spec, loaded)
        if task.answer == "ranking":
            return self._looked_at(cell, whole, None, task)
        place = places["prompts"] if cell.options.prompt else places["tables"]
        plan = self._told(place, lambda: answer_plan(task, whole, options))
        return None if plan is None else self._looked_at(cell, whole, plan, task)

    def _grouped(self, cell: SweepCell, spec: RetrieverSpec | None, loaded: Loaded) -> SweepCell:
        """Return the cell with the group of those that share its index, if it has one."""
        if spec is None:
            return cell
        group = run_key({"retriever": spec.identity, "corpus": loaded.dataset.corpus.fingerprint})
        savable = spec.retriever is not None and can_save(spec.retriever)
        options = replace(cell.options, indexes=self._indexes if savable else None)
        return replace(cell, group=group, options=options)

    def raise_problems(self) -> None:
        """Tell all that could not be."""
        if not self._problems:
            return
        data_only = all(isinstance(error, DataError) for error in self._problems.values())
        raise (DataError if data_only else ConfigError)("\n".join(self._problems))

    def _told(self, place: Sequence[str | int], make: Callable[[], T]) -> T | None:
        """Return the object that is made; None, and an error with its entry, if it is invalid."""
        try:
            return make()
        except (ConfigError, DataError) as error:
            problem = f"{self._document.at(place)}: {error}"
            self._problems.setdefault(problem, error)
            return None

    def _retriever(self, text: str) -> RetrieverSpec:
        if text not in self._retrievers:
            self._retrievers[text] = retrieve.retriever_spec(text, self._observer)
        return self._retrievers[text]

    def _answer_options(self, cell: SweepCell, task: Task[Any]) -> AnswerOptions:
        """Return the plan of a cell's answers."""
        if task.answer == "ranking":
            return AnswerOptions("empty", task=cell.task)
        if task.source == "retrieved":
            cell.options.check_tables(cell.options.top_k[-1])
        generator = cell.generator or EXTRACTIVE
        options = AnswerOptions(generator, cell.options.prompting)
        key = generator, cell.task
        if key not in self._generators:
            self._generators[key] = options.generator_spec(task, self._observer)
        spec = self._generators[key]
        if cell.repeat > 1 and getattr(spec.generator, "cache", False):
            raise ConfigError(
                f"repeats: {spec.label} records its answers, so a repetition would give the "
                "same ones; set cache: false"
            )
        return replace(options, generator=spec)

    def _loaded(self, cell: SweepCell) -> Loaded:
        options = cell.options
        key = (cell.corpus, options.split, options.distractors, options.data_dir)
        if self._data is None or self._data[0] != key:
            self._data = key, Loader(options.data_dir, self._observer)
        tasks_and_corpora((cell.task, cell.corpus))
        loaded = self._data[1].load(
            cell.corpus,
            options.split,
            options.distractors,
            gold_corrections=options.gold_corrections,
            gold_missing=options.gold_missing,
        )
        return (
            loaded.of_task(task_class(cell.task))
            .of_database(options.database)
            .limited(options.limit)
        )

    def _looked_at(
        self, cell: SweepCell, whole: Experiment, plan: AnswerPlan | None, task: Task[Any]
    ) -> PlannedCell:
        """Return the state of a cell: of its rankings, and of its answers if it has any."""
        estimates: list[Estimate | None] = []
        rankings = None
        if whole.retriever is not None:
            identity = retrieval_identity(whole, task if task.answer == "ranking" else None)
            rankings = _planned(cell, whole, identity, "retrieval.jsonl")
            estimates.append(self._of_retriever(whole, rankings))
        last_stage = rankings
        if plan is not None:
            identity = answers_identity(whole, plan)
            last_stage = _planned(cell, whole, identity, "generations.jsonl")
            if last_stage.state != "done":
                with suppress(StoreError):  # the cell fails before it asks, and says why
                    ranked = rankings.folder if rankings else None
                    estimates.append(_of_generator(whole, plan, ranked, last_stage.folder))
                    estimates.append(_of_judge(whole, plan, last_stage.folder))
        assert last_stage is not None
        return replace(last_stage, estimates=tuple(e for e in estimates if e is not None))

    def _of_retriever(self, whole: Experiment, rankings: PlannedCell) -> Estimate | None:
        """Return the cost of ranking, counted once for all cells that share the rankings."""
        key = (whole.options.out, rankings.key)
        if rankings.state == "done" or key in self._ranked:
            return None
        self._ranked.add(key)
        return _of_retriever(whole, rankings.recorded)


def _of_judge(whole: Experiment, plan: AnswerPlan, answered: Path | None) -> Estimate | None:
    """Return the answers without a judgement, if judging them may cost money."""
    judged: set[str] = set()
    if answered:
        lines = JUDGEMENTS.lines(answered)
        judged = {line.query_id for line in lines if not isinstance(line, StoreError)}
    queries = scorable(plan.task, whole.dataset).queries
    open_ones = [query for query in queries if query.id not in judged]
    return of_judge(plan.task, plan.generator.label, len(open_ones))


def _planned(
    cell: SweepCell, whole: Experiment, identity: Mapping[str, Any], log: str
) -> PlannedCell:
    n_queries = len(whole.dataset.queries)
    key = run_key(json.loads(json.dumps(identity)))
    folder = folder_of(cell.options.out, identity)
    if folder is None:
        return PlannedCell(cell, key, None, "new", 0, n_queries)
    recorded = min(_lines(folder / log), n_queries)
    return PlannedCell(cell, key, folder, _state(cell, folder), recorded, n_queries)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _state(cell: SweepCell, folder: Path) -> State:
    """``done`` if running the cell would ask nothing."""
    if not (folder / "manifest.json").exists():
        return "begun"
    try:
        run = read_run(folder)
    except StoreError:
        return "unreadable"
    try:
        failed = run.counts.failed + (run.answer_counts.failed if run.answer_counts else 0)
    except StoreError:
        return "begun"  # scores are computed again
    again = failed and (cell.options.retry_failed or cell.options.on_error == "stop")
    timed = cell.options.latency == 0 or cell.generator is not None or has_latency(run.manifest)
    return "done" if timed and not again else "begun"


def _of_retriever(cell: Experiment, n_recorded: int) -> Estimate | None:
    """Return the texts that a retriever would send at most; None for one that costs nothing."""
    spec = cell.retriever
    if spec is None or spec.retriever is None or not is_paid(spec.retriever):
        return None
    n_queries = len(cell.dataset.queries) - n_recorded
    return Estimate(spec.label, len(cell.dataset.corpus) + n_queries, None, None)


def _of_generator(
    cell: Experiment, plan: AnswerPlan, ranked: Path | None, answered: Path | None
) -> Estimate | None:
    """Return the requests that a cell would send, their tokens, and their cost; None if none.

    Where the rankings are on disk these are the very prompts, less those whose answers are
    recorded anywhere. Else their tables are stood in for by the gold tables and others of the
    corpus.

    Args:
        cell: what ranks what.
        plan: how the queries are answered.
        ranked: the folder of the rankings, if there is one.
        answered: the folder of the answers, if there is one.

    Raises:
        StoreError: what is stored cannot be read.
    """
    if not getattr(plan.generator.generator, "paid", False):
        return None
    done = ANSWERS.read(answered) if answered else {}
    todo = [query for query in cell.dataset.queries if query.id not in done]
    if not todo:
        return None
    rankings = RANKINGS.read(ranked) if ranked else {}
    if all(query.id in rankings for query in todo):
        tables = {query.id: rankings[query.id].tables for query in todo}
        return _counted(plan, cell, todo, tables, share=1.0)
    if cell.retriever is None:
        tables = {query.id: given_tables(plan.task, query) for query in todo}
        return _counted(plan, cell, todo, tables, share=1.0)
    sample = todo[:: -(-len(todo) // SAMPLE)]
    tables = {query.id: _stand_in(query, cell, plan.depth) for query in sample}
    return _counted(plan, cell, sample, tables, share=len(todo) / len(sample))


def _counted(
    plan: AnswerPlan,
    cell: Experiment,
    queries: Sequence[Query],
    tables: dict[str, tuple[TableId, ...]],
    share: float,
) -> Estimate | None:
    def requests() -> Iterator[GenerationRequest]:
        for query in queries:
            shown = plan.prompter.tables(cell.dataset.corpus, tables[query.id][: plan.depth])
            yield plan.prompter.prompted(query, shown).request

    generator = plan.generator.generator
    repairs = may_repair(plan.prompter, generator)
    return consent.of_generator(generator, plan.generator.label, requests(), repairs, share)


def _stand_in(query: Query, cell: Experiment, depth: int) -> tuple[TableId, ...]:
    if cell.retriever is None or is_no_context(cell.retriever.identity):
        return ()
    ids = cell.dataset.corpus.ids
    step = max(1, len(ids) // depth)
    return tuple(dict.fromkeys([*query.gold, *ids[::step]]))[:depth]
