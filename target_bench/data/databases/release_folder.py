"""The databases of a release: ``database/<db>/<db>.sqlite``, plain, packed one by one or all."""

import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from target_bench.core.declarations import MAIN, Hub
from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.data.databases.built_files import build_file

_PLAIN = re.compile(r"[^/\\\0:]+")


class DatabaseFile(NamedTuple):
    """A database file, unpacked if need be, and what tells its content from any other."""

    path: Path
    version: str


class DatabaseFolder:
    """The databases of a release, in folders or in zip archives, found by their ids."""

    def __init__(self, release: Release, folders: Sequence[str], archives: Sequence[str]) -> None:
        self._release = release
        self._folders = folders
        self._archives = archives

    def find(self, name: str) -> DatabaseFile | None:
        """Return the database of this id, unpacked if need be, or None if it is not here."""
        if not _PLAIN.fullmatch(name) or name in (".", ".."):
            raise DataError(f"{self._release.folder}: database id {name!r} is not a plain name")
        for folder in self._folders:
            path = self._release.find(f"{folder}/{name}/{name}.sqlite")
            if path is not None and path.suffix == ".sqlite":
                return DatabaseFile(path, self._hash(path))
            if path is not None:
                return self._unpack(name, self._hash(path), partial(self._release.open, path))
        if f"{name}/{name}.sqlite" not in self._members:
            return None
        archive, member = self._members[f"{name}/{name}.sqlite"]
        version = f"{self._hash(archive)}, {member}"
        return self._unpack(name, version, partial(_open_member, archive, member))

    def descriptions(self, name: str) -> Iterator[tuple[str, str, bytes]]:
        """Yield (place, table, content) of the CSV files in ``<db>/database_description/``."""
        seen = set()
        for folder in self._folders:
            for path in self._release.matching(f"{folder}/{name}/database_description/*.csv"):
                seen.add(path.name)
                yield str(path), path.stem, self._release.content(path)
        for inner, (path, member) in self._members.items():
            parts = PurePosixPath(inner)
            if parts.parent.as_posix() == f"{name}/database_description" and parts.name not in seen:
                with _open_member(path, member) as file:
                    yield f"{path}, {member}", parts.stem, file.read()

    def _unpack(
        self, name: str, version: str, content: Callable[[], AbstractContextManager[IO[bytes]]]
    ) -> DatabaseFile:
        def write(new: Path) -> None:
            with content() as packed, new.open("wb") as file:
                shutil.copyfileobj(packed, file)

        return DatabaseFile(build_file(name, version, write), version)

    def _hash(self, path: Path) -> str:
        self._release.note(path)
        return self._release.hashes[self._release.relative(path)]

    @cached_property
    def _members(self) -> Mapping[str, tuple[Path, str]]:
        """``<db>/<file>`` and ``<db>/<folder>/<file>`` -> (archive, name in it)."""
        members: dict[str, tuple[Path, str]] = {}
        for name in self._archives:
            path = self._release.find(name)
            if path is None or path.suffix != ".zip":
                continue
            with _open_archive(path) as archive:
                names = [n for n in archive.namelist() if not n.startswith("__MACOSX")]
            for member in names:
                parts = PurePosixPath(member).parts
                depth = 2 if member.endswith(".sqlite") else 3
                if len(parts) >= depth and member.endswith((".sqlite", ".csv")):
                    members.setdefault("/".join(parts[-depth:]), (path, member))
        return members


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError) as error:
        raise DataError(
            f"{path}: the file is truncated or damaged ({error}). Download it again."
        ) from error


@contextmanager
def _open_member(path: Path, member: str) -> Iterator[IO[bytes]]:
    with _open_archive(path) as archive, archive.open(member) as file:
        yield file


def target_copies(
    corpus: str, split: str, tables: str = MAIN, queries: str = MAIN
) -> tuple[Hub, Hub]:
    """Return where TARGET's copies of the databases and questions of a split lie on the hub."""
    name = f"target-benchmark/{corpus}"
    # database by database: its JSON files hold the same rows once more, 1.93 GB for BIRD
    return (
        Hub(f"{name}-corpus-{split}", f"{split}_database/*/*.sqlite", tables),
        Hub(f"{name}-queries-{split}", f"{corpus}-queries-{split}.json", queries),
    )
