"""Plans: how far rankings alone bound a difference, and what a pilot adds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.cli.labels import print_plans
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.harness.target import TARGET
from target_bench.metrics.stats import queries_needed
from target_bench.reporting.labels.planning import plan
from target_bench.runs.result import Result, read_run
from tests.builders import Recorder, only

GOLD = {"q1": "films", "q2": "prices", "q3": "staff"}


def _runs(dataset: Dataset, out: Path) -> list[Result]:
    target = TARGET(("retrieval", dataset), out=out, observer=Recorder())
    names = ("bm25", "random:seed=1")
    return [read_run(only(target.run(name, top_k=[1, 5])).folder) for name in names]


def _needed(record: dict[str, Any]) -> dict[float, int | None]:
    return {one["difference"]: one["questions"] for one in record["needed"]}


def test_rankings_alone(shop: Dataset, tmp_path: Path) -> None:
    runs = _runs(shop, tmp_path)
    at_1, at_5 = plan(runs, [0.25, 0.9])
    firsts = [[run.rankings[query.id].tables[:1] for query in shop.queries] for run in runs]
    assert at_1["differing"] == sum(a != b for a, b in zip(*firsts, strict=True))
    assert 0 < at_1["low"] < at_1["share"] < at_1["high"] < 1 or at_1["share"] == 1
    assert (at_1["k"], at_5["k"], at_1["questions"], at_1["labelled"]) == (1, 5, 4, 0)
    assert at_1["mean_square"] is None
    assert _needed(at_1)[0.25] == queries_needed(0.25, at_1["share"])
    assert _needed(at_1)[0.9] is None or at_1["share"] > 0.9
    assert at_1["needed"][0]["to_label"] is not None


def test_a_pilot(shop: Dataset, tmp_path: Path) -> None:
    labelled = [
        replace(q, gold=(TableId("0", GOLD[q.id]),)) if q.id in GOLD else q for q in shop.queries
    ]
    runs = _runs(replace(shop, queries=tuple(labelled)), tmp_path)
    at_1, at_5 = plan(runs, [0.1])
    both = [
        [dict(zip(run.query_ids, run.per_query["recall@1"], strict=True))[name] for name in GOLD]
        for run in runs
    ]
    wanted = sum((a - b) ** 2 for a, b in zip(*both, strict=True)) / len(GOLD)
    assert at_1["labelled"] == 3
    assert at_1["mean_square"] == pytest.approx(wanted)
    assert at_1["mean_square"] is not None
    assert at_1["mean_square"] <= at_1["share"]
    assert at_5["needed"][0]["difference"] == 0.1


def test_a_pilot_without_differences_plans_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    needed = [{"difference": 0.1, "questions": None, "to_label": None}]
    equal = {"run": "b", "baseline": "a", "k": 1, "questions": 4, "share": 0.5, "low": 0.1}
    equal |= {"high": 0.9, "labelled": 3, "mean_square": 0.0, "detectable": None, "needed": needed}
    print_plans([equal])
    assert "Where it is 0, nothing can be planned: label more questions." in capsys.readouterr().out
    print_plans([equal | {"mean_square": 0.2}])
    assert "nothing can be planned" not in capsys.readouterr().out


def test_faults(shop_runs: list[Result], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name two runs at least"):
        plan(shop_runs[:1])
    with pytest.raises(ConfigError, match="--effect 2: a difference of recall is above 0"):
        plan(shop_runs, [0.1, 2])
    mini = TARGET(("retrieval", "mini"), out=tmp_path, observer=Recorder())
    other = read_run(only(mini.run("random", top_k=1, limit=2)).folder)
    with pytest.raises(DataError, match="are of different tables"):
        plan([shop_runs[0], other])


def test_a_pilot_is_of_questions_that_both_ranked(shop: Dataset, tmp_path: Path) -> None:
    gold = {name: TableId("0", table) for name, table in GOLD.items()}
    queries = [replace(q, gold=(gold[q.id],)) if q.id in GOLD else q for q in shop.queries]
    target = TARGET(
        ("retrieval", replace(shop, queries=tuple(queries))), out=tmp_path, observer=Recorder()
    )
    whole = read_run(only(target.run("bm25", top_k=1)).folder)
    part = read_run(only(target.run("random", top_k=1, limit=2)).folder)
    (found,) = plan([whole, part], [0.1])
    assert (found["questions"], found["labelled"]) == (2, 2)


@pytest.mark.parametrize(("synthetic", "labelled"), [(["q2"], 2), (["q1", "q2", "q3"], 3)])
def test_a_pilot_with_synthetic_questions(
    shop: Dataset, tmp_path: Path, synthetic: list[str], labelled: int
) -> None:
    queries = [
        replace(
            q,
            gold=(TableId("0", GOLD[q.id]),) if q.id in GOLD else (),
            metadata={"synthetic": "template"} if q.id in synthetic else {},
        )
        for q in shop.queries
    ]
    runs = _runs(replace(shop, queries=tuple(queries)), tmp_path)
    for found in plan(runs, [0.1]):
        assert found["labelled"] == labelled
        assert found["mean_square"] is not None
        assert 0 <= found["mean_square"] <= 1
