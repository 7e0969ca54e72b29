"""A corpus that has what the contract promises, and remembers what else it was asked for."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from target_bench.core.schema import Corpus, Table, TableId

_TELLING = re.compile(
    r"(answer|dataset|file|folder|gold|info|label|name|path|qrel|quer(y|ie)|question|source|split|"
    r"task)s?"
)


class Guarded(Corpus):
    """The tables of another corpus, and nothing else of it.

    Args:
        corpus: where the tables are.

    Attributes:
        asked: names of attributes that it was asked for and that no corpus promises.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.asked: list[str] = []
        self.__corpus = corpus

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            self.asked.append(name)
        raise AttributeError(f"a corpus promises no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.__corpus)

    def __iter__(self) -> Iterator[Table]:
        return iter(self.__corpus)

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        return self.__corpus[table_id]

    @property
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in corpus order."""
        return self.__corpus.ids

    @property
    def fingerprint(self) -> str:
        """A hash of the content."""
        return self.__corpus.fingerprint

    @property
    def positions(self) -> Mapping[tuple[str, str], int]:
        """Table id -> its place in corpus order."""
        return self.__corpus.positions

    @property
    def groups(self) -> Sequence[int]:
        """For each table the place of the first table with the same header and rows."""
        return self.__corpus.groups


def telling(names: Iterable[str]) -> list[str]:
    """Return the names of attributes that could hold labels or identify the data."""
    found = dict.fromkeys(names)
    return [name for name in found if any(map(_TELLING.fullmatch, name.lower().split("_")))]
