"""The three figures on which a suspicion rests."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.999
"""Of every bound below: one honest run in a thousand lies outside of it by chance."""


def at_least(successes: int, n: int) -> float:
    """Return the lower bound of a share of which ``successes`` of ``n`` were seen.

    One-sided, exact (Clopper & Pearson 1934); 0 where nothing was seen.
    """
    if successes == 0:
        return 0.0
    from scipy.stats import beta

    return float(beta.ppf(1 - CONFIDENCE, successes, n - successes + 1))


def by_chance(drawn_marked: int, drawn: int, marked: int, n: int) -> float:
    """Return the probability that ``drawn`` of ``n`` hold at least this many ``marked``.

    Hypergeometric, as in Fisher's exact test.
    """
    from scipy.stats import hypergeom

    return float(hypergeom.sf(drawn_marked - 1, n, marked, drawn))


@dataclass(frozen=True, slots=True)
class Alike:
    """How alike two systems' mistakes are, over queries that both ranked.

    Tables that answer a query are in every good ranking, so only the others are compared, as
    those who look for plagiarism compare mistakes.

    Attributes:
        queries: how many queries both ranked.
        wrong: how many wrong tables the first one has among its first ten.
        shared: the share of them that the second has too.
        same_place: the share of them that the second has at the same rank.
        same_order: the share of pairs of shared ones that stand in the same order.
        identical: the share of queries with the same tables in the same order.
    """

    queries: int
    wrong: int
    shared: float
    same_place: float
    same_order: float
    identical: float


DEPTH = 10


def alike(
    one: Sequence[Sequence[Hashable]],
    other: Sequence[Sequence[Hashable]],
    gold: Sequence[Sequence[Hashable]],
) -> Alike:
    """Compare two sets of rankings down to rank 10, query by query."""
    wrong = shared = place = pairs = ordered = identical = 0
    for first, second, right in zip(one, other, gold, strict=True):
        depth = min(DEPTH, max(len(first), 1), max(len(second), 1))
        mine, theirs = list(first[:depth]), list(second[:depth])
        identical += mine == theirs
        ranks = {table: rank for rank, table in enumerate(theirs)}
        mistakes = [(rank, t) for rank, t in enumerate(mine) if t not in right]
        found = [ranks[t] for _, t in mistakes if t in ranks]
        wrong += len(mistakes)
        shared += len(found)
        place += sum(ranks.get(t) == rank for rank, t in mistakes)
        pairs += len(found) * (len(found) - 1) // 2
        ordered += sum(a < b for i, a in enumerate(found) for b in found[i + 1 :])
    n = len(gold)
    return Alike(
        n,
        wrong,
        shared / max(wrong, 1),
        place / max(wrong, 1),
        ordered / max(pairs, 1),
        identical / max(n, 1),
    )
