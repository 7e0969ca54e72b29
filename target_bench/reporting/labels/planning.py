"""How many labelled questions tell two retrievers apart, from their rankings alone or a pilot."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.metric import SYNTHETIC
from target_bench.metrics.stats import LEVEL, detectable_with, queries_needed
from target_bench.runs.labels import labels
from target_bench.runs.result import Result

EFFECTS = (0.01, 0.02, 0.05, 0.1)
"""The differences of recall that are planned for where none are named."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Two runs at a cutoff: how far they can differ, and what it takes to show it.

    Attributes:
        run: the run.
        baseline: the run that it is compared with.
        k: the cutoff.
        questions: how many questions both ranked.
        differing: of how many the first k tables are not the same set. The others have the same
            recall@k regardless of their gold tables, so the share of these questions is the most
            by which the two can differ, and they alone need labels.
        low: lower bound of the 95% interval (Wilson) of the share of all such questions.
        high: upper bound.
        labelled: how many of the questions have gold tables, in both runs.
        mean_square: the mean of the squared differences of recall@k over these; None without any.
        detectable: the smallest difference that all questions show; None where they show none.
        needed: difference -> how many questions show it; None of one that is not possible.
    """

    run: str
    baseline: str
    k: int
    questions: int
    differing: int
    low: float
    high: float
    labelled: int
    mean_square: float | None
    detectable: float | None
    needed: Mapping[float, int | None]

    @property
    def share(self) -> float:
        """The share of questions whose first k tables differ."""
        return self.differing / self.questions

    def to_label(self, effect: float) -> int | None:
        """Return how many of the needed questions need labels; None where none are needed."""
        n = self.needed[effect]
        return None if n is None else int(np.ceil(n * self.share))

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``target-bench labels plan --json`` prints."""
        record = asdict(self) | {"share": self.share}
        record["needed"] = [
            {"difference": effect, "questions": n, "to_label": self.to_label(effect)}
            for effect, n in self.needed.items()
        ]
        return record


def plan(runs: Sequence[Result], effects: Sequence[float] = EFFECTS) -> list[Plan]:
    """Plan the comparison of runs with the first one, at every cutoff that they share.

    Without labels, every question whose first k tables differ is taken to have another recall@k, by
    1: no more questions are needed than this. Where questions are labelled, the share of them that
    differ in recall@k is taken, and their root mean square difference.

    Args:
        runs: runs on the same tables, two at least.
        effects: differences of recall, above 0 and up to 1.

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
    first = runs[0]
    baseline, *names = labels(runs)
    return [
        _planned((run, first), (name, baseline), k, shared, effects)
        for run, name in zip(runs[1:], names, strict=True)
        for shared in [_shared(run, first)]
        for k in sorted({*run.retrieval.identity.top_k} & {*first.retrieval.identity.top_k})
    ]


def _shared(run: Result, first: Result) -> list[str]:
    """Return the questions that both ranked.

    Raises:
        DataError: the runs are of other tables, or share no question.
        StoreError: a finished run lacks rankings.
    """
    tables = [one.retrieval.identity.corpus_fingerprint for one in (run, first)]
    if tables[0] != tables[1]:
        raise DataError(f"{run.folder} and {first.folder} are on different tables")
    for one in (run, first):
        _check_whole(one)
    found = [query_id for query_id in first.rankings if query_id in run.rankings]
    if not found:
        raise DataError(f"{run.folder} and {first.folder} have no question in common")
    return found


def _check_whole(run: Result) -> None:
    ranking = run.retrieval
    if ranking.is_scored and len(run.rankings) < ranking.counts.asked:
        raise StoreError(
            f"{ranking.folder / 'retrieval.jsonl'}: has {len(run.rankings):,} of the "
            f"{ranking.counts.asked:,} rankings that were scored; run the same command again"
        )


def _planned(
    runs: tuple[Result, Result],
    names: tuple[str, str],
    k: int,
    shared: Sequence[str],
    effects: Sequence[float],
) -> Plan:
    run, first = runs
    differing = sum(
        set(run.rankings[name].tables[:k]) != set(first.rankings[name].tables[:k])
        for name in shared
    )
    interval = binomtest(differing, len(shared)).proportion_ci(LEVEL, method="wilson")
    pilot = _pilot(run, first, f"recall@{k}", shared)
    mean_square = float((pilot**2).mean()) if len(pilot) else None
    share = most = differing / len(shared)
    size = 1.0
    if mean_square:
        share = float((pilot != 0).mean())
        size = (mean_square / share) ** 0.5
    planned = mean_square != 0
    needed = {
        one: queries_needed(one, share, size) if planned and one <= most else None
        for one in effects
    }
    detectable = detectable_with(len(shared), share, size) if planned else None
    return Plan(
        run=names[0],
        baseline=names[1],
        k=k,
        questions=len(shared),
        differing=differing,
        low=float(interval.low),
        high=float(interval.high),
        labelled=len(pilot),
        mean_square=mean_square,
        detectable=None if detectable is None or detectable > most else detectable,
        needed=needed,
    )


def _pilot(run: Result, first: Result, metric: str, shared: Sequence[str]) -> NDArray[np.float64]:
    """Return the differences of those of these questions that both are scored on.

    Where people's questions and synthetic ones are mixed, only people's count.
    """
    if not any(metric in one.retrieval.scores for one in (run, first) if one.retrieval.is_scored):
        metric += SYNTHETIC
    if not all(one.retrieval.is_scored and metric in one.retrieval.scores for one in (run, first)):
        return np.zeros(0)
    values = [
        dict(zip(one.retrieval.query_ids, one.retrieval.per_query[metric].tolist(), strict=True))
        for one in (run, first)
    ]
    both = [name for name in shared if name in values[0] and name in values[1]]
    found = np.array([values[0][name] - values[1][name] for name in both], dtype=np.float64)
    return found[~np.isnan(found)]
