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


def test_plans_of_rankings_alone(shop: Dataset, tmp_path: Path) -> None:
    target = TARGET(("retrieval", shop), out=tmp_path, observer=Recorder())
    whole, part = (
        read_run(only(target.run(name, top_k=[1, 5], limit=limit)).folder)
        for name, limit in (("bm25", None), ("random:seed=1", 2))
    )
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


def test_faults(shop_runs: list[Result], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name two runs at least"):
        plan(shop_runs[:1])
    mini = TARGET(("retrieval", "mini"), out=tmp_path, observer=Recorder())
    other = read_run(only(mini.run("random", top_k=1, limit=2)).folder)
    with pytest.raises(DataError, match="are of different tables"):
        plan([shop_runs[0], other])
