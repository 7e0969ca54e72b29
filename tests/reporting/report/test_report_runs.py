"""Which runs stand in one report, and how the best of them is told from the others."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape

from target_bench.core.errors import DataError, StoreError
from target_bench.core.observer import Observer
from target_bench.reporting.compare import compare
from target_bench.reporting.conclusions import conclude, describe
from target_bench.reporting.report import summary, write_report
from target_bench.reporting.report.report_runs import ReportRun, group_by_data, open_runs
from target_bench.reporting.sentences import describe_run
from target_bench.reporting.web import score
from tests.builders import Recorder, only, rewrite, unfinish
from tests.reporting.report.written import own_corpus, ranked
from tests.target import TARGET


def _opened(*folders: Path) -> list[ReportRun]:
    return open_runs(folders, None, Observer())[0]


def _of_own_corpus(folder: Path) -> Path:
    own = own_corpus(folder / "own", ("one", "two"))
    return only(TARGET(("retrieval", own), out=folder / "runs").run("bm25", top_k=1)).folder


def test_labels_tell_runs_apart(mini_runs: list[Path], tmp_path: Path) -> None:
    """A run has its retriever's name; two of one name have what else they differ in."""
    assert [run.label for run in _opened(*mini_runs)] == ["bm25", "tfidf", "random"]
    again = [*ranked(tmp_path, "bm25", top_k=[1, 5, 10]), *ranked(tmp_path, "bm25", top_k=[3])]
    assert [run.label for run in _opened(*again)] == ["bm25 (k=10)", "bm25 (k=3)"]
    assert len(_opened(mini_runs[0], mini_runs[0] / ".." / mini_runs[0].name)) == 1


def test_other_data_are_refused(mini_runs: list[Path], tmp_path: Path) -> None:
    own = _of_own_corpus(tmp_path)
    with pytest.raises(DataError, match="different corpora"):
        _opened(mini_runs[0], own)
    (limited,) = ranked(tmp_path, "bm25", limit=5)
    with pytest.raises(DataError, match=r"different queries.*Write a report of each"):
        _opened(mini_runs[0], limited)
    (tmp_path / "own" / "tables" / "t0.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="have changed since the run"):
        _opened(own)


def test_times_from_a_cache_are_left_out(mini_runs: list[Path], tmp_path: Path) -> None:
    """A dash in their place, and the reason above the table."""
    run = Path(shutil.copytree(mini_runs[0], tmp_path / mini_runs[0].name))
    rewrite(
        run / "manifest.json",
        lambda manifest: manifest["from_caches"].update(embed_corpus=["embeddings"]),
    )
    cells = summary.count_queries_and_times(_opened(run))
    assert (cells["index"], cells["asked"]) == (["–"], ["280"])
    assert cells["ranking"][0].endswith(" ms")
    assert "failed" not in cells
    page = write_report([run], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "– is a time that is not shown: from a cache (embeddings)." in page


def test_answers_without_rankings_have_no_recall(tmp_path: Path) -> None:
    """As in the tables of `run`: nothing was to be ranked, which is not a recall of 0."""
    target = TARGET(("question_answering", "mini"), out=tmp_path / "runs", observer=Recorder())
    folders = [
        only(target.run(name, generator="extractive", limit=20)).folder
        for name in ("bm25", "no-context")
    ]
    page = write_report(folders, tmp_path / "r.html").read_text(encoding="utf-8")
    page = page[: page.index("<script")]
    assert page.count('<polyline class="line"') == 1
    assert "no-context + extractive: recall@10" not in page
    ranking, without = _opened(*folders)
    assert ranking.scores["recall@10"].value > 0
    assert np.isnan(without.scores["recall@10"].value)
    assert np.isnan(without.values["recall@10"]).all()
    assert not np.isnan(without.values["exact_match"]).any()
    alone = write_report(folders[1:], tmp_path / "r.html").read_text(encoding="utf-8")
    assert "recall-title" not in alone[: alone.index("<script")]
    (rankings,) = _opened(*ranked(tmp_path / "alone", "no-context"))
    assert rankings.scores["recall@10"].value == 0


def test_answers_stand_for_their_rankings(tmp_path: Path) -> None:
    """`report runs/*` shows each system once, compared by the metric that `compare` decides by."""
    target = TARGET(("question_answering", "mini"), out=tmp_path / "runs", observer=Recorder())
    results = [only(target.run(name, generator="extractive")) for name in ("bm25", "random")]
    folders = [folder for r in results for folder in (r.rankings_result.folder, r.folder)]
    runs, loaded = open_runs(folders, None, Observer())
    assert [run.label for run in runs] == ["bm25 + extractive", "random + extractive"]
    assert list(group_by_data(folders).values()) == [[r.folder for r in results]]
    compared = compare([r.folder for r in results])
    assert summary.choose_main_metrics(runs)[0] == [compared.rows[0].metric] * 2
    assert summary.list_metrics(runs)[0] == "exact_match"
    (by_size,) = summary.score_slices(runs, ["sacrebleu"] * 2, loaded, ["gold_tables"])
    for result, scores in zip(results, by_size["means"], strict=True):
        parts = result.scores_by("gold_tables", ["sacrebleu"])  # no mean of the queries' values
        assert scores == pytest.approx(
            [parts[value]["sacrebleu"].value for value in by_size["values"]]
        )


def test_rankings_are_compared_with_those_that_answers_are_built_on(tmp_path: Path) -> None:
    """All questions have answers, so that both tasks ask the same ones."""
    own = own_corpus(tmp_path / "own", ("one", "two", "three"))
    target = TARGET(("retrieval", own), out=tmp_path / "runs", observer=Recorder())
    folders = [only(target.run("random", top_k=2)).folder]
    target = TARGET(("question_answering", own), out=tmp_path / "runs", observer=Recorder())
    for name in ("bm25", "tfidf"):
        folders.append(only(target.run(name, generator="extractive", top_k=2)).folder)
    runs = _opened(*folders)
    (differences,) = summary.list_differences(runs, summary.choose_main_metrics(runs)[0])
    assert (differences["metric"], len(differences["rows"])) == ("recall@2", 1)


def test_a_cutoff_that_takes_in_every_table_does_not_lead(tmp_path: Path) -> None:
    runs = _opened(*ranked(tmp_path, "random", "bm25:k1=1.3", "bm25", top_k=[1, 139], limit=30))
    (main, *_), why = summary.choose_main_metrics(runs)
    assert (main, summary.list_metrics(runs)[0]) == ("recall@1", "recall@1")
    assert why == "recall@139 takes in all 139 tables; recall@1 decides"
    assert [runs[i].label for i in summary.order_runs(runs)][-1] == "random"


def test_the_best_run_is_told_from_some(mini_runs: list[Path], tmp_path: Path) -> None:
    """A setting that changes little is not; the upper bound is no run to be compared with."""
    close, bound = ranked(tmp_path, "bm25:k1=1.3", "oracle", top_k=[1, 5, 10])
    runs = _opened(bound, mini_runs[2], mini_runs[0], close)
    (differences,) = summary.list_differences(runs, summary.choose_main_metrics(runs)[0])
    assert differences["metric"] == "recall@10"
    assert differences["best"] in ("bm25", "bm25:k1=1.3")
    others = [row.system for row in differences["rows"]]
    assert others[-1] == "random"
    assert "oracle" not in others
    assert differences["undecided"] == others[:1]
    assert f"not significantly different: {others[0]} (p = " in differences["sentence"]
    assert differences["sentence"].endswith("Higher, by reading the gold: oracle (1.000).")
    assert "Holm" in differences["explained"][0]
    assert [runs[i].label for i in summary.order_runs(runs)][-2:] == ["random", "oracle"]
    assert summary.find_best(runs, "recall@10") == max(
        run.scores["recall@10"].value for run in runs[1:]
    )
    runs = _opened(mini_runs[0], bound)
    assert summary.list_differences(runs, summary.choose_main_metrics(runs)[0]) == []


def test_systems_of_the_best_score_tie(tmp_path: Path) -> None:
    """One of them was said to be the best, on the screen, in a report and in a sweep."""
    runs = _opened(*ranked(tmp_path, "random", "a=bm25:k1=0.9", "b=bm25", limit=30))
    results = [run.result for run in runs]
    share = "100% of the right tables among the first ten (a sample of 30 questions)."
    assert next(describe_run(results)) == f"a and b tie as the best: {share}"
    (differences,) = summary.list_differences(runs, summary.choose_main_metrics(runs)[0])
    assert differences["sentence"].startswith("a and b tie as the best by recall@10: 1.000; ")
    assert "different: b" not in differences["sentence"], "it ties"
    (conclusion,) = conclude(results)
    assert "the best of 3 cells by recall@10 are a and b, with 1.000" in describe(conclusion)[0]


def test_the_interval_by_database_is_there_as_in_the_terminal(tmp_path: Path) -> None:
    """Of the best run beside its findings, and of each difference; nothing without databases."""
    target = TARGET(("text_to_sql", "mini"), out=tmp_path / "runs", observer=Recorder())
    results = [
        only(target.run(name, generator="gold")).rankings_result for name in ("bm25", "random")
    ]
    sentence = next(line for line in describe_run(results) if "other databases" in line)
    for shown in (results, results[:1]):
        out = write_report([run.folder for run in shown], tmp_path / "r.html")
        page = out.read_text(encoding="utf-8")
        assert f'id="by-database">{escape(sentence)}</p>' in page
    page = write_report([run.folder for run in results], tmp_path / "r.html").read_text("utf-8")
    assert "95% for other databases</th>" in page
    (row,) = compare(results, ["recall@10"]).rows[1:]
    assert row.difference is not None
    assert f"{score(row.difference.low_by_database)} to " in page
    ranked(tmp_path / "mini", "bm25", limit=5)
    alone = write_report(ranked(tmp_path / "mini", "bm25", limit=5), tmp_path / "r.html")
    assert "other databases" not in alone.read_text(encoding="utf-8")


def test_what_cannot_be_opened_or_written(mini_runs: list[Path], tmp_path: Path) -> None:
    run = Path(shutil.copytree(mini_runs[0], tmp_path / mini_runs[0].name))
    rankings = run / "retrieval.jsonl"
    whole = rankings.read_bytes()
    rankings.write_bytes(whole[:-20])
    with pytest.raises(StoreError, match=r"retrieval\.jsonl: damaged"):
        _opened(run)
    unfinish(run)
    with pytest.raises(StoreError, match="is missing; finish the run"):
        _opened(run)
    rankings.write_bytes(whole)
    (run / "scores.json").unlink()
    with pytest.raises(StoreError, match=r"not finished \(no scores\.json\); finish it with"):
        _opened(run)
    (tmp_path / "file").write_text("", encoding="utf-8")
    for out in (tmp_path / "file" / "report.html", tmp_path):
        with pytest.raises(StoreError, match="cannot be written"):
            write_report(mini_runs[:1], out)
