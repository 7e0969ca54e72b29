"""Pools: for each question the first tables of several rankings, in an order that hides them."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset, Query, TableId
from target_bench.metrics.pooled import NOT_RELEVANT, labelled_tables
from target_bench.runs.labels import labels
from target_bench.runs.result import Result


@dataclass(frozen=True, slots=True)
class Pool:
    """A question and the tables to be judged for it.

    Attributes:
        query: the question.
        tables: the tables, in random order.
    """

    query: Query
    tables: tuple[TableId, ...]


@dataclass(frozen=True, slots=True)
class Pools:
    """The pools of a form, and what they are made of.

    Attributes:
        pools: one per question.
        found_alone: run -> how many of the tables no other run has among its first.
        depth: how many tables of each ranking were taken.
        not_found: how many questions are left out because no ranking has a table.
        judged: how many are left out because all those tables were judged before.
    """

    pools: tuple[Pool, ...]
    found_alone: dict[str, int]
    depth: int
    not_found: int = 0
    judged: int = 0

    @property
    def n_tables(self) -> int:
        """How many judgements are asked for."""
        return sum(len(pool.tables) for pool in self.pools)


def pooled(
    queries: Sequence[Query],
    runs: Sequence[Result],
    depth: int,
    seed: int = 0,
    *,
    keep_empty: bool = False,
) -> Pools:
    """Pool the first tables of rankings (Spärck Jones & van Rijsbergen 1975).

    Tables that were judged for a question before are left out.

    Args:
        queries: the questions.
        runs: whose rankings are pooled.
        depth: how many tables of each ranking are taken.
        seed: of the order of the tables.
        keep_empty: keep questions without a table to judge.

    Raises:
        ConfigError: ``depth`` is below 1, or deeper than a run's rankings.
        DataError: a run has no ranking of a question.
        StoreError: a ranking cannot be read.
    """
    if depth < 1:
        raise ConfigError(f"depth={depth}: a pool takes at least the first table of each ranking")
    for run in runs:
        deepest = max(run.retrieval.identity.top_k, default=0)
        if deepest < depth:
            raise ConfigError(
                f"depth={depth}: the rankings of {run.folder} have {deepest} tables; lower --depth "
                "or run it again with a larger --top-k"
            )
    found = []
    not_found = judged = 0
    names = labels(runs)
    alone = dict.fromkeys(names, 0)
    for query in queries:
        counted: Counter[TableId] = Counter()
        firsts = {name: _first(run, query, depth) for name, run in zip(names, runs, strict=True)}
        for tables in firsts.values():
            counted.update(tables)
        new = sorted(counted.keys() - labelled_tables(query))
        for name, tables in firsts.items():
            alone[name] += sum(counted[table] == 1 for table in tables if table in new)
        random.Random(f"{seed} {query.id}").shuffle(new)  # noqa: S311 (no secret)
        if new or keep_empty:
            found.append(Pool(query, tuple(new)))
        elif counted:
            judged += 1
        else:
            not_found += 1
    return Pools(tuple(found), alone, depth, not_found, judged)


def _first(run: Result, query: Query, depth: int) -> tuple[TableId, ...]:
    found = run.rankings.get(query.id)
    if found is None:
        raise DataError(
            f"{run.folder}: has no ranking of the question {query.id!r:.60}; run it again on all "
            "questions (without --limit), or finish it with the command that began it"
        )
    return found.tables[:depth]


def check_tables(runs: Sequence[Result], dataset: Dataset) -> None:
    """See that runs are of the tables of a dataset.

    Raises:
        DataError: one is of other tables.
    """
    for run in runs:
        if run.retrieval.identity.corpus_fingerprint != dataset.corpus.fingerprint:
            raise DataError(
                f"{run.folder}: is a run on other tables than those of {dataset.info.name} "
                f"{dataset.split} as they are now; run it again"
            )


def to_label(dataset: Dataset, every: bool) -> list[Query]:
    """Choose the questions that pools are made of.

    Args:
        dataset: all questions.
        every: those with gold tables of another origin than a pool, too.

    Raises:
        ConfigError: there is none.
    """
    found = [q for q in dataset.queries if every or not q.gold or NOT_RELEVANT in q.metadata]
    if not found:
        why = "every question has gold tables already; --all asks about them, too"
        if not dataset.queries:
            why = "there are no questions; write some into queries.jsonl, or use `target-bench ask`"
        raise ConfigError(f"{dataset.info.name} {dataset.split}: {why}")
    return found


def to_review(dataset: Dataset) -> list[Query]:
    """Choose the questions to review: the synthetic ones, or if there is none those with gold.

    Raises:
        ConfigError: no question has a gold table.
    """
    with_gold = [query for query in dataset.queries if query.gold]
    if not with_gold:
        raise ConfigError(
            f"{dataset.info.name} {dataset.split}: no question has a gold table, so there is "
            "nothing to review; leave --review out to judge tables"
        )
    return [query for query in with_gold if query.synthetic] or with_gold
