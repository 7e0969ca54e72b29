"""``generations.jsonl``: one line a query, appended as answers come, found again by query id."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from target_bench.core.contract import generation_fault
from target_bench.core.schema import Generation
from target_bench.runs.record_log import Log, read_lines


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and what its prompt showed.

    Attributes:
        generation: the answer.
        shown_rows: for each table of the prompt how many rows it showed, -1 for a table that
            found no room.
        truncated: whether anything was left out.
    """

    generation: Generation
    shown_rows: tuple[int, ...] = ()
    truncated: bool = False


_DEFAULTS = {field.name: field.default for field in fields(Generation)}


class GenerationLog(Log[Answered]):
    """The file, open for appending."""

    def line(self, value: Answered) -> str:
        """Return the answer without what is not known."""
        record = {
            name: found
            for name, found in asdict(value.generation).items()
            if name in ("query_id", "text") or found != _DEFAULTS[name]
        }
        if value.shown_rows:
            record["shown_rows"] = value.shown_rows
        if value.truncated:
            record["truncated"] = True
        return json.dumps(record, ensure_ascii=False)


def read(path: Path) -> dict[str, Answered]:
    """Query id -> the last answer; empty without the file.

    Raises:
        StoreError: a line is damaged.
    """
    return {a.generation.query_id: a for a in read_lines(path, parse)}


def parse(record: dict[str, Any]) -> Answered:
    """Return what a line holds.

    Raises:
        TypeError, ValueError: it is not an answer.
    """
    rows = tuple(record.pop("shown_rows", ()))
    truncated = record.pop("truncated", False)
    generation = Generation(**record)
    problem = generation_fault(generation)
    if problem:
        raise ValueError(problem)
    return Answered(generation, rows, truncated)
