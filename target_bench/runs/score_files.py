"""``scores.json`` and the Parquet tables of values, as they are written and as they are read.

``per_query.parquet`` has a row for each query and a column for each metric or property;
``statistics.parquet`` a column of lists for each metric that is more than a mean of these values.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import StoreError, reason
from target_bench.core.files import DamageError, check_file, parse_json, remove_seal
from target_bench.core.metric import AnswerCounts, Counts, Score, to_mean_statistics

CountsT = TypeVar("CountsT", Counts, AnswerCounts)
Floats = NDArray[np.float64]

SLICE_PREFIX = "slice."
"""How the columns of ``per_query.parquet`` begin that hold a property of the queries."""

PER_QUERY = "per_query.parquet"
STATISTICS = "statistics.parquet"


@dataclass(frozen=True)
class StoredScores:
    """What ``scores.json`` holds."""

    # metric name -> score, in the order in which they are recorded; empty where no query has a
    # reference
    scores: Mapping[str, Score]
    counts: Counts  # the denominators of the rankings
    answers: AnswerCounts | None  # the denominators of the answers; None for a run of rankings
    report: Mapping[str, Any]  # what else the task says of the answers; empty where it says nothing
    code: Mapping[str, str]  # metric without its cutoff -> hash of the code that computed it

    @property
    def n_queries(self) -> int:
        """How many queries were run."""
        return (self.answers or self.counts).asked

    @property
    def n_failed(self) -> int:
        """How many of them failed."""
        return (self.answers or self.counts).failed


@dataclass(frozen=True, eq=False)
class QueryValues:
    """The values of every scored query."""

    ids: Sequence[str]  # (n,) the queries, sorted by id
    properties: Mapping[str, Sequence[Any]]  # property -> (n,) its value of each query
    # metric name -> (n,) value of each query alone; NaN where the metric is not over it
    values: Mapping[str, Floats]
    # metric name -> (n, m) what each query adds to the score; sums of rows give scores
    statistics: Mapping[str, Floats]
    not_means: frozenset[str]  # the metrics whose statistics are stored besides their values

    @property
    def are_synthetic(self) -> bool:
        """Whether any question is synthetic."""
        return any(self.properties.get("synthetic", ()))


def read_scores(folder: Path) -> StoredScores:
    """Return the scores of a run; ``StoreError`` where there are none, or the file is damaged."""
    path = folder / "scores.json"
    if not path.exists():
        raise StoreError(
            f"{folder}: the run is not finished (no scores.json); finish it with the command that "
            f"began it (its options: target-bench runs show {folder})"
        )
    try:
        content = remove_seal(parse_json(path.read_bytes()))
        answers = content.get("answers")
        return StoredScores(
            {name: Score.from_json(score) for name, score in content["scores"].items()},
            _read_counts(Counts, content["counts"]),
            None if answers is None else _read_counts(AnswerCounts, answers),
            content.get("report") or {},
            content.get("code") or {},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{path}: cannot be read ({reason(error)}); remove it and run the same command again"
        ) from error


def _read_counts(kind: type[CountsT], record: Mapping[str, Any]) -> CountsT:
    """Return the denominators; entries that this version does not know are left out."""
    return kind(
        **{field.name: record[field.name] for field in fields(kind) if field.name in record}
    )


def read_values(folder: Path, sha256s: Mapping[str, str]) -> QueryValues:
    """Return the values of every query, from files with these SHA-256."""
    check_tables(folder, sha256s)
    table, order = _read_table(folder / PER_QUERY)
    properties, per_query = {}, {}
    for name in table.column_names:
        if name.startswith(SLICE_PREFIX):
            column = table[name].to_pylist()
            properties[name.removeprefix(SLICE_PREFIX)] = [column[row] for row in order]
        elif name != "query_id":
            per_query[name] = _read_floats(table[name])[order]
    statistics = {name: to_mean_statistics(column) for name, column in per_query.items()}
    not_means: frozenset[str] = frozenset()
    if (path := folder / STATISTICS).exists():
        stored, rows = _read_table(path)
        not_means = frozenset(stored.column_names) & per_query.keys()
        for name in not_means:
            flat = stored[name].combine_chunks().flatten().to_numpy()
            statistics[name] = flat.astype(np.float64).reshape(len(stored), -1)[rows]
    ids = table["query_id"].to_pylist()
    return QueryValues([ids[row] for row in order], properties, per_query, statistics, not_means)


def _read_floats(column: Any) -> Floats:
    """Return a column as numbers, NaN for null; ``to_numpy`` of Arrow imports pandas for these."""
    array = column.combine_chunks()
    if not len(array) or str(array.type) != "double":
        values = [np.nan if value is None else value for value in array.to_pylist()]
        return np.array(values, dtype=np.float64)
    valid, content = array.buffers()
    rows = slice(array.offset, array.offset + len(array))
    numbers = np.frombuffer(content, np.float64)[rows].copy()
    if valid is not None:
        numbers[np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[rows] == 0] = (
            np.nan
        )
    return numbers


def _read_table(path: Path) -> tuple[Any, list[int]]:
    """Return a table, and its rows in the order of their query ids."""
    from pyarrow import ArrowException, parquet

    try:
        # ``read_table`` imports pyarrow.dataset and, where it is installed, pandas; and sorting in
        # Arrow its engine: a third of the time of a short run.
        with parquet.ParquetFile(path) as file:
            table = file.read()
        ids = table["query_id"].to_pylist()
        return table, sorted(range(len(ids)), key=ids.__getitem__)
    except (OSError, KeyError, TypeError, ArrowException) as error:
        raise StoreError(
            f"{path}: cannot be read ({reason(error)}); run the same command again"
        ) from error


def check_tables(folder: Path, sha256s: Mapping[str, str]) -> None:
    """Raise ``StoreError`` unless the tables of values are those that the manifest names."""
    for name, sha256 in sha256s.items():
        path = folder / Path(name).name  # a manifest of others may name any path
        try:
            check_file(path, sha256)
        except (OSError, DamageError) as error:
            raise StoreError(
                f"{path}: damaged, or not of these scores ({error}); run the same command again"
            ) from error


def encode_table(columns: Mapping[str, Any]) -> bytes:
    """Return a Parquet file with these columns."""
    import pyarrow
    from pyarrow import parquet

    buffer = pyarrow.BufferOutputStream()
    arrays = {name: _to_array(values) for name, values in columns.items()}
    parquet.write_table(pyarrow.table(arrays), buffer)
    encoded: bytes = buffer.getvalue().to_pybytes()
    return encoded


def hash_columns(columns: Mapping[str, Any]) -> str:
    """Return the SHA-256 of columns, in hexadecimal, without an import of Arrow."""
    hashed = hashlib.sha256()
    for name, values in columns.items():
        if isinstance(values, np.ndarray):
            content = f"{values.dtype}{values.shape}".encode() + values.tobytes()
        else:
            content = json.dumps([*values]).encode()
        hashed.update(json.dumps([name, len(content)]).encode() + content)
    return hashed.hexdigest()


def _to_array(values: Any) -> Any:
    """Return values as an array: NaN is null, and lone surrogates are written as escapes."""
    import pyarrow

    if isinstance(values, np.ndarray) and values.ndim == 2:
        return _to_lists(values)
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return _from_buffers(values, np.isnan(values))
    plain = [_escape_surrogates(value) for value in values]
    kinds = {type(value) for value in plain} - {type(None)}
    missing = np.array([value is None for value in plain], dtype=np.bool_)
    # From its buffers: ``pyarrow.array`` imports pandas where that is installed, which takes longer
    # than all the rest of a short run.
    if kinds == {str}:
        builder = pyarrow.lib.StringBuilder()
        builder.append_values(plain)
        return builder.finish()
    if kinds in ({int}, {float}, {bool}):
        (kind,) = kinds
        filled = np.array([kind() if value is None else value for value in plain])
        if filled.dtype in (np.int64, np.float64, np.bool_):
            return _from_buffers(filled, missing | (filled != filled))
    try:
        return pyarrow.array(plain, from_pandas=True)
    except OverflowError:  # numbers beyond 64 bits are kept as text
        return pyarrow.array([None if value is None else str(value) for value in plain])


def _escape_surrogates(value: Any) -> Any:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _from_buffers(values: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    import pyarrow

    valid = pyarrow.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    kind = pyarrow.from_numpy_dtype(values.dtype)
    bits = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else values
    content = pyarrow.py_buffer(np.ascontiguousarray(bits))
    return pyarrow.Array.from_buffers(kind, len(values), [valid, content])


def _to_lists(rows: Floats) -> Any:
    """Return lists of fixed length, of the smallest type that holds every number."""
    import pyarrow

    fitting = (rows.astype(kind) for kind in (np.uint8, np.uint16, np.uint32))
    with np.errstate(invalid="ignore"):
        small = next((converted for converted in fitting if np.array_equal(converted, rows)), rows)
    flat = small.ravel()
    values = _from_buffers(flat, np.isnan(flat))
    return pyarrow.FixedSizeListArray.from_arrays(values, rows.shape[1])
