"""Samples are proportional over strata, and the same for the same seed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Query
from target_bench.reporting.labels.sampling import drawn, strata


def _queries(kinds: list[str]) -> list[Query]:
    return [Query(f"q{i}", "?", (), metadata={"kind": kind}) for i, kind in enumerate(kinds)]


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=60),
    st.integers(1, 70),
    st.integers(0, 9),
)
def test_each_stratum_has_its_share_but_for_less_than_one(
    kinds: list[str], n: int, seed: int
) -> None:
    queries = _queries(kinds)
    found = drawn(queries, n, ["kind"], seed)
    assert len(found) == min(n, len(queries))
    assert len({query.id for query in found}) == len(found)
    counted = Counter(str(query.metadata["kind"]) for query in found)
    for kind, size in Counter(kinds).items():
        assert abs(counted[kind] - size * len(found) / len(queries)) < 1
    assert drawn(queries, n, ["kind"], seed) == found


def test_without_a_number_all_are_drawn_in_random_order() -> None:
    queries = _queries(["a"] * 30)
    found = drawn(queries, None)
    assert sorted(query.id for query in found) == sorted(query.id for query in queries)
    assert found != queries
    assert drawn(queries, None, seed=1) != found


def test_strata_of_two_properties_and_of_missing_ones() -> None:
    queries = [
        Query("a", "?", (), metadata={"kind": "x", "level": 2}),
        Query("b", "?", (), metadata={"kind": "x"}),
    ]
    assert strata(queries, ["kind", "level"]) == [("x", "2"), ("x", "(none)")]
    assert strata(queries, []) == [(), ()]


def test_faults() -> None:
    with pytest.raises(ConfigError, match="sample=0: a form asks about at least 1 question"):
        drawn(_queries(["a"]), 0)
    with pytest.raises(ConfigError, match="unknown slice 'size'; the queries have: "):
        drawn(_queries(["a"]), 1, ["size"])
