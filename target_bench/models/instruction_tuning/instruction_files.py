"""Files of instruction, input and output: Struc-Bench's own JSON, and JSON a line.

A record is an object with the texts ``instruction``, ``input`` (which may be empty or missing) and
``output``, as in Alpaca's files, which Struc-Bench's scripts read (Tang et al. 2024). How its
tables are written is in the entry ``format`` or else in the file's name, as in ``html_train.json``.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import parse_json
from target_bench.tables.answer_tables import FORMATS, TableFormat

_STEMS: dict[str, TableFormat] = {"table": "text", **{name: name for name in FORMATS}}
"""First word of a file's name -> how its tables are written."""

_NAMES = {table_format: name for name, table_format in reversed(_STEMS.items())}
_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Instruction:
    """A record of such a file.

    Attributes:
        instruction: what to do, and how the tables are to be written.
        input: the text that holds the facts; empty if the instruction holds them.
        output: the tables as they should be answered.
        table_format: how they are written.
        place: file and line, for messages.
    """

    instruction: str
    input: str
    output: str
    table_format: TableFormat = "text"
    place: str = ""


def read_instructions(path: Path) -> list[Instruction]:
    """Read a JSON list of records, or a file ``.jsonl`` with one record per line.

    Raises:
        DataError: the file cannot be read, is not valid JSON, holds no record, or a record lacks a
            field or has one of the wrong type; the message names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: it cannot be read: {error}") from error
    records = _lines(path, text) if path.suffix == ".jsonl" else _listed(path, text)
    guessed = _STEMS.get(path.stem.partition("_")[0], "text")
    found = [_checked(f"{path}, line {line}", record, guessed) for line, record in records]
    if not found:
        raise DataError(f"{path}: there is no record in it")
    return found


def write_instructions(
    folder: Path, split: str, records: Iterable[Instruction]
) -> dict[Path, Sequence[Instruction]]:
    """Write a JSON list for each format, as ``table_train.json``, ``html_train.json``, ...

    Returns:
        Each file with its records.

    Raises:
        StoreError: a file cannot be written.
    """
    found: dict[Path, list[Instruction]] = {}
    for record in records:
        path = folder / f"{_NAMES[record.table_format]}_{split}.json"
        found.setdefault(path, []).append(record)
    for path, some in found.items():
        fields = [
            {"instruction": one.instruction, "input": one.input, "output": one.output}
            for one in some
        ]
        text = json.dumps(fields, ensure_ascii=False, indent=1) + "\n"
        try:
            path.write_text(text, encoding="utf-8", newline="\n")
        except (OSError, UnicodeEncodeError) as error:
            raise StoreError(f"{path}: it cannot be written ({error})") from error
    return dict(found)


def _lines(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, parse_json(line)
            except ValueError as error:
                raise DataError(f"{path}, line {number}: not valid JSON: {error}") from error


def _listed(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """Yield the records of a JSON list with the lines on which they begin."""
    place = _next(text, 0)
    if text[place : place + 1] != "[":
        raise DataError(
            f"{path}, line {_line(text, place)}: expected a list of objects with instruction, "
            "input and output"
        )
    decoder = json.JSONDecoder()
    line, counted = 1, 0
    place = _next(text, place + 1)
    ended = text[place : place + 1] == "]"
    place = _next(text, place + 1) if ended else place
    while not ended:
        line, counted = line + text.count("\n", counted, place), place
        try:
            record, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}, line {line}: not valid JSON: {error}") from error
        yield line, record
        place = _next(text, place)
        mark = text[place : place + 1]
        if mark not in (",", "]") or not mark:
            raise DataError(
                f"{path}, line {_line(text, place)}: not valid JSON: expected ',' or ']'"
            )
        ended = mark == "]"
        place = _next(text, place + 1)
    if place < len(text):
        raise DataError(f"{path}, line {_line(text, place)}: there is more after the list")


def _next(text: str, place: int) -> int:
    """Return the next place that is not blank."""
    while place < len(text) and text[place] in _BLANK:
        place += 1
    return place


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _checked(place: str, record: Any, guessed: TableFormat) -> Instruction:
    if not isinstance(record, dict):
        raise DataError(
            f"{place}: expected an object with instruction, input and output, found "
            f"{type(record).__name__}"
        )
    instruction, output = (_text(place, record, name) for name in ("instruction", "output"))
    given = "" if record.get("input") is None else _text(place, record, "input", empty=True)
    table_format = record.get("format", guessed)
    if table_format not in FORMATS:
        raise DataError(f"{place}: format {table_format!r} is not one of {', '.join(FORMATS)}")
    return Instruction(instruction, given, output, cast("TableFormat", table_format), place)


def _text(place: str, record: dict[str, Any], name: str, empty: bool = False) -> str:
    if name not in record:
        raise DataError(f"{place}: the field {name!r} is missing")
    value = record[name]
    if not isinstance(value, str):
        raise DataError(f"{place}: the field {name!r} is {type(value).__name__}, not text")
    if not empty and not value.strip():
        raise DataError(f"{place}: the field {name!r} is empty")
    return value
