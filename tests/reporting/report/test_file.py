"""What a report holds, whoever looks at it."""

import json
import shutil
from pathlib import Path

import pytest

from target_bench.core.text_tables import score_text
from target_bench.data.load import load, of_task
from target_bench.harness.target import TARGET
from target_bench.reporting.report import Limits, write_report
from target_bench.reporting.report.report_runs import open_runs
from target_bench.reporting.report.summary import main_metrics, sliced
from tests.builders import Record, Recorder, only, rewrite, rewrite_lines
from tests.reporting.report.written import HOSTILE, blocks, hostile_runs, listed, ranked


def test_every_query_is_there(mini_report: Path, mini_runs: list[Path]) -> None:
    """Questions, gold tables and rankings are those of corpus and runs."""
    found, dataset = blocks(mini_report), of_task(load("mini", "test"), "retrieval")
    queries, tables = listed(found, "queries"), listed(found, "tables")
    assert [query["id"] for query in queries] == [query.id for query in dataset.queries]
    for shown, query in zip(queries, dataset.queries, strict=True):
        assert shown["text"] == query.text
        assert [tuple(tables[n]["id"]) for n in shown["gold"]] == list(query.gold)
    for i, folder in enumerate(mini_runs):
        lines = (folder / "retrieval.jsonl").read_text(encoding="utf-8").splitlines()
        recorded = {record["query_id"]: record for record in map(json.loads, lines)}
        for shown in queries:
            record, run = recorded[shown["id"]], shown["runs"][i]
            assert [tables[n]["id"] for n in run["tables"]] == record["tables"]
            assert run["scores"] == record.get("scores", [])


def test_tables_are_embedded_once_and_whole(mini_report: Path) -> None:
    tables, dataset = listed(blocks(mini_report), "tables"), load("mini", "test")
    ids = [tuple(table["id"]) for table in tables]
    assert len(set(ids)) == len(ids)
    for table_id, shown in zip(ids, tables, strict=True):
        table = dataset.corpus[table_id]
        assert (shown["n_rows"], shown["n_columns"]) == (len(table.rows), len(table.header))
        assert shown["header"] == list(table.header)
        assert len(shown["rows"]) == min(len(table.rows), 50)


def test_charts_show_as_many_runs_as_there_are_colours(tmp_path: Path) -> None:
    """The best ones; tables have all, and long labels break where their settings do."""
    several = [f"bm25:k1={i / 10},b=0.4" for i in range(1, 9)]
    runs = ranked(tmp_path, "random", *several, limit=8, top_k=[1, 5])
    path = write_report(runs, tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    assert "The 8 best of 9 runs" in text
    legend = text.partition('aria-label="Colours of the runs"')[2].partition("</ul>")[0]
    assert "random" not in legend
    assert [legend.count(f'<li class="s{colour}"') for colour in range(1, 9)] == [1] * 8
    assert text.count('<span class="data">bm25:<wbr>k1=0.1</span>') > 2
    assert blocks(path)["overview"]["runs"][-1]["label"] == "random"


def test_ranks_and_outcomes(mini_report: Path, mini_runs: list[Path]) -> None:
    """First ranks give the run's own MRR, and the values are those of the run."""
    found = blocks(mini_report)
    for i, folder in enumerate(mini_runs):
        scores = json.loads((folder / "scores.json").read_bytes())["scores"]
        first = found["index"]["runs"][i]["first"]
        mrr = sum(1 / rank for rank in first if rank) / len(first)
        assert mrr == pytest.approx(scores["mrr"]["value"])
        metrics = found["overview"]["runs"][i]["metrics"]
        values = found[f"values-{i}-{metrics.index('recall@10')}"]
        assert sum(values) / len(values) == pytest.approx(scores["recall@10"]["value"], abs=1e-6)


def test_recall_curve_is_the_recorded_recall(mini_report: Path, mini_runs: list[Path]) -> None:
    """The dots of the chart, and its table, say what ``scores.json`` says."""
    text = mini_report.read_text(encoding="utf-8")
    for folder in mini_runs:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        scores = json.loads((folder / "scores.json").read_bytes())["scores"]
        for k in (1, 5, 10):
            recall = score_text(scores[f"recall@{k}"]["value"])
            assert f"{manifest['asked']['retriever']}: recall@{k} {recall}" in text


def test_cut_and_marked(mini_runs: list[Path], tmp_path: Path) -> None:
    """What is left out of tables and rankings is counted."""
    limits = Limits(depth=3, rows=2, cell=4)
    found = blocks(write_report(mini_runs[:1], tmp_path / "r.html", limits=limits))
    queries, tables = listed(found, "queries"), listed(found, "tables")
    assert all(len(query["runs"][0]["tables"]) <= 3 for query in queries)
    assert any(query["runs"][0]["n"] == 10 for query in queries)
    assert all(len(table["rows"]) <= 2 for table in tables)
    corpus = load("mini", "test").corpus
    for shown in tables:
        table = corpus[tuple(shown["id"])]
        for name, kept in zip(table.header, shown["header"], strict=True):
            assert kept == (name if len(name) <= 4 else [name[:4], len(name) - 4])


def test_largest_size(mini_runs: list[Path], tmp_path: Path) -> None:
    """Past the limit tables lose their content, those low in rankings first, and it is said."""
    heard = Recorder()
    full = write_report(mini_runs, tmp_path / "full.html")
    third = full.read_text(encoding="utf-8").index('id="block-tables-2"')
    limits = Limits(megabytes=third / 1e6)
    small = write_report(mini_runs, tmp_path / "small.html", limits=limits, observer=heard)
    kept = ["header" in table for table in listed(blocks(small), "tables")]
    assert kept == sorted(kept, reverse=True)
    assert 0 < sum(kept) < len(kept)
    assert any("--max-size" in warning for warning in heard.warnings)
    assert [t["id"] for t in listed(blocks(small), "tables")] == [
        t["id"] for t in listed(blocks(full), "tables")
    ]


def test_hostile_text_is_never_markup(tmp_path: Path) -> None:
    """Nothing that came with the data stands in the file as an element, and the file is UTF-8."""
    report = write_report(hostile_runs(tmp_path), tmp_path / "r.html")
    text = report.read_bytes().decode("utf-8")
    assert text.count("<script>") == 1  # our own
    assert "<img" not in text
    assert "<svg onload" not in text
    queries = listed(blocks(report), "queries")
    assert [query["answers"] for query in queries] == [[answer] for answer in HOSTILE]


def test_a_score_over_no_query(mini_runs: list[Path], tmp_path: Path) -> None:
    """As for SQL on databases that are not here: a dash, which sorts as unknown."""
    runs = [Path(shutil.copytree(run, tmp_path / run.name)) for run in mini_runs[:2]]

    def over_none(scored: Record) -> None:
        scored["scores"]["mrr"] |= {"value": None, "low": None, "high": None, "n": 0}

    rewrite(runs[0] / "scores.json", over_none)
    text = write_report(runs, tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'data-value="" data-low="" data-high="" data-text="– [–, –]">–' in text
    assert "None" not in text[: text.index("<script")]


def test_rows_that_an_earlier_version_did_not_record(tmp_path: Path) -> None:
    run = only(
        TARGET(("text_to_sql", "mini"), out=tmp_path, observer=Recorder()).run(
            "bm25", generator="extractive"
        )
    ).folder

    def change(records: list[Record]) -> None:
        for record in records:
            del record["result"], record["gold_result"]

    rewrite_lines(run / "judgements.jsonl", change)
    queries = listed(blocks(write_report([run], tmp_path / "r.html")), "queries")
    assert all("gold_result" not in query["runs"][0]["judged"] for query in queries)


def test_same_runs_same_file(mini_runs: list[Path], tmp_path: Path) -> None:
    one, other = (write_report(mini_runs, tmp_path / name) for name in ("a.html", "b.html"))
    assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_a_run_without_rankings_counts_what_is_scored(tmp_path: Path) -> None:
    """No column of retrieval, and slices are over the queries that have a reference."""
    (tmp_path / "cities.csv").write_text("city\nOslo\n", encoding="utf-8")
    asked = [
        {"query_id": i, "query": "Which?", "table_id": "cities", "answer": answer, "size": size}
        for i, (answer, size) in enumerate(zip(("Oslo", "", "Rome", "Bern"), "aabb", strict=True))
    ]
    lines = "\n".join(map(json.dumps, asked))
    (tmp_path / "queries.jsonl").write_text(lines, encoding="utf-8")
    target = TARGET(("table_to_text", str(tmp_path)), out=tmp_path / "runs", observer=Recorder())
    folder = only(target.run(generator="gold")).folder
    text = write_report([folder], tmp_path / "r.html").read_text(encoding="utf-8")
    assert ">ranked</th>" not in text
    runs, loaded = open_runs([folder], None, Recorder())
    (by_size,) = sliced(runs, main_metrics(runs)[0], loaded.dataset, ["size"])
    assert by_size.n == [1, 2]


def test_breakdowns_of_one_value_are_named(mini_runs: list[Path], tmp_path: Path) -> None:
    (oracle,) = ranked(tmp_path, "oracle", limit=30, top_k=[10])
    text = write_report([oracle], tmp_path / "r.html").read_text(encoding="utf-8")
    charts = text[text.index('id="charts"') : text.index('id="browser"')]
    shown, _, named = charts.partition('id="even-slices"')
    assert "by <span" not in shown
    assert "The same in every part: by <span" in named
    text = write_report(mini_runs, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "even-slices" not in text


def test_answers_stand_before_rankings(tmp_path: Path) -> None:
    """What a narrow screen shows of the scores without scrolling."""
    target = TARGET(("text_to_sql", "mini"), out=tmp_path, observer=Recorder())
    run = only(target.run("bm25", generator="extractive", limit=5)).folder
    text = write_report([run], tmp_path / "r.html").read_text(encoding="utf-8")
    assert 0 < text.index(">ex[bird]<") < text.index(">recall@1<")
