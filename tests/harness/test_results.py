"""What a run returns."""

from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench import evaluate
from target_bench.core.errors import DataError
from target_bench.core.metric import Score
from target_bench.data.load import load
from target_bench.runs.result import Result, Results, read_run, read_runs
from target_bench.runs.score_tables import to_document
from tests.builders import (
    Record,
    Recorder,
    only,
    ottqa_question,
    ottqa_table,
    write_ottqa,
)
from tests.data.written import asked, write_own
from tests.target import TARGET

COLUMNS = ["corpus", "split", "task", "retriever", "generator", "name"]
COLUMNS += ["query_id", "query", "gold", "ranking", "answer"]


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """One retriever on one corpus."""
    folder = tmp_path_factory.mktemp("single")
    return TARGET(("retrieval", "mini"), out=folder).run("bm25", top_k=[1, 5, 10])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """One retriever on two corpora."""
    folder = tmp_path_factory.mktemp("pair")
    tables = [ottqa_table("Cup_0"), ottqa_table("Cup_[1]", header=[["[b]", []], ["c", []]])]
    write_ottqa(folder, tables, [ottqa_question("q1", "Cup_0"), ottqa_question("q2", "Cup_[1]")])
    pairs = ("retrieval", ["ottqa", "mini"])
    target = TARGET(pairs, data_dir=folder, out=folder / "runs", observer=Recorder())
    return target.run("bm25:fields=[title,header]", top_k=1)


def test_single_result(single: Results) -> None:
    (result,) = single
    assert len(single) == 1
    assert single[0] is result
    assert single["bm25"] is result
    assert single["bm25"]["recall@10"] == single.scores["recall@10"] == result.scores["recall@10"]
    assert to_document(read_run(result.folder)) == to_document(result), "the same from disk"
    assert [run.command.label for run in read_runs(result.folder.parent)] == ["bm25"]
    assert (result.identity.corpus, result.identity.split, result.identity.task) == (
        "mini",
        "test",
        "retrieval",
    )
    assert (result.command.retriever, result.command.generator) == ("bm25", None)
    assert result.errors == {}


def test_a_line_each(single: Results) -> None:
    (result,) = single
    score = result.scores["recall@10"]
    assert repr(result).startswith("Result(bm25 on mini test, retrieval: recall@1 .")
    assert repr(score) == "Score(.982 [.961, .992], n=280)"
    assert float(score) == score.value
    lower = replace(score, value=score.value / 2)
    assert max(lower, score) is score
    assert (score > lower, lower >= score.value) == (True, False)
    assert (score - lower, 2 * lower) == (lower.value, score.value)
    assert sum([score, lower]) / 2 == np.mean([score, lower])
    assert (1 - score, round(score, 1)) == (1 - score.value, round(score.value, 1))
    assert f"{score:.2f}" == f"{score.value:.2f}"
    assert str(score) == repr(score)[len("Score(") : -len(", n=280)")]
    dataset = load("mini")
    size = f"{len(dataset.corpus)} tables, {len(dataset.queries)} queries"
    assert repr(dataset) == f"Dataset(mini test: {size})"
    for shown in map(repr, (result, score, dataset)):
        assert "\n" not in shown
        assert len(shown) < 200
    assert str(Score(nan, nan, nan, 0, "")) == "–"
    assert str(Score(0.5, nan, nan, 3, "")) == ".500"


def test_to_arrow(single: Results, pair: Results, tmp_path: Path) -> None:
    table = single.to_arrow()
    assert table.column_names == [*COLUMNS, *single.scores]
    values = dict(zip(single[0].per_query.ids, single[0].per_query.values["recall@5"], strict=True))
    ids = table.column("query_id").to_pylist()
    assert ids == [query.id for query in single[0]._queries], "in the order of the corpus"
    assert table.column("recall@5").to_pylist() == [values[query_id] for query_id in ids]
    assert pair.to_arrow().column("corpus").to_pylist() == ["ottqa"] * 2 + ["mini"] * 280
    first = table.slice(0, 1).to_pylist()[0]
    assert first["query"] == single[0]._queries[0].text
    assert first["gold"] == [str(table) for table in single[0]._queries[0].gold]
    assert len(first["ranking"]) == 10
    assert first["recall@10"] == float(first["gold"][0] in first["ranking"])
    assert first["answer"] is None
    target = TARGET(("fact verification", "mini"), out=tmp_path, observer=Recorder())
    (answered,) = target.run("bm25", limit=2, generator="gold").to_arrow().slice(1, 1).to_pylist()
    assert answered["answer"] in ("True", "False")
    assert answered["ranking"]
    own = TARGET(("text-to-table", "mini"), out=tmp_path, observer=Recorder())
    (given,) = own.run(limit=1, generator="gold").to_arrow().to_pylist()
    assert given["ranking"] is None
    assert given["answer"]


def test_a_ranked_query_without_gold_has_a_row(tmp_path: Path) -> None:
    dataset = load("mini")
    first, second = (query for query in dataset.queries[:2])
    half = replace(dataset, queries=(first, replace(second, gold=())))
    results = evaluate("bm25", half, top_k=[1, 10], out=tmp_path, observer=Recorder())
    rows = results.to_arrow().to_pylist()
    assert [row["query_id"] for row in rows] == [first.id, second.id]
    assert (len(rows[1]["ranking"]), rows[1]["recall@10"]) == (10, None)
    assert read_runs(tmp_path).to_arrow().num_rows == 2, "also without the texts of queries"


def test_html_and_json(single: Results, pair: Results) -> None:
    html = Results([*single, *pair])._repr_html_()
    assert html.count("<table") == 3
    assert "bm25:fields=[title,header]" in html
    assert single[0]._repr_html_() == single._repr_html_()
    first, second = map(to_document, pair)
    assert (first["corpus"], second["corpus"]) == ("ottqa", "mini")
    assert first["n_queries"] == 2
    assert first["scores"]["recall@1"] == pair[0].scores["recall@1"].to_json()
    assert Path(first["folder"]).is_dir()


TABLES = [ottqa_table(f"Cup_{i}") for i in range(5)]
QUESTIONS = [ottqa_question(f"q{i}", f"Cup_{i}") for i in range(3)]


def _run(out: Path, data: Path, retriever: str = "oracle", **options: Any) -> Result:
    target = TARGET(("retrieval", "ottqa"), data_dir=data, out=out, observer=Recorder())
    return only(target.run(retriever, **options))


@pytest.mark.parametrize(
    ("tables", "questions", "what", "file"),
    [
        ([ottqa_table("Cup_4", title="Another page")], [], "tables", "dev_tables.jsonl"),
        ([], [QUESTIONS[-1] | {"question": "Who else ?"}], "queries", "dev.json"),
        ([], [QUESTIONS[-1] | {"table_id": "Cup_4"}], "queries", "dev.json"),
    ],
)
def test_results_of_other_data_are_refused(
    tmp_path: Path, tables: list[Record], questions: list[Record], what: str, file: str
) -> None:
    """The message names the file that differs, and both run folders."""
    data = write_ottqa(tmp_path / "data", TABLES, QUESTIONS)
    changed = [*TABLES[: 5 - len(tables)], *tables], [*QUESTIONS[: 3 - len(questions)], *questions]
    other = write_ottqa(tmp_path / "other", *changed)
    first, second = _run(tmp_path, data), _run(tmp_path, other, "bm25")
    with pytest.raises(DataError, match="cannot be compared") as caught:
        Results([first, second])
    message = str(caught.value)
    assert f"are of different {what}" in message
    assert f"files differ, as {file}. " in message
    assert str(first.folder) in message
    assert str(second.folder) in message


def test_distractors_make_tables_of_their_own(tmp_path: Path) -> None:
    data = write_ottqa(tmp_path / "data", TABLES, QUESTIONS)
    files = {f"m{i}.csv": f"a,b\nx,{i}\n" for i in range(3)}
    more = write_own(tmp_path / "more", files, [asked("m0")])
    specs: list[list[str]] = [[], [f"{more}:n=1"], [f"{more}:n=2"]]
    results = [_run(tmp_path, data, distractors=spec) for spec in specs]
    text = " ".join(str(Results(results)).split())
    assert text.count("retrieval, 3 queries") == 3
    assert "ottqa validation: retrieval" in text
    assert len({result.identity.corpus_fingerprint for result in results}) == 3


def test_rankings_for_two_tasks_lie_in_one_folder(tmp_path: Path) -> None:
    """They are of as many queries, but of others: each task has a table of its own."""
    for task in ("qa", "text-to-sql"):
        target = TARGET((task, "mini"), out=tmp_path, observer=Recorder())
        target.run("bm25", generator="gold", limit=10)
    text = " ".join(str(read_runs(tmp_path)).split())
    for task in ("question_answering", "text_to_sql"):
        assert f"mini test: {task}, a sample of 10 queries" in text
        assert f"mini test: retrieval for {task}, a sample of 10 queries" in text


def test_rankings_of_the_same_queries_share_a_table(tmp_path: Path) -> None:
    """Also where those of one retriever were made for answers."""
    data = write_own(tmp_path / "own", {"t.csv": "a,b\nx,1\n"}, [asked("t")])
    target = TARGET(("qa", str(data)), out=tmp_path / "runs", observer=Recorder())
    target.run("bm25", generator="extractive")
    target = TARGET(("retrieval", str(data)), out=tmp_path / "runs", observer=Recorder())
    target.run("tfidf")
    assert str(read_runs(tmp_path / "runs")).count("retrieval, 1 query") == 1
