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
    for one in results:
        groups.setdefault((one.corpus, one.split, one.task), []).append(one)
    shown: list[Result] = []
    for found in groups.values():
        compared, why = None, None
        if not shown or found[0].task == shown[0].task:
            compared, why = _compared(found)
        if compared is not None:
            yield _sentence(found[0], compared, why)
            shown += found
    shown = shown or next((found for found in groups.values() if _without_scores(found)), [])
    if shown:
        folders = " ".join(shlex.quote(str(one.folder)) for one in shown)
        yield f"{NEXT}target-bench report {folders} -o report.html"


def _without_scores(results: "Sequence[Result]") -> bool:
    return len(results) > 1 and not any(one.scores for one in results)


def _compared(results: "Sequence[Result]") -> "tuple[Comparison | None, str | None]":
    """Return the comparison by the leading metric, and why it is not the headline metric."""
    from target_bench.metrics.scores import leading, spec_of
    from target_bench.reporting.compare import compare

    asked = [one for one in results if one.scores and not one.is_bound]
    if len(asked) < 2:
        return None, None
    metric, why = leading([one.scores for one in asked])
    if any(metric not in one.scores or isnan(one.scores[metric].value) for one in asked):
        return None, None
    best = max(asked, key=lambda one: spec_of(metric).merit(one.scores[metric].value))
    others = [one for one in asked if one is not best]
    try:
        return compare([best, *others], [metric], baseline=best), why
    except TargetBenchError:
        return None, None


def _sentence(first: "Result", compared: "Comparison", why: str | None) -> str:
    from target_bench.reporting.comparison import best_run

    because = f"{why}. " if why else ""
    return f"On {first.corpus} {first.split} ({first.task}), {because}{best_run(compared)}"
