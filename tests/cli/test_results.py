"""What ``run`` prints: the verdict, a row a system, and a next command that works."""

import re
import shlex
from pathlib import Path

import pytest

from target_bench import TARGET
from target_bench.cli.results import verdict
from target_bench.core.version import __version__
from target_bench.data.own_data import from_dataframe
from tests.cli.inside import Inside


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_first_screen(inside: Inside) -> None:
    lines = inside.good("run", "mini").splitlines()
    assert lines[0] == (
        "On average over 280 questions, bm25 finds 80% of the right tables first and 99% "
        "among the first ten."
    )
    assert re.fullmatch(
        r"lsa cannot be told from it \(recall@10, p = \.\d\d\); tfidf and random are worse\.",
        lines[1],
    )
    assert lines[3].split() == ["retriever", "R@1", "[95%]", "R@10", "[95%]", "ms/query"]
    assert lines[5].startswith(" bm25       .797 [.751, .837]  .988 [.968, .995]")
    assert lines[-1] == (
        "4 runs in runs/ · 4 notes: --notes shows them · next: target-bench report runs"
    )
    assert len(lines) <= 15
    assert max(map(len, lines[2:-1])) < 60
    command = lines[-1].rpartition("target-bench ")[2]
    assert "report.html" in inside.good(*shlex.split(command))
    assert "random" in inside.good("compare", "runs")


def test_notes_and_all_metrics(inside: Inside) -> None:
    shown = inside.good("run", "mini", "--retriever", "bm25", "-v", "--notes")
    assert "bm25: 71 of 280 questions have fewer tables than asked for\n" in shown
    assert "full_recall@1 [95%]" in shown
    assert "r_precision [95%]" in shown
    assert "notes shows" not in shown


def test_every_task_has_a_verdict_and_a_table_without_its_summary(inside: Inside) -> None:
    named = ("--retriever", "bm25", "--retriever", "random", "--limit", "6", "--task", "all")
    shown = inside("run", "mini", *named).out
    assert "mini test: text_to_sql, 6 queries\n" in shown
    assert "judged in sqlite" not in shown
    assert shown.endswith("next: target-bench runs list --out runs\n")
    assert "judged in sqlite" in inside("run", "mini", *named, "-v").out


def test_runs_with_other_metrics_share_a_table(inside: Inside) -> None:
    """A metric that one of them lacks leaves a blank, and an own one does not displace recall."""
    Path("own.py").write_text(
        "def near(ranking, gold, k):\n    return any(t in ranking for t in gold)\n"
    )
    inside.good("run", "mini", "--retriever", "bm25", "--metric", "own.py:near", "--limit", "20")
    shown = inside.good(
        "run", "mini", "--retriever", "bm25", "--retriever", "tfidf", "--limit", "20"
    )
    assert shown.count("retriever ") == 1
    header = next(line for line in shown.splitlines() if line.startswith(" retriever"))
    assert header.split()[::2][:3] == ["retriever", "[95%]", "[95%]"]
    assert header.index("R@10") < header.index("near@10")


def test_a_clear_difference_and_equal_scores() -> None:
    target = TARGET(("Table Retrieval", "mini"))
    bm25, worst = [*target.run("bm25", name="a"), *target.run("random")]
    _, bound, others = verdict([worst, bm25, *target.run("oracle")])
    assert bound == "oracle (1.000) is higher, but reads the gold: an upper bound, no system."
    assert others == "random is worse (recall@10, p < .05)."
    same = [bm25, *target.run("bm25:k1=0.5000001", name="b"), worst]
    _, others = verdict(same)
    assert others == "b cannot be told from it (recall@10, p = 1.00); random is worse."


def test_one_right_table_each_few_questions_and_no_reference() -> None:
    tables = {"rivers": {"river": ["Rhine"]}, "towns": {"town": ["Oslo"]}}
    asked = [{"query_id": str(n), "query": "Rhine", "table_id": "rivers"} for n in range(2)]
    target = TARGET(("retrieval", from_dataframe(tables, asked)))
    results = [*target.run("bm25", top_k=(1, 2)), *target.run("random", top_k=(1, 2))]
    first, *others = verdict(results)
    assert first == (
        "bm25 finds the right table first for 100% of 2 questions, among the first two for 100%."
    )
    assert others in ([], ["2 questions cannot tell it from the others: ask 6 at least."])


def test_questions_without_a_gold_table(inside: Inside) -> None:
    Path("own").mkdir()
    Path("own/rivers.csv").write_text("river\nRhine\n", encoding="utf-8")
    Path("own/queries.csv").write_text("query\nRhine\n", encoding="utf-8")
    shown = inside("run", "./own", "--retriever", "bm25").out
    assert shown.startswith("No question has a reference: nothing is scored.")
    assert "1 run in runs/ · 1 note: --notes shows it" in shown


def test_the_version(inside: Inside) -> None:
    assert inside.good("--version") == f"target-bench {__version__}\n"


def test_a_cutoff_that_lists_every_table_decides_nothing(inside: Inside, tmp_path: Path) -> None:
    """``random`` ranks all of three tables, and so finds the right one among the first ten."""
    folder = tmp_path / "rivers"
    folder.mkdir()
    lines = ["query,table_id"]
    for name in ("rhine", "seine", "tiber"):
        (folder / f"{name}.csv").write_text(f"river,length\n{name},1\n{name} mouth,2\n")
        lines += [f"how long is the {name}?,{name}"] * 4 + [f"qqq?,{name}"]
    (folder / "queries.csv").write_text("\n".join(lines))
    run = inside("run", "./rivers", "--retriever", "bm25", "--retriever", "random")
    shown = run.out.splitlines()
    assert shown[0].startswith("bm25 finds the right table first for 80% of 15 questions")
    assert "the cutoff of recall@10 takes in every table; recall@1 decides." in shown
