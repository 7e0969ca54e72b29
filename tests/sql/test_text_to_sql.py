"""What the task says of its judged answers."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from target_bench.core.schema import Generation, Judgement, Retrieval, TableId
from target_bench.core.task import Predictions
from target_bench.data.load import load
from target_bench.tasks.text_to_sql import TextToSQL

HUT, PEAK = TableId("d", "hut"), TableId("d", "peak")
BOTH, FIRST, NONE = (HUT, PEAK), (HUT,), ()

ANSWERS = {
    "right": "SELECT hut.name FROM hut JOIN peak USING (id)",
    "row": "SELECT 1",
    "table": "SELECT name FROM summit",
    "column": "SELECT nom FROM hut",
    "none": "I cannot say.",
}
"""By what becomes of them."""
OUTCOMES = {"right": "correct", "row": "wrong_result", "table": "unknown_table"}
OUTCOMES |= {"column": "unknown_column", "none": "no_prediction"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a query for each answer, all with the same gold."""
    folder = tmp_path_factory.mktemp("huts")
    with closing(sqlite3.connect(folder / "d.sqlite")) as database:
        database.executescript(
            "CREATE TABLE hut (id INTEGER, name TEXT); INSERT INTO hut VALUES (1, 'Bivouac');"
            "CREATE TABLE peak (id INTEGER); INSERT INTO peak VALUES (1);"
        )
    lines = [
        f'{{"query_id": "{name}", "query": "Which?", "answer": "{ANSWERS["right"]}"}}'
        for name in ANSWERS
    ]
    (folder / "queries.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("retrieved", "wrong", "line"),
    [
        (
            dict.fromkeys(ANSWERS, BOTH),
            {"retrieved": ["wrong_result", "unknown_table", "unknown_column", "no_prediction"]},
            "wrong: 4 although retrieved (1 of unknown tables, 1 of unknown columns)",
        ),
        (
            {"right": NONE, "row": BOTH, "table": FIRST, "column": (PEAK, HUT), "none": NONE},
            {
                "not_retrieved": ["unknown_table", "no_prediction"],
                "retrieved": ["wrong_result", "unknown_column"],
            },
            "wrong: 2 because not retrieved (1 of unknown tables), "
            "2 although retrieved (1 of unknown columns)",
        ),
        (
            dict.fromkeys(ANSWERS, NONE),
            {"not_ranked": ["wrong_result", "unknown_table", "unknown_column", "no_prediction"]},
            "wrong: 4 (1 of unknown tables, 1 of unknown columns)",
        ),
    ],
)
def test_wrong_answers_are_told_apart_by_what_was_retrieved(
    folder: Path,
    engine: str,
    retrieved: dict[str, tuple[TableId, ...]],
    wrong: dict[str, list[str]],
    line: str,
) -> None:
    """An unknown table is the generator's fault, or that of what it was shown."""
    dataset = load(str(folder / "d.sqlite"))
    assert dataset.queries[0].gold == BOTH
    task = TextToSQL(engine=engine, workers=1)  # type: ignore[arg-type]  # one of the two
    answers = {name: Generation(name, sql) for name, sql in ANSWERS.items()}
    rankings = {name: Retrieval(name, tables) for name, tables in retrieved.items()}
    judgements: dict[str, Judgement] = {
        judgement.query_id: judgement
        for judgement in task.judged(dataset.queries, dataset, answers, rankings)
    }
    examples = task.examples(dataset, Predictions(rankings, answers, judgements))
    report = task.report(dataset, examples)
    assert {name: [*counts] for name, counts in report["wrong"].items()} == wrong
    assert [str(block) for block in task.view.summary(report) if block.is_first] == [line]
    properties = task.properties(examples)
    ids = [query.id for query in dataset.queries]
    assert dict(zip(ids, properties["outcome"], strict=True)) == OUTCOMES
    assert [sql is None for sql in task.parsed(examples)] == [name == "none" for name in ids]
    yes_no = ["yes" if {*BOTH} <= {*retrieved[name]} else "no" for name in ids]
    assert properties.get("gold_retrieved") == (yes_no if any(retrieved.values()) else None)
