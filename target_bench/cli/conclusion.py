"""The last lines of a run of several settings: which one is best, and the next command."""

import shlex
from collections.abc import Iterator, Sequence
from math import isnan
from typing import TYPE_CHECKING

from target_bench.core.errors import TargetBenchError

if TYPE_CHECKING:
    from target_bench.reporting.comparison import Comparison
    from target_bench.runs.result import Result

NEXT = "Next: "
"""How the line of the next command begins, which is not wrapped, to be copied."""


def conclusion(results: "Sequence[Result]") -> Iterator[str]:
    """Yield a sentence on each corpus of the first task that has one, and the next command.

    The best run by the metric that leads (``scores.leading``) is tested against all others on
    the same queries (randomisation test, corrected for all tests). Runs without scores, as their
    queries have no gold tables, get the next command alone; without two runs of either kind nothing
    is said.

    Args:
        results: what was run, with its run folders.
    """
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.corpus, result.split, result.task), []).append(result)
    shown: list[Result] = []
    for group in groups.values():
        compared, why = None, None
        if not shown or group[0].task == shown[0].task:
            compared, why = _compared(group)
        if compared is not None:
            yield _sentence(group[0], compared, why)
            shown += group
    shown = shown or next((group for group in groups.values() if _without_scores(group)), [])
    if shown:
        folders = " ".join(shlex.quote(str(result.folder)) for result in shown)
        yield f"{NEXT}target-bench report {folders} -o report.html"


def _without_scores(results: "Sequence[Result]") -> bool:
    return len(results) > 1 and not any(result.scores for result in results)


def _compared(results: "Sequence[Result]") -> "tuple[Comparison | None, str | None]":
    """Return the comparison by the leading metric, and why it is not the headline metric."""
    from target_bench.metrics.scores import leading, spec_of
    from target_bench.reporting.compare import compare

    systems = [result for result in results if result.scores and not result.is_bound]
    if len(systems) < 2:
        return None, None
    metric, why = leading([result.scores for result in systems])
    if any(metric not in result.scores or isnan(result.scores[metric].value) for result in systems):
        return None, None
    best = max(systems, key=lambda result: spec_of(metric).merit(result.scores[metric].value))
    others = [result for result in systems if result is not best]
    try:
        return compare([best, *others], [metric], baseline=best), why
    except TargetBenchError:
        return None, None


def _sentence(first: "Result", compared: "Comparison", why: str | None) -> str:
    from target_bench.reporting.comparison import best_run

    because = f"{why}. " if why else ""
    return f"On {first.corpus} {first.split} ({first.task}), {because}{best_run(compared)}"
