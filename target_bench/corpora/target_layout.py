"""The layout of the TARGET benchmark's own data, local or in the shape of its hub repositories.

``corpus`` holds ``database_id``, ``table_id``, ``table`` (rows of cells, the header first) and
``context``; ``queries`` holds ``query_id``, ``query``, ``answer``, ``table_id`` (one or a list) and
``database_id``. Each is one file or a file a split, Parquet or JSON lines, perhaps in shards.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from target_bench.corpora import own
from target_bench.corpora.cells import cells
from target_bench.errors import DataError
from target_bench.interfaces import CorpusLoader
from target_bench.release import Release, field
from target_bench.schema import Cell, CorpusInfo, Query, Table, TableId

_SHARD = re.compile(
    r"(?P<split>.+?)(-(?P<number>\d{5})-of-(?P<total>\d{5})(-[0-9a-f]+)?)?"
    r"\.(parquet|jsonl|jsonl\.gz)"
)
_SPLITS = {"dev": "validation", "val": "validation"}
_ANY = ""
_TABLES_AT_A_TIME = 128


class TargetLayout(CorpusLoader):
    """A folder in TARGET's layout.

    Args:
        folder: the folder.
        info: the corpus it is known to be; default: one named after the folder.

    Raises:
        DataError: a shard is missing.
    """

    def __init__(self, folder: Path, info: CorpusInfo | None = None) -> None:
        release = Release(folder, str(folder))
        splits = _shards(release, "queries") or _shards(release, "corpus")
        named = [split for split in splits if split != _ANY]
        self.info = info or own.info(folder, named)
        self.embedded = folder

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Whether a folder has this layout."""
        return any(_files(Release(folder, ""), "corpus"))

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """The tables, shard after shard."""
        for place, record in _records(release, "corpus", split):
            yield _table(place, record)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """The queries, shard after shard."""
        for place, record in _records(release, "queries", split):
            yield own.query(record, place)


def _files(release: Release, part: str) -> Iterator[tuple[str, re.Match[str], Path]]:
    """(place, name parsed, path) of the files that hold corpus or queries."""
    patterns = [f"{part}.*", f"{part}/*", f"{part}/data/*", f"*-{part}/*", f"*-{part}/data/*"]
    if release.folder.name.endswith(f"-{part}"):
        patterns += ["data/*", "*"]
    for pattern in patterns:
        for path in release.matching(pattern):
            match = _SHARD.fullmatch(path.name)
            if match:
                yield path.parent.as_posix(), match, path


def _shards(release: Release, part: str) -> dict[str, list[Path]]:
    """Split -> its files in order; a single file ``corpus.jsonl`` stands for any split.

    Raises:
        DataError: a shard is missing.
    """
    found: dict[str, list[tuple[re.Match[str], Path]]] = {}
    first_place = None
    for place, match, path in _files(release, part):
        first_place = first_place or place
        if place == first_place:
            split = _SPLITS.get(match["split"], match["split"])
            found.setdefault(_ANY if split == part else split, []).append((match, path))
    for split, shards in found.items():
        _check_complete(release.folder, part, split, shards)
    return {split: [path for _, path in shards] for split, shards in found.items()}


def _check_complete(
    folder: Path, part: str, split: str, shards: list[tuple[re.Match[str], Path]]
) -> None:
    there = [match["number"] for match, _ in shards]
    total = shards[0][0]["total"]
    if total is None and len(shards) > 1:
        raise DataError(
            f"{folder}: split {split!r} of the {part} is there more than once: "
            f"{', '.join(path.name for _, path in shards)}. Keep one of them."
        )
    if total is None:
        return
    missing = [number for i in range(int(total)) if (number := f"{i:05}") not in there]
    if missing or len(there) != int(total):
        example = f"{split}-{(missing or there)[0]}-of-{total}"
        raise DataError(
            f"{shards[0][1].parent}: split {split!r} of the {part} should have {int(total)} "
            f"shards, but has {len(there)}; {example} is {'missing' if missing else 'not alone'}. "
            "Download the folder again."
        )


def _records(release: Release, part: str, split: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(place, record) of a split's corpus or queries."""
    shards = _shards(release, part)
    paths = shards.get(split) or shards.get(_ANY)
    if paths is None:
        there = ", ".join(shards) or "nothing"
        raise DataError(
            f"{release.folder}: no {part} of the split {split!r}; there is {there}. In TARGET's "
            f"layout it would be {part}/{split}.parquet or {part}/{split}.jsonl"
        )
    for path in paths:
        if path.name.endswith(".parquet"):
            yield from parquet_records(release, path)
        else:
            yield from release.json_lines(path)


def parquet_records(release: Release, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) of every row of a Parquet file, read a batch at a time.

    Raises:
        DataError: it is no Parquet file.
    """
    import pyarrow
    from pyarrow import parquet

    release.note(path)
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_TABLES_AT_A_TIME):
                for record in batch.to_pylist():
                    number += 1
                    yield f"{path}, record {number}", record
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {error}") from error


def parquet_columns(path: Path) -> list[str]:
    """The column names of a Parquet file.

    Raises:
        DataError: it is no Parquet file.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        names: list[str] = parquet.read_schema(path).names
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {error}") from error
    return names


def _table(place: str, record: Mapping[str, Any]) -> Table:
    header, *rows = _grid(place, field(record, "table", object, place))
    context = record.get("context") or {}
    if not isinstance(context, Mapping):
        raise DataError(
            f"{place}: field 'context' should be an object, but is {type(context).__name__}: "
            f"{context!r:.80}"
        )
    return Table(
        id=TableId(
            own.identifier(record.get("database_id", "0"), "database_id", place),
            own.identifier(field(record, "table_id", object, place), "table_id", place),
        ),
        header=[name if isinstance(name, str) else str(name) for name in header],
        rows=rows,
        context={
            name: own.converted(value, f"context.{name}", place)
            for name, value in context.items()
            if value is not None
        },
    )


def _grid(place: str, grid: Any) -> list[list[Cell]]:
    if not isinstance(grid, list) or not grid or not all(isinstance(row, list) for row in grid):
        raise DataError(
            f"{place}: field 'table' should be a list of rows, the header first, but is "
            f"{type(grid).__name__}: {grid!r:.80}"
        )
    try:
        return [list(cells(row)) for row in grid]
    except TypeError as error:
        raise DataError(f"{place}: field 'table': {error}") from error
