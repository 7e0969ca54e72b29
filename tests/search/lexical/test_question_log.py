"""A log of questions: how many tables a term is taken to be in, and what that does to rankings."""

from pathlib import Path

import numpy as np
import pytest

from target_bench import ConfigError, evaluate
from target_bench.core import registry
from target_bench.core.contract import Retriever
from target_bench.core.schema import Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.search.lexical.question_log import QuestionLog

TABLES = [
    ("acme", "Acme report", ["year", "fleet"], [["2018", "7"]]),
    ("fuel", "Fuel", ["year", "gallons"], [["2018", "9"]]),
    ("crew", "Crew", ["year", "pilots"], [["2017", "3"]]),
    ("seats", "Seats", ["year", "seats"], [["2016", "4"]]),
]
QUESTIONS = ["fuel of acme", "crew of acme in 2017", "seats of acme", "pilots"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.txt"
    path.write_text("\n".join(QUESTIONS))
    return path


def test_counts(log: Path) -> None:
    vocabulary = {"acme": 0, "fuel": 1, "of": 2}
    with pytest.warns(UserWarning, match=r"log\.txt: 4 questions may not show .* 25 are enough"):
        least = QuestionLog(log).least_counts(vocabulary, 4, str.split)
    # acme: in 3 of 4 questions, 2 * 4 * (3 - 1) / 4 = 4; fuel: in 1, which is no repetition.
    assert least.tolist() == [4, 0, 4]


@pytest.mark.filterwarnings("ignore:log=")
@pytest.mark.parametrize("name", ["bm25", "rows", "best"])
def test_what_all_questions_say_counts_little(name: str, log: Path, tmp_path: Path) -> None:
    settings = {"encoder": "lsa", "cosine": 0.0} if name == "best" else {}
    corpus = MemoryCorpus(
        Table(TableId("0", name), header, rows, {"title": title})
        for name, title, header, rows in TABLES
    )
    plain = _built(name, settings)
    plain.embed_corpus(corpus)
    corrected = _built(name, {**settings, "log": str(log)})
    corrected.embed_corpus(corpus)
    question = "acme fuel"
    before, after = (dict(_scored(r.retrieve(question, 4))) for r in (plain, corrected))
    assert before["acme"] > 0
    assert after.get("acme", 0) < after["fuel"]
    assert after.get("acme", 0) / after["fuel"] < before["acme"] / before["fuel"]
    (folder := tmp_path / "index").mkdir()
    corrected.save(folder)
    again = _built(name, {**settings, "log": str(log)})
    again.load(folder, corpus)
    assert _scored(again.retrieve(question, 4)) == _scored(corrected.retrieve(question, 4))


@pytest.mark.filterwarnings("ignore:log=")
def test_a_run_takes_it(log: Path, tmp_path: Path) -> None:
    results = evaluate(["bm25", f"bm25:log={log}"], "mini", out=tmp_path / "runs")
    assert len({result.folder for result in results}) == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("empty.txt", "\n", "has no question"),
        ("broken.jsonl", '{"query": "a"}\n{', "line 2: expected an object"),
        ("other.jsonl", '{"id": 1}', "line 1: expected an object with the text .query"),
        ("null.jsonl", '{"query": null}', "line 1: expected an object with the text .query"),
    ],
)
def test_unusable_files(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=message):
        QuestionLog(tmp_path / name)


def _built(name: str, settings: dict[str, object]) -> Retriever:
    retriever = registry.build("retriever", name, settings)
    assert isinstance(retriever, Retriever)
    return retriever


def _scored(ranking: object) -> list[tuple[str, float]]:
    return [(table.table_id, float(np.float64(score))) for table, score in ranking]  # type: ignore[attr-defined]
