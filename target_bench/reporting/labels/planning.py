"""How many labelled questions tell two retrievers apart, from their rankings alone."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.metrics.stats import detectable_with, queries_needed
from target_bench.runs.differences import labels
from target_bench.runs.result import Result, check_same_data

EFFECTS = (0.01, 0.02, 0.05, 0.1)
"""The differences of recall that are planned for."""


def plan(runs: Sequence[Result]) -> list[dict[str, Any]]:
    """Plan the comparison of runs with the first one, at every cutoff that they share.

    Questions whose first k tables are the same set have the same recall@k regardless of their gold
    tables. All others are taken to differ in it, by 1: no more questions are needed than this.

    Returns:
        The records that ``target-bench labels plan --json`` prints: ``run``, ``baseline``, ``k``;
        ``questions``: how many both ranked; ``differing``: of how many the first k tables are not
        the same set, and the ``share`` of these, which is the most by which the two can differ;
        ``detectable``: the smallest difference that all questions show, if any; ``needed``: for
        each ``difference`` how many ``questions`` show it and how many of them need labels
        (``to_label``); None of one that is not possible.

    Raises:
        ConfigError: there are fewer than two runs.
        DataError: the runs are of other tables, or share no question.
    """
    if len(runs) < 2:
        raise ConfigError("name two runs at least: the first is the baseline of the others")
    baseline, (baseline_name, *names) = runs[0], labels(runs)
    plans = []
    for name, run in zip(names, runs[1:], strict=True):
        both = [run.retrieval, baseline.retrieval]
        check_same_data(both, ["corpus_fingerprint"], "Plan for runs on the same tables.")
        n = len(shared := baseline.rankings.keys() & run.rankings.keys())
        if not n:
            raise DataError(f"{run.folder} and {baseline.folder} have no question in common")
        for k in sorted({*both[0].identity.top_k} & {*both[1].identity.top_k}):
            firsts = [[{*r.rankings[i].tables[:k]} for i in shared] for r in (run, baseline)]
            differing = sum(mine != theirs for mine, theirs in zip(*firsts, strict=True))
            share = differing / n
            detectable = detectable_with(n, share)
            needed = []
            for effect in EFFECTS:
                most = queries_needed(effect, share) if effect <= share else None
                to_label = None if most is None else ceil(most * share)
                needed.append({"difference": effect, "questions": most, "to_label": to_label})
            plans.append(
                {"run": name, "baseline": baseline_name, "k": k, "questions": n}
                | {"differing": differing, "share": share, "needed": needed}
                | {"detectable": detectable if detectable and detectable <= share else None}
            )
    return plans
