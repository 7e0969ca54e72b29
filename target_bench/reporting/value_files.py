"""Per-query values that another evaluation harness wrote, read and compared.

A file has a row for each query: CSV, TSV, JSON lines, a JSON list of objects, or Parquet; or it is
a log of Inspect, where inspect_ai is installed. Nothing is guessed but the column of texts: the
user names the columns of ids and values. docs/significance.md has a command for each harness.
"""

import csv
import io
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan
from pathlib import Path
from typing import Any, Literal

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import parse_json
from target_bench.core.metric import MetricSpec
from target_bench.reporting.rows import (
    DRAWS,
    Comparison,
    Draws,
    Values,
    all_queries,
    correct,
    make_rows,
)
from target_bench.runs.slicing import Floats, mean_of

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".eval")

TEXTS = ("doc_hash", "user_input", "question", "query", "input", "prompt", "text")
"""Columns that are taken for the text of a query, or a hash of it, where ``--text`` names none."""

_MISSING = ("", "nan", "none", "null")
_WORDS = {"true": 1.0, "false": 0.0}

Record = Mapping[str, Any]

HAS_VALUE = "queries with a value"
"""The metric that a gate adds where the run lacks values that the baseline has."""


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


def find_value_files(runs: Any) -> list[Path]:
    """Return the files of per-query values, if it is such files that are named, or nothing."""
    named = [runs] if isinstance(runs, str) or not isinstance(runs, Sequence) else runs
    files = [Path(run) for run in named if isinstance(run, str | Path) and Path(run).is_file()]
    others = [run for run in named if not isinstance(run, str | Path) or not Path(run).is_file()]
    if files and others:
        missing = isinstance(others[0], str | Path) and not Path(others[0]).exists()
        raise ConfigError(
            f"{others[0] if missing else files[0]}: {'there is no such file; ' if missing else ''}"
            "files of values are compared with files alone, not with runs"
        )
    return files


def value_columns(
    path: Path, id_column: str | None, value_column: str | None, text_column: str | None
) -> ValueColumns:
    """Return the columns of files of values."""
    if not id_column or not value_column:
        raise ConfigError(
            f"{path}: is a file; name its columns with --id and --value, as in --id question "
            "--value score (in Python id_column and value_column)"
        )
    return ValueColumns(id_column, value_column, text_column)


def compare_values(
    paths: Sequence[Path],
    columns: ValueColumns,
    baseline: Path | None = None,
    draws: Draws = DRAWS,
    misses: Literal["<", ">"] | None = None,
) -> Comparison:
    """Compare the means of per-query values that other harnesses wrote."""
    files = read_value_files([*paths, *([baseline] if baseline else [])], columns)
    if len(files) < 2:
        raise ConfigError(f"a comparison needs two files at least; named: {paths[0]}")
    named = dict(zip(_name_files([file.path for file in files]), files, strict=True))
    base = next(name for name, file in named.items() if baseline in (None, file.path))
    order = _pair(named, base, misses is not None)
    values = {
        name: np.array([file.values.get(query, nan) for query in order])
        for name, file in named.items()
    }
    spec = _declare(columns.value, list(values.values()), misses)
    metrics = {name: {columns.value: (column, spec)} for name, column in values.items()}
    lacking = {name: int(np.isnan(column).sum()) for name, column in values.items()}
    notes = []
    if any(lacking.values()):
        worst = _worst_value(list(values.values()), spec)
        has_value = MetricSpec("queries_with_a_value", label=HAS_VALUE)
        metrics = {
            name: {
                columns.value: (np.nan_to_num(column, nan=worst), spec),
                HAS_VALUE: ((~np.isnan(column)).astype(np.float64), has_value),
            }
            for name, column in values.items()
        }
        notes = [
            f"{n:,} of {len(order):,} queries that {base} has a value of have none in {name}: each "
            f"counts as {spec.text(worst)}"
            for name, n in lacking.items()
            if n
        ]
    asked = {query for file in files for query in file.values}
    of = f" of {len(asked):,}" if len(order) < len(asked) else ""
    corpus, tested = f"n = {len(order):,}{of}", tuple(metrics[base])
    systems = {
        name: {m: Values(mean_of(m, column, of_m)) for m, (column, of_m) in of_file.items()}
        for name, of_file in metrics.items()
    }
    rows = correct(make_rows(corpus, systems, base, all_queries(len(order)), draws), tested)
    return Comparison(
        task="values of queries",
        corpora=(corpus,),
        systems=tuple(named),
        baseline=base,
        tested=tested,
        rows=tuple(rows),
        folders={(corpus, name): file.path for name, file in named.items()},
        draws=draws,
        notes=tuple(notes),
        own_means={name: file.mean for name, file in named.items()},
    )


def _name_files(paths: Sequence[Path]) -> list[str]:
    candidates = [
        [path.stem for path in paths],
        [path.resolve().parent.name for path in paths],  # lm-eval: a folder a model
        [str(path) for path in paths],
    ]
    return next(names for names in candidates if len({*names}) == len(names))


def _pair(files: Mapping[str, ValueFile], base: str, misses: bool) -> list[str]:
    """Return the queries to compare: those of the baseline, or those with a value in all files."""
    known = {
        name: {query for query, value in file.values.items() if not isnan(value)}
        for name, file in files.items()
    }
    paired = known[base] if misses else set.intersection(*known.values())
    if not paired:
        few = (f"{name} has {', '.join(list(f.values)[:3])}" for name, f in files.items())
        raise DataError(
            f"the files have no query with a value in common, so nothing can be paired: "
            f"{'; '.join(few)}. Name the column of ids with --id"
        )
    return [query for query in files[base].values if query in paired]


def _declare(name: str, values: Sequence[Floats], misses: str | None) -> MetricSpec:
    """Declare a metric of another harness by the values that it has."""
    known = np.concatenate(values)
    highest = float(np.nanmax(known))
    plain = re.sub(r"[\s@]+", "_", name) or "metric"
    better = misses != ">"
    if highest <= 1 and float(np.nanmin(known)) >= 0:
        return MetricSpec(plain, label=name, higher_is_better=better)
    return MetricSpec(
        plain, label=name, scale="unbounded", highest=highest, higher_is_better=better
    )


def _worst_value(values: Sequence[Floats], spec: MetricSpec) -> float:
    """Return what a missing value counts as in a gate."""
    if spec.higher_is_better:
        return float(min(0.0, np.nanmin(np.concatenate(values))))
    if spec.scale == "unbounded":
        raise ConfigError(
            f"the run lacks values that the baseline has, and how bad a missing {spec.label} is "
            "cannot be known: give these queries a value, or leave them out of both files"
        )
    return spec.top


def read_value_files(paths: Iterable[Path], columns: ValueColumns) -> list[ValueFile]:
    """Read files and check that queries of equal ids have equal texts."""
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
    path: Path, rows: Sequence[Record], columns: ValueColumns, text: str | None
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


def _field(row: Record, name: str) -> tuple[bool, Any]:
    """Return whether a row has a field, and the field; ``a.b`` is ``b`` inside ``a``."""
    if name in row:
        return True, row[name]
    outer, _, inner = name.partition(".")
    if inner and isinstance(row.get(outer), Mapping):
        return _field(row[outer], inner)
    return False, None


def _fields(rows: Sequence[Record]) -> list[str]:
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
    """Return a value; NaN where there is none."""
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


def _read_rows(path: Path) -> list[Record]:
    """Return the rows of a file as mappings."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigError(
            f"{path}: values are read from {', '.join(SUFFIXES)}; rankings, as TREC writes them, "
            f"are scored by target-bench score CORPUS --run {path.name}"
        )
    try:
        if suffix == ".parquet":
            import pyarrow.parquet

            rows: list[Record] = pyarrow.parquet.read_table(path).to_pylist()
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


def _csv_rows(text: str, suffix: str) -> list[Record]:
    reader = csv.DictReader(
        io.StringIO(text, newline=""), delimiter="\t" if suffix == ".tsv" else ",", strict=True
    )
    header = reader.fieldnames or []
    if twice := [name for name in header if header.count(name) > 1]:
        raise ValueError(f"two columns are called {twice[0]!r}")
    rows: list[Record] = []
    for row in reader:
        if None in row:
            raise ValueError(f"line {reader.line_num} has more cells than the header")
        rows.append(row)
    return rows


def _json_rows(text: str) -> list[Record]:
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


def _inspect_rows(path: Path) -> list[Record]:
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
