"""The mean over corpora: what it covers, its interval, its tests."""

from dataclasses import replace
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.metric import Score
from target_bench.reporting.leaderboard.site import build
from target_bench.reporting.leaderboard.site.mean_group import mean_score
from tests.reporting.leaderboard.site.small import (
    board,
    data_of,
    entry,
    hashed,
    retrieval,
    scores,
    write,
)


def _mean(tmp_path: Path, *made: Any) -> dict[str, Any] | None:
    """The group of the mean, with names in place of rows."""
    build(write(tmp_path / "in", made), tmp_path / "site")
    data = data_of(tmp_path / "site" / "index.html")
    names = [row["name"] for row in data["rows"]]
    found = next((group for group in data["groups"] if group.get("mean")), None)
    if found is None:
        return None
    for part in ("cells", "partial"):
        found[part] = {names[int(row)]: value for row, value in found[part].items()}
    return dict(found)


def test_it_is_over_what_half_of_the_systems_have(tmp_path: Path) -> None:
    """A system without all of it has no mean, and the page says how much it has."""
    found = _mean(tmp_path, *board())
    assert found is not None
    assert (found["name"], found["queries"]) == ("Mean of 2 corpora", "alpha, beta")
    values = {name: cell["recall@10"][0] for name, cell in found["cells"].items()}
    assert values == {"Plain BM25": 0.55, "Best, by far": 0.925, "Odd one": 0.25}
    assert found["partial"] == {"Close": "1 of 2", "Untold": "1 of 2"}
    times = {name: cell["ms"] for name, cell in found["cells"].items()}
    assert times["Plain BM25"] == [10.0]


def test_further_data_of_one_system_do_not_count(tmp_path: Path) -> None:
    """Another corpus, or other tables of the same name, leave the others complete."""
    more = [retrieval(0.9), retrieval(0.9, "beta"), retrieval(0.9, "gamma")]
    other = replace(retrieval(0.9), corpus_fingerprint=hashed("other"))
    found = _mean(tmp_path, *board(), entry("more", *more), entry("other", other))
    assert found is not None
    assert found["queries"] == "alpha, beta"
    assert "More" in found["cells"]
    assert found["partial"]["Other"] == "0 of 2"


def test_a_corpus_counts_once(tmp_path: Path) -> None:
    """Whatever splits, distractors and parts of its queries there are beside it."""
    whole, beta = retrieval(0.5), retrieval(0.9, "beta")
    more = [
        replace(whole, split="validation", queries_fingerprint=hashed("validation")),
        replace(whole, distractors=("gittables:n=9",), corpus_fingerprint=hashed("mixed")),
        replace(whole, about="text_to_sql", queries_fingerprint=hashed("sql")),
    ]
    assert _mean(tmp_path / "one", entry("a", whole, *more)) is None
    found = _mean(tmp_path, entry("a", *more, whole, beta))
    assert found is not None
    assert (found["name"], found["queries"]) == ("Mean of 2 corpora", "alpha, beta")
    assert found["cells"]["A"]["recall@10"][0] == 0.7


def test_none_where_no_system_has_all(tmp_path: Path) -> None:
    assert _mean(tmp_path, entry("a", retrieval(0.5)), entry("b", retrieval(0.5, "beta"))) is None


def test_each_corpus_counts_the_same(tmp_path: Path) -> None:
    """Whatever its number of queries; and so do the tests."""
    runs = {
        "a": (retrieval(1.0, n=300), retrieval(0.0, "beta", n=20)),
        "b": (retrieval(0.0, n=300), retrieval(1.0, "beta", n=20)),
        "c": (retrieval(1.0, n=300), retrieval(0.5, "beta", n=20)),
    }
    found = _mean(tmp_path, *(entry(name, *both) for name, both in runs.items()))
    assert found is not None
    cells = {name: cell["recall@10"] for name, cell in found["cells"].items()}
    assert {name: cell[0] for name, cell in cells.items()} == {"A": 0.5, "B": 0.5, "C": 0.75}
    assert cells["A"][3] < 0.05  # ten queries of beta


def test_the_test_is_over_swaps_of_queries(tmp_path: Path) -> None:
    """Against all swaps of few queries, the statistic being the difference of the means."""
    alpha, beta = np.array([1.0, 1, 1, 0]), np.array([1.0, 1, 0, 1, 1, 0])
    ours = {
        corpus: replace(
            retrieval(0.5, corpus, n=len(values)),
            cutoffs=(1,),
            scores=scores({"recall@1": values}),
            per_query={"recall@1": values},
        )
        for corpus, values in (("alpha", alpha), ("beta", beta))
    }
    none = {
        corpus: replace(
            run,
            scores=scores({"recall@1": np.zeros(len(run.query_ids))}),
            per_query={"recall@1": np.zeros(len(run.query_ids))},
        )
        for corpus, run in ours.items()
    }
    found = _mean(tmp_path, entry("a", *ours.values()), entry("b", *none.values()))
    assert found is not None
    observed = (alpha.mean() + beta.mean()) / 2
    signs = np.array(list(product((-1, 1), repeat=10)))
    swapped = (signs[:, :4] @ alpha / 4 + signs[:, 4:] @ beta / 6) / 2
    wanted = (np.abs(swapped) >= observed - 1e-9).mean()
    assert found["cells"]["B"]["recall@1"][3] == pytest.approx(wanted, abs=0.01)


SCORES = (
    st.tuples(*[st.floats(0, 1)] * 3).map(sorted).map(lambda x: Score(x[1], x[0], x[2], 9, "s"))
)


@given(st.lists(SCORES, min_size=1, max_size=12))
def test_interval(found: list[Score]) -> None:
    """It holds the mean, and is no wider than the intervals that it is made of."""
    mean = mean_score(found)
    n = len(found)
    assert mean.value == pytest.approx(sum(one.value for one in found) / n)
    assert -1e-9 <= mean.low <= mean.value <= mean.high <= 1 + 1e-9
    width = max(one.high - one.low for one in found)
    assert mean.high - mean.low <= width + 1e-9


def test_interval_of_equal_scores() -> None:
    """It is narrower by the root of their number, as that of a mean of independent scores."""
    mean = mean_score([Score(0.5, 0.4, 0.62, 100, "s")] * 4)
    assert (mean.low, mean.high) == pytest.approx((0.5 - 0.1 / sqrt(4), 0.5 + 0.12 / sqrt(4)))
    assert mean.n == 400
