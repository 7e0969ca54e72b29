"""Corpora that are declared: records whose fields ``Columns`` names, and data sets of the hub."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path, PurePosixPath
from typing import Any

from target_bench.core.declarations import MAIN, Columns, Hub
from target_bench.core.errors import ConfigError, DataError, unknown_name
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import NO_DATABASE, CorpusInfo, Query, Table, TableId
from target_bench.core.settings import split_pairs
from target_bench.data.formats.queries import DEFAULT_SPLIT, describe_path, normalize_split
from target_bench.data.formats.records import (
    convert_row,
    convert_value,
    explain_type,
    find_field,
    name_columns,
    read_answer,
    read_identifier,
    read_records,
    read_rows,
)


class DeclaredCorpus(CorpusLoader):
    """The corpus that a loader declares with ``columns`` instead of methods."""

    def __init__(
        self,
        info: CorpusInfo,
        columns: Columns,
        files: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.info = info
        self.tables_alone = not columns.query
        self._columns = columns
        self._files = files  # split -> paths in the folder, where no patterns name them

    def is_in(self, folder: Path) -> bool:
        """Return whether a folder holds the files of a split."""
        release = Release(folder, "")
        return any(_match_files(release, self.info, split) for split in self.info.splits)

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield each table once, in the order of the records."""
        first: dict[TableId, tuple[bytes, str]] = {}
        for place, record in self._records(release, split):
            table = self._table(record, place)
            digest = _digest(table.header, table.rows)
            before, where = first.setdefault(table.id, (digest, place))
            if before != digest:
                raise DataError(f"{place}: table {table.id} differs from that of {where}")
            if where == place:
                yield table

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the query of every record."""
        columns = self._columns
        for number, (place, record) in enumerate(self._records(release, split)):
            text = find_field(record, columns.query, place)
            if not isinstance(text, str):
                raise explain_type(place, columns.query, "text", text)
            answer = find_field(record, columns.answer, place) if columns.answer else None
            yield Query(
                _find_id(record, columns.query_id, place, str(number)),
                text,
                (self._find_table_id(record, place),),
                read_answer(answer, columns.answer, place),
                _find_id(record, columns.database_id, place, NO_DATABASE),
                _find_all(record, columns.metadata, place),
            )

    def _records(self, release: Release, split: str) -> Iterator[tuple[str, Any]]:
        if self._files is not None:
            paths = [release.require(name) for name in self._files[split]]
        elif not (paths := _match_files(release, self.info, split)):
            release.require(*dict.fromkeys(p for s in self.info.sources(split) for p in s.patterns))
        for path in paths:
            yield from read_records(release, path)

    def _table(self, record: Any, place: str) -> Table:
        columns = self._columns
        if columns.table:
            whole = find_field(record, columns.table, place)
            names, *rows = read_rows(whole, columns.table, place, header=True)
        else:
            names = find_field(record, columns.header, place)
            if not isinstance(names, list):
                raise explain_type(place, columns.header, "a list", names)
            names = convert_row(names, f"{place}: field {columns.header!r}")
            rows = read_rows(find_field(record, columns.rows, place), columns.rows, place)
        header = name_columns(names)
        if columns.table_id:
            table_id = self._find_table_id(record, place)
        else:
            database = _find_id(record, columns.database_id, place, NO_DATABASE)
            table_id = TableId(database, _digest(header, rows).hex())
        return Table(table_id, header, rows, _find_all(record, columns.context, place))

    def _find_table_id(self, record: Any, place: str) -> TableId:
        columns = self._columns
        if not columns.table_id:
            return self._table(record, place).id
        database = _find_id(record, columns.database_id, place, NO_DATABASE)
        return TableId(database, _find_id(record, columns.table_id, place, ""))


def _digest(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    content = json.dumps([header, rows], default=repr).encode()
    return hashlib.blake2b(content, digest_size=16).digest()


def _match_files(release: Release, info: CorpusInfo, split: str) -> list[Path]:
    """Return the files of a split: where a download has them, as in the repository, or flat."""
    paths: list[Path] = []
    for source in info.sources(split):
        for pattern in source.patterns:
            flat = PurePosixPath(pattern).name
            places = dict.fromkeys((source.locate(pattern), pattern, flat))
            named = (f"{place}{suffix}" for place in places for suffix in ("", ".gz", ".zip"))
            paths += next(filter(None, map(release.matching, named)), [])
    return paths


def _find_id(record: Any, name: str, place: str, default: str) -> str:
    """Return the id in a field; the default where no field is named."""
    return read_identifier(find_field(record, name, place), name, place) if name else default


def _find_all(record: Any, names: Mapping[str, str], place: str) -> dict[str, Any]:
    """Return the fields of a record that are not null, by the names they have here."""
    values = ((ours, theirs, find_field(record, theirs, place)) for ours, theirs in names.items())
    return {
        ours: convert_value(value, theirs, place)
        for ours, theirs, value in values
        if value is not None
    }


# Data sets of the hub by name

_RECORD_FILES = tuple(f"*.{kind}" for kind in ("parquet", "jsonl", "json", "csv", "tsv"))
_CONTEXT = ("title", "section_title")
_FIELDS = tuple(
    field.name for field in fields(Columns) if field.name not in ("context", "metadata")
)


def load_hub_corpus(name: str) -> CorpusLoader:
    """Return the loader of ``hf:owner/name@revision``, fetched if it is not here."""
    from target_bench.data import download
    from target_bench.data.formats import detect

    written, _, text = name.removeprefix("hf:").partition(":")
    repository, _, revision = written.partition("@")
    if repository.count("/") != 1 or not all(repository.split("/")):
        raise ConfigError(f"{name!r}: write hf:owner/name or hf:owner/name@revision")
    settings = split_pairs(text, name) if text else {}
    columns: Columns | None = None
    patterns: tuple[str, ...] = ("*",)
    if not settings.keys().isdisjoint(_FIELDS):
        pattern = settings.pop("files", "")
        columns, patterns = parse_columns(settings, name), (pattern,) if pattern else _RECORD_FILES
    plain = repository.replace("/", "-").lower()
    title = f"hf:{written}"
    info = CorpusInfo(plain, title, data=Hub(repository, patterns, revision or MAIN))
    split = info.splits[0]  # of files that are not known yet: all of them
    folder = download.find_download(info, split) or download.fetch(info, [split]).folder
    path = folder / PurePosixPath(repository).name
    if columns:
        files = _group_by_split(path)
        own = replace(describe_path(path, files), name=plain, title=title)
        plugin: CorpusLoader = DeclaredCorpus(own, columns, files)
        plugin.embedded = path
    else:
        named = detect.split_settings(f"{path}:{text}") if text else (path, {})
        plugin = detect.choose_loader(*named)
    plugin.info = replace(plugin.info, name=plain, title=title, source=info.source, data=info.data)
    return plugin


def parse_columns(settings: Mapping[str, str], name: str) -> Columns:
    """Read ``query=question,answer=answers,table=table.rows``, by the names of ``Columns``."""
    for key in settings:
        if key not in (*_FIELDS, *_CONTEXT):
            raise ConfigError(f"{name}: {unknown_name('column', key, [*_FIELDS, *_CONTEXT])}")
    context = {key: settings[key] for key in _CONTEXT if key in settings}
    rest = {key: value for key, value in settings.items() if key not in _CONTEXT}
    try:
        return Columns(**rest, context=context)  # type: ignore[arg-type]  # texts all
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error


def _group_by_split(folder: Path) -> dict[str, list[str]]:
    """Return split -> the files of records whose path names it; without any, all are ``test``."""
    release = Release(folder, "")
    paths = [release.relative(path) for path in release.matching("**/*")]
    names = [path for path in paths if any(map(path.endswith, (s[1:] for s in _RECORD_FILES)))]
    by_split: dict[str, list[str]] = {}
    for name in names:
        words = map(normalize_split, re.split(r"[\W_]+", name))
        if split := next((word for word in words if word in ("train", "validation", "test")), ""):
            by_split.setdefault(split, []).append(name)
    for split, files in by_split.items():
        homes = {PurePosixPath(file).parent.as_posix() for file in files}
        if len(homes) > 1:
            raise DataError(
                f"{folder}: the split {split} lies in {', '.join(sorted(homes))}. Name one with "
                f"files=, as in files={min(homes)}/*"
            )
    return by_split or {DEFAULT_SPLIT: names}
