"""One look at every ranking: where gold tables stand, recall over k, which tables are needed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Query, TableId
from target_bench.reporting.report.query_outcomes import RETRIEVED, answered, ranked
from target_bench.reporting.report.ranking_agreement import RankingAgreement
from target_bench.reporting.report.report_runs import ReportRun
from target_bench.reporting.report.shown_tables import Numbered
from target_bench.reporting.report.summary import RecallCurve, outcome_metric


@dataclass
class RunColumns:
    """Figures of a run in the list of queries, one number per query.

    Attributes:
        first: the rank of the first gold table, 0 if none was found.
        outcome: the place in ``RETRIEVED``.
        answer: the place in ``answers``; empty for a run of rankings.
        answers: what became of answers, in the order it was met.
        curve: recall over k.
        decides: the metric that says whether an answer is right, or None.
    """

    curve: RecallCurve
    decides: str | None = None
    first: list[int] = field(default_factory=list)
    outcome: list[int] = field(default_factory=list)
    answer: list[int] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    def add_answer(self, outcome: str) -> None:
        """Note what became of an answer."""
        if outcome not in self.answers:
            self.answers.append(outcome)
        self.answer.append(self.answers.index(outcome))


@dataclass(frozen=True)
class FirstPass:
    """Result of a pass over all rankings and answers.

    Attributes:
        columns: one a run.
        tables: every table that the report shows.
        agreement: of the rankings.
    """

    columns: list[RunColumns]
    tables: Numbered
    agreement: RankingAgreement


def first_pass(
    runs: Sequence[ReportRun], dataset: Dataset, depth: int, observer: Observer
) -> FirstPass:
    """Read every line once and keep a few numbers of it.

    Args:
        runs: the runs.
        dataset: their queries.
        depth: how many tables of each ranking the report shows.
        observer: gets progress.
    """
    observer.stage("report: read rankings", total=len(dataset.queries))
    all_synthetic = all(query.synthetic for query in dataset.queries)
    columns = [RunColumns(RecallCurve(run.depth), outcome_metric(run)) for run in runs]
    agreement = _agreement(runs, depth)
    best: dict[TableId, int] = {}
    for i, query in enumerate(dataset.queries):
        for table_id in query.gold:
            best[table_id] = 0
        rankings = []
        for run, found in zip(runs, columns, strict=True):
            record = run.tables(query.id)
            tables = [TableId(*named) for named in record["tables"][:depth]]
            for rank, table_id in enumerate(tables, start=1):
                if best.get(table_id, rank + 1) > rank:
                    best[table_id] = rank
            rankings += [tables] if run.is_ranked else []
            in_curve = bool(query.gold) and (all_synthetic or not query.synthetic)
            _add(found, run, query, record, i, in_curve)
        agreement.add(rankings)
        observer.advance(1)
    return FirstPass(columns, Numbered(best), agreement)


def _agreement(runs: Sequence[ReportRun], depth: int) -> RankingAgreement:
    found = [run for run in runs if run.is_ranked]
    shared = set.intersection(*(set(run.cutoffs) for run in found)) if found else set()
    depth = min([depth, *(run.depth for run in found)])
    return RankingAgreement([run.label for run in found], sorted(shared), depth)


def _add(
    found: RunColumns,
    run: ReportRun,
    query: Query,
    record: dict[str, Any],
    i: int,
    in_curve: bool,
) -> None:
    where = ranked(query.gold, record)
    found.first.append(where.first)
    found.outcome.append(RETRIEVED.index(where.outcome))
    if in_curve:
        found.curve.add(where, len(set(query.gold)))
    if run.answers is None:
        return
    judged = run.judgements.get(query.id) or {}
    generation = run.generations.get(query.id) or {}
    metric = found.decides
    value = float(run.values[metric][i]) if metric else float("nan")
    found.add_answer(answered(value, generation.get("error"), judged.get("verdict")))
