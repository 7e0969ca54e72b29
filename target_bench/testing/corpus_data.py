"""The data of the corpus under test, read past the cache and kept from check to check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError, PluginError
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import CorpusInfo, Dataset
from target_bench.data import read_split
from target_bench.testing.checks import CheckError, Maker


class AbsentError(CheckError):
    """A split whose files are not here."""


class Source:
    """The corpus under test with its data; what was read of it is kept for the next check.

    Args:
        make: makes its loader.
        data_dir: as for ``check_corpus``.
        asked: the splits to check; empty: those whose files are there.
    """

    def __init__(self, make: Maker, data_dir: str | Path | None, asked: tuple[str, ...]) -> None:
        self.name = make.name
        self._make = make
        self._data_dir = data_dir
        self._asked = asked
        self._read: dict[tuple[str, str], Held] = {}
        self._datasets: dict[str, Dataset] = {}

    def loader(self) -> CorpusLoader:
        """Make a new loader.

        Raises:
            CheckError: what is made is not a ``CorpusLoader``, or declares nothing.
        """
        made = self._make()
        if not isinstance(made, CorpusLoader):
            raise CheckError(
                f"{type(made).__name__} is not a corpus: inherit CorpusLoader, and define "
                "info, tables and queries"
            )
        if not isinstance(getattr(made, "info", None), CorpusInfo):
            raise CheckError("it has no info; write info = CorpusInfo(name=..., title=..., ...)")
        return made

    def reader(self) -> CorpusLoader:
        """Make the loader that reads the folder: its own, or the one of TARGET's layout."""
        return read_split.by_layout(self.loader(), self.folder)

    @cached_property
    def folder(self) -> Path:
        """The folder of its data.

        Raises:
            CheckError: there is none.
        """
        try:
            folders = [
                read_split.folder_of(self.loader(), self._data_dir, split) for split in self.wanted
            ]
            return folders[0]
        except DataError as error:
            raise CheckError(str(error)) from error

    @cached_property
    def wanted(self) -> tuple[str, ...]:
        """The splits that have to be there: those asked for, else the default."""
        loader = self.loader()
        asked = tuple(read_split.split_of(loader, split) for split in self._asked)
        return asked or loader.info.splits[:1]

    @cached_property
    def absent(self) -> Mapping[str, str]:
        """Split -> what is missing, of those that are not asked for and whose files are not here.

        Raises:
            CheckError: a split cannot be read for another reason.
        """
        found = {}
        for split in () if self._asked else self.loader().info.splits[1:]:
            try:
                self.dataset(split)
            except AbsentError as error:
                found[split] = str(error)
        return found

    def datasets(self) -> Sequence[Dataset]:
        """Return each split that is wanted or can be read."""
        rest = () if self._asked else self.loader().info.splits[1:]
        splits = [*self.wanted, *(split for split in rest if split not in self.absent)]
        return [self.dataset(split) for split in splits]

    def dataset(self, split: str) -> Dataset:
        """Return a split, read once; errors as for ``fresh``."""
        if split not in self._datasets:
            tables, queries = (self.held(part, split) for part in PARTS)
            self._datasets[split] = self._joined(split, tables, queries)
        return self._datasets[split]

    def fresh(self, split: str) -> Dataset:
        """Read a split again with a new loader.

        Raises:
            CheckError: tables or queries cannot be read, or a gold table is missing.
        """
        return self._joined(split, *(self._hold(part, split) for part in PARTS))

    def held(self, part: type[read_split.PluginPart], split: str) -> "Held":
        """Return the tables or the queries of a split, read once; errors as for ``fresh``."""
        key = part.kind, split
        if key not in self._read:
            self._read[key] = self._hold(part, split)
        return self._read[key]

    def _hold(self, part: type[read_split.PluginPart], split: str) -> "Held":
        """Read past the cache."""
        one = part(self.reader(), self.folder, split)
        release = one.release()
        try:
            value, _ = one.hold(release)
        except (DataError, PluginError) as error:
            kind = CheckError if release.hashes else AbsentError
            raise kind(f"split {split}: {error}") from error
        return Held(value, dict(release.hashes))

    def _joined(self, split: str, tables: "Held", queries: "Held") -> Dataset:
        files = {**tables.files, **queries.files}
        try:
            return read_split.dataset(self.loader().info, split, tables.value, queries.value, files)
        except DataError as error:
            raise CheckError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Held:
    """Tables or queries of a split, and the SHA-256 of the files that they were read from."""

    value: Any
    files: Mapping[str, str]


PARTS: tuple[type[read_split.PluginPart], ...] = (read_split.Tables, read_split.Queries)
