"""Tables or queries of one split: how they are read, written into the cache and read back."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from target_bench.core.errors import DataError, PluginError, TargetBenchError
from target_bench.core.identity import code_hash
from target_bench.core.interfaces import Corpus, CorpusLoader
from target_bench.core.release import Release
from target_bench.core.schema import Query, Table, TableId
from target_bench.data.arrow import ArrowCorpus, write_tables
from target_bench.data.databases.lazy_rows import LazyRows
from target_bench.data.ragged import rectangular
from target_bench.data.tables import MemoryCorpus, NoteTally, check_query, checked, decoded, encoded
from target_bench.data.titles import titled

T = TypeVar("T")

_NOT_SETTINGS = ("info", "embedded")


@dataclass(frozen=True)
class Part:
    """A unit of the cache: the tables of a split, or its queries."""

    loader: CorpusLoader
    folder: Path
    split: str

    kind = ""
    file = ""

    @property
    def name(self) -> str:
        """The beginning of the entry's name; it need not tell one part from all others."""
        named = f"{self.loader.info.name}-{self.split}"
        return f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', named).lstrip('.')[:80]}-{self.kind}"

    def release(self) -> Release:
        """Return the data folder, with nothing read yet."""
        return Release(self.folder, self.loader.info.source, self.loader.subfolders)

    @cached_property
    def code(self) -> str | None:
        """Hash of the reading code, its settings and what is read; None where that is unknown."""
        plugin = type(self.loader)
        try:
            codes = [
                code_hash(plugin),
                code_hash(ArrowCorpus),
                version("pyarrow"),
                f"{plugin.__module__}:{plugin.__qualname__}",
                self.loader.info.name,
                self.split,
                self.kind,
                _settings(self.loader),
            ]
        except (OSError, TypeError, ValueError):  # no source file, or a setting that is an object
            return None
        return hashlib.sha256(json.dumps(codes).encode()).hexdigest()

    def read(self, release: Release, path: Path) -> list[str]:
        """Read the sources into a new file; return notes for the user about them."""
        raise NotImplementedError

    def hold(self, release: Release) -> tuple[Any, list[str]]:
        """Read the sources into memory; return the value and notes for the user about it."""
        raise NotImplementedError

    def open(self, path: Path) -> Any:
        """Return the part that ``read`` wrote.

        Raises:
            OSError, ValueError, KeyError, TypeError: the file is damaged.
        """
        raise NotImplementedError

    def given(self, read: Callable[[], Iterable[T]], kind: type[T]) -> Iterator[T]:
        """Yield the values of the plug-in; an error in it becomes one that names the plug-in.

        Raises:
            DataError: a file cannot be read.
            PluginError: a plug-in that is not ours raised, or gave something else.
        """
        with self.named_faults() as where:
            for item in read():
                if not isinstance(item, kind):
                    raise PluginError(
                        f"{where}: expected {kind.__name__}, found {type(item).__name__}"
                    )
                yield item

    @contextmanager
    def named_faults(self) -> Iterator[str]:
        """Turn errors inside the block into ones that name the plug-in; errors as for ``given``.

        Yields the beginning of such a message.
        """
        plugin = type(self.loader)
        where = f"corpus {self.loader.info.name} ({plugin.__name__}), {self.kind} of {self.split}"
        try:
            yield where
        except TargetBenchError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise DataError(
                f"{where}: {error.filename or self.folder}: cannot be read: {reason}"
            ) from error
        except Exception as error:
            if plugin.__module__.startswith("target_bench."):
                raise
            raise PluginError(f"{where}: {type(error).__name__}: {error}") from error


class Tables(Part):
    """The tables of a split."""

    kind = "tables"
    file = "tables.arrow"

    def read(self, release: Release, path: Path) -> list[str]:
        """Write them into an Arrow file as they come."""
        tally = NoteTally()
        write_tables(path, self._seen(release, tally))
        return [*tally.notes(), *release.notes]

    def hold(self, release: Release) -> tuple[Corpus, list[str]]:
        """Return the tables as a corpus in memory."""
        tally = NoteTally()
        corpus = MemoryCorpus(self._seen(release, tally))
        return corpus, [*tally.notes(), *release.notes]

    def _seen(self, release: Release, tally: NoteTally) -> Iterator[Table]:
        given = self.given(lambda: self.loader.tables(release, self.split), Table)
        for table in checked(_sound(release, table) for table in given):
            tally.see(table)
            yield table

    def open(self, path: Path) -> Corpus:
        """Return the corpus, memory-mapped."""
        return ArrowCorpus(path)


def _sound(release: Release, table: Table) -> Table:
    """Return the table with rows as long as its header and, if it has a name, with a title."""
    if not isinstance(table.rows, LazyRows):
        place = f"table {table.id}"
        header, rows = rectangular(
            release, table.header, table.rows, lambda number: f"{place}, row {number + 1}"
        )
        if rows is not table.rows:
            table = replace(table, header=header, rows=rows)
    return titled(table)


class Queries(Part):
    """The queries of a split."""

    kind = "queries"
    file = "queries.jsonl"

    def read(self, release: Release, path: Path) -> list[str]:
        """Write them into a file, a line a query."""
        with path.open("wb") as file:
            for query in self._given(release):
                file.write(_line(query))
        return release.notes

    def hold(self, release: Release) -> tuple[list[Query], list[str]]:
        """Return the queries as a list."""
        return list(self._given(release)), release.notes

    def _given(self, release: Release) -> Iterator[Query]:
        where = f"corpus {self.loader.info.name}, split {self.split}"
        for query in self.given(lambda: self.loader.queries(release, self.split), Query):
            check_query(query, where)
            yield query

    def open(self, path: Path) -> list[Query]:
        """Return the queries, read back."""
        with path.open("rb") as file:
            return [_query(decoded(line)) for line in file]


def databases(loader: CorpusLoader, folder: Path, split: str) -> Mapping[str, Path]:
    """Return database id -> file of a split, by the loader.

    Raises:
        DataError: a file is broken.
        PluginError: a plug-in that is not ours raised, or gave something else.
    """
    part = _Databases(loader, folder, split)
    with part.named_faults() as where:
        found = loader.databases(part.release(), split)
        for name, path in found.items():
            if not isinstance(name, str) or not isinstance(path, Path) or not path.is_file():
                raise PluginError(f"{where}: {name!r} should be the path of a file, not {path!r}")
        return dict(found)


def apart(loader: CorpusLoader, folder: Path, split: str) -> Mapping[str, tuple[Query, ...]]:
    """Return short name of a task -> its own queries, by the loader.

    Raises:
        DataError: a file or a query is broken.
        PluginError: a plug-in that is not ours raised, or gave something else.
    """
    part = _Apart(loader, folder, split)
    found: dict[str, tuple[Query, ...]] = {}
    with part.named_faults() as where:
        for task, queries in loader.apart(split).items():
            found[task] = tuple(part.given(partial(iter, queries), Query))
            for query in found[task]:
                check_query(query, where)
    return found


class _Apart(Part):
    """The queries of a split that are a task's own."""

    kind = "queries apart"


class _Databases(Part):
    """The database files of a split, which stay where they are."""

    kind = "databases"


def _settings(loader: CorpusLoader) -> str:
    settings = {k: v for k, v in vars(loader).items() if k not in _NOT_SETTINGS}
    return json.dumps(settings, sort_keys=True, default=_path)


def _path(value: object) -> list[str]:
    if isinstance(value, Path):
        return ["path", str(value)]
    raise TypeError(f"{type(value).__name__} has no representation that identifies it")


def _line(query: Query) -> bytes:
    parts = [query.id, query.text, query.gold, query.answer, query.database_id, query.metadata]
    try:
        return encoded(parts) + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"query {query.id!r} cannot be written as JSON: {error}") from error


def _query(parts: list[Any]) -> Query:
    query_id, text, gold, answer, database_id, metadata = parts
    return Query(
        query_id,
        text,
        tuple(TableId(*pair) for pair in gold),
        tuple(answer) if isinstance(answer, list) else answer,
        database_id,
        metadata,
    )
