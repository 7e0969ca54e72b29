"""Write the corpus: a CSV file a table, SQL text a database, and two files of JSON lines."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from . import (
    questions_games,
    questions_land,
    questions_people,
    questions_science,
    questions_sports,
    sql_huts,
    sql_library,
    sql_roastery,
    statements_one,
    statements_two,
)
from .ask import Answer, answer, verdict
from .ask_sql import described
from .corpus import tables
from .model import Table

DATA = Path(__file__).resolve().parent.parent / "data"
EVERY = 4  # one query in this many belongs to the validation split
DATABASES = {
    "mountain_huts": sql_huts,
    "town_library": sql_library,
    "coffee_roastery": sql_roastery,
}
Record = dict[str, Answer]


def write(folder: Path) -> None:
    """Write all the data files of the corpus into a folder, replacing those of a past run."""
    made = tables()
    clear(folder)
    for one in made.values():
        _write_csv(folder / "tables" / f"{one.table_id}.csv", one)
    for name, module in DATABASES.items():
        _write_text(folder / "databases" / f"{name}.sql", module.SCRIPT)
    _write_lines(folder / "tables.jsonl", (_headings(one) for one in made.values()))
    _write_lines(folder / "queries.jsonl", iter(queries(made)))


def clear(folder: Path) -> None:
    """Leave empty folders `tables` and `databases` in the folder."""
    for name in ("tables", "databases"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for old in (folder / name).iterdir():
            old.unlink()


def queries(made: dict[str, Table]) -> list[Record]:
    """All the queries in order; raises when an answer or a label cannot be confirmed."""
    records = [
        _record("qa", place, one.text, answer(one, made), one.table_ids)
        for place, one in enumerate(
            [
                *questions_games.QUESTIONS,
                *questions_sports.QUESTIONS,
                *questions_science.QUESTIONS,
                *questions_land.QUESTIONS,
                *questions_people.QUESTIONS,
            ]
        )
    ]
    records += [
        _record("fv", place, one.text, verdict(one, made), one.table_ids)
        for place, one in enumerate([*statements_one.STATEMENTS, *statements_two.STATEMENTS])
    ]
    records += _sql_records()
    repeated = [text for text, n in Counter(str(one["query"]) for one in records).items() if n > 1]
    if repeated:
        raise ValueError(f"repeated queries: {repeated}")
    return records


def _record(kind: str, place: int, text: str, found: Answer, table_ids: tuple[str, ...]) -> Record:
    task = {"qa": "question_answering", "fv": "fact_verification"}[kind]
    return {
        "query_id": f"{kind}-{place + 1:04d}",
        "split": _split(place),
        "task": task,
        "query": text,
        "answer": found,
        "table_id": table_ids[0] if len(table_ids) == 1 else list(table_ids),
    }


def _sql_records() -> list[Record]:
    asked = [
        (name, question.text, about)
        for name, module in DATABASES.items()
        for question, about in zip(
            module.QUESTIONS, described(module.QUESTIONS, module.SCRIPT), strict=True
        )
    ]
    return [
        {
            "query_id": f"sql-{place + 1:04d}",
            "split": _split(place),
            "task": "text_to_sql",
            "query": text,
            "answer": about["answer"],
            "table_id": about["table_id"],
            "database_id": name,
            **about,
        }
        for place, (name, text, about) in enumerate(asked)
    ]


def _split(place: int) -> str:
    return "validation" if place % EVERY == EVERY - 1 else "test"


def _headings(one: Table) -> Record:
    return {"table_id": one.table_id, "title": one.title, "section_title": one.section}


def _write_csv(path: Path, one: Table) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([one.header, *one.rows])


def _write_text(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _write_lines(path: Path, records: Iterator[Record]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
