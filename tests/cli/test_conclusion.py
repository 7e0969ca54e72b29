"""What a run of several settings ends with."""

from pathlib import Path

import pytest

from target_bench import TARGET
from target_bench.cli.conclusion import conclusion
from target_bench.core.version import __version__
from target_bench.data.own_data import from_dataframe
from tests.cli.inside import Inside


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_best_run_and_those_that_cannot_be_told_from_it(inside: Inside) -> None:
    named = ("--retriever", "bm25", "--retriever", "lsa", "--retriever", "random")
    shown = inside("run", "mini", "--task", "retrieval", *named).out.split("\n\n")
    assert shown[-2] == (
        "On mini test (retrieval), bm25 has the best recall@10, 0.988. 280 queries do not tell it "
        "apart from lsa (0.977) (p ≥ 0.05)."
    )
    command, *folders = shown[-1].strip().removeprefix("Next: target-bench ").split()
    assert (command, len(folders[:-2]), folders[-2:]) == ("report", 3, ["-o", "report.html"])
    assert all(Path(folder).is_dir() for folder in folders[:-2])


def test_a_clear_difference() -> None:
    target = TARGET(("Table Retrieval", "mini"))
    results = [*target.run("random"), *target.run("bm25"), *target.run("oracle")]
    sentence, _ = conclusion(results)
    assert sentence.endswith("; the difference from every other is significant (p < 0.05).")
    assert "bm25 has the best recall@10" in sentence


def test_equal_scores_have_no_best_run() -> None:
    """As where the corpus has no more tables than a ranking."""
    target = TARGET(("Table Retrieval", "mini"))
    same = [*target.run("bm25", name="a"), *target.run("bm25:k1=0.5000001", name="b")]
    sentence, _ = conclusion(same)
    assert sentence == "On mini test (retrieval), a and b have the same recall@10, 0.988."
    sentence, _ = conclusion([*same, *target.run("random")])
    assert sentence.endswith("0.988; the difference from every other is significant (p < 0.05).")
    sentence, _ = conclusion([*same, *target.run("bm25f")])
    assert sentence.endswith("280 queries do not tell a apart from bm25f (0.978) (p ≥ 0.05).")


def test_runs_of_several_tasks_are_compared_task_by_task() -> None:
    target = TARGET(("retrieval", "mini"), ("qa", "mini"))
    results = [*target.run("bm25", limit=20), *target.run("random", limit=20)]
    sentence, command = conclusion(results)
    assert sentence.startswith("On mini test (retrieval), bm25 has the best recall@10")
    assert command.count("runs/retrieval-mini-test-") == 2


def test_every_corpus_has_its_sentence() -> None:
    """The next command is about all of them."""
    asked = [{"query_id": "1", "query": "Rhine", "table_id": "rivers"}]
    own = from_dataframe({"rivers": {"river": ["Rhine"]}, "towns": {"town": ["Oslo"]}}, asked)
    target = TARGET(("retrieval", "mini"), ("retrieval", own))
    found = [*target.run("bm25", top_k=1), *target.run("random", top_k=1)]
    *sentences, command = conclusion(found)
    assert [one.split(" (retrieval), ")[0] for one in sentences] == [
        "On mini test",
        "On frames test",
    ]
    assert command.count("runs/retrieval-") == 4


def test_runs_without_gold_tables_have_a_next_command(inside: Inside) -> None:
    Path("own").mkdir()
    Path("own/rivers.csv").write_text("river\nRhine\n", encoding="utf-8")
    Path("own/queries.csv").write_text("query\nRhine\n", encoding="utf-8")
    shown = inside("run", "./own", "--retriever", "bm25", "--retriever", "tfidf").out
    assert shown.split("\n\n")[-1].startswith("Next: target-bench report runs/retrieval-")


def test_one_run_needs_no_conclusion() -> None:
    target = TARGET(("Table Retrieval", "mini"))
    assert list(conclusion([*target.run("bm25"), *target.run("no-context")])) == []


def test_the_version(inside: Inside) -> None:
    assert inside.good("--version") == f"target-bench {__version__}\n"
