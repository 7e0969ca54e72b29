"""``scores.json`` and the Parquet tables of values, as they are written and as they are read.

``per_query.parquet`` has a row for each query and a column for each metric or slice;
``statistics.parquet`` a column of lists for each metric that is more than a mean of these values.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import StoreError, reason
from target_bench.core.files import DamageError, check_file, parse_json, unsealed
from target_bench.core.metric import AnswerCounts, Counts, Score

CountsT = TypeVar("CountsT", Counts, AnswerCounts)


@dataclass(frozen=True)
class StoredScores:
    """What ``scores.json`` holds.

    Attributes:
        scores: metric name -> score, in the order in which they are recorded; empty where no query
            has a reference.
        counts: the denominators of the rankings.
        answers: the denominators of the answers; None for a run of rankings.
        report: what else the task says of the answers; empty where it says nothing.
        code: metric without its cutoff -> hash of the code that computed it.
    """

    scores: Mapping[str, Score]
    counts: Counts
    answers: AnswerCounts | None
    report: Mapping[str, Any]
    code: Mapping[str, str]


def read_scores(folder: Path) -> StoredScores:
    """Return the scores of a run.

    Raises:
        StoreError: the run is not finished, or the file is damaged.
    """
    path = folder / "scores.json"
    if not path.exists():
        raise StoreError(
            f"{folder}: the run is not finished (no scores.json); run the same command again, "
            f"which goes on with it (its options: target-bench runs show {folder})"
        )
    try:
        content = unsealed(parse_json(path.read_bytes()))
        answers = content.get("answers")
        return StoredScores(
            {name: Score.from_json(score) for name, score in content["scores"].items()},
            _counts(Counts, content["counts"]),
            None if answers is None else _counts(AnswerCounts, answers),
            content.get("report") or {},
            content.get("code") or {},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{path}: cannot be read ({reason(error)}); remove it and run the same command again"
        ) from error


def read_table(path: Path) -> Any:
    """Return a table of values or statistics, an Arrow table with ``query_id``.

    Raises:
        StoreError: it cannot be read.
    """
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path, partitioning=None)
        table.column("query_id")
    except (OSError, KeyError, ArrowException) as error:
        raise StoreError(
            f"{path}: cannot be read ({reason(error)}); run the same command again"
        ) from error
    return table


def check_tables(folder: Path, sha256s: Mapping[str, str]) -> None:
    """See that the tables of values are those that were written with the scores.

    Args:
        folder: the run folder.
        sha256s: name of a file -> its SHA-256, as the manifest has them.

    Raises:
        StoreError: they are not.
    """
    for name, sha256 in sha256s.items():
        path = folder / Path(name).name
        try:
            check_file(path, sha256)
        except (OSError, DamageError) as error:
            raise StoreError(
                f"{path}: damaged, or not of these scores ({error}); run the same command again"
            ) from error


def encoded_table(columns: Mapping[str, Any]) -> bytes:
    """Return a Parquet file with these columns."""
    import pyarrow
    from pyarrow import parquet

    buffer = pyarrow.BufferOutputStream()
    arrays = {name: _column(values) for name, values in columns.items()}
    parquet.write_table(pyarrow.table(arrays), buffer)
    encoded: bytes = buffer.getvalue().to_pybytes()
    return encoded


def hash_of_columns(columns: Mapping[str, Any]) -> str:
    """Return the SHA-256 of columns, in hexadecimal; it takes no import of Arrow's."""
    hashed = hashlib.sha256()
    for name, values in columns.items():
        if isinstance(values, np.ndarray):
            content = f"{values.dtype}{values.shape}".encode() + values.tobytes()
        else:
            content = json.dumps([*values]).encode()
        hashed.update(json.dumps([name, len(content)]).encode() + content)
    return hashed.hexdigest()


def _column(values: Any) -> Any:
    """Return values as an array: NaN is null, and lone surrogates are written as escapes.

    It is made from its buffers: ``pyarrow.array`` imports pandas where that is installed, which
    takes longer than all the rest of a short run.
    """
    import pyarrow

    if isinstance(values, np.ndarray) and values.ndim == 2:
        return _lists(values)
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return _from_buffers(values, np.isnan(values))
    plain = [_as_utf8(value) for value in values]
    kinds = {type(value) for value in plain} - {type(None)}
    missing = np.array([value is None for value in plain], dtype=np.bool_)
    if kinds == {str}:
        builder = pyarrow.lib.StringBuilder()
        builder.append_values(plain)
        return builder.finish()
    if kinds in ({int}, {float}, {bool}):
        (kind,) = kinds
        known = np.array([kind() if value is None else value for value in plain])
        if known.dtype in (np.int64, np.float64, np.bool_):
            return _from_buffers(known, missing | (known != known))
    return pyarrow.array(plain, from_pandas=True)


def _from_buffers(values: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    import pyarrow

    valid = pyarrow.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    kind = pyarrow.from_numpy_dtype(values.dtype)
    bits = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else values
    content = pyarrow.py_buffer(np.ascontiguousarray(bits))
    return pyarrow.Array.from_buffers(kind, len(values), [valid, content])


def _as_utf8(value: Any) -> Any:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _lists(rows: NDArray[np.float64]) -> Any:
    """Return lists of fixed length, of the smallest type that holds every number."""
    import pyarrow

    fitting = (rows.astype(kind) for kind in (np.uint8, np.uint16, np.uint32))
    with np.errstate(invalid="ignore"):
        small = next((converted for converted in fitting if np.array_equal(converted, rows)), rows)
    flat = small.ravel()
    values = _from_buffers(flat, np.isnan(flat))
    return pyarrow.FixedSizeListArray.from_arrays(values, rows.shape[1])


def _counts(kind: type[CountsT], record: Mapping[str, Any]) -> CountsT:
    """Return the denominators; entries that this version does not know are left out."""
    return kind(
        **{field.name: record[field.name] for field in fields(kind) if field.name in record}
    )
