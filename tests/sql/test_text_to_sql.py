"""What the task says of its judged answers."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from target_bench.cli.main import app
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
        for judgement in task.make_judgements(dataset.queries, dataset, answers, rankings)
    }
    examples = task.examples(dataset, Predictions(rankings, answers, judgements))
    report = task.report(dataset, examples)
    assert {name: [*counts] for name, counts in report["wrong"].items()} == wrong
    assert [str(block) for block in task.view.summary(report) if block.is_always_shown] == [line]
    properties = task.properties(examples)
    ids = [query.id for query in dataset.queries]
    assert dict(zip(ids, properties["outcome"], strict=True)) == OUTCOMES
    assert [sql is None for sql in task.parse_answers(examples)] == [name == "none" for name in ids]
    yes_no = ["yes" if {*BOTH} <= {*retrieved[name]} else "no" for name in ids]
    assert properties.get("gold_retrieved") == (yes_no if any(retrieved.values()) else None)


@pytest.mark.parametrize(("k", "gold_retrieved"), [(1, "no"), (2, "yes")])
def test_unknown_names_are_columns_if_asked_for_and_rows_of_the_report(
    folder: Path, tmp_path: Path, k: int, gold_retrieved: str
) -> None:
    """Both gold tables fit among two tables, not in one."""
    answers = [{"query_id": name, "text": sql} for name, sql in ANSWERS.items()]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")

    def invoke(*command: str) -> str:
        done = CliRunner().invoke(app, list(command))
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    shown = invoke(
        *("run", str(folder / "d.sqlite"), "--task", "text-to-sql:workers=1", "--top-k", str(k)),
        *("--generator", f"replay:file={tmp_path / 'answers.jsonl'}", "--retriever", "oracle"),
        *("--metric", "unknown_table", "--metric", "unknown_column", "--by", "gold_retrieved"),
        *("--out", str(tmp_path / "runs")),
    )
    scores, parts = shown.split("by gold_retrieved")
    for table in scores, parts:
        assert re.search(r"unknown_table \[95%\] +unknown_column \[95%\]", table)
        assert re.search(r" \.200 \[.*\] +\.200 \[", table)
    assert re.search(rf"^ {gold_retrieved} +5 ", parts, re.MULTILINE)
    (run,) = (tmp_path / "runs").glob("text-to-sql-*")
    invoke("report", str(run), "-o", str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    (wrong,) = re.findall('(?s)<table class="figures" id="wrong">.*?</table>', page)
    cells = re.findall("<t[hd](?: [^>]*)?>(.*?)</t[hd]>", re.sub("</?span[^>]*>", "", wrong))
    why = {"no": "because not retrieved", "yes": "although retrieved"}[gold_retrieved]
    assert cells[:3] == ["run", "wrong", "queries"]
    assert {*cells[3:7]} == {"wrong result", "unknown table", "unknown column", "no prediction"}
    assert cells[8:] == [why, "4", "1", "1", "1", "1"]
