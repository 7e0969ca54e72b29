"""The dry stage of a sweep: everything is loaded and built once, and nothing is asked or written.

What is invalid is reported before anything runs; the runs on disk say what is done already.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.contract import is_paid
from target_bench.core.errors import StoreError
from target_bench.core.identity import is_no_context
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import PromptWriter
from target_bench.core.registry import make_task
from target_bench.core.schema import Dataset, Query, TableId
from target_bench.core.settings import split_name
from target_bench.core.task import Task, given_tables
from target_bench.data.load import tasks_and_corpora
from target_bench.harness.begin import (
    count_prompt_tables,
    identify_answers,
    identify_rankings,
    make_prompter,
)
from target_bench.harness.consent import Estimate, estimate_generator, estimate_judge
from target_bench.harness.evaluate import load_queries
from target_bench.harness.run_system import choose_ranking_task
from target_bench.harness.score import scorable
from target_bench.harness.sweeps.cell import SweepCell, keep_split
from target_bench.harness.systems import System, make_generator, make_retriever
from target_bench.harness.yaml_file import YamlFile
from target_bench.runs.manifest import run_key
from target_bench.runs.record_log import ANSWERS, JUDGEMENTS, RANKINGS, Log
from target_bench.runs.result import read_run
from target_bench.runs.run import find_folder

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


def plan_cells(cells: Sequence[SweepCell], file: YamlFile, observer: Observer) -> list[PlannedCell]:
    """Look at every cell: those of one split, which stand together, share its data."""
    systems: dict[tuple[str | None, ...], System] = {}  # each is made once
    looked_at = [_make_parts(cell, file, systems, observer) for cell in cells]
    file.raise_problems()
    counted: set[str] = set()  # rankings whose cost is estimated, once for all that share them
    return [_plan_cell(parts, counted) for parts in looked_at if parts is not None]


@dataclass(frozen=True)
class _Parts:
    """What a cell is run with."""

    cell: SweepCell
    task: Task[Any]
    dataset: Dataset
    retriever: System | None
    generator: System | None
    prompter: PromptWriter | None


def _make_parts(
    cell: SweepCell,
    file: YamlFile,
    systems: dict[tuple[str | None, ...], System],
    observer: Observer,
) -> _Parts | None:
    """Load and make what a cell is run with; None, and problems in the file, if it is invalid."""
    config, n_problems = cell.config, len(file.problems)
    retriever = generator = prompter = task = dataset = None
    with file.collecting(file.at("retrievers")):
        if cell.retriever is not None:
            key: tuple[str | None, ...] = (cell.retriever,)
            if key not in systems:
                systems[key] = make_retriever(split_name(cell.retriever)[1], observer)
            retriever = systems[key]
    with file.collecting(file.at("tasks")):
        task = make_task(cell.task)
    with file.collecting(file.at("generators")):
        if task is not None and cell.generator is not None:
            if task.source == "retrieved":
                config.check_tables()
            key = (cell.generator, cell.task)
            if key not in systems:
                systems[key] = make_generator(cell.generator, task, config, observer)
            generator = systems[key]
    with file.collecting(file.at("distractors" if config.distractors else "corpora")):
        if task is not None:
            tasks_and_corpora((cell.task, cell.corpus))
            dataset = load_queries(cell.task, cell.corpus, config, keep_split(cell, observer))
    with file.collecting(file.at("prompts" if config.prompt else "tables")):
        if task is not None and dataset is not None and generator is not None:
            prompter = make_prompter(config, task, dataset, generator)
    if task is None or dataset is None or len(file.problems) > n_problems:
        return None
    return _Parts(cell, task, dataset, retriever, generator, prompter)


def _plan_cell(parts: _Parts, counted: set[str]) -> PlannedCell:
    """Return the state of a cell: of its rankings, or of its answers if it has any."""
    cell, dataset, retriever = parts.cell, parts.dataset, parts.retriever
    estimates: list[Estimate | None] = []
    ranked = None
    if retriever is not None:
        task = parts.task if parts.generator is None else make_task(RANKING_TASK)
        task = choose_ranking_task(task, retriever)
        identity = identify_rankings(cell.config, task, dataset, retriever)
        ranked = _look_up(cell, identity, dataset, RANKINGS)
        if ranked.state != "done" and ranked.key not in counted:
            counted.add(ranked.key)
            estimates.append(_estimate_retriever(parts, ranked.folder))
    if parts.generator is None:
        assert ranked is not None
        return replace(ranked, estimates=tuple(filter(None, estimates)))
    assert parts.prompter is not None
    identity = identify_answers(
        cell.config, parts.task, dataset, retriever, parts.generator, parts.prompter
    )
    answered = _look_up(cell, identity, dataset, ANSWERS)
    if ranked is not None and ranked.state != "done" and answered.state == "done":
        answered = replace(answered, state="begun")  # rankings are asked or timed again
    if answered.state != "done":
        with suppress(StoreError):  # the cell fails before it asks, and says why
            folder = ranked.folder if ranked else None
            estimates.append(_estimate_generator(parts, folder, answered.folder))
            estimates.append(_estimate_judge(parts, answered.folder))
    return replace(answered, estimates=tuple(filter(None, estimates)))


def _look_up(
    cell: SweepCell, identity: dict[str, Any], dataset: Dataset, log: Log[Any]
) -> PlannedCell:
    """Return what is there of a run, whose queries are lines of a log."""
    n_queries = len(dataset.queries)
    key = run_key(json.loads(json.dumps(identity)))
    folder = find_folder(cell.config.out, identity)
    if folder is None:
        return PlannedCell(cell, key, None, "new", 0, n_queries)
    path = folder / log.file
    n_lines = path.read_bytes().count(b"\n") if path.exists() else 0
    state = _find_state(folder, must_be_timed=bool(cell.config.latency) and log is RANKINGS)
    return PlannedCell(cell, key, folder, state, min(n_lines, n_queries), n_queries)


def _find_state(folder: Path, must_be_timed: bool) -> State:
    """``done`` if running the cell would ask nothing."""
    if not (folder / "manifest.json").exists():
        return "begun"
    try:
        run = read_run(folder)
    except StoreError:
        return "damaged"
    try:
        failed = run.stored.counts.failed + (run.stored.answers.failed if run.stored.answers else 0)
    except StoreError:
        return "begun"  # scores are computed again
    is_untimed = must_be_timed and run.run.manifest.latency_ms is None
    return "begun" if is_untimed or failed else "done"


def _estimate_retriever(parts: _Parts, ranked: Path | None) -> Estimate | None:
    """Return the texts that a retriever would send at most; None for one that costs nothing."""
    retriever, dataset = parts.retriever, parts.dataset
    if retriever is None or retriever.plugin is None or not is_paid(retriever.plugin):
        return None
    rankings = RANKINGS.read(ranked) if ranked else {}
    done = {query_id for query_id, ranking in rankings.items() if ranking.error is None}
    n_queries = sum(query.id not in done for query in dataset.queries)
    return Estimate(retriever.label, len(dataset.corpus) + n_queries, None, None)


def _estimate_judge(parts: _Parts, answered: Path | None) -> Estimate | None:
    """Return the answers without a judgement, if judging them may cost money."""
    assert parts.generator is not None
    judged = JUDGEMENTS.read(answered) if answered else {}
    queries = scorable(parts.task, parts.dataset).queries
    n_left = sum(query.id not in judged for query in queries)
    return estimate_judge(parts.task, parts.generator.label, n_left)


def _estimate_generator(
    parts: _Parts, ranked: Path | None, answered: Path | None
) -> Estimate | None:
    """Return the requests that a cell would send, their tokens, and their cost; None if none.

    Where the rankings are on disk these are the very prompts, less those whose answers are
    recorded anywhere. Else they are estimated from a sample of queries, with the gold tables and
    others of the corpus in place of those that will be retrieved.
    """
    generator, prompter, retriever = parts.generator, parts.prompter, parts.retriever
    assert generator is not None
    assert prompter is not None
    if not is_paid(generator.plugin):
        return None
    answers = ANSWERS.read(answered) if answered else {}
    done = {query_id for query_id, each in answers.items() if each.generation.error is None}
    queries: Sequence[Query] = [q for q in parts.dataset.queries if q.id not in done]
    if not queries:
        return None
    corpus = parts.dataset.corpus
    depth = count_prompt_tables(parts.cell.config, parts.task, parts.dataset, retriever)
    rankings = RANKINGS.read(ranked) if ranked else {}
    share = 1.0
    if retriever is not None and not all(q.id in rankings for q in queries):
        rankings = {}
        sample = queries[:: -(-len(queries) // SAMPLE)]
        share, queries = len(queries) / len(sample), sample

    def choose_tables(query: Query) -> Sequence[TableId]:
        if retriever is None:
            return given_tables(parts.task, query)
        if rankings:
            return rankings[query.id].tables
        if is_no_context(retriever.identity):
            return ()
        others = corpus.ids[:: max(1, len(corpus.ids) // depth)]
        return tuple(dict.fromkeys([*query.gold, *others]))

    requests = (
        prompter.prompted(query, prompter.tables(corpus, choose_tables(query)[:depth])).request
        for query in queries
    )
    return estimate_generator(generator.plugin, generator.label, requests, share)
