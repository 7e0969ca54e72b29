"""Per-query values that another evaluation harness wrote, for ``compare`` and ``gate``.

A file has a row for each query: CSV, TSV, JSON lines, a JSON list of objects, or Parquet; or it is
a log of Inspect, where inspect_ai is installed. Nothing is guessed but the column of texts: the
user names the columns of ids and values. docs/significance.md has a command for each harness.
"""

import csv
import io
import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import parse_json

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".eval")

TEXTS = ("doc_hash", "user_input", "question", "query", "input", "prompt", "text")
"""Columns that are taken for the text of a query, or a hash of it, where ``--text`` names none."""

_MISSING = ("", "nan", "none", "null")
_WORDS = {"true": 1.0, "false": 0.0}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ValueColumns:
    """Which columns of a file hold what; in JSON a field inside another is named ``doc.question``.

    Attributes:
        id: the id of each query.
        value: its value.
        text: its text, or a hash of it; None where the files may have one under a known name.
    """

    id: str
    value: str
    text: str | None = None


@dataclass(frozen=True)
class ValueFile:
    """The values of one file.

    Attributes:
        path: the file.
        values: query id -> value; NaN where the query failed or was not judged.
        texts: query id -> text; None where the file has no such column.
    """

    path: Path
    values: Mapping[str, float]
    texts: Mapping[str, str] | None

    @property
    def mean(self) -> tuple[float, int]:
        """The mean of its own values, and how many there are."""
        known = [value for value in self.values.values() if not isnan(value)]
        return (sum(known) / len(known) if known else nan), len(known)


def read_value_files(paths: Iterable[Path], columns: ValueColumns) -> list[ValueFile]:
    """Read files and check that queries of equal ids have equal texts.

    Raises:
        ConfigError: a file lacks a column, or is of a form that is not read.
        DataError: a file is damaged, has an id twice or a value that is no number, or the files
            have one id for different texts.
    """
    rows = {path: _read_rows(path) for path in dict.fromkeys(paths)}
    names = {path: _fields(of_file) for path, of_file in rows.items()}
    text = columns.text
    if text is None:
        shared = (name for name in TEXTS if all(name in fields for fields in names.values()))
        text = next((name for name in shared if name != columns.id), None)
    files = []
    for path, of_file in rows.items():
        for option, name in (("id", columns.id), ("value", columns.value), ("text", text)):
            if name is not None and not any(_field(row, name)[0] for row in of_file):
                raise ConfigError(
                    f"{path}: has no column {name!r} (--{option}); its columns: "
                    f"{', '.join(names[path])}"
                )
        files.append(_value_file(path, of_file, columns, text))
    for other in files[1:]:
        _check_texts(files[0], other, text)
    return files


def _value_file(
    path: Path, rows: Sequence[Row], columns: ValueColumns, text: str | None
) -> ValueFile:
    values: dict[str, float] = {}
    texts: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        place = f"{path}, row {number}"
        name = _text(_field(row, columns.id)[1])
        if not name:
            raise DataError(f"{place}: has no {columns.id}, so it cannot be paired")
        if name in values:
            raise DataError(
                f"{place}: has the {columns.id} {name[:60]!r} a second time; write each query once"
            )
        values[name] = _number(_field(row, columns.value)[1], f"{place}: {columns.value}")
        if text is not None:
            texts[name] = _text(_field(row, text)[1])
    return ValueFile(path, values, texts if text is not None else None)


def _check_texts(first: ValueFile, other: ValueFile, text: str | None) -> None:
    if first.texts is None or other.texts is None:
        return
    both = [name for name in first.texts if first.texts[name] and other.texts.get(name)]
    differing = [name for name in both if first.texts[name] != other.texts[name]]
    if differing:
        name = differing[0]
        raise DataError(
            f"{len(differing):,} of {len(both):,} ids that both files have name different queries: "
            f"{name[:60]!r} is {first.texts[name][:60]!r} in {first.path} and "
            f"{other.texts[name][:60]!r} in {other.path}. Pair them by their texts: --id {text}"
        )


def _field(row: Row, name: str) -> tuple[bool, Any]:
    """Return whether a row has a field, and the field; ``a.b`` is ``b`` inside ``a``."""
    if name in row:
        return True, row[name]
    outer, _, inner = name.partition(".")
    if inner and isinstance(row.get(outer), Mapping):
        return _field(row[outer], inner)
    return False, None


def _fields(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(name) for row in rows for name in row))


def _text(value: Any) -> str:
    """Return an id or a text; a whole number is written without a decimal point."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas reads a column of whole numbers with a gap as floats
    if not isinstance(value, str | int):
        value = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return unicodedata.normalize("NFC", str(value)).strip()


def _number(value: Any, place: str) -> float:
    """Return a value; NaN where there is none.

    Raises:
        DataError: it is no number, or infinite.
    """
    if value is None:
        return nan
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _MISSING:
            return nan
        value = _WORDS.get(word, word)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{place} is no number: {str(value)[:60]!r}") from None
    if number in (inf, -inf):
        raise DataError(f"{place} is infinite")
    return number


# Forms


def _read_rows(path: Path) -> list[Row]:
    """Return the rows of a file as mappings.

    Raises:
        ConfigError: the form is not read, or needs a package.
        DataError: the file is damaged or empty.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigError(
            f"{path}: values are read from {', '.join(SUFFIXES)}; rankings, as TREC writes them, "
            f"are scored by target-bench score CORPUS --run {path.name}"
        )
    try:
        if suffix == ".parquet":
            import pyarrow.parquet

            rows: list[Row] = pyarrow.parquet.read_table(path).to_pylist()
        elif suffix == ".eval":
            rows = _inspect_rows(path)
        else:
            text = path.read_text(encoding="utf-8-sig")
            rows = _csv_rows(text, suffix) if suffix in (".csv", ".tsv") else _json_rows(text)
    except DataError:
        raise
    except (OSError, ValueError, csv.Error) as error:  # pyarrow's errors are of both
        raise DataError(f"{path}: cannot be read: {str(error)[:300]}") from error
    if not rows:
        raise DataError(f"{path}: holds no rows")
    return rows


def _csv_rows(text: str, suffix: str) -> list[Row]:
    reader = csv.DictReader(
        io.StringIO(text, newline=""), delimiter="\t" if suffix == ".tsv" else ",", strict=True
    )
    header = reader.fieldnames or []
    if twice := [name for name in header if header.count(name) > 1]:
        raise ValueError(f"two columns are called {twice[0]!r}")
    rows: list[Row] = []
    for row in reader:
        if None in row:
            raise ValueError(f"line {reader.line_num} has more cells than the header")
        rows.append(row)
    return rows


def _json_rows(text: str) -> list[Row]:
    try:
        document = parse_json(text)
    except ValueError:
        document = _json_lines(text)
    if isinstance(document, Mapping):
        document = [document]
    if not isinstance(document, list) or not all(isinstance(row, Mapping) for row in document):
        raise ValueError("expected an object for each query: JSON lines, or a list of objects")
    return document


def _json_lines(text: str) -> list[Any]:
    records = []
    for number, line in enumerate(text.split("\n"), start=1):  # a text may hold U+2028
        if line.strip():
            try:
                records.append(parse_json(line))
            except ValueError as error:
                raise ValueError(f"line {number}: no JSON ({error})") from error
    return records


def _inspect_rows(path: Path) -> list[Row]:
    """Read a log of Inspect: a row a sample, a column a scorer; the mean of several epochs.

    A sample that failed in any epoch has no value.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise ConfigError(
            f"{path}: a log of Inspect is read by its package: pip install inspect-ai"
        ) from None
    log = read_eval_log(str(path))
    if log.status != "success":
        raise DataError(
            f"{path}: this evaluation ended with the status {log.status!r}; finish it with "
            "inspect eval-retry"
        )
    epochs: dict[str, list[dict[str, float]]] = defaultdict(list)
    texts: dict[str, Any] = {}
    for sample in log.samples or ():
        scored: dict[str, float] = {}
        for scorer, score in (sample.scores or {}).items():
            parts = score.value if isinstance(score.value, dict) else {"": score.value}
            for part, value in parts.items():
                scored[f"{scorer}/{part}" if part else scorer] = _inspect_number(path, value)
        name = str(sample.id)
        epochs[name].append({} if sample.error else scored)
        texts[name] = sample.input if isinstance(sample.input, str) else str(sample.input)
    scorers = dict.fromkeys(scorer for runs in epochs.values() for run in runs for scorer in run)
    return [
        {
            "id": name,
            "input": texts[name],
            **{s: sum(run.get(s, nan) for run in runs) / len(runs) for s in scorers},
        }
        for name, runs in epochs.items()
    ]


def _inspect_number(path: Path, value: Any) -> float:
    """Return a value as Inspect reads it: C is 1, P .5, I and N 0."""
    from inspect_ai.scorer import value_to_float

    known = ("c", "p", "i", "n", "yes", "no", "true", "false")
    if isinstance(value, str) and value.lower() not in known:
        return _number(value, f"{path}: a score")
    if not isinstance(value, str | int | float):
        raise DataError(f"{path}: a score is no number: {str(value)[:60]!r}")
    return float(value_to_float()(value))
