"""A user's own folder: files with tables, and ``queries.jsonl`` or ``queries.csv``."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import DataError
from target_bench.core.release import Release, field
from target_bench.core.schema import LEFT_OUT, Corpus, Query, Table, TableId
from target_bench.core.text_tables import list_first
from target_bench.core.unicode_text import compose
from target_bench.data.formats.file_tables import (
    DATABASES,
    find_suffix,
    parse_file_settings,
    read_file,
)
from target_bench.data.formats.queries import FILES, OwnCorpus
from target_bench.data.formats.records import read_identifier

_RECORDS = "tables.jsonl"
_BESIDE_DATABASES = tuple(f".{file}" for file in FILES)
_MOST_NAMED = 3  # files of a kind, in a note


class TableFolder(OwnCorpus):
    """``tables/`` (or the folder itself) with files of tables, and folders of them.

    A table's id is the path of its file under ``tables/`` without suffix, followed by the name of
    the sheet if a workbook has several, or of the table in a database. Its title is that path.

    Optional ``tables.jsonl`` adds one line per table: ``table_id``, ``title``, ``section_title``
    and any other context. The tables it names come first, in its order. Settings of the files are
    those of ``FileSettings``.
    """

    has_settings = True

    def __init__(self, folder: Path, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(folder, settings)
        self._file_settings = parse_file_settings(self._settings, str(folder))
        files = _survey_folder(Release(folder, "")).files.values()
        self.cached = not any(map(_has_database_name, files))  # rows of databases stay there

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether a folder has this layout: tables in it or in ``tables/``."""
        release = Release(folder, "")
        files = release.matching("tables/**/*", dead=True) or release.matching("*", dead=True)
        names = (path.name for path in files if not _has_database_name(path))
        return any(find_suffix(name) and not _is_about(name) for name in names)

    @classmethod
    def is_below(cls, folder: Path) -> bool:
        """Return whether there are tables in folders of a folder."""
        return bool(_survey_folder(Release(folder, "")).files)

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the tables, the same ones for every split; a note names files without any."""
        files, faults, unread = _survey_folder(release)
        known = _read_table_records(release)
        missing = dict(known)
        places: dict[str, str] = {}
        listed = (name for table_id in known for name in _list_file_names(table_id))
        for name in dict.fromkeys([*(n for n in listed if n in files), *sorted(files)]):
            try:
                tables = read_file(release, files[name], self._file_settings)
            except DataError as error:
                faults.append(str(error))
                missing = {i: n for i, n in missing.items() if name not in _list_file_names(i)}
                continue
            missing.pop(name, None)
            for table in tables:
                has_part = len(tables) > 1 or table.context
                table_id = f"{name}/{table.sheet}" if has_part else name
                missing.pop(table_id, None)
                place = f"{files[name]}{f', sheet {table.sheet!r}' if table.sheet else ''}"
                if first := places.get(table_id):
                    faults.append(f"{place}: {first} has the same id, {table_id!r}. Rename one.")
                    continue
                places[table_id] = place
                context = {**table.context, "title": " / ".join(table_id.split("/"))}
                context |= {"preamble": table.preamble} if table.preamble else {}
                context |= known.get(table_id, ("", {}))[1]
                yield Table(TableId("0", table_id), table.header, table.rows, context, table.grid)
        for table_id, (place, _) in missing.items():
            faults.append(f"{place}: table_id {table_id!r} has no file in tables/")
            raise DataError("\n".join(faults))
        listed_faults = "\n  ".join(faults)
        if faults and not places:
            several = f"{len(faults)} files cannot be read:\n  {listed_faults}"
            raise DataError(listed_faults if len(faults) == 1 else several)
        if faults:
            release.notes.append(f"{LEFT_OUT} {len(faults):,}\n  {listed_faults}")
        for kind, names in unread.items():
            named = list_first(names, _MOST_NAMED)
            release.notes.append(f"{kind} are not read: {len(names):,} ({named})")

    def unread(self) -> Mapping[str, Sequence[str]]:
        """Return kind of files -> the paths of those that are not read, by their suffixes."""
        return _survey_folder(Release(self.embedded or Path(), "")).unread

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Return the queries of the split; none if there is no file of queries."""
        paths = [*filter(None, map(release.find, FILES))]
        if len(paths) > 1:
            first, second = paths
            raise DataError(
                f"{first} and {second.name} both hold queries, and one file is read. Keep one of "
                "them: move the other elsewhere, or copy its queries into the first"
            )
        return super().queries(release, split)

    def answerable(
        self, queries: Sequence[Query], tables: Corpus
    ) -> tuple[Sequence[Query], Sequence[str]]:
        """Leave out the queries about tables whose file cannot be read, with a note."""
        queries, notes = super().answerable(queries, tables)
        files = _survey_folder(Release(self.embedded or Path(), "")).files
        unread = {
            gold
            for gold in {gold for query in queries for gold in query.gold} - tables.positions.keys()
            if any(name in files for name in _list_file_names(gold.table_id))
        }
        kept = [query for query in queries if unread.isdisjoint(query.gold)]
        if len(kept) == len(queries):
            return queries, notes
        if not kept:
            raise DataError(
                f"{self.embedded}: all {len(queries)} queries ask about tables whose files cannot "
                "be read. Repair them; target-bench describe corpus names them."
            )
        named = [
            f"\n  {query.id}: {', '.join(i.table_id for i in query.gold if i in unread)}"
            for query in queries
            if not unread.isdisjoint(query.gold)
        ]
        note = (
            f"queries left out, because the files of their tables cannot be read: {len(named)} "
            f"of {len(queries)}{''.join(named)}"
        )
        return kept, [*notes, note]


def _list_file_names(table_id: str) -> tuple[str, str]:
    """Return what the file of a table may be called: as the table, or without its sheet."""
    return table_id, table_id.rpartition("/")[0]


def _read_table_records(release: Release) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return table id -> place and context of each line of ``tables.jsonl``."""
    path = release.find(_RECORDS)
    known: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for place, record in release.json_lines(path) if path else ():
        value = field(record, "table_id", object, place)
        table_id = read_identifier(value, "table_id", place)
        if table_id in known:
            raise DataError(f"{place}: table_id {table_id!r} occurs twice")
        known[table_id] = place, {n: entry for n, entry in record.items() if n != "table_id"}
    return known


class _Survey(NamedTuple):
    """What lies in a folder: every file is that of a table, a fault, or is not read."""

    files: dict[str, Path]  # by path without suffix
    faults: list[str]  # of two files that have the same name but for the suffix
    unread: dict[str, list[str]]  # kind -> paths


def _survey_folder(release: Release) -> _Survey:
    from target_bench.sql.databases import find_engine

    inside = release.matching("tables/**/*", dead=True)
    base = release.folder / "tables" if inside else release.folder
    files: dict[str, Path] = {}
    faults: list[str] = []
    unread: defaultdict[str, set[str]] = defaultdict(set)
    for path in inside or release.matching("**/*", dead=True):
        name, shown = path.relative_to(base).as_posix(), release.relative(path)
        suffix = find_suffix(name)
        if _has_database_name(path) and find_engine(path) is None:
            suffix = None  # as of Thumbs.db of Windows
        table_id = compose(name.removesuffix(suffix or ""))
        if hidden := _find_hidden(shown):
            unread["hidden files and folders"].add(hidden)
        elif not inside and (_is_about(name) or _is_of_run(path, base)):
            continue
        elif suffix is None:
            unread[f"{path.suffix.lower() or 'other'} files"].add(shown)
        elif path.is_file() and not path.stat().st_size:
            unread["empty files"].add(shown)
        elif table_id in files:
            faults.append(
                f"{path}: {files[table_id].name} has the same id, {table_id!r}, without "
                "their suffixes. Rename or remove one of them."
            )
        else:
            files[table_id] = path
    for path in base.rglob("*"):
        if path.is_symlink() and path.is_dir() and not _find_hidden(path.name):
            unread["links to folders"].add(release.relative(path))
    for path in release.folder.iterdir() if inside else ():
        is_of_runs = any((*path.glob("manifest.json"), *path.glob("*/manifest.json")))
        if path != base and not (_find_hidden(path.name) or _is_about(path.name) or is_of_runs):
            unread["files and folders beside tables/"].add(path.name)
    return _Survey(files, faults, {kind: sorted(unread[kind]) for kind in sorted(unread)})


def _has_database_name(path: Path) -> bool:
    return path.suffix.lower() in DATABASES


def _is_about(name: str) -> bool:
    """Return whether a file is of queries, or the list of tables."""
    base = name.removesuffix(".gz")
    return base == _RECORDS or base in FILES or base.endswith(_BESIDE_DATABASES)


def _is_of_run(path: Path, base: Path) -> bool:
    """Return whether a file lies in the folder of a run, which is written here."""
    parents = [parent for parent in path.parents if parent.is_relative_to(base) and parent != base]
    return any((parent / "manifest.json").is_file() for parent in parents)


def _find_hidden(name: str) -> str:
    """Return the path of what is hidden, or the lock of a workbook that is open in Excel; or ""."""
    parts = name.split("/")
    first = next((i for i, part in enumerate(parts) if part.startswith((".", "~$"))), None)
    return "" if first is None else "/".join(parts[: first + 1])
