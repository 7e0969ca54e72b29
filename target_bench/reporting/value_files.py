"""Per-query values that another evaluation harness wrote, read and compared.

A file has a row for each query: CSV, TSV, JSON lines, a JSON list of objects, or Parquet; or it is
a log of Inspect. Nothing is guessed but the column of texts: the user names the columns of ids and
values. docs/significance.md has a command for each harness.
"""

import csv
import io
import json
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf, isnan, nan
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import parse_json
from target_bench.core.metric import MetricSpec
from target_bench.reporting.rows import Comparison, Values, correct, make_rows
from target_bench.runs.score_files import Floats
from target_bench.runs.slicing import make_mean

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".eval")

TEXTS = ("doc_hash", "user_input", "question", "query", "input", "prompt", "text")
"""Columns that are taken for the text of a query, or a hash of it, where ``--text`` names none."""

HAS_VALUE = "queries with a value"
"""The metric that a gate adds where the run lacks values that the baseline has."""

Rows = list[dict[str, Any]]


class ValueColumns(NamedTuple):
    """Names of columns; in JSON a field inside another is named ``doc.question``."""

    id: str
    value: str
    text: str | None = None


class ValueFile(NamedTuple):
    """Query id -> value, NaN where the query failed or was not judged; and query id -> text."""

    path: Path
    values: dict[str, float]
    texts: dict[str, str]


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


def read_columns(
    files: Sequence[Path],
    id_column: str | None,
    value_column: str | None,
    text_column: str | None,
    for_runs: Sequence[str] = (),
) -> ValueColumns | None:
    """Return the columns of files of values; None for runs, which have none of these options.

    ``for_runs`` are the metrics and slices that were asked for.
    """
    if not files:
        if id_column or value_column or text_column:
            raise ConfigError("--id, --value and --text are for files of values, not for runs")
        return None
    if not id_column or not value_column:
        raise ConfigError(
            f"{files[0]}: is a file; name its columns with --id and --value, as in --id question "
            "--value score (in Python id_column and value_column)"
        )
    if for_runs:
        raise ConfigError(
            "--metric, --slice and --by (in Python metrics, slices and by) are for runs: files of "
            "values have one metric, named by --value, and no properties of queries"
        )
    return ValueColumns(id_column, value_column, text_column)


def compare_values(
    paths: Sequence[Path],
    columns: ValueColumns,
    baseline: Path | None = None,
    misses: Literal["<", ">"] | None = None,
) -> Comparison:
    """Compare the means of per-query values that other harnesses wrote.

    Args:
        paths: the files.
        columns: their columns.
        baseline: the file that the others are compared with; default: the first.
        misses: of a gate: which values are worse, lower or higher ones. A query that the baseline
            has a value of and another file lacks counts as the worst; else it is left out.
    """
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
    spec = _declare(columns.value, np.concatenate([*values.values()]), misses)
    systems = {
        name: {columns.value: Values(make_mean(columns.value, column, spec))}
        for name, column in values.items()
    }
    notes = []
    if np.isnan([*values.values()]).any():
        worst = _worst_value(np.concatenate([*values.values()]), spec)
        has_value = MetricSpec("queries_with_a_value", label=HAS_VALUE)
        for name, column in values.items():
            filled = make_mean(columns.value, np.nan_to_num(column, nan=worst), spec)
            present = make_mean(HAS_VALUE, (~np.isnan(column)).astype(np.float64), has_value)
            systems[name] = {columns.value: Values(filled), HAS_VALUE: Values(present)}
            if n := int(np.isnan(column).sum()):
                notes.append(
                    f"{n:,} of {len(order):,} queries that {base} has a value of have none in "
                    f"{name}: each counts as {spec.text(worst)}"
                )
    n_queries = len({query for file in files for query in file.values})
    corpus = f"n = {len(order):,}" + (f" of {n_queries:,}" if len(order) < n_queries else "")
    rows = correct(make_rows(corpus, systems, base), systems[base])
    return Comparison(
        task="values of queries",
        corpora=(corpus,),
        systems=tuple(named),
        baseline=base,
        tested=tuple(systems[base]),
        rows=tuple(rows),
        folders={(corpus, name): file.path for name, file in named.items()},
        notes=tuple(notes),
        own_means={name: _mean(file) for name, file in named.items()},
    )


def _mean(file: ValueFile) -> tuple[float, int]:
    """Return the mean of the values that a file has, and how many these are."""
    values = [value for value in file.values.values() if not isnan(value)]
    return (sum(values) / len(values) if values else nan), len(values)


def _name_files(paths: Sequence[Path]) -> list[str]:
    candidates = [
        [path.stem for path in paths],
        [path.resolve().parent.name for path in paths],  # lm-eval: a folder a model
        [str(path) for path in paths],
    ]
    return next(names for names in candidates if len({*names}) == len(names))


def _pair(files: Mapping[str, ValueFile], base: str, misses: bool) -> list[str]:
    """Return the queries to compare: those of the baseline, or those with a value in all files."""
    valued = {
        name: {query for query, value in file.values.items() if not isnan(value)}
        for name, file in files.items()
    }
    paired = valued[base] if misses else set.intersection(*valued.values())
    if not paired:
        few = (f"{name} has {', '.join(list(f.values)[:3])}" for name, f in files.items())
        raise DataError(
            f"the files have no query with a value in common, so nothing can be paired: "
            f"{'; '.join(few)}. Name the column of ids with --id"
        )
    return [query for query in files[base].values if query in paired]


def _declare(name: str, values: Floats, misses: str | None) -> MetricSpec:
    """Declare a metric of another harness by the values that it has."""
    plain, better = "_".join(name.replace("@", " ").split()) or "metric", misses != ">"
    highest = float(np.nanmax(values))
    if highest <= 1 and float(np.nanmin(values)) >= 0:
        return MetricSpec(plain, label=name, higher_is_better=better)
    return MetricSpec(
        plain, label=name, scale="unbounded", highest=highest, higher_is_better=better
    )


def _worst_value(values: Floats, spec: MetricSpec) -> float:
    """Return what a missing value counts as in a gate."""
    if spec.higher_is_better:
        return float(min(0.0, np.nanmin(values)))
    if spec.scale == "unbounded":
        raise ConfigError(
            f"the run lacks values that the baseline has, and how bad a missing {spec.label} is "
            "cannot be known: give these queries a value, or leave them out of both files"
        )
    return spec.top


# Reading


def read_value_files(paths: Sequence[Path], columns: ValueColumns) -> list[ValueFile]:
    """Read files and check that queries of equal ids have equal texts."""
    rows = {path: _read_rows(path, columns.value) for path in dict.fromkeys(paths)}
    fields = {
        path: dict.fromkeys(str(name) for row in of_file for name in row)
        for path, of_file in rows.items()
    }
    text = columns.text
    if text is None:
        shared = [name for name in TEXTS if all(name in names for names in fields.values())]
        text = next((name for name in shared if name != columns.id), None)
    files = []
    for path, of_file in rows.items():
        for option, name in (("id", columns.id), ("value", columns.value), ("text", text)):
            if name is not None and not any(_field(row, name)[0] for row in of_file):
                raise ConfigError(
                    f"{path}: has no column {name!r} (--{option}); its columns: "
                    f"{', '.join(fields[path])}"
                )
        files.append(_make_file(path, of_file, columns, text))
    for other in files[1:]:
        _check_texts(files[0], other, text)
    return files


def _make_file(path: Path, rows: Rows, columns: ValueColumns, text: str | None) -> ValueFile:
    file = ValueFile(path, {}, {})
    for number, row in enumerate(rows, start=1):
        where = f"{path}, row {number}"
        name = _text(_field(row, columns.id)[1])
        if not name:
            raise DataError(f"{where}: has no {columns.id}, so it cannot be paired")
        if name in file.values:
            raise DataError(
                f"{where}: has the {columns.id} {name[:60]!r} a second time; write each query once"
            )
        file.values[name] = _number(_field(row, columns.value)[1], f"{where}: {columns.value}")
        if text is not None:
            file.texts[name] = _text(_field(row, text)[1])
    return file


def _check_texts(first: ValueFile, other: ValueFile, text: str | None) -> None:
    both = [name for name, its in first.texts.items() if its and other.texts.get(name)]
    differing = [name for name in both if first.texts[name] != other.texts[name]]
    if differing:
        name = differing[0]
        raise DataError(
            f"{len(differing):,} of {len(both):,} ids that both files have name different queries: "
            f"{name[:60]!r} is {first.texts[name][:60]!r} in {first.path} and "
            f"{other.texts[name][:60]!r} in {other.path}. Pair them by their texts: --id {text}"
        )


def _field(row: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    """Return whether a row has a field, and the field; ``a.b`` is ``b`` inside ``a``."""
    if name in row:
        return True, row[name]
    outer, _, inner = name.partition(".")
    if inner and isinstance(row.get(outer), Mapping):
        return _field(row[outer], inner)
    return False, None


def _text(value: Any) -> str:
    """Return an id or a text; a whole number is written without a decimal point."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas reads a column of whole numbers with a gap as floats
    if not isinstance(value, str | int):
        value = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return unicodedata.normalize("NFC", str(value)).strip()


_WORDS = {"": nan, "nan": nan, "none": nan, "null": nan, "true": 1.0, "false": 0.0}


def _number(value: Any, where: str) -> float:
    """Return a value; NaN where there is none."""
    if value is None:
        return nan
    if isinstance(value, str):
        value = value.strip().lower()
    try:
        number = _WORDS[value] if isinstance(value, str) and value in _WORDS else float(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{where} is not a number: {str(value)[:60]!r}") from None
    if number in (inf, -inf):
        raise DataError(f"{where} is infinite")
    return number


def _read_rows(path: Path, value_column: str) -> Rows:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigError(
            f"{path}: values are read from {', '.join(SUFFIXES)}; rankings, as TREC writes them, "
            f"are scored by target-bench score CORPUS --run {path.name}"
        )
    try:
        if suffix == ".parquet":
            import pyarrow.parquet

            rows: Rows = pyarrow.parquet.read_table(path).to_pylist()
        elif suffix == ".eval":
            rows = _read_inspect(path, value_column)
        else:
            text = path.read_text(encoding="utf-8-sig")
            rows = _read_csv(text, suffix) if suffix in (".csv", ".tsv") else _read_json(text)
    except DataError:
        raise
    except (OSError, ValueError, csv.Error) as error:  # pyarrow's errors are of both
        raise DataError(f"{path}: cannot be read: {str(error)[:300]}") from error
    if not rows:
        raise DataError(f"{path}: holds no rows")
    return rows


def _read_csv(text: str, suffix: str) -> Rows:
    delimiter = "\t" if suffix == ".tsv" else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header = reader.fieldnames or []
    if twice := [name for name in header if header.count(name) > 1]:
        raise ValueError(f"two columns are called {twice[0]!r}")
    rows: Rows = []
    for row in reader:
        if None in row:
            raise ValueError(f"line {reader.line_num} has more cells than the header")
        rows.append(row)
    return rows


def _read_json(text: str) -> Rows:
    try:
        document = parse_json(text)
    except ValueError:
        document = []
        for number, line in enumerate(text.split("\n"), start=1):  # a text may hold U+2028
            try:
                document += [parse_json(line)] if line.strip() else []
            except ValueError as error:
                raise ValueError(f"line {number}: no JSON ({error})") from error
    rows = [document] if isinstance(document, Mapping) else document
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("expected an object for each query: JSON lines, or a list of objects")
    return rows


def _read_inspect(path: Path, value_column: str) -> Rows:
    """Read a log of Inspect: a row a sample, a column a scorer; the mean of several epochs.

    Only the scores of ``value_column`` are read; the other columns are empty.
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
    epochs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    texts: dict[str, Any] = {}
    for sample in log.samples or ():
        scores: dict[str, Any] = {}
        # A sample that failed in any epoch has no value.
        for scorer, score in ((sample.scores or {}) if not sample.error else {}).items():
            parts = score.value if isinstance(score.value, dict) else {"": score.value}
            for part, value in parts.items():
                scores[f"{scorer}/{part}" if part else scorer] = value
        epochs[str(sample.id)].append(scores)
        texts[str(sample.id)] = (
            sample.input
            if isinstance(sample.input, str)
            # without the ids of messages, which are random
            else [message.model_dump(include={"role", "content"}) for message in sample.input]
        )
    rows: Rows = []
    columns = dict.fromkeys(column for runs in epochs.values() for run in runs for column in run)
    for name, runs in epochs.items():
        row = {"id": name, "input": texts[name], **dict.fromkeys(columns)}
        if value_column in columns:
            where = f"{path}, sample {name}: {value_column}"
            row[value_column] = fmean(
                _inspect_number(run[value_column], where) if value_column in run else nan
                for run in runs
            )
        rows.append(row)
    return rows


def _inspect_number(value: Any, where: str) -> float:
    """Return a value as Inspect reads it: C is 1, P .5, I and N 0."""
    from inspect_ai.scorer import value_to_float

    words = ("c", "p", "i", "n", "yes", "no", "true", "false")
    if isinstance(value, str) and value.lower() not in words:
        return _number(value, where)
    if not isinstance(value, str | int | float):
        raise DataError(f"{where} is not a number: {str(value)[:60]!r}")
    return float(value_to_float()(value))
