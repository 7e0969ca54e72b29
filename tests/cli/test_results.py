"""What ``run`` prints: the verdict, a row a system, and a next command that works."""

import shlex
from pathlib import Path

from target_bench.metrics.scores import find_spec
from tests.cli.inside import Inside


def test_the_first_screen(inside: Inside) -> None:
    lines = inside.good("run", "mini").splitlines()
    shares = "80% of the right tables first, 98% among the first ten"
    assert lines[0] == f"bm25 ranks best: {shares} (280 questions)."
    assert lines[5].startswith(" bm25       .804 [.759, .843]  .982 [.961, .992]")
    assert len(lines) <= 15
    assert max(map(len, lines[2:-1])) <= 80
    command = lines[-1].rpartition("target-bench ")[2]
    assert "report.html" in inside.good(*shlex.split(command))
    assert "random" in inside.good("compare", "runs")


def test_every_task_has_a_verdict_and_a_table_without_its_summary(inside: Inside) -> None:
    options = ("--retriever", "bm25", "--retriever", "random", "--limit", "6", "--task", "all")
    shown = inside("run", "mini", *options).out
    assert "mini test: text_to_sql, a sample of 6 queries\n" in shown
    assert "judged in sqlite" not in shown
    assert shown.endswith("next: target-bench runs list --out runs\n")
    assert "judged in sqlite" in inside("run", "mini", *options, "-v").out


def test_a_cutoff_that_lists_every_table_decides_nothing(inside: Inside) -> None:
    """``random`` ranks all of three tables, and so finds the right one among the first ten."""
    (folder := Path("rivers")).mkdir()
    lines = ["query,table_id"]
    for name in ("rhine", "seine", "tiber"):
        (folder / f"{name}.csv").write_text(f"river,length\n{name},1\n{name} mouth,2\n")
        lines += [f"how long is the {name}?,{name}"] * 4 + [f"qqq?,{name}"]
    (folder / "queries.csv").write_text("\n".join(lines))
    done = inside("run", "./rivers", "--retriever", "bm25", "--retriever", "random")
    assert done.out.startswith("bm25 ranks best: 80% of the right tables first, ")
    assert "\nrecall@10 takes in all 3 tables; recall@1 decides.\n" in done.out


def test_a_score_that_rounds_to_zero_has_no_sign() -> None:
    spec = find_spec("bleurt")
    assert (spec.text(-0.0001), spec.text(-0.0001, signed=True)) == (".000", "+.000")
