"""Tables so few that recall@10 is perfect: another metric decides everywhere, and says so."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import Inside

WHY = "recall@10 takes in all 8 tables; recall@1 decides"


@pytest.fixture
def easy(inside: Inside) -> list[Path]:
    """Runs of bm25 and of random on a corpus of fewer tables than a ranking."""
    folder = Path("easy")
    (folder / "tables").mkdir(parents=True)
    for i in range(8):
        text = f"name,value\nword{i},{i}\n"
        (folder / "tables" / f"t{i}.csv").write_text(text, encoding="utf-8")
    lines = [f"what is word{i % 8} of {i},t{i % 8}" for i in range(24)]
    (folder / "queries.csv").write_text("\n".join(["query,table_id", *lines]), encoding="utf-8")
    named = ("--retriever", "random", "--retriever", "bm25")
    inside("run", "./easy", "--task", "retrieval", *named, "--json")
    random, bm25 = (next(Path("runs").glob(f"retrieval-easy-*-{name}-*")) for name in named[1::2])
    return [random, bm25]


def test_compare_tests_the_metric_that_decides(inside: Inside, easy: list[Path]) -> None:
    found = json.loads(inside.good("compare", *easy, "--json"))
    assert (found["family"], found["notes"]) == (["recall@1"], [f"{WHY}."])
    p = {row["metric"]: row["difference"]["p_corrected"] for row in found["rows"][1::2]}
    assert p.pop("recall@1") < 0.001
    assert set(p.values()) == {None}
    assert WHY in " ".join(inside.good("compare", *easy).split())
    chosen = json.loads(inside.good("compare", *easy, "--metric", "recall@10", "--json"))
    assert (chosen["family"], chosen["notes"]) == (["recall@10"], [])


def test_a_gate_without_a_rule_fails_at_what_can_fall(inside: Inside, easy: list[Path]) -> None:
    random, bm25 = easy
    gate = ("gate", bm25, "--run", random)
    failed = inside(*gate, "--json")
    assert failed.code == 1
    found = json.loads(failed.out)
    assert [check["rule"] for check in found["checks"]] == ["recall@1<-0.01"]
    assert found["notes"] == [f"{WHY}."]
    assert "The gate passed." in inside.good(*gate, "--fail-on", "recall@10<-0.01")


def test_a_sweep_knows_the_settings_of_a_cell_that_was_there_before(inside: Inside) -> None:
    """The run of the defaults was asked for as ``bm25``, without the settings of the cell."""
    text = (
        "corpora: {name: mini, limit: 40}\n"
        "retrievers: {name: bm25, k1: [0.9, 1.5], stemmer: [english, none]}\n"
    )
    Path("s.yaml").write_text(text)
    inside.good("sweep", "s.yaml", "--quiet", "--out", "fresh", "--json")
    named = ("--task", "retrieval", "--limit", "40", "--json", "--retriever")
    inside.good("run", "mini", *named, "bm25:k1=0.9")
    inside.good("sweep", "s.yaml", "--quiet", "--json")
    fresh, after = (Path(f"{folder}/s.conclusions.md").read_text() for folder in ("fresh", "runs"))
    assert after == fresh
    assert "no cells differ in it alone" not in after
