"""How many labelled questions tell two retrievers apart, from their rankings alone or a pilot."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import SYNTHETIC
from target_bench.metrics.stats import LEVEL, detectable_with, queries_needed
from target_bench.runs.differences import labels
from target_bench.runs.result import Result, check_same_data

EFFECTS = (0.01, 0.02, 0.05, 0.1)
"""The differences of recall that are planned for where none are named."""


def plan(runs: Sequence[Result], effects: Sequence[float] = EFFECTS) -> list[dict[str, Any]]:
    """Plan the comparison of runs with the first one, at every cutoff that they share.

    Without labels, every question whose first k tables differ is taken to have another recall@k, by
    1: no more questions are needed than this. Where questions are labelled, the share of them that
    differ in recall@k is taken, and their root mean square difference.

    Args:
        runs: runs on the same tables, two at least.
        effects: differences of recall, above 0 and up to 1.

    Returns:
        The records that ``target-bench labels plan --json`` prints:

        - ``run``, ``baseline``, ``k``; ``questions``: how many both ranked;
        - ``differing``: of how many the first k tables are not the same set. The others have the
          same recall@k regardless of their gold tables, so the ``share`` of these questions is the
          most by which the two can differ, and they alone need labels. ``low`` and ``high`` bound
          the share of all such questions (95%, Wilson);
        - ``labelled``: how many of the questions have gold tables in both runs, and
          ``mean_square``: the mean squared difference of recall@k over these;
        - ``detectable``: the smallest difference that all questions show, if any;
        - ``needed``: for each ``difference`` how many ``questions`` show it and how many of them
          need labels (``to_label``); None of one that is not possible.

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
            record = {"run": name, "baseline": baseline_name, "k": k, "questions": len(shared)}
            plans.append(record | _planned(run, baseline, k, shared, effects))
    return plans


def _planned(
    run: Result, baseline: Result, k: int, shared: Sequence[str], effects: Sequence[float]
) -> dict[str, Any]:
    firsts = [[{*r.rankings[name].tables[:k]} for name in shared] for r in (run, baseline)]
    differing = sum(left != right for left, right in zip(*firsts, strict=True))
    bounds = binomtest(differing, len(shared)).proportion_ci(LEVEL, method="wilson")
    pilot = _pilot(run, baseline, f"recall@{k}", shared)
    mean_square = float((pilot**2).mean()) if len(pilot) else None
    most = differing / len(shared)
    share, size = most, 1.0
    if mean_square:
        share = float((pilot != 0).mean())
        size = (mean_square / share) ** 0.5
    # A pilot without any difference says nothing of their size.
    can_plan = mean_square != 0
    detectable = detectable_with(len(shared), share, size) if can_plan else None
    needed = []
    for effect in effects:
        n = queries_needed(effect, share, size) if can_plan and effect <= most else None
        to_label = None if n is None else ceil(n * most)
        needed.append({"difference": effect, "questions": n, "to_label": to_label})
    return {
        "differing": differing,
        "share": most,
        "low": float(bounds.low),
        "high": float(bounds.high),
        "labelled": len(pilot),
        "mean_square": mean_square,
        "detectable": None if detectable is None or detectable > most else detectable,
        "needed": needed,
    }


def _pilot(
    run: Result, baseline: Result, metric: str, shared: Sequence[str]
) -> NDArray[np.float64]:
    """Return the differences of those of these questions that both are scored on.

    Where people's questions and synthetic ones are mixed, only people's count.
    """
    scored = [r.retrieval for r in (run, baseline) if r.retrieval.is_scored]
    stored = [{*r.scores} for r in scored]  # whole names: a plain one may mean synthetic questions
    if not any(metric in names for names in stored):
        metric += SYNTHETIC
    if len(scored) < 2 or not all(metric in names for names in stored):
        return np.zeros(0)
    values = [dict(zip(r.query_ids, r.per_query[metric].tolist(), strict=True)) for r in scored]
    both = [name for name in shared if all(name in of_run for of_run in values)]
    differences = np.array([values[0][q] - values[1][q] for q in both], dtype=np.float64)
    return differences[~np.isnan(differences)]
