"""Data of your own: data frames as a corpus, and questions that are written beside tables.

Data frames are those of pandas, Polars, PyArrow, and any that export Arrow's C stream.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.release import Release
from target_bench.core.schema import NO_DATABASE, Corpus, Dataset, Query, Table, TableId
from target_bench.core.unicode_text import compose
from target_bench.data.formats.database_files import Databases
from target_bench.data.formats.file_tables import PARTS, find_suffix
from target_bench.data.formats.own_folder import TableFolder
from target_bench.data.formats.queries import (
    DEFAULT_SPLIT,
    FILES,
    describe_own_data,
    normalize_split,
    read_query,
    read_split,
)
from target_bench.data.formats.records import (
    convert_value,
    drop_index,
    read_arrow_grid,
    read_arrow_values,
)
from target_bench.data.load import loader
from target_bench.data.reading import make_dataset
from target_bench.data.table_text import add_languages


def from_dataframe(
    tables: Mapping[str, Any],
    queries: Any = None,
    *,
    context: Mapping[str, Mapping[str, Any]] | None = None,
    name: str = "frames",
    split: str = DEFAULT_SPLIT,
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
    split = normalize_split(split)
    if not isinstance(tables, Mapping):
        raise DataError(
            f"tables: expected a mapping of ids to data frames, found {type(tables).__name__}"
        )
    context = context or {}
    for table_id, entries in context.items():
        if table_id not in tables:
            raise DataError(f"context names the table {table_id!r}, which is not among the tables")
        if not isinstance(entries, Mapping):
            raise DataError(
                f"context of the table {table_id!r}: expected a mapping, as in {{'title': ...}}, "
                f"found {entries!r:.80}"
            )
    converted = []
    for table_id, frame in tables.items():
        place = f"table {table_id!r}"
        header, rows = read_arrow_grid(_convert_to_arrow(frame, place), place)
        known = {"title": str(table_id), **context.get(table_id, {})}
        entries = {name: convert_value(value, name, place) for name, value in known.items()}
        converted.append(Table(TableId("0", str(table_id)), header, rows, entries))
    records = () if queries is None else _read_query_records(queries)
    return make_dataset(
        describe_own_data(name, name, "data frames", (split,)),
        split,
        add_languages(converted),
        [
            read_query(record, f"query {number}")
            for number, record in enumerate(records, 1)
            if read_split(record, f"query {number}", default=split) == split
        ],
        tables_alone=queries is None,
    )


def _read_query_records(queries: Any) -> Iterable[Any]:
    if isinstance(queries, Mapping) or hasattr(queries, "__arrow_c_stream__"):
        return read_arrow_values(drop_index(_convert_to_arrow(queries, "queries")), "queries")
    try:
        return [dict(record) if isinstance(record, Mapping) else record for record in queries]
    except TypeError as error:
        raise DataError(
            f"queries: {type(queries).__name__} is neither a data frame nor a list of records"
        ) from error


def _convert_to_arrow(frame: Any, place: str) -> Any:
    import pyarrow

    try:
        if type(frame).__module__.partition(".")[0] == "pandas":
            return pyarrow.Table.from_pandas(frame, preserve_index=True)
        return pyarrow.table(frame)
    except (pyarrow.ArrowException, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"{place}: {type(frame).__name__} is not a data frame that Arrow can read ({error}). "
            "Give a frame whose columns have a name and one type each, as after frame.astype(str)."
        ) from error


def find_table_file(dataset: Dataset, table_id: TableId) -> str | None:
    """Return the file of a table of a user's folder, with its sheet; None for other tables."""
    for name in dataset.files if dataset.info.any_task else ():
        suffix = find_suffix(name) or ""
        stem = compose(name.removesuffix(suffix).removeprefix("tables/"))
        if stem == table_id.table_id:
            return name
        part = PARTS.get(suffix.lower())
        if part and table_id.table_id.startswith(f"{stem}/"):
            return f"{name}, {part} {table_id.table_id.removeprefix(f'{stem}/')}"
    return None


# Questions that are written beside the tables

_QUESTIONS = "queries.jsonl"


def find_question_file(corpus: str, add: bool) -> Path:
    """Return the file of questions that lies beside the tables of a path."""
    plugin = loader(corpus)
    if isinstance(plugin, TableFolder) and plugin.embedded:
        path = plugin.embedded / _QUESTIONS
    elif isinstance(plugin, Databases) and plugin.path.is_file():
        path = plugin.path.with_name(f"{plugin.path.stem}.{_QUESTIONS}")
    else:
        raise ConfigError(
            f"{corpus}: questions cannot be put beside these tables; name a new folder with -o, "
            "which gets a copy of the tables and the questions"
        )
    folder = Release(path.parent, str(path.parent))
    there = next(filter(None, map(folder.find, (path.name, *FILES))), None)
    if there is None or (add and there == path):
        return path
    more = "" if there != path else "--add adds to them; "
    raise ConfigError(
        f"{there}: there are questions already; {more}-o FOLDER writes the new ones, and a copy of "
        "the tables, into a new folder"
    )


def write_questions(queries: Sequence[Query], path: Path) -> int:
    """Add questions to a file of JSON lines, which may be missing, and return how many are new.

    Those whose text it has are left out; ids that it has get another number.
    """
    release = Release(path.parent, str(path.parent))
    lines = [record for _, record in release.json_lines(path)] if path.exists() else []
    earlier = [record for record in lines if isinstance(record, dict)]
    texts = {record.get("query") for record in earlier}
    taken = {str(record.get("query_id")) for record in earlier}
    new = [query for query in queries if query.text not in texts]
    free = (name for n in count(1) if (name := f"synthetic-{n:04d}") not in taken)
    before = path.read_bytes() if path.exists() else b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    added = _encode_lines(_encode_query(replace(query, id=next(free))) for query in new)
    _write(path, [before, *added])
    return len(new)


def write_folder(queries: Sequence[Query], corpus: Corpus, folder: Path) -> None:
    """Write tables and questions into a new folder, in TARGET's layout."""
    check_new_folder(folder)
    _write(folder / "corpus.jsonl", _encode_lines(map(_encode_table, corpus)))
    _write(folder / _QUESTIONS, _encode_lines(map(_encode_query, queries)))


def check_new_folder(folder: Path) -> None:
    """Check that a folder is empty or not there; else raise a ConfigError."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"-o {folder}: is not an empty folder; name a new one")


def _encode_query(query: Query) -> dict[str, Any]:
    databases = {table.database_id for table in query.gold} or {query.database_id}
    if len(databases) > 1:
        raise DataError(
            f"query {query.id!r:.60}: its gold tables are in several databases, but a line of "
            "queries.jsonl names only one"
        )
    (database,) = databases
    names = [table.table_id for table in query.gold]
    return {
        "query_id": query.id,
        "query": query.text,
        "table_id": names[0] if len(names) == 1 else names,
        **({} if database == NO_DATABASE else {"database_id": database}),
        "answer": query.answer if isinstance(query.answer, str) else list(query.answer),
        **query.metadata,
    }


def _encode_table(table: Table) -> dict[str, Any]:
    rows = [[cell.hex() if isinstance(cell, bytes) else cell for cell in row] for row in table.rows]
    return {
        "database_id": table.id.database_id,
        "table_id": table.id.table_id,
        "table": [list(table.header), *rows],
        "context": dict(table.context),
        **({"grid": table.grid.to_json()} if table.grid else {}),
    }


def _encode_lines(lines: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    for line in lines:
        yield f"{json.dumps(line, ensure_ascii=False)}\n".encode("utf-8", "backslashreplace")


def _write(path: Path, content: Iterable[bytes]) -> None:
    try:
        atomic_write(path, content)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error
