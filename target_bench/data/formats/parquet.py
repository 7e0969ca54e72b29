"""Parquet files, with errors that name file, record and column."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.data.formats.cells import arrow_values

if TYPE_CHECKING:
    import pyarrow

_RECORDS_AT_A_TIME = 128


def parquet_records(release: Release, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, record) of every row of a Parquet file, read a batch at a time.

    Raises:
        DataError: it is not a Parquet file, two columns have the same name, or Python has no such
            value.
    """
    number = 0
    with _opened(release, path) as file:
        names = file.schema_arrow.names
        for name in names:
            if names.count(name) > 1:
                raise DataError(f"{path}: there are {names.count(name)} columns named {name!r}")
        for batch in _read(path, file.iter_batches(batch_size=_RECORDS_AT_A_TIME)):
            place = f"{path}, records {number + 1} to {number + batch.num_rows}"
            for record in arrow_values(batch, place):
                number += 1
                yield f"{path}, record {number}", record


def parquet_table(release: Release, path: Path) -> "pyarrow.Table":
    """Return the whole file as an Arrow table.

    Raises:
        DataError: it is not a Parquet file.
    """
    with _opened(release, path) as file, _errors(path):
        return file.read()


@contextmanager
def _opened(release: Release, path: Path) -> Iterator[Any]:
    from pyarrow import parquet

    release.note(path)
    with _errors(path):
        file = parquet.ParquetFile(path)
    with file:
        yield file


def _read(path: Path, batches: Iterator[Any]) -> Iterator[Any]:
    with _errors(path):
        yield from batches


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{path}: cannot be read as Parquet: {error}. Write or download it again."
        ) from error
