"""The files of queries: each answer derived from the committed tables and databases."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from itertools import zip_longest
from pathlib import Path

import target_bench.corpora.mini
from target_bench.core.errors import TargetBenchError

from . import (
    descriptions,
    questions_games,
    questions_huts,
    questions_land,
    questions_library,
    questions_people,
    questions_roastery,
    questions_science,
    questions_sports,
    rated_tables,
    statements_knowledge,
    statements_sports,
    written_tables,
)
from .lookups import Answer, Question, Statement, answer, verdict
from .sql_questions import described
from .tables import Table, read_tables

DATA = Path(target_bench.corpora.mini.__file__).parent / "data"
"""The folder of the committed data files."""

QUERIES, TABLES = "queries.jsonl", "tables_as_answers.jsonl"
SENTENCES = "table_to_text.jsonl"
RATED = "rated_tables.jsonl"

EVERY = 4
"""One query in this many belongs to the validation split."""

DATABASES = {
    "mountain_huts": questions_huts,
    "town_library": questions_library,
    "coffee_roastery": questions_roastery,
}
Record = dict[str, Answer]


def faults(folder: Path) -> list[str]:
    """Compare the committed queries with those the checks derive; empty when they are the same.

    Args:
        folder: `tables.jsonl`, `tables`, `databases` and `queries.jsonl` of the corpus.
    """
    try:
        derived = _text(folder).splitlines()
    except (LookupError, ValueError, sqlite3.Error, TargetBenchError) as error:
        return [str(error)]
    return [
        *_differing(folder / QUERIES, derived),
        *_differing(folder / TABLES, _tables(folder)),
        *_differing(folder / SENTENCES, _sentences(folder)),
        *_differing(folder / RATED, _rated(folder)),
    ]


def _differing(path: Path, derived: list[str]) -> list[str]:
    stored = path.read_bytes().decode().split("\n")
    pairs = zip_longest(stored, [*derived, ""], fillvalue="no such line")
    return [
        f"{path}, line {place}: {line} is stored, and {right} follows from the tables"
        for place, (line, right) in enumerate(pairs, 1)
        if line != right
    ]


def write(folder: Path) -> None:
    """Write the files of queries from the questions, the tables and the databases of the folder.

    Raises:
        LookupError: a question names a row or a column that its table does not have.
        ValueError: a table is malformed, or contradicts the label of a statement.
        sqlite3.Error: SQLite refuses the text of a database.
    """
    (folder / QUERIES).write_bytes(_text(folder).encode())
    for name, lines in (
        (TABLES, _tables(folder)),
        (SENTENCES, _sentences(folder)),
        (RATED, _rated(folder)),
    ):
        (folder / name).write_bytes("".join(f"{line}\n" for line in lines).encode())


def _tables(folder: Path) -> list[str]:
    """Return the lines about tables as answers."""
    records = written_tables.records(read_tables(folder))
    return [json.dumps(record, ensure_ascii=False) for record in records]


def _sentences(folder: Path) -> list[str]:
    """Return the lines about highlighted cells."""
    records = descriptions.examples(read_tables(folder))
    return [json.dumps(record, ensure_ascii=False) for record in records]


def _rated(folder: Path) -> list[str]:
    """Return the lines about tables that are rated."""
    records = rated_tables.records(read_tables(folder))
    return [json.dumps(record, ensure_ascii=False) for record in records]


def _text(folder: Path) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in queries(folder))


def queries(folder: Path) -> list[Record]:
    """Derive all the queries in order; raise when an answer or a label cannot be confirmed."""
    made = read_tables(folder)
    records = [*_questions(made), *_statements(made), *_sql_questions(folder / "databases")]
    repeated = [
        text for text, n in Counter(str(record["query"]) for record in records).items() if n > 1
    ]
    if repeated:
        raise ValueError(f"repeated queries: {repeated}")
    return records


def _questions(made: dict[str, Table]) -> list[Record]:
    questions = [
        *questions_games.QUESTIONS,
        *questions_sports.QUESTIONS,
        *questions_science.QUESTIONS,
        *questions_land.QUESTIONS,
        *questions_people.QUESTIONS,
    ]
    return [
        _record("qa", "question_answering", place, question, answer(question, made))
        for place, question in enumerate(questions)
    ]


def _statements(made: dict[str, Table]) -> list[Record]:
    statements = [*statements_sports.STATEMENTS, *statements_knowledge.STATEMENTS]
    return [
        _record("fv", "fact_verification", place, statement, verdict(statement, made))
        for place, statement in enumerate(statements)
    ]


def _record(
    prefix: str, task: str, place: int, question: Question | Statement, given: Answer
) -> Record:
    tables = question.table_ids
    return {
        "query_id": f"{prefix}-{place + 1:04d}",
        "split": _split(place),
        "task": task,
        "query": question.text,
        "answer": given,
        "table_id": tables[0] if len(tables) == 1 else list(tables),
    }


def _sql_questions(folder: Path) -> list[Record]:
    questions = [
        (name, question.text, facts)
        for name, module in DATABASES.items()
        for question, facts in zip(
            module.QUESTIONS, described(module.QUESTIONS, _script(folder, name)), strict=True
        )
    ]
    return [
        {
            "query_id": f"sql-{place + 1:04d}",
            "split": _split(place),
            "task": "text_to_sql",
            "query": text,
            "answer": facts["answer"],
            "table_id": facts["table_id"],
            "database_id": name,
            **facts,
        }
        for place, (name, text, facts) in enumerate(questions)
    ]


def _script(folder: Path, name: str) -> str:
    return (folder / f"{name}.sql").read_text(encoding="utf-8")


def _split(place: int) -> str:
    return "validation" if place % EVERY == EVERY - 1 else "test"
