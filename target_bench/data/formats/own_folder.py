"""A user's own folder: files with tables, and ``queries.jsonl`` or ``queries.csv``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import Corpus, CorpusInfo, Query, Table, TableId
from target_bench.data.formats import records, spreadsheets
from target_bench.data.formats.csv_files import FileSettings, FileTable
from target_bench.data.formats.records import identifier
from target_bench.data.formats.table_files import (
    TABLE_SUFFIXES,
    read_file,
    suffix_of,
)

_ABOUT = "tables.jsonl"
_OF_THE_FILE = ("table_id", "grid", "read")
_MOST_NAMED = 3  # files of a kind, in a note


class TableFolder(CorpusLoader):
    """``tables/`` (or the folder itself) with files of tables, and folders of them.

    A file is CSV, TSV, Parquet, JSON lines or a workbook. A table's id is the path of its file
    under ``tables/`` without suffix, followed by the name of the sheet if a workbook has several.
    Its title is that path. Optional ``tables.jsonl`` adds one line per table: ``table_id``,
    ``title``, ``section_title``, any other context, and in ``read`` settings of its file that
    replace those below. The tables it names come first, in its order.

    Args:
        folder: the folder.
        info: the corpus it is known to be; default: one named after the folder.
        settings: what is known of all files, by the names of ``FileSettings``; and with
            ``skip_bad`` true, files that cannot be read are left out and noted, where else an
            error names all of them.

    Raises:
        ConfigError: a setting is unknown or invalid.
    """

    def __init__(
        self,
        folder: Path,
        info: CorpusInfo | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.embedded = folder
        release = Release(folder, str(folder))
        self.tables_alone = _queries(release) is None
        self.info = info or records.info(folder, _splits(release))
        self._settings = dict(settings or {})
        self._skip_bad = self._settings.pop("skip_bad", False)
        if not isinstance(self._skip_bad, bool):
            raise ConfigError(f"{folder}: skip_bad should be true or false, not {self._skip_bad!r}")
        FileSettings.of(self._settings, str(folder))

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether a folder has this layout: tables in it or in ``tables/``."""
        release = Release(folder, "")
        files = release.matching("tables/**/*", dead=True) or release.matching("*", dead=True)
        return any(suffix_of(path.name) and not _is_about(path.name) for path in files)

    @classmethod
    def is_below(cls, folder: Path) -> bool:
        """Return whether there are tables in folders of a folder."""
        return bool(_files(Release(folder, ""), []))

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the tables, the same ones for every split.

        Raises:
            DataError: files cannot be read; the message names all of them.
        """
        bad: list[str] = []
        files = _files(release, bad)
        about = dict(_about(release))
        unused = set(about)
        places: dict[str, str] = {}
        for name in _in_order(files, about):
            try:
                found = self._read(release, files[name], about.get(name))
            except DataError as error:
                bad.append(str(error))
                unused = {table_id for table_id in unused if not _is_of(table_id, name)}
                continue
            unused.discard(name)
            for table in found:
                table_id = f"{name}/{table.sheet}" if len(found) > 1 else name
                unused.discard(table_id)
                place = f"{files[name]}{f', sheet {table.sheet!r}' if table.sheet else ''}"
                if table_id in places:
                    bad.append(
                        f"{place}: {places[table_id]} has the same id, {table_id!r}. Rename one of "
                        "them."
                    )
                    continue
                places[table_id] = place
                yield _table(table_id, table, *about.get(table_id, ("", {})))
        bad += [
            f"{place}: table_id {table_id!r} has no file in tables/"
            for table_id, (place, _) in about.items()
            if table_id in unused
        ]
        self._report(release, bad)
        release.notes += [_unread_note(kind, names) for kind, names in _unread(release).items()]

    def unread(self) -> Mapping[str, Sequence[str]]:
        """Return the kind of files -> the paths of those that are in the folder and are not read.

        Kinds are suffixes; files in a hidden folder count as that folder.
        """
        return _unread(Release(self.embedded or Path(), ""))

    def _read(
        self, release: Release, path: Path, about: tuple[str, Mapping[str, Any]] | None
    ) -> list[FileTable]:
        place, record = about or ("", {})
        own = field(record, "read", dict, place) if "read" in record else {}
        settings = FileSettings.of(self._settings | own, f"{place}, field 'read'")
        return read_file(release, path, settings)

    def _report(self, release: Release, bad: list[str]) -> None:
        """Name what cannot be read, in a note (``skip_bad``) or in an error."""
        if not bad:
            return
        if self._skip_bad:
            left_out = "\n  ".join(bad)
            release.notes.append(f"{len(bad)} files were left out (skip_bad):\n  {left_out}")
            return
        advice = (
            f"To go on without such files, write {self._as_path}:skip_bad=true; run, search, ask, "
            "describe and labels also take --skip-bad, and corpora.from_folder skip_bad=True."
        )
        if len(bad) == 1:
            raise DataError(f"{bad[0]}\n{advice}")
        named = "\n  ".join(bad)
        raise DataError(f"{len(bad)} files cannot be read:\n  {named}\n{advice}")

    @property
    def _as_path(self) -> str:
        """The folder as it is named on the command line, with a separator."""
        name = str(self.embedded)
        return name if "/" in name else f"./{name}"

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Return the queries of the split; none if there is no file of queries."""
        path, *others = [*filter(None, map(release.find, records.FILES)), None]
        release.notes += [f"{o} was not read, because there is {path}" for o in others if o]
        return records.queries_of(release, path, split) if path else ()

    def answerable(
        self, queries: Sequence[Query], tables: Corpus
    ) -> tuple[Sequence[Query], Sequence[str]]:
        """With ``skip_bad``, leave out the queries about tables that are not here, with a note."""
        missing = {gold for query in queries for gold in query.gold} - tables.positions.keys()
        if not (self._skip_bad and missing):
            return queries, []
        kept = [query for query in queries if missing.isdisjoint(query.gold)]
        left = [query for query in queries if not missing.isdisjoint(query.gold)]
        if left and not kept:
            raise DataError(
                f"{self.embedded}: all {len(left)} queries ask about tables that are not here "
                "(skip_bad). Repair their files."
            )
        named = [
            f"\n  {q.id}: {', '.join(i.table_id for i in q.gold if i in missing)}" for q in left
        ]
        note = (
            f"{len(left)} of {len(queries)} queries were left out, because their tables are not "
            f"here (skip_bad):{''.join(named)}"
        )
        return kept, [note]


def _table(
    table_id: str,
    table: FileTable,
    place: str,
    record: Mapping[str, Any],
) -> Table:
    context = {"title": " / ".join(table_id.split("/"))}
    if table.preamble:
        context["preamble"] = table.preamble
    context |= {name: value for name, value in record.items() if name not in _OF_THE_FILE}
    grid = records.cell_grid(record, place) if "grid" in record else table.grid
    return Table(TableId("0", table_id), table.header, table.rows, context, grid)


def _in_order(files: Mapping[str, Path], about: Iterable[str]) -> list[str]:
    """Return the names of files in the order of the tables in ``tables.jsonl``, others after."""
    named = (name for table_id in about for name in _names(table_id) if name in files)
    return list(dict.fromkeys([*named, *sorted(files)]))


def _names(table_id: str) -> tuple[str, str]:
    return table_id, table_id.rpartition("/")[0]


def _is_of(table_id: str, name: str) -> bool:
    return name in _names(table_id)


def _splits(release: Release) -> list[str]:
    path = _queries(release)
    return records.splits_of(release, path) if path else []


def _queries(release: Release) -> Path | None:
    return next(filter(None, map(release.find, records.FILES)), None)


def _about(release: Release) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    """Yield (table id, (place, record)) of ``tables.jsonl``."""
    path = release.find(_ABOUT)
    seen = set()
    for place, record in release.json_lines(path) if path else ():
        table_id = identifier(field(record, "table_id", object, place), "table_id", place)
        if table_id in seen:
            raise DataError(f"{place}: table_id {table_id!r} occurs twice")
        seen.add(table_id)
        yield table_id, (place, record)


def _files(release: Release, bad: list[str]) -> dict[str, Path]:
    """Return path without suffix -> file; what is in the way goes to ``bad``.

    That is a file in ``tables/`` in no format that is read, a link there to a folder, and two files
    that have the same name but for the suffix.
    """
    inside = release.matching("tables/**/*", dead=True)
    bad += [
        f"{path}: a link to a folder, which is not searched. Put its files there, or remove the "
        "link."
        for path in _linked_folders(release.folder / "tables")
    ]
    base = release.folder / "tables" if inside else release.folder
    found: dict[str, Path] = {}
    for path in inside or release.matching("**/*", dead=True):
        name = path.relative_to(base).as_posix()
        suffix = suffix_of(name)
        if _hidden(name) or (not inside and (_is_about(name) or _is_of_run(path, base))):
            continue
        if suffix is None:
            bad += [_no_table(path)] if inside and path.suffix.lower() != ".md" else []
            continue
        table_id = name.removesuffix(suffix)
        if table_id in found:
            bad.append(
                f"{path}: {found[table_id].name} has the same id, {table_id!r}, without "
                "their suffixes. Rename or remove one of them."
            )
        else:
            found[table_id] = path
    return found


def _unread(release: Release) -> dict[str, list[str]]:
    """Return kind -> paths of the files that are neither read nor named in an error."""
    inside = release.matching("tables/**/*", dead=True)
    found: dict[str, set[str]] = {}
    for path in [*inside, *release.matching("*" if inside else "**/*", dead=True)]:
        name = release.relative(path)
        searched = not inside or name.startswith("tables/")
        kind, shown = f"{path.suffix.lower() or 'other'} files", name
        if hidden := _hidden(name):
            kind, shown = "hidden files and folders", hidden
        elif _is_about(name) or _is_of_run(path, release.folder):
            continue
        elif not searched:
            kind += " beside tables/"
        elif suffix_of(name) or (inside and path.suffix.lower() != ".md"):
            continue  # it is read, or an error names it
        found.setdefault(kind, set()).add(shown)
    beside = {f"{path.name}/" for path in _folders_beside(release.folder)} if inside else set()
    if beside:
        found["folders beside tables/"] = beside
    links = [] if inside else _linked_folders(release.folder)
    if links:
        found["links to folders"] = set(map(release.relative, links))
    return {kind: sorted(names) for kind, names in sorted(found.items())}


def _folders_beside(folder: Path) -> Iterator[Path]:
    """Yield the folders beside ``tables/`` that are not hidden and hold no runs."""
    for path in folder.iterdir():
        holds_runs = any((*path.glob("manifest.json"), *path.glob("*/manifest.json")))
        if path.is_dir() and path.name != "tables" and not _hidden(path.name) and not holds_runs:
            yield path


def _unread_note(kind: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return f"{kind} are not read: {len(names):,} ({', '.join(names[:_MOST_NAMED])}{more})"


def _no_table(path: Path) -> str:
    known = ", ".join((*TABLE_SUFFIXES, *spreadsheets.SUFFIXES))
    return (
        f"{path}: tables/ holds {known} (.csv, .tsv and .jsonl also as .gz). Convert this file to "
        "one of them, or move it elsewhere."
    )


def _is_of_run(path: Path, base: Path) -> bool:
    """Return whether a file lies in the folder of a run, which is written here."""
    parents = [parent for parent in path.parents if parent.is_relative_to(base) and parent != base]
    return any((parent / "manifest.json").is_file() for parent in parents)


def _linked_folders(folder: Path) -> list[Path]:
    """Return the links to folders, which are not searched."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() and path.is_dir() and not _hidden(path.name)
    ]


def _hidden(name: str) -> str:
    """Return the path of what is hidden, or the lock of a workbook that is open in Excel; or "".

    Of a file in a hidden folder, that is the folder's.
    """
    parts = name.split("/")
    first = next((i for i, part in enumerate(parts) if part.startswith((".", "~$"))), None)
    return "" if first is None else "/".join(parts[: first + 1])


def _is_about(name: str) -> bool:
    base = name.removesuffix(".gz")
    about = (*records.FILES, _ABOUT)
    return base in about or base.endswith(tuple(f".{file}" for file in records.FILES))
