"""Per-query values that another evaluation harness wrote, read and compared.

A file has a row for each query: CSV, TSV, JSON lines, a JSON list of objects, or Parquet; or it is
a log of Inspect. The user names the columns of ids and values: docs/significance.md has a command
for each harness.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Sequence
from math import isfinite, isnan, nan
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np

from target_bench.core.errors import ConfigError, DataError, reason
from target_bench.core.files import parse_json
from target_bench.core.metric import MetricSpec
from target_bench.reporting.rows import Comparison, Values, correct, make_rows
from target_bench.runs.slicing import make_mean

TEXTS = ("doc_hash", "vars", "user_input", "question", "query", "input")
"""Columns that hold the text of a query in the files of harnesses, or a hash of it."""

HAS_VALUE = "queries with a value"
"""The metric that a gate adds where the run lacks queries that the baseline has."""

_INSPECT = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}
"""Scores of Inspect that are words, as it reads them."""

Row = dict[Any, Any]


class Columns(NamedTuple):
    """Names of columns."""

    id: str
    value: str


def choose_columns(
    runs: Sequence[Any], id_column: str | None, value_column: str | None, for_runs: Sequence[str]
) -> Columns | None:
    """Return the columns of files of values, or None for runs, which have none.

    ``for_runs`` are the metrics and slices that were asked for.
    """
    if id_column and value_column:
        if for_runs:
            raise ConfigError(
                "--metric, --slice and --by (in Python metrics, slices and by) are for runs: files "
                "of values have one metric, named by --value, and no properties of queries"
            )
        return Columns(id_column, value_column)
    files = [str(run) for run in runs if isinstance(run, str | Path) and Path(run).is_file()]
    if files or id_column or value_column:
        raise ConfigError(
            f"{', '.join(files) or 'files of values'}: name the columns with --id and --value, as "
            "in --id question --value score (in Python id_column and value_column)"
        )
    return None


def compare_values(
    runs: Sequence[Any],
    columns: Columns,
    baseline: Any = None,
    misses: Literal["<", ">"] | None = None,
) -> Comparison:
    """Compare the means of per-query values that other harnesses wrote.

    Args:
        runs: the files.
        columns: their columns.
        baseline: the file that the others are compared with; default: the first.
        misses: of a gate: which values are worse, lower or higher ones. A query that the baseline
            has and another file lacks counts as the worst value; else it is left out.
    """
    paths = list(dict.fromkeys(Path(str(run)) for run in [*runs, baseline] if run))
    read = _read_files(paths, columns)
    if len(paths) < 2:
        named = ", ".join(map(str, paths))
        raise ConfigError(f"a comparison needs two files at least; named: {named}")
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else list(map(str, paths))
    base = names[paths.index(Path(str(baseline))) if baseline else 0]
    files = dict(zip(names, read, strict=True))
    paired = set.intersection(*map(set, files.values()))
    if not paired:
        firsts = ", ".join(f"{next(iter(file))!r:.60} in {name}" for name, file in files.items())
        raise DataError(f"the files have no query in common ({firsts}): name another column (--id)")
    order = [query for query in files[base] if misses or query in paired]
    values = np.array([[file.get(query, nan) for query in order] for file in files.values()])
    missing = np.isnan(values)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    is_share = low >= 0 and high <= 1
    spec = MetricSpec(
        "value",
        label=columns.value,
        scale="share" if is_share else "unbounded",
        highest=1.0 if is_share else max(-low, high),
        higher_is_better=misses != ">",
    )
    worst = max(high, 1.0) if misses == ">" else min(low, 0.0)
    has_value = MetricSpec("queries_with_a_value", label=HAS_VALUE)
    systems: dict[str, dict[str, Values]] = {}
    remarks = [] if misses else ["Higher values are taken to be better."]
    for name, row, gone in zip(files, np.where(missing, worst, values), missing, strict=True):
        systems[name] = {columns.value: Values(make_mean(columns.value, row, spec))}
        if missing.any():  # where the baseline has the worst value, a lost one costs nothing
            systems[name][HAS_VALUE] = Values(make_mean(HAS_VALUE, 1.0 - gone, has_value))
        if gone.any():
            remarks.append(
                f"{gone.sum():,} of {len(order):,} queries that {base} has a value of have none in "
                f"{name}: each counts as {spec.text(worst)}."
            )
    if any(len(file) != len(order) for file in files.values()):
        means = {name: spec.text(fmean(file.values())) for name, file in files.items()}
        each = (f"{name} {mean} (n = {len(files[name]):,})" for name, mean in means.items())
        remarks.append(f"Mean of each file by itself: {', '.join(each)}.")
    n_queries = len(set().union(*files.values()))
    corpus = f"n = {len(order):,}" + (f" of {n_queries:,}" if len(order) < n_queries else "")
    return Comparison(
        task="values of queries",
        corpora=(corpus,),
        systems=tuple(files),
        baseline=base,
        tested=tuple(systems[base]),
        rows=tuple(correct(make_rows(corpus, systems, base), systems[base])),
        folders={(corpus, name): path for name, path in zip(files, paths, strict=True)},
        remarks=tuple(remarks),
    )


# Reading


def _read_files(paths: Sequence[Path], columns: Columns) -> list[dict[str, float]]:
    """Return query id -> value of each file; queries of equal ids must have equal texts."""
    files = [_read_file(path, columns) for path in paths]
    texts = () if columns.id in TEXTS else TEXTS  # ids that are texts need no check
    for path, file in zip(paths[1:], files[1:], strict=True):
        for query, row in files[0].items():
            other = file.get(query, {})
            column = next((name for name in texts if row.get(name) and other.get(name)), None)
            if _write_text(row.get(column)) != _write_text(other.get(column)):
                raise DataError(
                    f"{columns.id} {query[:60]!r} names different queries in {paths[0]} and "
                    f"{path}: {column} is {row[column]!r:.60} and {other[column]!r:.60}. Pair them "
                    f"by it: --id {column}"
                )
    return [{query: row[columns.value] for query, row in file.items()} for file in files]


def _read_file(path: Path, columns: Columns) -> dict[str, Row]:
    """Return query id -> row, in which the value is a number."""
    rows: dict[str, Row] = {}
    try:
        read = _read_rows(path, columns.value)
        names = dict.fromkeys(name for row in read for name in row)
        for option, name in columns._asdict().items():
            if name not in names and read:
                listed = ", ".join(map(str, names))
                raise ConfigError(
                    f"{path}: has no column {name!r} (--{option}); its columns: {listed}"
                )
        for number, row in enumerate(read, start=1):
            query = _write_text(row.get(columns.id))
            if None in row:
                raise ValueError(f"row {number}: has more cells than the header")
            if not query:
                raise ValueError(f"row {number}: has no {columns.id}, so it cannot be paired")
            if query in rows:
                raise ValueError(
                    f"row {number}: has the {columns.id} {query[:60]!r} a second time; write each "
                    "query once"
                )
            value = row.get(columns.value)
            if str(value).strip().lower() not in ("", "none", "null", "nan"):
                value = _read_number(value, f"row {number}: {columns.value}")
                rows[query] = {**row, columns.value: value}
        if not rows:
            raise ValueError("holds no values")
    except (OSError, ValueError, csv.Error) as error:  # pyarrow's errors are of the first two
        raise DataError(f"{path}: {reason(error)[:300]}") from error
    return rows


def _write_text(value: Any) -> str:
    """Return an id or a text; a whole number is written without a decimal point."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas reads a column of whole numbers with a gap as floats
    if not isinstance(value, str | int):
        value = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return str(value).strip()


def _read_number(value: Any, where: str) -> float:
    text = str(value).strip().lower()
    try:
        number = float({"true": "1", "false": "0"}.get(text, text))
    except ValueError:
        number = nan
    if not isfinite(number):
        raise ValueError(f"{where} is not a finite number: {str(value)[:60]!r}")
    return number


def _read_rows(path: Path, value_column: str) -> list[Row]:
    suffix = path.suffix.lower()
    if suffix == ".eval":
        return _read_inspect(path, value_column)
    if suffix == ".parquet":
        import pyarrow.parquet

        rows: list[Row] = pyarrow.parquet.read_table(path).to_pylist()
    elif suffix in (".csv", ".tsv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter="," if suffix == ".csv" else "\t", strict=True)
            rows = list(reader)
            header = reader.fieldnames or ()
            if len(set(header)) < len(header):
                raise ValueError(f"two columns have one name: {', '.join(header)}")
    elif suffix in (".json", ".jsonl", ".ndjson"):
        text = path.read_text(encoding="utf-8-sig").strip()
        if not text.startswith("["):  # JSON lines; a text in them may hold U+2028
            text = "[" + ",\n".join(line for line in text.split("\n") if line.strip()) + "]"
        try:
            rows = parse_json(text)
        except ValueError as error:
            raise ValueError(f"is neither JSON lines nor a JSON list ({error})") from error
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("expected an object for each query: JSON lines, or a list of objects")
    else:
        raise ConfigError(
            f"{path}: --id and --value are for files of values, not for runs: .csv, .tsv, .jsonl, "
            ".ndjson, .json, .parquet or .eval"
        )
    return rows


def _read_inspect(path: Path, value_column: str) -> list[Row]:
    """Read a log of Inspect: a row a sample, a column a scorer; the mean of several epochs.

    Only the scores of ``value_column`` are read; the other columns are empty. A sample that failed
    in any epoch is left out, as one that was never asked.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise ConfigError(
            f"{path}: a log of Inspect is read by its package: pip install inspect-ai"
        ) from None
    rows: dict[Any, Row] = {}
    epochs: dict[Any, list[float]] = defaultdict(list)
    for sample in read_eval_log(str(path)).samples or ():
        scores: Row = {}
        for scorer, score in (sample.scores or {}).items():
            parts = score.value if isinstance(score.value, dict) else {"": score.value}
            scores |= {f"{scorer}/{part}" if part else scorer: parts[part] for part in parts}
        text = sample.input
        if not isinstance(text, str):  # the ids of messages are random
            text = [message.model_dump(include={"role", "content"}) for message in text]
        row = rows.setdefault(sample.id, {"id": sample.id, "input": text})
        score = scores.pop(value_column, None)
        if sample.error or score is None or score != score:  # NaN: not scored
            score = nan
        else:
            where = f"sample {sample.id}: {value_column}"
            score = _read_number(_INSPECT.get(str(score), score), where)
        epochs[sample.id].append(score)
        row |= dict.fromkeys(scores)
    for query, values in epochs.items():
        if not isnan(mean := fmean(values)):
            rows[query][value_column] = mean
    return [row for row in rows.values() if value_column in row] or list(rows.values())
