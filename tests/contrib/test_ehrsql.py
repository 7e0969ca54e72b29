"""EHRSQL from a small release: gold tables from the SQL, and impossible questions."""

import json
from pathlib import Path

import pytest

from target_bench import evaluate
from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.schema import TableId
from target_bench.data.load import read
from target_bench.reporting.leaderboard.pack import pack
from target_bench.reporting.leaderboard.verify import verify
from tests.builders import Record, write_release
from tests.reporting.leaderboard.conftest import card

LOADER = registry.create("corpus", "ehrsql")
SCHEMAS = [
    {
        "db_id": database,
        "table_names_original": names,
        "column_names_original": [[-1, "*"], [0, "row_id"], [1, "row_id"], [1, "drug"]],
    }
    for database, names in (("mimic_iii", ["PATIENTS", "PRESCRIPTIONS"]), ("eicu", ["lab", "cost"]))
]
QUESTION: Record = {
    "id": "q1",
    "question": "Which drug?",
    "query": "select drug from prescriptions where x in (select row_id from patients) "
    "and drug = 'from home'",
    "is_impossible": False,
    "para_type": "human",
}
IMPOSSIBLE: Record = {"id": "q2", "question": "Any visit?", "query": "null", "is_impossible": True}


def _release(folder: Path, *questions: Record) -> Path:
    write_release(folder, "tables.json", json.dumps(SCHEMAS))
    write_release(folder, "mimic_iii.test.json", json.dumps(questions))
    write_release(folder, "eicu.test.json", "[]")
    return folder


def test_reading(tmp_path: Path) -> None:
    dataset = read(LOADER, _release(tmp_path, QUESTION, IMPOSSIBLE), "test")
    names = [("mimic_iii", "PATIENTS"), ("mimic_iii", "PRESCRIPTIONS"), ("eicu", "lab")]
    assert list(dataset.corpus.ids)[:3] == [TableId(*name) for name in names]
    assert list(dataset.corpus[names[1]].header) == ["row_id", "drug"]
    first, second = dataset.queries
    assert first.gold == (TableId(*names[1]), TableId(*names[0]))
    assert (first.database_id, first.metadata) == ("mimic_iii", {"para_type": "human"})
    assert second.unanswerable
    assert (second.gold, second.answer) == ((), "")


def test_tables_that_are_not_there(tmp_path: Path) -> None:
    folder = _release(tmp_path, {**QUESTION, "query": "select 1 from visits"})
    with pytest.raises(DataError, match="question 1: query reads other tables than those of mimic"):
        read(LOADER, folder, "test")


@pytest.mark.filterwarnings("ignore:ehrsql test. 4 of 4 tables have no rows")
def test_a_submission_is_verified_with_its_measures_of_abstention(tmp_path: Path) -> None:
    """They read the scores of tables, which are packed with the rankings."""
    _release(tmp_path / "ehrsql", *({**QUESTION, "id": f"{i}"} for i in range(3)), IMPOSSIBLE)
    (run,) = evaluate("bm25", "ehrsql", top_k=4, data_dir=tmp_path, out=tmp_path / "runs")
    assert run["false_retrieval@4"].value == 0
    described = card().model_copy(update={"training_data": {"ehrsql": "no"}})
    packed = pack([run.folder], described, tmp_path / "a.tbs.zip")
    assert verify(packed, data_dir=tmp_path).verdict == "accepted"
