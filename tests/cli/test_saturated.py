"""Tables so few that recall@10 takes in all: the smallest cutoff decides, and says so."""

import json
from pathlib import Path

from tests.cli.inside import Inside

WHY = "recall@10 takes in all 8 tables; recall@1 decides"


def test_compare_and_gate_test_the_metric_that_decides(inside: Inside) -> None:
    """A gate without a rule fails at what can fall."""
    (tables := Path("easy/tables")).mkdir(parents=True)
    for i in range(8):
        (tables / f"t{i}.csv").write_text(f"name,value\nword{i},{i}\n", encoding="utf-8")
    lines = [f"what is word{i % 8} of {i},t{i % 8}" for i in range(24)]
    Path("easy/queries.csv").write_text("\n".join(["query,table_id", *lines]), encoding="utf-8")
    names = ("--retriever", "random", "--retriever", "bm25")
    inside("run", "./easy", "--task", "retrieval", *names, "--json")
    random, bm25 = (next(Path("runs").glob(f"retrieval-easy-*-{name}-*")) for name in names[1::2])
    compared = json.loads(inside.good("compare", random, bm25, "--json"))
    assert (compared["family"], compared["remarks"]) == (["recall@1"], [f"{WHY}."])
    p = {row["metric"]: row["difference"]["p_corrected"] for row in compared["rows"][1::2]}
    assert p.pop("recall@1") < 0.001
    assert set(p.values()) == {None}
    assert WHY in " ".join(inside.good("compare", random, bm25).split())
    command = ("compare", random, bm25, "--metric", "recall@10", "--json")
    chosen = json.loads(inside.good(*command))
    assert (chosen["family"], chosen["remarks"]) == (["recall@10"], [])
    gate = ("gate", bm25, "--run", random)
    failed = inside(*gate, "--json")
    assert failed.code == 1
    checked = json.loads(failed.out)
    assert [check["rule"] for check in checked["checks"]] == ["recall@1<-0.01"]
    assert checked["remarks"] == [WHY]
    passed = " ".join(inside.good(*gate, "--fail-on", "recall@10<-0.01").split())
    assert passed.startswith("The gate passed. recall@10 is 1.000 for both runs: too easy to ")
    assert "at k = 10; look at recall@1: 1.000 of the baseline, ." in passed
    assert "of the run, and no rule checks it." in passed
