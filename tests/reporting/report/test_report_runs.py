"""Which runs stand in one report."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.observer import Observer
from target_bench.harness.target import TARGET
from target_bench.reporting.compare import compare
from target_bench.reporting.report import summary, write_report
from target_bench.reporting.report.report_runs import of_same_data, open_runs
from tests.builders import Recorder, only, rewrite
from tests.reporting.report.written import own_corpus, ranked


def test_labels_tell_runs_apart(mini_runs: list[Path], tmp_path: Path) -> None:
    """A run has its retriever's name; two of one name have what else they differ in."""
    runs, _ = open_runs(mini_runs, None, Observer())
    assert [run.label for run in runs] == ["bm25", "tfidf", "random"]
    others = ranked(tmp_path, "bm25", "bm25", "bm25", top_k=[1, 5, 10])[:1]
    others += ranked(tmp_path, "bm25", top_k=[3])
    runs, _ = open_runs(others, None, Observer())
    assert [run.label for run in runs] == ["bm25 (k=10)", "bm25 (k=3)"]


def test_other_queries_are_refused(mini_runs: list[Path], tmp_path: Path) -> None:
    limited = ranked(tmp_path, "bm25", limit=5)
    with pytest.raises(DataError, match=r"different queries.*Write a report of each"):
        open_runs([mini_runs[0], *limited], None, Observer())


def test_other_splits_are_refused(mini_runs: list[Path], tmp_path: Path) -> None:
    validation = ranked(tmp_path, "bm25", split="validation")
    with pytest.raises(DataError, match="different splits: split test and validation"):
        open_runs([mini_runs[0], *validation], None, Observer())


def test_other_corpora_are_refused(mini_runs: list[Path], tmp_path: Path) -> None:
    own = own_corpus(tmp_path / "own", ("one", "two"))
    other = only(TARGET(("retrieval", own), out=tmp_path / "runs").run("bm25", top_k=1)).folder
    with pytest.raises(DataError, match="different corpora"):
        open_runs([mini_runs[0], other], None, Observer())


def test_changed_data_are_refused(tmp_path: Path) -> None:
    own = own_corpus(tmp_path / "own", ("one", "two"))
    run = only(TARGET(("retrieval", own), out=tmp_path / "runs").run("bm25", top_k=1)).folder
    (own / "tables" / "t0.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="not what they were"):
        open_runs([run], None, Observer())


def test_times_from_a_cache_are_left_out(tmp_path: Path) -> None:
    """A dash in their place, and the reason above the table."""
    (run,) = ranked(tmp_path, "bm25", limit=5)
    rewrite(
        run / "manifest.json",
        lambda manifest: manifest["from_caches"].update(embed_corpus=["saved index"]),
    )
    (opened,), _ = open_runs([run], None, Observer())
    columns, zeros = summary.queries_and_times([opened])
    assert dict(columns)["index"] == ["–"]
    assert dict(columns)["ranking"][0].endswith(" ms")
    assert dict(columns)["asked"] == ["5"]
    assert "failed" in zeros
    path = tmp_path / "report.html"
    write_report([run], path)
    page = path.read_text(encoding="utf-8")
    assert "– is a time that is not shown: from a cache (saved index)." in page


def test_answers_without_rankings_have_no_recall(tmp_path: Path) -> None:
    """As in the tables of `run`: nothing was to be ranked, which is not a recall of 0."""
    target = TARGET(("question_answering", "mini"), out=tmp_path / "runs", observer=Recorder())
    folders = [
        only(target.run(name, generator="extractive", limit=20)).folder
        for name in ("bm25", "no-context")
    ]
    path = tmp_path / "r.html"
    page = write_report(folders, path).read_text(encoding="utf-8")
    page = page[: page.index("<script")]
    assert page.count('<polyline class="line"') == 1
    assert "no-context + extractive: recall@10" not in page
    (one, other), _ = open_runs(folders, None, Observer())
    assert one.scores["recall@10"]["value"] > 0
    assert other.scores["recall@10"]["value"] is None
    assert np.isnan(other.values["recall@10"]).all()
    assert not np.isnan(other.values["exact_match"]).any()
    alone = write_report(folders[1:], path).read_text(encoding="utf-8")
    assert "recall-title" not in alone[: alone.index("<script")]
    (ranking,) = ranked(tmp_path / "alone", "no-context")
    (by_itself,), _ = open_runs([ranking], None, Observer())
    assert by_itself.scores["recall@10"]["value"] == 0


def test_answers_stand_for_their_rankings(tmp_path: Path) -> None:
    """`report runs/*` shows each system once, compared by the metric that `compare` decides by."""
    target = TARGET(("question_answering", "mini"), out=tmp_path / "runs", observer=Recorder())
    results = [only(target.run(name, generator="extractive")) for name in ("bm25", "random")]
    folders = [folder for r in results for folder in (r.retrieval.folder, r.folder)]
    runs, loaded = open_runs(folders, None, Observer())
    assert [run.label for run in runs] == ["bm25 + extractive", "random + extractive"]
    assert list(of_same_data(folders).values()) == [[r.folder for r in results]]
    compared = compare([r.folder for r in results])
    assert summary.main_metrics(runs)[0] == [compared.rows[0].metric] * 2
    assert summary.shown_metrics(runs)[0] == "exact_match"
    (by_size,) = summary.sliced(runs, ["sacrebleu"] * 2, loaded.dataset, ["gold_tables"])
    for result, scores in zip(results, by_size.means, strict=True):
        parts = result.scores_by("gold_tables", ["sacrebleu"])  # no mean of the queries' values
        assert scores == pytest.approx(
            [parts[value]["sacrebleu"].value for value in by_size.values]
        )


def test_the_best_run_and_what_tells_runs_apart_lead(tmp_path: Path) -> None:
    """A metric that is perfect in all runs is named below the table and has no column."""
    folders = ranked(tmp_path, "random", "bm25:k1=1.3", "bm25", top_k=[1, 139], limit=30)
    runs, _ = open_runs(folders, None, Observer())
    assert summary.main_metrics(runs)[0][0] == "recall@1"
    assert summary.shown_metrics(runs)[0] == "recall@1"
    assert summary.perfect_metrics(runs) == ["recall@139"]
    assert [runs[i].label for i in summary.best_first(runs)][-1] == "random"


def test_reports_of_several_sets_have_names_of_their_own(tmp_path: Path) -> None:
    target = TARGET(("fact_verification", "mini"), out=tmp_path / "runs", observer=Recorder())
    verified = only(target.run("bm25", generator="extractive")).folder
    (limited,), (short,) = ranked(tmp_path, "bm25", limit=5), ranked(tmp_path, "bm25")
    names = of_same_data([verified, limited, short])
    assert [name.removeprefix("mini-test-") for name in names] == [
        "fact-verification-79-queries",
        "5-queries",
        "280-queries",
    ]


def test_one_run_twice_and_none(mini_runs: list[Path]) -> None:
    twice = [mini_runs[0], mini_runs[0] / ".." / mini_runs[0].name]
    assert len(open_runs(twice, None, Observer())[0]) == 1
    with pytest.raises(ConfigError, match="at least one"):
        open_runs([], None, Observer())


def test_unfinished_runs_are_refused(mini_runs: list[Path], tmp_path: Path) -> None:
    run = Path(shutil.copytree(mini_runs[0], tmp_path / mini_runs[0].name))
    rankings = run / "retrieval.jsonl"
    whole = rankings.read_bytes()
    rankings.write_bytes(whole[:-20])
    with pytest.raises(StoreError, match="is not there; finish the run"):
        open_runs([run], None, Observer())
    rankings.write_bytes(whole)
    (run / "scores.json").unlink()
    with pytest.raises(StoreError, match=r"not finished \(no scores\.json\); run the same command"):
        open_runs([run], None, Observer())


def test_damaged_scores_have_the_message_of_other_commands(
    mini_runs: list[Path], tmp_path: Path
) -> None:
    run = Path(shutil.copytree(mini_runs[0], tmp_path / mini_runs[0].name))
    scores = run / "scores.json"
    whole = scores.read_bytes()
    scores.write_bytes(whole.replace(b'"asked": 2', b'"asked": 3'))
    expected = r"cannot be read \(it is not what was written\); remove it and run the same command"
    with pytest.raises(StoreError, match=expected):
        open_runs([run], None, Observer())
    rewrite(scores, lambda _: {"counts": {}})
    with pytest.raises(StoreError, match=r"scores\.json: holds no scores"):
        open_runs([run], None, Observer())


def test_a_file_that_cannot_be_written(mini_runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be written"):
        write_report(mini_runs[:1], tmp_path / "file" / "report.html")
    with pytest.raises(StoreError, match="cannot be written"):
        write_report(mini_runs[:1], tmp_path)


def _differences(folders: list[Path]) -> list[summary.Differences]:
    runs, _ = open_runs(folders, None, Observer())
    return summary.differences(runs, summary.main_metrics(runs)[0])


def test_the_best_run_is_told_from_some(mini_runs: list[Path], tmp_path: Path) -> None:
    """A setting that changes little is not; the upper bound is no run to be compared with."""
    (close,) = ranked(tmp_path, "bm25:k1=1.3", top_k=[1, 5, 10])
    (bound,) = ranked(tmp_path, "oracle", top_k=[1, 5, 10])
    (found,) = _differences([bound, mini_runs[2], mini_runs[0], close])
    assert found.metric == "recall@10"
    assert found.best in ("bm25", "bm25:k1=1.3")
    others = [label for label, _ in found.rows]
    assert others[-1] == "random"
    assert "oracle" not in others
    assert found.undecided == others[:1]
    assert f"do not tell it apart from {others[0]}" in found.sentence
    assert found.sentence.endswith(
        "oracle (1.000) is higher, but reads the gold: an upper bound, no system."
    )
    assert "Holm" in found.explained[0]
    assert _differences([mini_runs[0], bound]) == []
    runs, _ = open_runs([bound, mini_runs[2], mini_runs[0]], None, Observer())
    assert [runs[i].label for i in summary.best_first(runs)] == ["bm25", "random", "oracle"]
    assert summary.best(runs, "recall@10") == runs[2].scores["recall@10"]["value"]
