"""The layout of the TARGET benchmark's own data, local or in the shape of its hub repositories.

``corpus`` holds ``database_id``, ``table_id``, ``table`` (rows of cells, the header first) and
``context``; ``queries`` holds ``query_id``, ``query``, ``answer``, ``table_id`` (one or a list) and
``database_id``. Files of these names are read, in a folder ``corpus``, ``<name>-corpus`` or
``<name>-corpus-<split>`` (and likewise ``queries``), or, where the name says which, beside each
other:

* ``corpus_<split>.parquet`` and ``<name>-corpus-<split>.json``, as TARGET's repositories have them;
* ``data/<split>-00000-of-00001.parquet``, as the hub's tools write them;
* ``default/<split>/0000.parquet``, as the hub's branch ``refs/convert/parquet`` has them;
* ``<split>.parquet``, ``<split>.jsonl``, and ``corpus.jsonl`` for any split.

A JSON file is a list of records, JSON lines or an object of equally long lists.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import NO_DATABASE, Cell, CorpusInfo, Query, Table, TableId
from target_bench.data.databases.stored_tables import LazyRows, StoredTable, read_stored_tables
from target_bench.data.formats.queries import (
    describe_path,
    normalize_split,
    read_query,
)
from target_bench.data.formats.records import (
    convert_value,
    name_columns,
    read_cell_grid,
    read_database_id,
    read_identifier,
    read_records,
    read_rows,
)

_ANY = ""
_KNOWN_SPLITS = ("train", "validation", "test", "dev", "val")


class TargetLayout(CorpusLoader):
    """A folder in TARGET's layout, perhaps with ``{split}_database/<db>/<db>.sqlite``.

    That folder may also be called ``{split}_databases``, and lie beside the corpus file. Where a
    table is in its database, header, rows, types and statement come from there, and title and keys
    from its context; another table is as the corpus file has it.
    """

    def __init__(self, folder: Path, info: CorpusInfo | None = None) -> None:
        release = Release(folder, str(folder))
        queries = list_shards(release, "queries")
        asked = [split for split in queries if split != _ANY]
        others = [split for split in list_shards(release, "corpus") if split not in (_ANY, *asked)]
        in_databases = bool(_list_database_files(release, "*"))
        self.info = info or describe_path(folder, asked, others, in_databases)
        self.embedded = folder
        self.cached = not in_databases
        self.tables_alone = not queries

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether a folder has this layout."""
        release = Release(folder, "")
        with_databases = any(list_shards(release, "queries")) and _list_database_files(release, "*")
        return bool(with_databases) or any(_list_files(release, "corpus"))

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the tables, shard after shard, or database after database."""
        files = self.databases(release, split)
        if files and self._has_all_databases(files, release, split):
            for name, file in sorted(files.items()):
                release.note(file)
                for stored in read_stored_tables(file, first_rows=True):
                    bare = Table(TableId(name, stored.name), stored.header, ())
                    yield _put_into_database(bare, stored, file, release)
            return
        known: dict[str, dict[str, StoredTable]] = {}
        for place, record in _read_part(release, "corpus", split):
            table = _build_table(place, record)
            name = table.id.database_id
            if name in files and name not in known:
                release.note(files[name])
                known[name] = {}
                with suppress(DataError):  # reading the corpus reports it, as for a missing one
                    listed = read_stored_tables(files[name], first_rows=True)
                    known[name] = {stored.name.lower(): stored for stored in listed}
            there = known.get(name, {}).get(table.id.table_id.lower())
            yield _put_into_database(table, there, files[name], release) if there else table

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the queries, shard after shard; gold tables as the databases spell them."""
        queries = self._read_queries(release, split)
        files = self.databases(release, split)
        if not (files and self._has_all_databases(files, release, split)):
            yield from queries
            return
        spelled = {
            (name, table.name.lower()): TableId(name, table.name)
            for name, path in files.items()
            for table in read_stored_tables(path)
        }
        for query in queries:
            gold = (spelled.get((t.database_id, t.table_id.lower()), t) for t in query.gold)
            yield replace(query, gold=tuple(gold))

    def _read_queries(self, release: Release, split: str) -> Iterator[Query]:
        for place, record in () if self.tables_alone else _read_part(release, "queries", split):
            yield read_query(record, place)

    def _has_all_databases(self, files: Mapping[str, Path], release: Release, split: str) -> bool:
        """Return whether the tables can be read from databases alone."""
        corpus = list_shards(release, "corpus").get(split, [])
        if any(not path.name.endswith((".json", ".json.gz")) for path in corpus):
            return False
        if not corpus or split not in list_shards(release, "queries"):
            return True
        return all(q.database_id in files for q in self._read_queries(release, split))

    def databases(self, release: Release, split: str) -> Mapping[str, Path]:
        """Return the files of the split."""
        return _list_database_files(release, split)


_Shard = tuple[str, re.Match[str], Path]
"""The folder that a file and the other splits lie in, what its name says, and the file."""


def _list_files(release: Release, part: str) -> Iterator[_Shard]:
    """Yield the files that hold corpus or queries, or parts of them."""
    folder_name = release.folder.resolve().name
    is_home = re.fullmatch(rf".+-{part}(-[a-z]+)?", folder_name) is not None  # a repository alone
    homes = [f"{part}/", f"*-{part}/", f"*-{part}-*/", *([""] if is_home else [])]
    inner = ("*", "data/*", "default/*/*.parquet")  # the last in the branch refs/convert/parquet
    patterns = [(home, f"{home}{files}") for home in homes for files in inner]
    if not is_home:
        patterns += [("", name) for name in (f"{part}.*", f"{part}_*", f"*-{part}-*.json*")]
    other = "queries" if part == "corpus" else "corpus"
    name_of_part = re.compile(
        rf"(?P<named>{part}_)?(?!{other}_)(?P<split>.+?)"
        r"(-(?P<number>\d{5})-of-(?P<total>\d{5})(-[0-9a-f]+)?)?\.(parquet|jsonl|jsonl\.gz)"
        rf"|.+-{part}-(?P<named_split>[a-z]+)\.json(\.gz)?"
    )
    converted = re.compile(r"default/(?P<split>[^/]+)/(?P<number>\d{4})\.parquet")
    for home, pattern in patterns:
        for path in release.matching(pattern):
            place = path.relative_to(release.folder).parent
            if "default/" in pattern:
                if match := converted.fullmatch("/".join(path.parts[-3:])):
                    yield place.parent.as_posix(), match, path
            elif match := name_of_part.fullmatch(path.name):
                # In a folder that is named after the part, every name is that of a split. Elsewhere
                # other files may lie there too: the name is that of a known split.
                split, says_so = match["split"], (is_home and not home) or match["named"]
                if home or split in (part, None) or (says_so and split in _KNOWN_SPLITS):
                    yield place.as_posix(), match, path


def list_shards(release: Release, part: str) -> dict[str, list[Path]]:
    """Return split -> its files in order; a single file ``corpus.jsonl`` stands for any split."""
    by_split: dict[str, list[_Shard]] = {}
    places: dict[str, dict[str, None]] = {}
    for shard in _list_files(release, part):
        place, match, _ = shard
        names = match.groupdict()
        split = names["split"] or names["named_split"]
        split = _ANY if split == part else normalize_split(split)
        several = f"-{part}-" in place  # the hub has one repository per split for some
        places.setdefault(split if several else _ANY, {})[place] = None
        by_split.setdefault(split, []).append(shard)
    for there in places.values():
        if len(there) > 1:
            raise DataError(
                f"{release.folder}: the {part} is there more than once, in {', '.join(there)}. "
                "Keep one of them, or name the folder of one corpus."
            )
    for split, parts in by_split.items():
        numbers = [int(match.groupdict()["number"] or 0) for _, match, _ in parts]
        unsaid = numbers[-1] + 1  # up to the last one
        totals = {int(match.groupdict().get("total") or unsaid) for _, match, _ in parts}
        if totals != {len(numbers)} or numbers != list(range(len(numbers))):
            raise DataError(
                f"{release.folder}: split {split!r} of the {part}: expected one file, or shards "
                f"from 0 to {max(totals) - 1}, found {', '.join(p.name for _, _, p in parts)}. "
                "Download what is missing, and remove duplicates."
            )
    return {split: [path for _, _, path in parts] for split, parts in by_split.items()}


def _read_part(release: Release, part: str, split: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (place, record) of a split's corpus or queries."""
    parts = list_shards(release, part)
    paths = parts.get(split) or parts.get(_ANY)
    if paths is None:
        there = ", ".join(filter(None, parts)) or "nothing"
        raise DataError(
            f"{release.folder}: no {part} of the split {split!r}; there is {there}. In TARGET's "
            f"layout it would be {part}/{split}.parquet or {part}/{split}.jsonl"
        )
    for path in paths:
        yield from read_records(release, path)


def _build_table(place: str, record: Mapping[str, Any]) -> Table:
    grid = read_cell_grid(record, place)
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    if grid is not None and record.get("table") is None:
        header, rows = grid.rectangular()
    else:
        names, *rows = read_rows(field(record, "table", object, place), "table", place, header=True)
        header = name_columns(names)
    known = field(record, "context", dict, place) if record.get("context") is not None else {}
    table_id = TableId(
        read_database_id(record, place),
        read_identifier(field(record, "table_id", object, place), "table_id", place),
    )
    context = {
        name: convert_value(value, f"context.{name}", place)
        for name, value in known.items()
        if value is not None
    }
    # by the names that retrievers read
    for name, theirs in (("title", "table_page_title"), ("section_title", "table_section_title")):
        if theirs in context and not context.get(name):
            context[name] = context.pop(theirs)
    # A web table without a title is called by its id, as in the BM25 of TARGET's paper: the titles
    # of OTT-QA's tables are there alone, ``List_of_TVB_series_(1994)_1``.
    if table_id.database_id == NO_DATABASE and not str(context.get("title") or "").strip():
        context["title"] = table_id.table_id
    return Table(table_id, header, rows, context, grid)


def _list_database_files(release: Release, split: str) -> dict[str, Path]:
    """Return database id -> its file, in the folder itself or in that of the corpus."""
    names = [split, *(["dev", "val"] if split == "validation" else [])]
    files: dict[str, Path] = {}
    for name in names:
        for place in ("", "corpus/", "*-corpus/", "*-corpus-*/"):
            for kind in ("database", "databases"):
                for path in release.matching(f"{place}{name}_{kind}/*/*.sqlite"):
                    if path.stem == path.parent.name:
                        files.setdefault(path.stem, path)
    return files


def _put_into_database(table: Table, stored: StoredTable, path: Path, release: Release) -> Table:
    version = release.hashes[path.relative_to(release.folder).as_posix()]
    context: dict[str, Any] = {"title": stored.name} | stored.context | dict(table.context)
    return Table(table.id, stored.header, LazyRows(path, stored.source, version), context)
