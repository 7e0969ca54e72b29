"""How many labelled questions tell two retrievers apart, from their rankings alone."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.metrics.stats import detectable_with, queries_needed
from target_bench.runs.differences import labels
from target_bench.runs.result import Result, check_same_data

EFFECTS = (0.01, 0.02, 0.05, 0.1)
"""The differences of recall that are planned for where none are named."""


def plan(runs: Sequence[Result], effects: Sequence[float] = EFFECTS) -> list[dict[str, Any]]:
    """Plan the comparison of runs with the first one, at every cutoff that they share.

    Questions whose first k tables are the same set have the same recall@k regardless of their gold
    tables. All others are taken to differ in it, by 1: no more questions are needed than this.

    Args:
        runs: runs on the same tables, two at least.
        effects: differences of recall, above 0 and up to 1.

    Returns:
        The records that ``target-bench labels plan --json`` prints: ``run``, ``baseline``, ``k``;
        ``questions``: how many both ranked; ``differing``: of how many the first k tables are not
        the same set, and the ``share`` of these, which is the most by which the two can differ;
        ``detectable``: the smallest difference that all questions show, if any; ``needed``: for
        each ``difference`` how many ``questions`` show it and how many of them need labels
        (``to_label``); None of one that is not possible.

    Raises:
        ConfigError: there are fewer than two runs, or a difference is not in its range.
        DataError: the runs are of other tables, or share no question.
        StoreError: a run cannot be read.
    """
    if len(runs) < 2:
        raise ConfigError("name two runs at least: the first is the baseline of the others")
    wrong = [effect for effect in effects if not 0 < effect <= 1]
    if wrong:
        raise ConfigError(f"--effect {wrong[0]:g}: a difference of recall is above 0 and up to 1")
    baseline, (baseline_name, *names) = runs[0], labels(runs)
    plans = []
    for name, run in zip(names, runs[1:], strict=True):
        check_same_data(
            [run.retrieval, baseline.retrieval],
            ["corpus_fingerprint"],
            "Plan for runs on the same tables.",
        )
        shared = [query_id for query_id in baseline.rankings if query_id in run.rankings]
        if not shared:
            raise DataError(f"{run.folder} and {baseline.folder} have no question in common")
        cutoffs = {*run.retrieval.identity.top_k} & {*baseline.retrieval.identity.top_k}
        for k in sorted(cutoffs):
            differing = sum(
                {*run.rankings[query_id].tables[:k]} != {*baseline.rankings[query_id].tables[:k]}
                for query_id in shared
            )
            record = {"run": name, "baseline": baseline_name, "k": k, "questions": len(shared)}
            plans.append(record | _planned(differing, len(shared), effects))
    return plans


def _planned(differing: int, n: int, effects: Sequence[float]) -> dict[str, Any]:
    share = differing / n
    detectable = detectable_with(n, share)
    needed = []
    for effect in effects:
        questions = queries_needed(effect, share) if effect <= share else None
        to_label = None if questions is None else ceil(questions * share)
        needed.append({"difference": effect, "questions": questions, "to_label": to_label})
    return {
        "differing": differing,
        "share": share,
        "detectable": None if detectable is None or detectable > share else detectable,
        "needed": needed,
    }
