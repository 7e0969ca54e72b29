"""Generators of the original TARGET package, with ``generate(table_str, query)``, are run."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET
from target_bench.core import registry
from target_bench.core.schema import AnswerKind, GenerationRequest, Table, TableId
from target_bench.runs.result import Results
from target_bench.sql.extraction import extract
from tests.builders import Recorder

Compat = registry.resolve("generator", "compat")
QA = ("Table Question Answering Task", "mini")
TABLE = Table(TableId("0", "cups"), ("year", "team"), [[1990, "Reds"], [1991, None]])
FILE = """
from target_benchmark.generators import AbsGenerator

class Titles(AbsGenerator):
    def generate(self, table_str, query):
        return {"content": table_str.splitlines()[0]}
"""


class Plain:
    """Answers some, and fails on others."""

    def generate(self, table_str: str, query: str) -> Any:
        if query.startswith("How many"):
            raise ValueError("no number")
        return {"content": "Reds"}


def _request(*tables: Table, answer: AnswerKind = "text") -> GenerationRequest:
    return GenerationRequest("q", "a_task", (), "Who won?", tables, answer=answer)


def _run(out: Path, generator: Any, task: Any = QA) -> Results:
    target = TARGET(task, out=out, observer=Recorder())
    return target.run("oracle", generator=generator, limit=10)


class Fixed:
    """Gives the same answer always, and keeps the tables that it is shown."""

    def __init__(self, answer: Any = "") -> None:
        self.answer = answer

    def generate(self, table_str: str, query: str) -> Any:
        self.table_str = table_str
        return self.answer


def _shown(request: GenerationRequest) -> str:
    generator = Fixed()
    Compat(generator).generate(request)
    return generator.table_str


def test_what_it_gets() -> None:
    other = Table(TableId("0", "clubs"), ("club",), [["Blues"]])
    assert _shown(_request(TABLE, other)) == (
        "table name: ('0', 'cups')\n| year | team |\n| 1990 | Reds |\n| 1991 | None |\n\n"
        "table name: ('0', 'clubs')\n| club |\n| Blues |\n"
    )
    assert _shown(_request()).startswith("Some or all tables are not available.")
    schema = {"schema": "CREATE TABLE cups (year int)"}
    described = Table(TableId("sport", "cups"), ("year",), [], schema)
    assert _shown(_request(described, answer="sql")) == (
        "\nDatabase Name: sport\nSchema:\n\nCREATE TABLE cups (year int)\n\n---\n"
    )


@pytest.mark.parametrize(
    ("answer", "text"),
    [("Reds", "Reds"), ({"content": "Reds"}, "Reds"), ({"content": ""}, "")],
)
def test_answers(answer: Any, text: str) -> None:
    assert Compat(Fixed(answer)).generate(_request()) == text


def test_an_answer_about_a_database() -> None:
    generator = Compat(Fixed({"sql_query": "SELECT 1 -- {x}", "database_id": "sport"}))
    statement = extract(generator.generate(_request(TABLE, answer="sql")))
    assert (statement.sql, statement.database_id) == ("SELECT 1 -- {x}", "sport")


@pytest.mark.parametrize("answer", [None, 3, {"text": "Reds"}, {"content": None}])
def test_what_is_no_answer(answer: Any) -> None:
    with pytest.raises(TypeError, match="neither text nor a dictionary with content"):
        Compat(Fixed(answer)).generate(_request())


def test_a_run_says_which_answers_failed(tmp_path: Path) -> None:
    results = _run(tmp_path, Plain())
    (result,) = results
    assert result.answer_counts is not None
    failed = result.answer_counts.failed
    assert 0 < failed < result.answer_counts.answered + failed == 10
    message = f"generator Plain failed on {failed} of 10 queries of mini (scored 0)"
    for shown in (str(results), repr(results), str(result), results._repr_html_()):
        assert message in shown.replace("\n", " ")
        assert "ValueError: no number" in shown.replace("\n", " ")
    assert "failed" not in str(_run(tmp_path, "gold"))
    assert _run(tmp_path, Plain())[0].folder == result.folder  # it has an identity


def test_a_file_that_imports_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).with_name("original")))
    (tmp_path / "theirs.py").write_text(FILE)
    (result,) = _run(tmp_path, f"{tmp_path / 'theirs.py'}:Titles")
    assert result.answer_counts is not None
    assert (result.answer_counts.answered, result.answer_counts.failed) == (10, 0)
