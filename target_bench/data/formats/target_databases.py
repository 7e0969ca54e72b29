"""TARGET's layout of text-to-SQL corpora: tables whose rows lie in SQLite files."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.data.databases.stored_tables import (
    LazyRows,
    StoredTable,
    sound_tables,
    stored_tables,
)
from target_bench.data.formats.declaration import served_tasks
from target_bench.data.formats.target_layout import TargetLayout, shards


class TargetDatabases(TargetLayout):
    """A folder in TARGET's layout with ``{split}_database/<db>/<db>.sqlite``.

    The folder may also be called ``{split}_databases``, and lie beside the corpus file. Where a
    table is in its database, header, rows, types and statement come from there, and title and
    keys from its context; another table is as the corpus file has it.

    A corpus file in JSON, as on the hub, holds the rows once more and is parsed as a whole (1.93 GB
    for BIRD). It is not read, and may be missing, where the databases of all queries are here: the
    tables are those of the databases.

    Args:
        folder: the folder.
        info: the corpus it is known to be; default: one named after the folder.
    """

    cached = False

    def __init__(self, folder: Path, info: CorpusInfo | None = None) -> None:
        super().__init__(folder, info)
        if info is None:
            self.info = replace(self.info, tasks=served_tasks(with_databases=True))

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether a folder has this layout."""
        release = Release(folder, "")
        named = super().is_in(folder) or any(shards(release, "queries"))
        return named and bool(_files(release, "*"))

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the tables, shard after shard, or database after database."""
        files = _files(release, split)
        if files and self._are_enough(files, release, split):
            for name, file in sorted(files.items()):
                release.note(file)
                for declared in sound_tables(file):
                    bare = Table(TableId(name, declared.name), declared.header, ())
                    yield _in_database(bare, declared, file, release)
            return
        stored: dict[str, dict[str, StoredTable]] = {}
        for table in super().tables(release, split):
            path = files.get(table.id.database_id)
            if path is None:
                yield table
                continue
            if table.id.database_id not in stored:
                release.note(path)
                with suppress(DataError):  # reading the corpus reports it, as for a missing one
                    stored[table.id.database_id] = {t.name.lower(): t for t in sound_tables(path)}
                stored.setdefault(table.id.database_id, {})
            there = stored[table.id.database_id].get(table.id.table_id.lower())
            yield _in_database(table, there, path, release) if there else table

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the queries, shard after shard; gold tables as the databases spell them."""
        files = _files(release, split)
        if not (files and self._are_enough(files, release, split)):
            yield from super().queries(release, split)
            return
        spelled = {
            (name, table.name.lower()): TableId(name, table.name)
            for name, path in files.items()
            for table in stored_tables(path)
        }
        for query in super().queries(release, split):
            gold = (spelled.get((t.database_id, t.table_id.lower()), t) for t in query.gold)
            yield replace(query, gold=tuple(gold))

    def _are_enough(self, files: Mapping[str, Path], release: Release, split: str) -> bool:
        """Return whether the tables can be read from databases alone."""
        corpus, queries = shards(release, "corpus").get(split, []), shards(release, "queries")
        if any(not path.name.endswith((".json", ".json.gz")) for path in corpus):
            return False
        if not corpus or split not in queries:
            return True
        return all(q.database_id in files for q in super().queries(release, split))

    def databases(self, release: Release, split: str) -> Mapping[str, Path]:
        """Return the files of the split."""
        return _files(release, split)


def _files(release: Release, split: str) -> dict[str, Path]:
    """Return database id -> its file, in the folder itself or in that of the corpus."""
    names = [split, *(["dev", "val"] if split == "validation" else [])]
    found: dict[str, Path] = {}
    for name in names:
        for place in ("", "corpus/", "*-corpus/", "*-corpus-*/"):
            for kind in ("database", "databases"):
                for path in release.matching(f"{place}{name}_{kind}/*/*.sqlite"):
                    if path.stem == path.parent.name:
                        found.setdefault(path.stem, path)
    return found


def _in_database(table: Table, stored: StoredTable, path: Path, release: Release) -> Table:
    version = release.hashes[path.relative_to(release.folder).as_posix()]
    context: dict[str, Any] = {"title": stored.name} | stored.context | dict(table.context)
    return Table(table.id, stored.header, LazyRows(path, stored.source, version), context)
