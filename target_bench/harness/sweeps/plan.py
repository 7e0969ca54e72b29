"""Plan a sweep: make and load everything once, and look at the runs on disk; nothing is asked.

Everything that is invalid is reported together, before anything runs.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.contract import is_paid
from target_bench.core.errors import ConfigError, DataError, PluginError, StoreError
from target_bench.core.identity import is_no_context
from target_bench.core.observer import Observer
from target_bench.core.plugin_errors import guard_plugin
from target_bench.core.prompt_writer import PromptWriter
from target_bench.core.registry import make_task
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Dataset, GenerationRequest, Query, TableId
from target_bench.core.settings import split_name
from target_bench.core.task import Task, given_tables
from target_bench.data.load import pair_with_corpora
from target_bench.harness.begin import (
    count_prompt_tables,
    identify_answers,
    identify_rankings,
    make_prompter,
)
from target_bench.harness.consent import Estimate, estimate_generator, estimate_judge
from target_bench.harness.evaluate import load_queries
from target_bench.harness.rank import count_timed
from target_bench.harness.run_system import choose_ranking_task
from target_bench.harness.score import select_scorable
from target_bench.harness.sweeps.cell import CellState, SweepCell, share_data
from target_bench.harness.systems import System, make_generator, make_retriever
from target_bench.harness.yaml_file import YamlFile
from target_bench.runs.manifest import Identity, read_manifest
from target_bench.runs.record_log import ANSWERS, JUDGEMENTS, RANKINGS, Log
from target_bench.runs.result import read_run
from target_bench.runs.run import find_folder

Amount = TypeVar("Amount", int, float)

_SAMPLE = 64  # queries, evenly taken, whose prompts are counted while their tables are not known


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell, and what is on disk of it.

    Attributes:
        cell: the cell.
        key: what identifies its run: the end of its folder's name.
        folder: its run folder, if there is one.
        state: ``new``, ``unfinished``, ``finished`` or ``damaged``, as ``CellState`` says.
        recorded: how many of its queries are ranked, or answered, on disk, without failed ones.
        n_queries: how many it has.
        estimates: what is to be sent to a retriever, generator or judge that may cost money.
    """

    cell: SweepCell
    key: str
    folder: Path | None
    state: CellState
    recorded: int
    n_queries: int
    estimates: tuple[Estimate, ...] = ()


def plan_cells(cells: Sequence[SweepCell], file: YamlFile, observer: Observer) -> list[PlannedCell]:
    """Return what is on disk of each cell; problems are raised with the entries of the file."""
    systems = _Systems(observer)
    prepared = [_prepare(cell, file, systems) for cell in cells]
    file.raise_problems()
    estimated: set[str] = set()  # keys of rankings, which several cells share
    return [_plan_cell(each, estimated) for each in prepared if each is not None]


class _Systems:
    """Makes each retriever and generator of a sweep once."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self._retrievers: dict[str, System] = {}
        self._generators: dict[tuple[str, str, Path | None], System] = {}

    def get_retriever(self, text: str) -> System:
        if text not in self._retrievers:
            _, without_name = split_name(text)
            self._retrievers[text] = make_retriever(without_name, self.observer)
        return self._retrievers[text]

    def get_generator(self, text: str, cell: SweepCell, task: Task[Any]) -> System:
        key = (text, cell.task, cell.config.prompt)  # all that make_generator reads
        if key not in self._generators:
            self._generators[key] = make_generator(text, task, cell.config, self.observer)
        return self._generators[key]


@dataclass(frozen=True)
class _PreparedCell:
    """What a cell is run with."""

    cell: SweepCell
    task: Task[Any]
    dataset: Dataset
    retriever: System | None
    generator: System | None
    prompter: PromptWriter | None


def _prepare(cell: SweepCell, file: YamlFile, systems: _Systems) -> _PreparedCell | None:
    """Make and load what a cell is run with; collect what is invalid as problems of the file."""
    config = cell.config
    retriever = generator = prompter = None
    entry = "tasks"  # which is to blame for the next error
    try:
        task = make_task(cell.task)
        if cell.retriever is not None:
            with file.collect_problems(file.locate("retrievers")):
                retriever = systems.get_retriever(cell.retriever)
        if cell.generator is not None:
            with file.collect_problems(file.locate("generators")):
                if task.source == "retrieved":
                    config.check_prompt_tables()
                generator = systems.get_generator(cell.generator, cell, task)
        entry = "corpora"
        pair_with_corpora(cell.task, cell.corpus)  # raises if they do not fit together
        entry = "distractors" if config.distractors else "corpora"
        loaded = share_data(cell)
        dataset = load_queries(cell.task, cell.corpus, config, systems.observer, loaded)
        if generator is not None:
            entry = "prompts" if config.prompt else "tables"
            prompter = make_prompter(config, task, dataset, generator)
    except (ConfigError, DataError, PluginError) as error:
        file.add_problem(file.locate(entry), error)
        return None
    return _PreparedCell(cell, task, dataset, retriever, generator, prompter)


def _plan_cell(prepared: _PreparedCell, estimated: set[str]) -> PlannedCell:
    """Return what is on disk of a cell's answers, or of its rankings if it has no generator."""
    ranked = None
    if prepared.retriever is not None:
        ranked = _plan_rankings(prepared, prepared.retriever, estimated)
    if prepared.generator is not None and prepared.prompter is not None:
        return _plan_answers(prepared, prepared.generator, prepared.prompter, ranked)
    assert ranked is not None  # a task without answers is about rankings
    return ranked


def _plan_rankings(prepared: _PreparedCell, retriever: System, estimated: set[str]) -> PlannedCell:
    cell, dataset = prepared.cell, prepared.dataset
    task = prepared.task if prepared.generator is None else make_task(RANKING_TASK)
    task = choose_ranking_task(task, retriever)
    identity = identify_rankings(cell.config, task, dataset, retriever)
    planned = _look_up(cell, identity, dataset, RANKINGS)
    if planned.state == "finished" or planned.key in estimated:
        return planned
    estimated.add(planned.key)
    estimate = None
    with suppress(StoreError):  # the cell fails before it asks, and says why
        estimate = _estimate_retriever(retriever, cell.config, dataset, planned.folder)
    return _add_estimates(planned, [estimate])


def _plan_answers(
    prepared: _PreparedCell,
    generator: System,
    prompter: PromptWriter,
    ranked: PlannedCell | None,
) -> PlannedCell:
    cell, task, dataset = prepared.cell, prepared.task, prepared.dataset
    n_tables = count_prompt_tables(cell.config, task, dataset, prepared.retriever)
    identity = identify_answers(
        cell.config, task, dataset, prepared.retriever, generator, prompter, n_tables
    )
    planned = _look_up(cell, identity, dataset, ANSWERS)
    rankings_folder = None
    if ranked is not None:
        rankings_folder = ranked.folder
        planned = _add_estimates(planned, ranked.estimates)
        if ranked.state != "finished" and planned.state == "finished":
            planned = replace(planned, state="unfinished")  # rankings are asked or timed again
    # Where an estimate fails, so does the cell, and says why. The other one is shown all the same,
    # for it may cost money by itself.
    requests_left = judgements_left = None
    with suppress(ConfigError, PluginError, StoreError), guard_plugin("task", task, "planning"):
        judgements_left = _estimate_judge(task, generator, dataset, rankings_folder, planned.folder)
    if judgements_left and planned.state == "finished":  # the judge failed on some answers
        planned = replace(planned, state="unfinished")
    if planned.state != "finished":
        with suppress(ConfigError, PluginError, StoreError):
            requests_left = _estimate_requests(
                prepared, generator, prompter, rankings_folder, planned.folder
            )
    return _add_estimates(planned, [requests_left, judgements_left])


def _add_estimates(planned: PlannedCell, estimates: Iterable[Estimate | None]) -> PlannedCell:
    return replace(planned, estimates=(*planned.estimates, *filter(None, estimates)))


def _look_up(cell: SweepCell, identity: Identity, dataset: Dataset, log: Log[Any]) -> PlannedCell:
    """Return what is on disk of a run that records its queries in a log."""
    n_queries = len(dataset.queries)
    key, folder = identity.key, find_folder(cell.config.out, identity)
    if folder is None:
        return PlannedCell(cell, key, None, "new", 0, n_queries)
    state = _find_state(folder, log, cell.config)
    n_recorded = n_queries
    if state != "finished":  # the logs of many finished cells would take long to read
        try:
            n_recorded = sum(record.error is None for record in log.read(folder).values())
        except StoreError:
            state, n_recorded = "damaged", 0
    return PlannedCell(cell, key, folder, state, n_recorded, n_queries)


def _find_state(folder: Path, log: Log[Any], config: RunConfig) -> CellState:
    """Return the state of a run folder by its small files: ``Run.status`` reads every byte."""
    if not all((folder / name).exists() for name in ("manifest.json", log.file)):
        return "unfinished"
    try:
        result = read_run(folder)
    except StoreError:
        return "damaged"
    try:
        stored = result.stored
    except StoreError:
        return "unfinished"  # scores are computed again
    n_failed = stored.counts.failed + (stored.answers.failed if stored.answers else 0)
    manifest = result.run.manifest
    is_untimed = log is RANKINGS and config.latency > 0 and manifest.latency_ms is None
    is_done = manifest.status == "finished" and not n_failed and not is_untimed
    return "finished" if is_done else "unfinished"


def _estimate_retriever(
    retriever: System, config: RunConfig, dataset: Dataset, folder: Path | None
) -> Estimate | None:
    """Return the texts that a retriever would send at most; None for one that costs nothing."""
    if retriever.plugin is None or not is_paid(retriever.plugin):
        return None
    rankings = RANKINGS.read(folder) if folder else {}
    ranked = {query_id for query_id, ranking in rankings.items() if ranking.error is None}
    n_queries = sum(query.id not in ranked for query in dataset.queries)
    is_timed = (
        folder is not None
        and (folder / "manifest.json").exists()
        and read_manifest(folder).latency_ms is not None
    )
    n_timed = 0 if is_timed else count_timed(config, dataset)
    if not n_queries and not n_timed:
        return None
    n_texts = len(dataset.corpus) + n_queries + n_timed
    return Estimate(retriever.label, n_texts)


def _estimate_judge(
    task: Task[Any],
    generator: System,
    dataset: Dataset,
    rankings_folder: Path | None,
    answers_folder: Path | None,
) -> Estimate | None:
    """Return the answers to be judged at most, if judging them may cost money.

    These are those without a judgement that holds, and those that are still to be given.
    """
    if task.judge is None or not is_paid(task):
        return None
    answers = ANSWERS.read(answers_folder) if answers_folder else {}
    generations = {
        query_id: answer
        for query_id, answer in answers.items()
        if answer.error is None  # failed ones are asked for again
    }
    scorable = select_scorable(task, dataset).queries
    answered = tuple(query for query in scorable if query.id in generations)
    unjudged = task.judge.find_unjudged(
        replace(dataset, queries=answered),
        generations,
        RANKINGS.read(rankings_folder) if rankings_folder else {},
        JUDGEMENTS.read(answers_folder) if answers_folder else {},
    )
    n_left = len(scorable) - len(answered) + len(unjudged)
    return estimate_judge(task, generator.label, n_left)


def _estimate_requests(
    prepared: _PreparedCell,
    generator: System,
    prompter: PromptWriter,
    rankings_folder: Path | None,
    answers_folder: Path | None,
) -> Estimate | None:
    """Return the requests that a generator would get, their tokens and cost; None if none.

    If all queries are ranked these are the very prompts, less those whose answers are recorded
    anywhere. Else they are estimated from a sample of queries, with the gold tables and others of
    the corpus in place of those that will be retrieved.
    """
    if not is_paid(generator.plugin):
        return None
    task, dataset, retriever = prepared.task, prepared.dataset, prepared.retriever
    answers = ANSWERS.read(answers_folder) if answers_folder else {}
    answered = {query_id for query_id, each in answers.items() if each.error is None}
    queries: Sequence[Query] = [q for q in dataset.queries if q.id not in answered]
    if not queries:
        return None
    n_tables = count_prompt_tables(prepared.cell.config, task, dataset, retriever)
    rankings = RANKINGS.read(rankings_folder) if rankings_folder else {}
    are_ranked = all(query.id in rankings and rankings[query.id].error is None for query in queries)
    n_per_sampled = 1.0
    if retriever is not None and not are_ranked:
        sample = queries[:: ceil(len(queries) / _SAMPLE)]
        n_per_sampled, queries = len(queries) / len(sample), sample
    corpus = dataset.corpus

    def guess_ranking(query: Query) -> Sequence[TableId]:
        if retriever is None:
            return given_tables(task, query)
        if are_ranked:
            return rankings[query.id].tables
        if is_no_context(retriever.identity):
            return ()
        others = corpus.ids[:: max(1, len(corpus) // n_tables)]
        return tuple(dict.fromkeys([*query.gold, *others]))

    def write_request(query: Query) -> GenerationRequest:
        tables = prompter.choose_tables(corpus, guess_ranking(query)[:n_tables])
        return prompter.write_prompt(query, tables).request

    requests = map(write_request, queries)
    are_guesses = retriever is not None and not are_ranked and not is_no_context(retriever.identity)
    return estimate_generator(
        generator.plugin, generator.label, requests, n_per_sampled, are_guesses
    )


def merge_estimates(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Return one estimate for each plug-in, and for each kind of what it is sent."""
    groups: dict[tuple[str, bool], list[Estimate]] = {}
    for estimate in estimates:
        key = (estimate.plugin, estimate.input_tokens is None)
        groups.setdefault(key, []).append(estimate)
    return [
        replace(
            group[0],
            requests=sum(estimate.requests for estimate in group),
            input_tokens=sum_if_known(estimate.input_tokens for estimate in group),
            cost=sum_if_known(estimate.cost for estimate in group),
        )
        for group in groups.values()
    ]


def sum_if_known(amounts: Iterable[Amount | None]) -> Amount | None:
    """Return the sum of amounts; None where one of them is not known."""
    listed = list(amounts)
    return None if None in listed else sum(amount for amount in listed if amount is not None)
