"""About what a cell would send to plug-ins that may cost money."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from target_bench.core.contract import is_paid
from target_bench.core.identity import is_no_context
from target_bench.core.schema import GenerationRequest, Query, TableId
from target_bench.harness.stages import consent
from target_bench.harness.stages.consent import Estimate
from target_bench.harness.stages.generate import AnswerPlan
from target_bench.harness.stages.retrieve import Experiment
from target_bench.models.prompts.prompting import may_repair
from target_bench.runs.record_log import ANSWERS, RANKINGS

SAMPLE = 64
"""From how many queries, evenly taken, prompts are estimated whose tables are not known yet."""


def of_retriever(cell: Experiment, n_recorded: int) -> Estimate | None:
    """Return the texts that a retriever would send at most; None for one that costs nothing."""
    spec = cell.retriever
    if spec is None or spec.retriever is None or not is_paid(spec.retriever):
        return None
    n_queries = len(cell.dataset.queries) - n_recorded
    return Estimate(spec.label, len(cell.dataset.corpus) + n_queries, None, None)


def of_generator(
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
        corpus, task = cell.dataset.corpus, plan.task
        tables = {query.id: tuple(task.given_tables(query, corpus)) for query in todo}
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
