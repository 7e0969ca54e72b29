"""BIRD's release files: sizes, gold tables, descriptions, and databases that are missing."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.schema import Dataset
from target_bench.data.load import load
from tests.builders import Recorder, only
from tests.real.data import DATA
from tests.real.databases import share_of_databases_found
from tests.target import TARGET

pytestmark = pytest.mark.skipif(
    not (DATA / "bird").is_dir(), reason=f"no BIRD in {DATA} (set TARGET_BENCH_DATA)"
)


@pytest.fixture(scope="module")
def bird() -> Dataset:
    """The validation split."""
    return load("bird", data_dir=DATA)


def test_sizes(bird: Dataset) -> None:
    assert bird.split == "validation"
    assert (len(bird.corpus), len(bird.queries)) == (75, 1_534)
    assert sum(len(table.header) for table in bird.corpus) / 75 == pytest.approx(10.64)
    assert set(bird.databases) == {"student_club", "superhero", "toxicology"}
    difficulty = Counter(query.metadata["difficulty"] for query in bird.queries)
    assert difficulty == {"simple": 925, "moderate": 464, "challenging": 145}
    assert bird.notes[0] == "53 of 75 tables have no rows"
    assert bird.notes[1].startswith("8 of 11 databases are not here (california_schools, ")
    assert bird.notes[1].endswith("and SQL for the 1,102 queries on them cannot be run")


def test_mini_dev() -> None:
    dataset = load("bird", "mini-dev", data_dir=DATA)
    assert len(dataset.queries) == 500 == len({query.id for query in dataset.queries})
    assert sum("#" in query.id for query in dataset.queries) == 2
    counts = Counter(query.database_id for query in dataset.queries)
    assert [counts[name] for name in ("student_club", "superhero", "toxicology")] == [48, 52, 40]


@pytest.mark.parametrize("form", ["records", "records, each id once", "by id", "by place"])
def test_predictions_of_mini_dev(form: str, tmp_path: Path) -> None:
    """Two ids stand there twice; 498 and 500 answers are answers to all 500 questions."""
    queries = load("bird", "mini-dev", data_dir=DATA).queries
    gold = [(query.id.partition("#")[0], str(query.answer)) for query in queries]
    records = [{"question_id": int(query_id), "SQL": sql} for query_id, sql in gold]
    contents: dict[str, Any] = {
        "records": records,
        "records, each id once": list({each["question_id"]: each for each in records}.values()),
        "by id": {query_id: f"{sql}\t----- bird -----\tcards" for query_id, sql in gold},
        "by place": {str(i): sql for i, (_, sql) in enumerate(gold)},
    }
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(contents[form]), encoding="utf-8")
    target = TARGET(
        ("text-to-sql", "bird"), data_dir=DATA / "bird", out=tmp_path, observer=Recorder()
    )
    result = only(target.score(predictions=path, split="mini_dev"))
    assert (result.stored.n_failed, result.scores["ex[bird]"].n) == (0, 140)
    if form != "by id":  # which names one database for all
        assert result.scores["ex[bird]"].value == 1


def test_rows(bird: Dataset) -> None:
    rows = Counter[str]()
    for table in bird.corpus:
        rows[table.id.database_id] += len(table.rows)
    assert (rows["student_club"], rows["superhero"], rows["toxicology"]) == (42_511, 10_614, 49_813)
    assert sum(rows.values()) == 42_511 + 10_614 + 49_813


def test_descriptions(bird: Dataset) -> None:
    """The CSV files of the databases here (one is Windows-1252), the JSON file of the others."""
    status = bird.corpus["student_club", "budget"].context["column_descriptions"]["event_status"]
    assert "• Closed: It means that the event is closed." in status
    assert bird.corpus["financial", "district"].context["column_descriptions"]
    described = {
        table.id.database_id for table in bird.corpus if "column_descriptions" in table.context
    }
    assert len(described) == 11


@pytest.mark.parametrize(
    ("retriever", "floor"),
    [
        ("bm25", 0.88),
        ("bm25:fields=[[database,title],[columns,header],[descriptions],[rows]]", 0.96),
        ("bm25:fields=[[database,title],[columns,header],[descriptions]]", 0.965),
    ],
)
def test_databases_of_the_first_tables(bird: Dataset, retriever: str, floor: float) -> None:
    """How often the best table is of the gold database (the paper's best: 0.958)."""
    assert share_of_databases_found(bird, retriever) >= floor
