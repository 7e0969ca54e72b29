"""What a report holds, whoever looks at it."""

import json
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from target_bench import read_run
from target_bench.core.text_tables import score_text
from target_bench.data.load import load
from target_bench.data.selection import select_queries
from target_bench.reporting.report import report_writer, write_report
from target_bench.reporting.report.report_runs import open_runs
from target_bench.reporting.report.summary import choose_main_metrics, score_slices
from tests.builders import Record, Recorder, only, rewrite
from tests.reporting.report.written import HOSTILE, hostile_runs, ranked, read_data
from tests.target import TARGET


def test_questions_and_tables_are_those_of_the_corpus(mini_data: dict[str, Any]) -> None:
    dataset = select_queries(load("mini", "test"), "retrieval")
    queries, tables = mini_data["queries"], mini_data["tables"]
    ids = [tuple(table["id"]) for table in tables]
    assert len(set(ids)) == len(ids)
    for table_id, shown in zip(ids, tables, strict=True):
        table = dataset.corpus[table_id]
        assert (shown["n_rows"], shown["n_columns"]) == (len(table.rows), len(table.header))
        assert shown["header"] == list(table.header)
        assert len(shown["rows"]) == min(len(table.rows), 50)
    for shown, query in zip(queries, dataset.queries, strict=True):
        assert (shown["id"], shown["text"]) == (query.id, query.text)
        assert [ids[n] for n in shown["gold"]] == list(query.gold)


def test_rankings_and_scores_are_those_of_the_runs(
    mini_report: Path, mini_data: dict[str, Any], mini_runs: list[Path]
) -> None:
    """Also the first ranks, of which MRR is made, and the dots of the chart."""
    queries, tables = mini_data["queries"], mini_data["tables"]
    text = mini_report.read_text(encoding="utf-8")
    for i, folder in enumerate(mini_runs):
        run = read_run(folder)
        for query in queries:
            shown, recorded = query["runs"][i], run.run.rankings[query["id"]]
            assert [tuple(tables[n]["id"]) for n in shown["tables"]] == list(recorded.tables)
            assert shown["scores"] == list(recorded.scores)
        first = mini_data["runs"][i]["first"]
        mrr = sum(1 / rank for rank in first if rank) / len(first)
        assert mrr == pytest.approx(run.scores["mrr"].value)
        values = mini_data["runs"][i]["values"]["recall@10"]
        assert sum(values) / 280 == pytest.approx(run.scores["recall@10"].value, abs=1e-6)
        for k in (1, 5, 10):
            recall = score_text(run.scores[f"recall@{k}"].value)
            assert f"{run.command.label}: recall@{k} {recall}" in text


def test_charts_show_as_many_runs_as_there_are_colours(tmp_path: Path) -> None:
    """The best ones; tables have all, and long labels break where their settings do."""
    several = [f"bm25:k1={i / 10},b=0.4" for i in range(1, 9)]
    runs = ranked(tmp_path, "random", *several, limit=8, top_k=[1, 5])
    path = write_report(runs, tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    assert "The 8 best of 9 runs" in text
    assert text.count('<polyline class="line"') == 8
    assert text.count('<span class="data">bm25:<wbr>k1=0.1</span>') > 2
    assert read_data(path)["runs"][-1]["label"] == "random"


def test_what_is_cut_is_counted(
    mini_runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in {"DEPTH": 3, "ROWS": 2, "CELL": 4}.items():
        monkeypatch.setattr(report_writer, name, limit)
    stored = read_data(write_report(mini_runs[:1], tmp_path / "r.html"))
    shown = [query["runs"][0] for query in stored["queries"]]
    assert all(len(run["tables"]) <= 3 for run in shown)
    assert any(run["n"] == 10 for run in shown)
    corpus = load("mini", "test").corpus
    for table in stored["tables"]:
        whole = corpus[tuple(table["id"])]
        assert (len(table["rows"]), table["n_rows"]) == (min(2, len(whole.rows)), len(whole.rows))
        for name, kept in zip(whole.header, table["header"], strict=True):
            assert kept == (name if len(name) <= 4 else [name[:4], len(name) - 4])


def test_hostile_text_is_never_markup(tmp_path: Path) -> None:
    """Nothing that came with the data stands in the file as an element, and the file is UTF-8."""
    report = write_report(hostile_runs(tmp_path), tmp_path / "r.html")
    text = report.read_bytes().decode("utf-8")
    assert text.count("<script>") == 1  # our own
    assert "<img" not in text
    assert "<svg onload" not in text
    queries = read_data(report)["queries"]
    composed = [unicodedata.normalize("NFC", answer) for answer in HOSTILE]
    assert [query["answers"] for query in queries] == [[answer] for answer in composed]


def test_a_score_over_no_query(mini_runs: list[Path], tmp_path: Path) -> None:
    """As for SQL on databases that are not here: a dash, which sorts as unknown."""
    runs = [Path(shutil.copytree(run, tmp_path / run.name)) for run in mini_runs[:2]]

    def over_none(scored: Record) -> None:
        scored["scores"]["mrr"] |= {"value": None, "low": None, "high": None, "n": 0}

    rewrite(runs[0] / "scores.json", over_none)
    text = write_report(runs, tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'data-value="" data-low="" data-high="" data-text="– [–, –]">–' in text
    assert "None" not in text[: text.index("<script")]


def test_same_runs_same_file(mini_report: Path, mini_runs: list[Path], tmp_path: Path) -> None:
    again = write_report(mini_runs, tmp_path / "again.html")
    assert again.read_bytes() == mini_report.read_bytes()
    assert list(tmp_path.iterdir()) == [again]


def test_a_run_without_rankings_counts_what_is_scored(tmp_path: Path) -> None:
    """No column of retrieval, and slices are over the queries that have a reference."""
    (tmp_path / "cities.csv").write_text("city\nOslo\n", encoding="utf-8")
    queries = [
        {"query_id": i, "query": "Which?", "table_id": "cities", "answer": answer, "size": size}
        for i, (answer, size) in enumerate(zip(("Oslo", "", "Rome", "Bern"), "aabb", strict=True))
    ]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    target = TARGET(("table_to_text", str(tmp_path)), out=tmp_path / "runs", observer=Recorder())
    folder = only(target.run(generator="gold")).folder
    text = write_report([folder], tmp_path / "r.html").read_text(encoding="utf-8")
    assert ">ranked</th>" not in text
    runs, loaded = open_runs([folder], None, Recorder())
    (by_size,) = score_slices(runs, choose_main_metrics(runs)[0], loaded, ["size"])
    assert by_size["n"] == [1, 2]


def test_answers_stand_before_rankings(sql_run: Path, tmp_path: Path) -> None:
    """What a narrow screen shows of the scores without scrolling."""
    text = write_report([sql_run], tmp_path / "r.html").read_text(encoding="utf-8")
    assert 0 < text.index(">ex[bird]<") < text.index(">recall@1<")


def test_of_many_queries_the_failures_are_listed_first(
    tmp_path: Path, mini_runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores and charts are over all, and the page says how many are listed."""
    monkeypatch.setattr("target_bench.reporting.report.report_writer.MOST_QUERIES", 20)
    path = write_report(mini_runs[:2], tmp_path / "r.html")
    text, made = path.read_text(encoding="utf-8"), read_data(path)
    assert text.count("20 of 280 queries, failures first.") == 1
    assert "Listed are 20 of the 280 queries, failures first; scores and charts" in text
    shown = made["queries"]
    assert len(shown) == 20
    runs = [read_run(folder) for folder in mini_runs[:2]]
    missed = {
        query_id
        for run in runs
        for query_id, value in zip(
            run.per_query.ids, run.per_query.values["recall@10"], strict=True
        )
        if value == 0
    }
    ids = {query["id"] for query in shown}
    assert missed
    assert ids <= missed or missed <= ids
    values = dict(zip(runs[0].per_query.ids, runs[0].per_query.values["recall@10"], strict=True))
    shown_values = made["runs"][0]["values"]["recall@10"]
    assert shown_values == [round(values[query["id"]], 6) for query in shown]
    assert f"{runs[0].command.label}: recall@10" in text
