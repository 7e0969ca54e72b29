"""Write the corpus: one CSV file per table and two files of JSON lines."""

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
    statements_one,
    statements_two,
)
from .ask import Answer, answer, verdict
from .corpus import tables
from .model import Table

DATA = Path(__file__).resolve().parent.parent / "data"
EVERY = 4  # one query in this many belongs to the validation split
Record = dict[str, Answer]


def write(folder: Path) -> None:
    """Write all the data files of the corpus into a folder, replacing those of a past run."""
    made = tables()
    clear(folder)
    for one in made.values():
        _write_csv(folder / "tables" / f"{one.table_id}.csv", one)
    _write_lines(folder / "tables.jsonl", (_headings(one) for one in made.values()))
    _write_lines(folder / "queries.jsonl", iter(queries(made)))


def clear(folder: Path) -> None:
    """Leave an empty `tables` folder in the folder."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for old in (folder / "tables").glob("*.csv"):
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
    repeated = [text for text, n in Counter(str(one["query"]) for one in records).items() if n > 1]
    if repeated:
        raise ValueError(f"repeated queries: {repeated}")
    return records


def _record(kind: str, place: int, text: str, found: Answer, table_ids: tuple[str, ...]) -> Record:
    task = {"qa": "question_answering", "fv": "fact_verification"}[kind]
    return {
        "query_id": f"{kind}-{place + 1:04d}",
        "split": "validation" if place % EVERY == EVERY - 1 else "test",
        "task": task,
        "query": text,
        "answer": found,
        "table_id": table_ids[0] if len(table_ids) == 1 else list(table_ids),
    }


def _headings(one: Table) -> Record:
    return {"table_id": one.table_id, "title": one.title, "section_title": one.section}


def _write_csv(path: Path, one: Table) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([one.header, *one.rows])


def _write_lines(path: Path, records: Iterator[Record]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
