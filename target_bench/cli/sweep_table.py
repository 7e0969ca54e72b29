"""The tables of a sweep: what there is to do, and what came of it."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from target_bench.schema import Score
    from target_bench.stages.consent import Estimate
    from target_bench.sweeps import CellOutcome, PlannedCell

_ALWAYS = ("retriever", "generator")
_HIDDEN = ("number", "task", "k")


def headline(scores: Iterable[str]) -> str | None:
    """The metric that stands for a cell: the first about answers, else the last recall."""
    from target_bench.results import ANSWER_METRICS

    names = list(scores)
    answers = [name for name in ANSWER_METRICS if name in names]
    recalls = [name for name in names if name.startswith("recall@")]
    return answers[0] if answers else recalls[-1] if recalls else None


def print_plan(console: "Console", cells: "Sequence[PlannedCell]") -> None:
    """A row a cell: its state, and what it would send to plug-ins that may cost money."""
    paid = any(cell.estimates for cell in cells)
    table = _empty_table(f"{len(cells)} cells")
    _add_axes(table, axes := _axes([planned.cell for planned in cells]), task=True)
    for name in ("state", "answered"):
        table.add_column(name, no_wrap=True)
    for name in ("requests", "tokens", "cost") if paid else ():
        table.add_column(name, justify="right", no_wrap=True)
    for planned, axis in zip(cells, axes, strict=True):
        row = [str(planned.cell.number), planned.cell.task, *axis.values(), planned.state]
        row.append(f"{planned.recorded} of {planned.n_queries}")
        if planned.estimates:
            row += _sizes(planned.estimates)
        table.add_row(*map(_escaped, row))
    console.print(table)


def print_outcomes(console: "Console", outcomes: "Sequence[CellOutcome]") -> None:
    """A row a cell with its main scores, those of one task together."""
    for task in dict.fromkeys(outcome.cell.task for outcome in outcomes):
        console.print(_scores(task, [o for o in outcomes if o.cell.task == task]))


def _scores(task: str, outcomes: "Sequence[CellOutcome]") -> "Table":
    from target_bench.runs.times import STAGES, left_out_note

    table = _empty_table(task)
    axes = _axes([outcome.cell for outcome in outcomes])
    _add_axes(table, axes)
    metrics = _shown([name for outcome in outcomes for name in outcome.scores])
    chosen = headline(metrics)
    for name in metrics:
        heading = name.replace("[", "\n[", 1) if "[" in name else name.replace("@", "\n@")
        table.add_column(_escaped(heading), justify="right", no_wrap=True)
        if name == chosen:
            table.add_column("95%\ninterval", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    table.caption = left_out_note((outcome.left_out for outcome in outcomes), STAGES)
    table.caption_justify = "left"
    for outcome, axis in zip(outcomes, axes, strict=True):
        cells = [str(outcome.cell.number), *axis.values()]
        for name in metrics:
            score = outcome.scores.get(name)
            cells.append("failed" if outcome.error else _value(name, score))
            if name == chosen:
                cells.append(_interval(name, score))
        cells.append(_seconds(outcome))
        table.add_row(*map(_escaped, cells))
    return table


def _seconds(outcome: "CellOutcome") -> str:
    """Of indexing, ranking and answering together; a dash where one of them is not cold."""
    from target_bench.runs.times import STAGES

    if set(STAGES) & outcome.left_out.keys():
        return "–"
    known = [outcome.stages[stage] for stage in STAGES if stage in outcome.stages]
    return f"{sum(known):.1f}" if known else ""


def _axes(cells: Sequence[Any]) -> list[dict[str, str]]:
    """What differs between cells, and what ranks and answers: name -> text of each cell."""
    from target_bench.sweeps.records import described

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


def _add_axes(table: "Table", axes: Sequence[Mapping[str, str]], task: bool = False) -> None:
    table.add_column("", justify="right", no_wrap=True)
    for name in [*(["task"] if task else []), *(axes[0] if axes else ())]:
        table.add_column(name.replace("_", "\n"), overflow="fold", min_width=min(12, len(name)))


def _empty_table(title: str) -> "Table":
    from rich import box
    from rich.table import Table

    return Table(
        title=_escaped(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )


def _shown(metrics: Sequence[str]) -> list[str]:
    from target_bench.results import ANSWER_METRICS

    names = list(dict.fromkeys(metrics))
    answers = [name for name in ANSWER_METRICS if name in names]
    recalls = [name for name in names if name.startswith("recall@")]
    return [*recalls[-1:], *answers] if answers else [*recalls, *(n for n in names if n == "mrr")]


def _value(name: str, score: "Score | None") -> str:
    if score is None or isnan(score.value):  # a score over no query
        return "" if score is None else "–"
    return f"{score.value:.{_digits(name)}f}"


def _interval(name: str, score: "Score | None") -> str:
    digits = _digits(name)
    if score is None or isnan(score.low):
        return ""
    return f"{score.low:.{digits}f}-{score.high:.{digits}f}"


def _digits(name: str) -> int:
    from target_bench.results import PERCENT

    return 2 if name in PERCENT else 3


def _sizes(estimates: "Sequence[Estimate]") -> list[str]:
    """Requests, tokens and cost; blank or unknown where one of them is not known."""
    tokens = [estimate.input_tokens for estimate in estimates]
    costs = [estimate.cost for estimate in estimates]
    n_tokens = "" if None in tokens else f"{sum(filter(None, tokens)):,}"
    cost = "unknown" if None in costs else f"{sum(filter(None, costs)):.4f}"
    return [f"{sum(estimate.requests for estimate in estimates):,}", n_tokens, cost]


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
