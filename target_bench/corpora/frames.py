"""Data frames as a corpus: pandas, Polars, PyArrow, whatever speaks Arrow's C stream."""

from collections.abc import Iterable, Mapping
from typing import Any

from target_bench.corpora import own
from target_bench.corpora.cells import cells
from target_bench.corpora.store import dataset
from target_bench.errors import DataError
from target_bench.interfaces import Dataset
from target_bench.schema import CorpusInfo, Table, TableId


def from_dataframe(
    tables: Mapping[str, Any],
    queries: Any,
    *,
    context: Mapping[str, Mapping[str, Any]] | None = None,
    name: str = "frames",
    split: str = own.DEFAULT_SPLIT,
) -> Dataset:
    """Make a corpus of data frames.

    Args:
        tables: table id -> data frame (pandas, Polars, PyArrow or any other with
            ``__arrow_c_stream__``).
        queries: a data frame with the columns ``query_id``, ``query``, ``table_id`` (one id or a
            list) and perhaps ``answer``, or an iterable of such mappings; other columns become
            metadata.
        context: table id -> what is to be known about it (``title``, ``section_title``, ...);
            default: the id as title.
        name: what the corpus is called in results.
        split: what the split is called in results.

    Raises:
        DataError: something is no data frame, a field is missing or of another type, or a gold
            table is not among the tables.
    """
    info = CorpusInfo(
        name=name,
        title=name,
        tasks=("retrieval",),
        splits=(split,),
        licence="your own",
        citation="your own",
        source="data frames",
    )
    about = context or {}
    made = [
        _table(str(table_id), frame, about.get(table_id, {"title": str(table_id)}))
        for table_id, frame in tables.items()
    ]
    found = [
        own.query(record, f"query {number}") for number, record in enumerate(_records(queries), 1)
    ]
    return dataset(info, split, made, found)


def _table(table_id: str, frame: Any, context: Mapping[str, Any]) -> Table:
    place = f"table {table_id!r}"
    arrow = _arrow(frame, place)
    columns = [column.to_pylist() for column in arrow.columns]
    try:
        rows = [list(cells(row)) for row in zip(*columns, strict=True)]
    except TypeError as error:
        raise DataError(f"{place}: {error}") from error
    return Table(TableId("0", table_id), list(arrow.column_names), rows, dict(context))


def _records(queries: Any) -> Iterable[Any]:
    if isinstance(queries, Mapping) or hasattr(queries, "__arrow_c_stream__"):
        records: list[Any] = _arrow(queries, "queries").to_pylist()
        return records
    return [dict(record) if isinstance(record, Mapping) else record for record in queries]


def _arrow(frame: Any, place: str) -> Any:
    import pyarrow

    try:
        table = pyarrow.table(frame)
        index = [name for name in table.column_names if name.startswith("__index_level_")]
        return table.drop_columns(index)  # what pandas adds of its index
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise DataError(
            f"{place}: {type(frame).__name__} is no data frame that Arrow can read ({error})"
        ) from error
