"""Declarations of a corpus: where its files lie, and which field holds what."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Self

MAIN = "main"


class _Files:
    """Files of a repository, chosen by patterns; the base of ``Hub`` and ``GitHub``."""

    files: str | tuple[str, ...]
    split_names: Mapping[str, str]

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns of the files, one or several."""
        return (self.files,) if isinstance(self.files, str) else self.files

    def select_split(self, name: str) -> Self:
        """Return the files of one split."""
        files = _fill_in(self.patterns, name, self.split_names)
        return replace(self, files=files)  # type: ignore[type-var]  # its subclasses are dataclasses


@dataclass(frozen=True)
class Hub(_Files):
    """Files of a data set on the Hugging Face hub, verified by the hashes that the hub states.

    ```python
    from target_bench import Hub

    hub = Hub("owner/name", revision="0" * 40, files="{split}.jsonl")
    print(hub.select_split("test").patterns)  # ('test.jsonl',)
    ```

    Args:
        repository: ``owner/name``.
        files: patterns of their paths (one, or several); ``{split}`` is the name of the split.
        revision: a commit, perhaps abbreviated; default: the branch ``main`` as it is when it is
            first fetched, which is recorded.
        split_names: split -> its name in the files, as ``{"validation": "dev"}``.
    """

    repository: str
    files: str | tuple[str, ...] = "*"
    revision: str = MAIN
    split_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where a person finds it."""
        return f"https://huggingface.co/datasets/{self.repository}"

    @property
    def pin(self) -> tuple[str, ...]:
        """What names a version of the files; another one is another download."""
        return self.repository, self.revision, *self.patterns

    def locate(self, path: str) -> str:
        """Return where a file of the repository lies in the folder of a download."""
        return f"{PurePosixPath(self.repository).name}/{path}"


@dataclass(frozen=True)
class GitHub(_Files):
    """Files of a repository on GitHub at a commit, each pinned in ``data/pins/<name>.txt``.

    A line of that file is SHA-256 (or git blob id), size in bytes (``-`` where it is not known) and
    path. Arguments are those of ``Hub``, with the commit in place of the revision.
    """

    repository: str
    files: str | tuple[str, ...]
    commit: str
    split_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where a person finds it."""
        return f"https://github.com/{self.repository}"

    @property
    def pin(self) -> tuple[str, ...]:
        """What names a version of the files; another one is another download."""
        return self.repository, self.commit, *self.patterns

    def locate(self, path: str) -> str:
        """Return where a file of the repository lies in the folder of a download."""
        return path


Source = Hub | GitHub
Sources = Source | tuple[Source, ...]


def _fill_in(patterns: tuple[str, ...], split: str, names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(pattern.replace("{split}", names.get(split, split)) for pattern in patterns)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """In which field of a record each part of tables and queries is; dots lead into objects.

    ```python
    from target_bench import Columns, CorpusInfo, CorpusLoader, Hub

    class MyCorpus(CorpusLoader):
        data = Hub("owner/name", revision="0" * 40, files="data/{split}-*.parquet")
        info = CorpusInfo("my-corpus", licence="CC BY 4.0", data=data)
        columns = Columns(query="question", answer="answers", table="table.rows")

    print(MyCorpus.columns.table, MyCorpus.info.sources("test")[0].patterns)
    # table.rows ('data/test-*.parquet',)
    ```

    A record is a row of Parquet, a line of JSON lines, an entry of a JSON list or a row of CSV. The
    table of several records is one table, and is the same in all of them.

    Args:
        table_id: the id of the table that the record is about; default: a hash of the table.
        table: its rows of cells, the header first; or, in its place,
        header: the names of the columns, and
        rows: the rows of cells.
        query: the question; empty if the records have none.
        query_id: its id; default: the number of the record in the split, from 0.
        answer: a text, or a list of accepted texts.
        database_id: the database of the table.
        context: name in the table's context -> field, as ``{"title": "page_title"}``.
        metadata: name in the query's metadata -> field.
    """

    table_id: str = ""
    table: str = ""
    header: str = ""
    rows: str = ""
    query: str = ""
    query_id: str = ""
    answer: str = ""
    database_id: str = ""
    context: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.table) == bool(self.header and self.rows):
            raise ValueError("Columns: name the field of the table, or those of header and rows")
