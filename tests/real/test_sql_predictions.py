"""BIRD mini-dev predictions of ten systems on the databases present: published counts, exactly."""

import json
from pathlib import Path

import pytest

from tests.builders import Recorder, only
from tests.real.data import DATA
from tests.target import TARGET

BIRD = DATA / "bird"
pytestmark = pytest.mark.skipif(
    not (BIRD / "mini_dev_predictions").is_dir(),
    reason=f"no BIRD predictions in {DATA} (set TARGET_BENCH_DATA)",
)

DATABASES = {"student_club": 48, "superhero": 52, "toxicology": 40}
EXPECTED = {
    "gpt-4-o_cot_SQLite": (34, 47, 27),
    "meta-llama-3-70b-instruct2_cot_SQLite": (27, 36, 18),
    "gpt-35-turbo_cot_SQLite": (28, 37, 11),
    "gpt-4_sqlite": (28, 40, 15),
    "gpt-4-32k_sqlite": (32, 38, 14),
    "gpt-4-turbo_sqlite": (23, 29, 10),
    "gpt-35-turbo_sqlite": (22, 32, 12),
    "gpt-35-turbo-instruct_sqlite": (18, 28, 10),
    "meta-llama-3-8b-instruct-2_sqlite": (16, 26, 8),
    "mistralai-mixtral-8x7b-instru-4_sqlite": (13, 12, 11),
}
"""Correct predictions by BIRD's rule, with a limit of 10 s."""


@pytest.mark.parametrize("system", EXPECTED)
def test_counts_of_published_predictions(system: str, tmp_path: Path) -> None:
    target = TARGET(
        ("text-to-sql:timeout=10", "bird"),
        data_dir=DATA / "bird",
        out=tmp_path,
        observer=Recorder(),
    )
    predictions = BIRD / "mini_dev_predictions" / f"predict_mini_dev_{system}.json.gz"
    result = only(target.score(predictions=predictions, split="mini_dev"))
    assert result.stored.report is not None
    groups = result.stored.report["by"]["database"]
    counts = {name: groups[name] for name in DATABASES}
    assert {name: group["runnable"] for name, group in counts.items()} == DATABASES
    correct = tuple(round(group["ex[bird]"] * group["runnable"]) for group in counts.values())
    assert correct == EXPECTED[system]
    assert result.stored.report["outcomes"]["not_runnable"] == 360
    assert result.scores["ex[bird]"].n == 140
    assert result.scores["ex[bird]"].value == pytest.approx(sum(correct) / 140)
    records = (result.folder / "judgements.jsonl").read_text(encoding="utf-8").splitlines()
    verdicts = [json.loads(record)["verdict"] for record in records]
    assert verdicts.count("correct") == sum(correct)


@pytest.mark.parametrize("system", ["gpt-4-o_cot_SQLite", "gpt-35-turbo_cot_SQLite"])
def test_engines_differ_over_few_predictions(system: str, tmp_path: Path) -> None:
    """8 of all 1,400; what is judged in DuckDB has SQLite's scores."""
    predictions = BIRD / "mini_dev_predictions" / f"predict_mini_dev_{system}.json.gz"
    records = {}
    for engine in ("sqlite", "duckdb"):
        task = f"text-to-sql:timeout=10,engine={engine}"
        target = TARGET((task, "bird"), data_dir=BIRD, out=tmp_path, observer=Recorder())
        result = only(target.score(predictions=predictions, split="mini_dev"))
        lines = (result.folder / "judgements.jsonl").read_text(encoding="utf-8").splitlines()
        records[engine] = {each["query_id"]: each for each in map(json.loads, lines)}
    differing = []
    for query_id, here in records["duckdb"].items():
        if here["verdict"] == "not_runnable":
            continue
        there = records["sqlite"][query_id]
        for name in ("ex[bird]", "ex[spider]", "soft_f1"):
            assert here[name] == there[name], (query_id, name)
        if here["verdict"] == "translation_differs":
            differing.append(query_id)
        else:
            assert here["verdict"] == there["verdict"], query_id
    assert 1 <= len(differing) <= 2, differing
