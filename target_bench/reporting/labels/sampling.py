"""Which questions are labelled: a random sample, proportional over strata."""

import random
from collections import Counter
from collections.abc import Sequence

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Query
from target_bench.runs.slicing import by_name, by_property

Stratum = tuple[str, ...]
"""The values that a question has of the properties that strata are made of, as text."""


def strata(queries: Sequence[Query], by: Sequence[str]) -> list[Stratum]:
    """Return the stratum of every query.

    Args:
        queries: the queries.
        by: properties of the queries, as ``difficulty``; without any there is one stratum.

    Raises:
        ConfigError: the queries have no such property.
    """
    divided = [by_name(by_property(queries), name) for name in by]
    return [
        tuple("(none)" if one.codes[i] < 0 else str(one.values[one.codes[i]]) for one in divided)
        for i in range(len(queries))
    ]


def drawn(
    queries: Sequence[Query], n: int | None, by: Sequence[str] = (), seed: int = 0
) -> list[Query]:
    """Draw queries, as many from each stratum as its share of all, in random order.

    What is left over by rounding goes to the strata with the largest remainders (Hamilton's
    method), so each has its share but for less than one query. In random order, the first m of
    the sample are a random sample, too.

    Args:
        queries: what is drawn from.
        n: how many; None, or as many as there are, for all.
        by: the properties that strata are made of.
        seed: of the draw and of the order.

    Raises:
        ConfigError: ``n`` is below 1, or the queries have no such property.
    """
    if n is not None and n < 1:
        raise ConfigError(f"sample={n}: a form asks about at least 1 question")
    found = strata(queries, by)
    shuffled = list(range(len(queries)))
    random.Random(seed).shuffle(shuffled)  # noqa: S311 (no secret)
    left = _allotted(Counter(found), len(queries) if n is None else min(n, len(queries)))
    chosen = []
    for place in shuffled:
        if left[found[place]]:
            left[found[place]] -= 1
            chosen.append(queries[place])
    return chosen


def _allotted(sizes: Counter[Stratum], n: int) -> Counter[Stratum]:
    """Return how many are drawn from each stratum."""
    total = sum(sizes.values())
    whole = Counter({name: size * n // total for name, size in sizes.items()})
    rest = sorted(sizes, key=lambda name: (-(sizes[name] * n % total), name))
    whole.update(rest[: n - sum(whole.values())])
    return whole
