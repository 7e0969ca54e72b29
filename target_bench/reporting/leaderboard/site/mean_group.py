"""The mean over corpora: one column that says what it covers, with intervals and tests."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, sqrt

import numpy as np

from target_bench.core.metric import Score
from target_bench.reporting.leaderboard.entry import RunEntry
from target_bench.reporting.leaderboard.site.groups import Data, Group, Member, Vector


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean over corpora.

    Attributes:
        group: recall of the complete systems, averaged, as a group of its own.
        over: the groups that it is over.
    """

    group: Group
    over: Sequence[Group]


def mean_over(rankings: Sequence[Group]) -> Mean | None:
    """Average the corpora that at least half of all systems have.

    So one submission on a further corpus, or on other tables of the same name, does not leave all
    others incomplete. A corpus counts once: of its groups the one without distractors and with the
    most systems, of equal ones that with all queries.

    Args:
        rankings: the groups of rankings.

    Returns:
        None if there are fewer than two such corpora, or if no system has all of them.
    """
    systems = {member for group in rankings for member in group.members}
    known = [group for group in rankings if 2 * len(group.members) >= len(systems)]
    of_corpus: dict[str, Group] = {}
    for group in sorted(known, key=_preference):
        of_corpus.setdefault(group.data.corpus, group)
    found = sorted(of_corpus.values(), key=lambda group: group.data)
    return Mean(_averaged(found), found) if len(found) > 1 and _complete(found) else None


def _preference(group: Group) -> tuple[bool, int, bool]:
    """Order groups of a corpus, the one that stands for it first."""
    return bool(group.data.distractors), -len(group.members), group.about is not None


def _complete(groups: Sequence[Group]) -> list[Member]:
    """Return the systems that have a score in every group."""
    first, *others = groups
    return [m for m in first.members if all(_has_score(group, m) for group in (first, *others))]


def _has_score(group: Group, member: Member) -> bool:
    """Return whether a system has a recall over at least one query."""
    run = group.members.get(member)
    return run is not None and any(_is_known(run, f"recall@{k}") for k in run.cutoffs)


def _is_known(run: RunEntry, name: str) -> bool:
    return name in run.scores and isfinite(run.scores[name].value)


def _averaged(groups: Sequence[Group]) -> Group:
    """Return recall averaged over groups, each of which counts the same, as a group of its own.

    Its members are the complete systems. The values of the queries of a group add up to its score;
    so the tests are those of any group, with swaps of single queries.
    """
    task = groups[0].data.task
    mean = Group(Data(task, "", "", (), "", ""), (), ranks=True)
    cutoffs = set.intersection(*(set(group.cutoffs) for group in groups))
    names = [f"recall@{k}" for k in sorted(cutoffs)]
    for member in _complete(groups):
        runs = [group.members[member] for group in groups]
        shared = [name for name in names if all(_is_known(run, name) for run in runs)]
        scores = {name: mean_score([run.scores[name] for run in runs]) for name in shared}
        kept = tuple(int(name.partition("@")[2]) for name in shared)
        mean.members[member] = replace(runs[0], scores=scores, cutoffs=kept)
        for name in shared:
            values = [_values(group, name, member) for group in groups]
            mean.values.setdefault(name, {})[member] = np.concatenate(values)
    return mean


def mean_score(scores: Sequence[Score]) -> Score:
    """Return the mean of independent scores, its interval from theirs.

    The bounds are those of Zou & Donner 2008, "Construction of confidence limits about effect
    measures: a general approach": distances of the bounds from their scores add up as squares.
    """
    n = len(scores)
    value = sum(score.value for score in scores) / n
    low = value - sqrt(sum((score.value - score.low) ** 2 for score in scores)) / n
    high = value + sqrt(sum((score.high - score.value) ** 2 for score in scores)) / n
    return replace(scores[0], value=value, low=low, high=high, n=sum(one.n for one in scores))


def _values(group: Group, name: str, member: Member) -> Vector:
    """Return the values of the queries, their sum being the score; NaN where they are not known."""
    values = group.values.get(name, {}).get(member)
    if values is None:
        return np.full(len(group.query_ids), np.nan, dtype=np.float32)
    return values / np.float32(max(int((~np.isnan(values)).sum()), 1))
