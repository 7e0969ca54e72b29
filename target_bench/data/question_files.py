"""Questions that were written for tables, as files beside the tables or with a copy of them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.release import Release
from target_bench.core.schema import NO_DATABASE, Cell, Corpus, Query, Table
from target_bench.data.formats import detect, own_queries
from target_bench.data.formats.database_files import DatabaseFile
from target_bench.data.formats.own_folder import TableFolder
from target_bench.data.load import is_path, loader

_FILE = "queries.jsonl"


def file_beside(corpus: str, add: bool) -> Path:
    """Return the file of questions that lies beside the tables of a path.

    Args:
        corpus: a corpus as it is named on the command line.
        add: whether questions may be there already.

    Raises:
        ConfigError: there is no such corpus, it has no such file, or there are questions and
            ``add`` is false.
        DataError: there is nothing in a known layout.
    """
    path = _place(corpus)
    if path is None:
        loader(corpus)  # a name that is not known is reported as such
        raise ConfigError(
            f"{corpus}: questions cannot be put beside these tables; name a new folder with -o, "
            "which gets a copy of the tables and the questions"
        )
    folder = Release(path.parent, str(path.parent))
    names = (path.name, *own_queries.FILES)
    there = next(filter(None, (folder.find(name) for name in names)), None)
    if there is None or (add and there == path):
        return path
    more = "" if there != path else "--add adds to them; "
    raise ConfigError(
        f"{there}: there are questions already; {more}-o FOLDER writes the new ones, and a copy of "
        "the tables, into a new folder"
    )


def _place(corpus: str) -> Path | None:
    if not is_path(corpus):
        return None
    path, settings = detect.path_and_settings(corpus)
    found = detect.of_path(path, settings)
    if isinstance(found, DatabaseFile):
        return path.with_name(f"{path.stem}.{_FILE}")
    return path / _FILE if isinstance(found, TableFolder) else None


def written(queries: Sequence[Query], path: Path) -> int:
    """Add questions to a file, which is made if it is missing; those that it has are left out.

    Args:
        queries: the questions; ids that the file has already get another number.
        path: a file of JSON lines in the form of ``queries.jsonl``.

    Returns:
        How many were added.

    Raises:
        DataError: what is there cannot be read.
        StoreError: it cannot be written.
    """
    release = Release(path.parent, str(path.parent))
    earlier = [record for _, record in release.json_lines(path)] if path.exists() else []
    known = {record.get("query") for record in earlier if isinstance(record, dict)}
    taken = {str(record.get("query_id")) for record in earlier if isinstance(record, dict)}
    new = [query for query in queries if query.text not in known]
    before = path.read_bytes() if path.exists() else b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    _write(path, [before, *_lines(map(record_of, _renumbered(new, taken)))])
    return len(new)


def _renumbered(queries: Iterable[Query], taken: set[str]) -> Iterator[Query]:
    numbers = (f"synthetic-{number:04d}" for number in range(1, 10**9))
    free = (name for name in numbers if name not in taken)
    return (replace(query, id=name) for query, name in zip(queries, free, strict=False))


def write_folder(queries: Sequence[Query], corpus: Corpus, folder: Path) -> None:
    """Write tables and questions into a new folder, in TARGET's layout.

    Raises:
        ConfigError: the folder holds something.
        StoreError: it cannot be written.
    """
    check_new(folder)
    _write(folder / "corpus.jsonl", _lines(map(_table, corpus)))
    _write(folder / _FILE, _lines(map(record_of, queries)))


def check_new(folder: Path) -> None:
    """See that a folder is empty or not there.

    Raises:
        ConfigError: it holds something, or is a file.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"-o {folder}: is there already; name a new folder")


def record_of(query: Query) -> dict[str, Any]:
    """Return a question as a line of ``queries.jsonl``.

    Raises:
        DataError: its gold tables are of several databases, for which there is no form.
    """
    databases = {table.database_id for table in query.gold} or {query.database_id}
    if len(databases) > 1:
        raise DataError(
            f"query {query.id!r:.60}: its gold tables are of several databases, which no line of "
            "queries.jsonl can name; `labels read -o labels.qrels` writes them as judgements"
        )
    (database,) = databases
    names = [table.table_id for table in query.gold]
    answer = query.answer if isinstance(query.answer, str) else list(query.answer)
    return {
        "query_id": query.id,
        "query": query.text,
        "table_id": names[0] if len(names) == 1 else names,
        **({} if database == NO_DATABASE else {"database_id": database}),
        "answer": answer,
        **query.metadata,
    }


def _table(table: Table) -> dict[str, Any]:
    rows = [list(map(_plain, row)) for row in table.rows]
    grid = table.grid and [[list(cell) for cell in row] for row in table.grid.rows]
    return {
        "database_id": table.id.database_id,
        "table_id": table.id.table_id,
        "table": [list(table.header), *rows],
        "context": dict(table.context),
        **({"grid": grid} if grid else {}),
    }


def _plain(cell: Cell) -> Any:
    return cell.hex() if isinstance(cell, bytes) else cell


def _lines(records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    for record in records:
        text = json.dumps(record, ensure_ascii=False)
        yield f"{text}\n".encode("utf-8", "backslashreplace")


def _write(path: Path, content: Iterable[bytes]) -> None:
    try:
        atomic_write(path, content)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error
