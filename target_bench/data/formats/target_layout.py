"""The layout of the TARGET benchmark's own data, local or in the shape of its hub repositories.

``corpus`` holds ``database_id``, ``table_id``, ``table`` (rows of cells, the header first) and
``context``; ``queries`` holds ``query_id``, ``query``, ``answer``, ``table_id`` (one or a list) and
``database_id``. Each is one file or one file per split, Parquet or JSON lines, perhaps in shards.
The corpus of a text-to-SQL data set on the hub is one JSON object of four equally long lists.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.grid import CellGrid
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.data.formats import declaration, own_queries
from target_bench.data.formats.parquet import parquet_records
from target_bench.data.ragged import Grid, rectangular

_SHARD = re.compile(
    r"(?P<split>.+?)(-(?P<number>\d{5})-of-(?P<total>\d{5})(-[0-9a-f]+)?)?"
    r"\.(parquet|jsonl|jsonl\.gz)"
)
_LISTS = re.compile(
    r".+-(corpus|queries)-(?P<split>[a-z]+)((?P<number>\0)(?P<total>\0))?\.json(\.gz)?"
)
"""``spider-corpus-test.json``, never in shards."""

_SPLITS = {"dev": "validation", "val": "validation"}
_ANY = ""
_NAMED_SPLITS = ("train", "validation", "test", "dev", "val")


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
        asked = [split for split in _shards(release, "queries") if split != _ANY]
        others = [split for split in _shards(release, "corpus") if split not in (_ANY, *asked)]
        self.info = info or declaration.info(folder, asked, others)
        self.embedded = folder

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether a folder has this layout."""
        return any(_files(Release(folder, ""), "corpus"))

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the tables, shard after shard."""
        for place, record in _records(release, "corpus", split):
            yield _table(release, place, record)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the queries, shard after shard."""
        for place, record in _records(release, "queries", split):
            yield own_queries.query(record, place)


def _files(release: Release, part: str) -> Iterator[tuple[str, re.Match[str], Path]]:
    """Yield (place, name parsed, path) of the files that hold corpus or queries."""
    for folder in (f"{part}", f"*-{part}", f"*-{part}-*"):
        for path in (*release.matching(f"{folder}/*"), *release.matching(f"{folder}/data/*")):
            match = _SHARD.fullmatch(path.name) or _LISTS.fullmatch(path.name)
            if match:
                yield path.relative_to(release.folder).parent.as_posix(), match, path
    for path in (*release.matching(f"{part}.*"), *release.matching(f"*-{part}-*.json*")):
        match = _SHARD.fullmatch(path.name) or _LISTS.fullmatch(path.name)
        if match:
            yield ".", match, path
    if release.folder.resolve().name.endswith(f"-{part}"):  # one of the hub's repositories alone
        for path in (*release.matching("data/*"), *release.matching("*")):
            match = _SHARD.fullmatch(path.name)
            if match and match["split"] in _NAMED_SPLITS:
                yield path.relative_to(release.folder).parent.as_posix(), match, path


def _shards(release: Release, part: str) -> dict[str, list[Path]]:
    """Return split -> its files in order; a single file ``corpus.jsonl`` stands for any split.

    Raises:
        DataError: a shard is missing, or the files lie in several places.
    """
    found: dict[str, list[tuple[re.Match[str], Path]]] = {}
    places: dict[str, dict[str, None]] = {}
    for place, match, path in _files(release, part):
        split = _SPLITS.get(match["split"], match["split"])
        several = f"-{part}-" in place  # the hub has one repository per split for some
        places.setdefault(split if several else _ANY, {})[place] = None
        found.setdefault(_ANY if split == part else split, []).append((match, path))
    for there in places.values():
        if len(there) > 1:
            raise DataError(
                f"{release.folder}: the {part} is there more than once, in {', '.join(there)}. "
                "Keep one of them, or name the folder of one corpus."
            )
    for split, shards in found.items():
        _check_complete(release.folder, part, split, shards)
    return {split: [path for _, path in shards] for split, shards in found.items()}


def _check_complete(
    folder: Path, part: str, split: str, shards: list[tuple[re.Match[str], Path]]
) -> None:
    there = [match["number"] for match, _ in shards]
    totals = {match["total"] for match, _ in shards}
    total = shards[0][0]["total"]
    if len(totals) > 1 or len(set(there)) < len(there):
        raise DataError(
            f"{folder}: split {split!r} of the {part} is there more than once: "
            f"{', '.join(path.name for _, path in shards)}. Keep one of them."
        )
    if total is None:
        return
    wanted = [f"{number:05}" for number in range(int(total))]
    if there != wanted:
        missing = [number for number in wanted if number not in there]
        first = f"; {split}-{missing[0]}-of-{total} is missing" if missing else ""
        raise DataError(
            f"{shards[0][1].parent}: split {split!r} of the {part} should have {int(total)} "
            f"shards, but has {len(there)}{first}. Download the folder again."
        )


def _records(release: Release, part: str, split: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (place, record) of a split's corpus or queries."""
    shards = _shards(release, part)
    paths = shards.get(split) or shards.get(_ANY)
    if paths is None:
        there = ", ".join(filter(None, shards)) or "nothing"
        raise DataError(
            f"{release.folder}: no {part} of the split {split!r}; there is {there}. In TARGET's "
            f"layout it would be {part}/{split}.parquet or {part}/{split}.jsonl"
        )
    for path in paths:
        if path.name.endswith(".parquet"):
            yield from parquet_records(release, path)
        elif path.name.endswith((".json", ".json.gz")):
            yield from _from_lists(release, path)
        else:
            yield from release.json_lines(path)


def _from_lists(release: Release, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (place, record) of an object of equally long lists."""
    found = release.json(path)
    if not isinstance(found, dict) or not all(isinstance(v, list) for v in found.values()):
        raise DataError(f"{path}: expected an object of lists, one list per field")
    lengths = {name: len(values) for name, values in found.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"{path}: its lists are not equally long: {lengths}")
    for number, values in enumerate(zip(*found.values(), strict=True), start=1):
        yield f"{path}, record {number}", dict(zip(found, values, strict=True))


def _table(release: Release, place: str, record: Mapping[str, Any]) -> Table:
    grid = declaration.cell_grid(record, place)
    header, rows = _header_and_rows(release, place, record, grid)
    context = record.get("context")
    if context is None:
        context = {}
    if not isinstance(context, Mapping):
        raise DataError(
            f"{place}: field 'context' should be an object, but is {type(context).__name__}: "
            f"{context!r:.80}"
        )
    return Table(
        id=TableId(
            own_queries.database(record, place),
            own_queries.identifier(field(record, "table_id", object, place), "table_id", place),
        ),
        header=header,
        rows=rows,
        context={
            name: own_queries.converted(value, f"context.{name}", place)
            for name, value in context.items()
            if value is not None
        },
        grid=grid,
    )


def _header_and_rows(
    release: Release, place: str, record: Mapping[str, Any], grid: CellGrid | None
) -> Grid:
    """Return header and rows of the field ``table``, or of the grid where it is left out."""
    if grid is not None and record.get("table") is None:
        return grid.rectangular()
    names, *found = declaration.grid(field(record, "table", object, place), place)
    return rectangular(
        release, declaration.header(names), found, partial(declaration.place_of_row, place)
    )
