"""The tables of docs/metrics.md are those of the declarations.

``python -m tests.metrics.test_page`` writes them.
"""

import re

from target_bench.core.metric import MetricSpec
from target_bench.metrics.scores import all_specs
from tests.builders import ROOT

PAGE = ROOT / "docs" / "metrics.md"
_TABLE = re.compile(r"(?<=\|---\|---\|---\|---\|\n)(?:\| .* \|\n)+")
_RANKS = re.compile(r"^\* answers: .*?^\* rankings: .*?$", re.M | re.S)


def _name(spec: MetricSpec) -> str:
    return f"`{spec.name}@k`" if spec.at_k else f"`{spec.name}`"


def _table() -> str:
    """A row for the metrics of the same kind, range and direction."""
    rows: dict[tuple[str, str], list[str]] = {}
    for spec in all_specs():
        better = "higher" if spec.higher_is_better else "lower"
        key = spec.scores, f"{spec.range} | {better}"
        rows.setdefault(key, []).append(_name(spec))
    kinds = list(dict.fromkeys(kind for kind, _ in rows))
    ordered = sorted(rows.items(), key=lambda row: kinds.index(row[0][0]))
    return "".join(f"| {kind} | {', '.join(ns)} | {rest} |\n" for (kind, rest), ns in ordered)


def _ranks() -> str:
    """The metrics that stand for a run, in their order."""
    ranked = [spec for spec in all_specs() if spec.rank is not None]
    ranked.sort(key=lambda spec: spec.rank or 0)
    answers = [_name(spec) for spec in ranked if spec.scores != "rankings"]
    rankings = [_name(spec) for spec in ranked if spec.scores == "rankings"]
    return f"* answers: {', '.join(answers)}\n* rankings: {', '.join(rankings)}"


def _as_it_should_be(page: str) -> str:
    before, heading, after = page.partition("## All metrics\n")
    for pattern, written in ((_TABLE, _table()), (_RANKS, _ranks())):
        after, n = pattern.subn(written, after, count=1)
        assert n, f"docs/metrics.md has no {pattern.pattern}"
    return before + heading + after


def test_the_page_lists_the_metrics_that_are_declared() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == _as_it_should_be(page), "run nox -s accept"


if __name__ == "__main__":
    PAGE.write_text(_as_it_should_be(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
