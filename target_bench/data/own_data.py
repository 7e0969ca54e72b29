"""Data of your own as a corpus: data frames, a folder, a database file.

Data frames are those of pandas, Polars, PyArrow, and any that export Arrow's C stream.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import CorpusInfo, Dataset, Table, TableId
from target_bench.data.formats import declaration, detect, own_queries
from target_bench.data.formats.cells import arrow_grid, arrow_values, without_index
from target_bench.data.formats.declaration import served_tasks
from target_bench.data.load import dataset, folder_of, is_path, read, split_of


def from_dataframe(
    tables: Mapping[str, Any],
    queries: Any = None,
    *,
    context: Mapping[str, Mapping[str, Any]] | None = None,
    name: str = "frames",
    split: str = declaration.DEFAULT_SPLIT,
) -> Dataset:
    """Make a corpus of data frames.

    Args:
        tables: table id -> data frame (pandas, Polars, PyArrow or any other with
            ``__arrow_c_stream__``), or a mapping of column names to lists. Of pandas, an index that
            has a name is a column.
        queries: a data frame with the columns ``query_id``, ``query``, ``table_id`` (one id or a
            list) and perhaps ``answer``, or an iterable of such mappings; other columns become
            metadata. With a column ``split``, those of the split are taken. None: the tables are
            searched without questions.
        context: table id -> what is to be known about it (``title``, ``section_title``, ...); a
            table without a title here has its id as title.
        name: what the corpus is called in results.
        split: what the split is called in results, and in the column ``split`` if there is one.

    Raises:
        DataError: a value is not a data frame, a field is missing or of another type, or a gold
            table is not among the tables.
    """
    info = CorpusInfo(
        name=name,
        title=name,
        tasks=served_tasks(with_databases=False),
        splits=(split,),
        licence="your own",
        citation="your own",
        source="data frames",
        any_task=True,
    )
    if not isinstance(tables, Mapping):
        raise DataError(f"tables should map ids to data frames, but is {type(tables).__name__}")
    about = context or {}
    for table_id, entries in about.items():
        if table_id not in tables:
            raise DataError(f"context names the table {table_id!r}, which is not among the tables")
        if not isinstance(entries, Mapping):
            raise DataError(
                f"context of the table {table_id!r} should be a mapping, as {{'title': ...}}, but "
                f"is {entries!r:.80}"
            )
    made = [
        _table(str(table_id), frame, {"title": str(table_id)} | dict(about.get(table_id, {})))
        for table_id, frame in tables.items()
    ]
    records = [] if queries is None else _records(queries)
    places = ((f"query {number}", record) for number, record in enumerate(records, 1))
    found = [
        own_queries.query(record, place)
        for place, record in places
        if own_queries.split_of(record, place, default=split) == split
    ]
    return dataset(info, split, made, found, tables_alone=queries is None)


def _table(table_id: str, frame: Any, context: Mapping[str, Any]) -> Table:
    place = f"table {table_id!r}"
    header, rows = arrow_grid(_arrow(frame, place), place)
    about = {name: own_queries.converted(value, name, place) for name, value in context.items()}
    return Table(TableId("0", table_id), header, rows, about)


def _records(queries: Any) -> Iterable[Any]:
    if isinstance(queries, Mapping) or hasattr(queries, "__arrow_c_stream__"):
        return arrow_values(without_index(_arrow(queries, "queries")), "queries")
    try:
        return [dict(record) if isinstance(record, Mapping) else record for record in queries]
    except TypeError as error:
        raise DataError(
            f"queries: {type(queries).__name__} is neither a data frame nor a list of records"
        ) from error


def _arrow(frame: Any, place: str) -> Any:
    import pyarrow

    try:
        if type(frame).__module__.partition(".")[0] == "pandas":
            return pyarrow.Table.from_pandas(frame, preserve_index=True)
        return pyarrow.table(frame)
    except (pyarrow.ArrowException, AttributeError, TypeError, ValueError, OverflowError) as error:
        advice = "Give a frame whose columns have one type each, as after frame.astype(str)."
        if "uplicate column names" in str(error):
            advice = "Give every column a name of its own."
        raise DataError(
            f"{place}: {type(frame).__name__} is not a data frame that Arrow can read ({error}). "
            f"{advice}"
        ) from error


def from_folder(folder: str | Path, split: str | None = None, *, skip_bad: bool = False) -> Dataset:
    """Load tables and queries of your own.

    Args:
        folder: a folder in one of three layouts. Your own: ``tables/`` with a CSV, TSV, Parquet or
            JSON-lines file a table, and ``queries.jsonl``. TARGET's: ``corpus`` and ``queries`` as
            Parquet or JSON lines. BEIR's: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/``.
        split: one of the splits of its queries; default: ``test`` where there is one.
        skip_bad: whether files of your own layout that cannot be read are left out, with the
            queries about them, and named in the notes.

    Raises:
        ConfigError: the split does not exist, or ``skip_bad`` is given for another layout.
        DataError: files are missing or broken.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder")
    plugin = detect.of_path(folder, {"skip_bad": True} if skip_bad else None)
    return read(plugin, folder_of(plugin, None), split_of(plugin, split))


def from_database(
    file: str | Path, queries: str | Path | None = None, split: str | None = None
) -> Dataset:
    """Load the tables of a SQLite or DuckDB file, and queries from a file beside it.

    Args:
        file: the database, opened read-only. Its name without suffix is the database id.
        queries: a file in the form of ``queries.jsonl``; default: ``<name>.queries.jsonl`` or
            ``queries.jsonl`` in the folder of the database.
        split: one of the splits of its queries; default: ``test`` where there is one.

    Raises:
        ConfigError: the split does not exist.
        DataError: a file is missing or broken.
    """
    from target_bench.data.formats.database_files import DatabaseFile

    plugin = DatabaseFile(Path(file), Path(queries) if queries else None)
    return read(plugin, folder_of(plugin, None), split_of(plugin, split))


def skipping_bad(name: str) -> str:
    """Return the path of a corpus with the setting ``skip_bad``.

    Raises:
        ConfigError: the corpus is not the path of a user's own data.
    """
    if not is_path(name):
        raise ConfigError(f"--skip-bad is for files of your own; {name} is not a path")
    _, settings = detect.path_and_settings(name)
    return f"{name}{',' if settings else ':'}skip_bad=true"
