"""Plans: how far rankings alone bound a difference."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset
from target_bench.harness.target import TARGET
from target_bench.metrics.stats import detectable_with, queries_needed
from target_bench.reporting.labels.planning import plan
from target_bench.runs.result import Result, read_run
from tests.builders import Recorder, only


def _run(data: Dataset | str, out: Path, retriever: str, limit: int | None = None) -> Result:
    target = TARGET(("retrieval", data), out=out, observer=Recorder())
    return read_run(only(target.run(retriever, top_k=[1, 5], limit=limit)).folder)


def test_plans_of_rankings_alone(shop: Dataset, tmp_path: Path) -> None:
    whole, part = _run(shop, tmp_path, "bm25"), _run(shop, tmp_path, "random:seed=1", limit=2)
    at_1, at_5 = plan([whole, part])
    both = [query.id for query in shop.queries if query.id in part.rankings]
    firsts = [[run.rankings[name].tables[0] for name in both] for run in (whole, part)]
    differing = sum(a != b for a, b in zip(*firsts, strict=True))
    assert (at_1["k"], at_5["k"], at_1["questions"]) == (1, 5, 2), "those that both ranked"
    assert (at_1["differing"], at_1["share"]) == (differing, differing / 2)
    assert at_1["detectable"] == detectable_with(2, at_1["share"])
    for needed in at_1["needed"]:
        n = queries_needed(needed["difference"], at_1["share"])
        assert needed["questions"] == n
        assert needed["to_label"] == pytest.approx(n * at_1["share"], abs=1)
    with pytest.raises(ConfigError, match="name two runs at least"):
        plan([whole])
    with pytest.raises(DataError, match="are of different tables"):
        plan([whole, _run("mini", tmp_path, "random", limit=2)])
