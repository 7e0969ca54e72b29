"""TARGET's layout of text-to-SQL corpora: tables whose rows lie in SQLite files."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.core.schema import CorpusInfo, Table
from target_bench.data.databases.stored_tables import LazyRows, StoredTable, sound_tables
from target_bench.data.formats.declaration import served_tasks
from target_bench.data.formats.target_layout import TargetLayout


class TargetDatabases(TargetLayout):
    """A folder in TARGET's layout with ``{split}_database/<db>/<db>.sqlite``.

    The folder may also be called ``{split}_databases``, and lie beside the corpus file. Where a
    table is in its database, header, rows, types and statement come from there, and title and
    keys from its context; another table is as the corpus file has it.

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
        return super().is_in(folder) and bool(_files(Release(folder, ""), "*"))

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the tables, shard after shard."""
        files = _files(release, split)
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
            found = stored[table.id.database_id].get(table.id.table_id.lower())
            yield _in_database(table, found, path, release) if found else table

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
