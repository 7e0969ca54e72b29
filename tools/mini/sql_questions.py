"""Questions that SQL answers: what is asked, the gold SQL, and what one has to know."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from target_bench.data.databases.stored_tables import write_sqlite
from target_bench.sql.gold_tables import gold_tables
from target_bench.sql.hardness import hardness

_DIFFICULTY = {
    "easy": "simple",
    "medium": "moderate",
    "hard": "challenging",
    "extra": "challenging",
}


@dataclass(frozen=True)
class SqlQuestion:
    """A question, its gold SQL, and the evidence it needs, if any."""

    text: str
    sql: str
    evidence: str


def sql(text: str, statement: str, evidence: str = "") -> SqlQuestion:
    """Make a question with its gold SQL; `evidence` says what the names and values mean."""
    return SqlQuestion(text, statement, evidence)


def described(questions: list[SqlQuestion], script: str) -> list[dict[str, str | list[str]]]:
    """Return the fields of each question but its text; raise when its SQL does not compile.

    Args:
        questions: the questions on one database.
        script: the SQL text of the database.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "database.sqlite"
        write_sqlite(path, script)
        return [_described(question, path) for question in questions]


def _described(question: SqlQuestion, path: Path) -> dict[str, str | list[str]]:
    gold = list(gold_tables(question.sql, path))
    hard = hardness(question.sql)
    return {
        "answer": question.sql,
        "table_id": gold[0] if len(gold) == 1 else gold,
        "difficulty": _DIFFICULTY[hard],
        "hardness": hard,
        "evidence": question.evidence,
    }
