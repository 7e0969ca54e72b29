"""The tables of a sweep: what there is to do, and what came of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from target_bench.core.text_tables import Column, TextTable

if TYPE_CHECKING:
    from target_bench.evaluation.stages.consent import Estimate
    from target_bench.evaluation.sweeps import CellOutcome, PlannedCell

_ALWAYS = ("retriever", "generator")
_HIDDEN = ("number", "task", "k")


def plan_table(cells: "Sequence[PlannedCell]") -> TextTable:
    """A row a cell: its state, and what it would send to plug-ins that may cost money."""
    paid = any(cell.estimates for cell in cells)
    axes = _axes([planned.cell for planned in cells])
    columns = [*_axis_columns(axes, task=True), Column("state"), Column("answered")]
    columns += [Column(name, right=True) for name in ("requests", "tokens", "cost") if paid]
    rows = []
    for planned, axis in zip(cells, axes, strict=True):
        row = [str(planned.cell.number), planned.cell.task, *axis.values(), planned.state]
        row.append(f"{planned.recorded} of {planned.n_queries}")
        if paid:
            row += _sizes(planned.estimates) if planned.estimates else [""] * 3
        rows.append(row)
    return TextTable(columns, rows, f"{len(cells)} cells")


def outcome_tables(outcomes: "Sequence[CellOutcome]") -> list[TextTable]:
    """A row a cell with its main scores, those of one task together."""
    tasks = dict.fromkeys(outcome.cell.task for outcome in outcomes)
    return [_scores(task, [o for o in outcomes if o.cell.task == task]) for task in tasks]


def _scores(task: str, outcomes: "Sequence[CellOutcome]") -> TextTable:
    from target_bench.metrics.headlines import table_metrics
    from target_bench.runs.score_cells import metric_column, score_cell
    from target_bench.runs.times import STAGES, left_out_note

    axes = _axes([outcome.cell for outcome in outcomes])
    scores = {name: score for outcome in outcomes for name, score in outcome.scores.items()}
    metrics = table_metrics(scores, every=True)  # cells may be of several corpora
    columns = [*_axis_columns(axes), *map(metric_column, metrics), Column("seconds", right=True)]
    rows = []
    for outcome, axis in zip(outcomes, axes, strict=True):
        cells = [str(outcome.cell.number), *axis.values()]
        for name in metrics:
            failed = outcome.error is not None
            cells.append("failed" if failed else score_cell(name, outcome.scores.get(name)))
        cells.append(_seconds(outcome))
        rows.append(cells)
    note = left_out_note((outcome.left_out for outcome in outcomes), STAGES)
    return TextTable(columns, rows, f"{task}; scores and their 95% intervals", note=note)


def _seconds(outcome: "CellOutcome") -> str:
    """Of indexing, ranking and answering together; a dash where one of them is not cold."""
    from target_bench.runs.times import STAGES

    if set(STAGES) & outcome.left_out.keys():
        return "–"
    known = [outcome.stages[stage] for stage in STAGES if stage in outcome.stages]
    return f"{sum(known):.1f}" if known else ""


def _axes(cells: Sequence[Any]) -> list[dict[str, str]]:
    """What differs between cells, and what ranks and answers: name -> text of each cell."""
    from target_bench.evaluation.sweeps.sweep_records import described

    rows = [described(cell) for cell in cells]
    names = [
        name
        for name in (rows[0] if rows else ())
        if name not in _HIDDEN
        and (
            len({row[name] for row in rows}) > 1 or (name in _ALWAYS and rows[0][name] is not None)
        )
    ]
    return [{name: "" if row[name] is None else str(row[name]) for name in names} for row in rows]


def _axis_columns(axes: Sequence[dict[str, str]], task: bool = False) -> list[Column]:
    named = [*(["task"] if task else []), *(axes[0] if axes else ())]
    return [
        Column("", right=True, label="cell"),
        *(Column(name.replace("_", "\n"), label=name.replace("_", " ")) for name in named),
    ]


def _sizes(estimates: "Sequence[Estimate]") -> list[str]:
    """Requests, tokens and cost; blank or unknown where one of them is not known."""
    tokens = [estimate.input_tokens for estimate in estimates]
    costs = [estimate.cost for estimate in estimates]
    n_tokens = "" if None in tokens else f"{sum(filter(None, tokens)):,}"
    cost = "unknown" if None in costs else f"{sum(filter(None, costs)):.4f}"
    return [f"{sum(estimate.requests for estimate in estimates):,}", n_tokens, cost]
