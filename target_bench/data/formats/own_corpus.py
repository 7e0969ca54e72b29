"""What the layouts of a user's own tables share: questions from a file beside the tables."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from target_bench.core.errors import ConfigError
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import Corpus, Query
from target_bench.data.formats import query_log, records


class OwnCorpus(CorpusLoader):
    """A user's own tables; their questions may be a log with SQL.

    Args:
        path: the file or folder.
        settings: ``split`` and ``seed`` divide the questions, as in ``split=time:.8``; others are
            those of the layout.
    """

    has_databases: ClassVar[bool] = False

    def __init__(self, path: Path, settings: Mapping[str, Any] | None = None) -> None:
        self.embedded = path if path.is_dir() else path.parent
        self._settings = dict(settings or {})
        self._log = query_log.LogReader.take_settings(self._settings)
        release = Release(self.embedded, str(path))
        file = self._find_queries(release)
        splits = records.list_splits(release, file, self._log.prepare) if file else ()
        self.tables_alone = not splits
        self.info = records.describe_path(path, splits, with_database=self.has_databases)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Return the questions of the split; none if there is no file of questions."""
        file = self._find_queries(release)
        return self._log.read_queries(release, file, split) if file else ()

    def answerable(
        self, queries: Sequence[Query], tables: Corpus
    ) -> tuple[Sequence[Query], Sequence[str]]:
        """Find the gold tables of the questions of a log; those without any are left out."""
        return query_log.resolve_gold(queries, tables)

    def _find_queries(self, release: Release) -> Path | None:
        return next(filter(None, map(release.find, records.FILES)), None)

    def _refuse_settings(self, path: Path) -> None:
        for name in self._settings:
            raise ConfigError(
                f"{path}: the setting {name} is for a folder with one file per table, and this is "
                "none; it has split and seed"
            )
