"""Which tables can be joined: by declared foreign keys, names of columns, links or titles."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, Literal

import numpy as np

from target_bench.core.schema import NO_DATABASE, Corpus, Table
from target_bench.data.table_text import WORDS, cell_text

KeySource = Literal["auto", "declared", "inferred", "links", "titles"]
"""Declared keys, inferred ones, or those declared in a database that has any and inferred else.

``links`` joins a table with the passages, or tables, that its rows link to; ``titles`` with those
whose title is one of its cells.
"""

_MOST_TABLES = 100
"""Columns in more tables of a database than this join nothing: their weight is below 0.01."""

_KEY = re.compile(r"_(?:id|key|code|uuid|no|num|number|sk|guid|pk|fk)s?$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class _Schema:
    """A table as joins see it: its place in the corpus, names, columns, and what its keys name."""

    place: int
    names: tuple[str, str]
    columns: frozenset[str]
    foreign_keys: tuple[str, ...]


def join_weights(corpus: Corpus, keys: KeySource) -> Any:
    """Return how well each pair of tables can be joined, as docs/retrievers.md defines it.

    Args:
        corpus: the tables; those in no database join nothing.
        keys: which keys count.

    Returns:
        (n, n) symmetric CSR matrix of weights from 0 to 1, with an empty diagonal.
    """
    from scipy.sparse import csr_matrix

    weights: dict[tuple[int, int], float] = {}
    for left, right, weight in _pairs(corpus, keys):
        if left != right and weight > weights.get((left, right), 0):
            weights[left, right] = weights[right, left] = weight
    places = np.array(list(weights), dtype=np.int64).reshape(-1, 2)
    values = np.array(list(weights.values()))
    shape = (len(corpus), len(corpus))
    return csr_matrix((values, (places[:, 0], places[:, 1])), shape=shape)


def _pairs(corpus: Corpus, keys: KeySource) -> Iterator[tuple[int, int, float]]:
    """Yield joins of places with their weights; a pair may come again with another weight."""
    if keys == "links":
        return _links(corpus)
    if keys == "titles":
        return _titles(corpus)
    return chain.from_iterable(_joins(schemas, keys) for schemas in _databases(corpus).values())


def _links(corpus: Corpus) -> Iterator[tuple[int, int, float]]:
    """Yield joins by the entry ``links`` of a table's context: ids, a list for each of its rows."""
    for place, table in enumerate(corpus):
        for link in chain(*table.context.get("links", ())):
            other = corpus.positions.get((table.id.database_id, link))
            if other is not None:
                yield place, other, 1.0


def _titles(corpus: Corpus) -> Iterator[tuple[int, int, float]]:
    """Yield joins with what has a cell as its title, which may have more in brackets."""
    titled: dict[str, list[int]] = defaultdict(list)
    for place, table in enumerate(corpus):
        title = str(table.context.get("title") or "")
        for name in {_plain(title), _plain(title.partition(" (")[0])}:
            titled[name].append(place)
    for place, table in enumerate(corpus):
        for name in {_plain(cell_text(cell)) for row in table.rows for cell in row} - {""}:
            for other in titled.get(name, ()):
                yield place, other, 1 / len(titled[name])


def _plain(text: str) -> str:
    """Return the words of a text in lower case."""
    return " ".join(re.findall(WORDS, text.lower()))


def _databases(corpus: Corpus) -> dict[str, list[_Schema]]:
    by_database: dict[str, list[_Schema]] = defaultdict(list)
    for place, table in enumerate(corpus):
        if table.id.database_id != NO_DATABASE:
            by_database[table.id.database_id].append(_schema(place, table))
    return by_database


def _schema(place: int, table: Table) -> _Schema:
    title = str(table.context.get("title") or table.id.table_id).rpartition(".")[2]
    declared = table.context.get("foreign_keys") or ()
    return _Schema(
        place,
        (table.id.table_id.lower(), title.lower()),
        frozenset(map(_words, table.header)),
        tuple(str(key[1]).lower() for key in declared if len(key) == 2),
    )


def _joins(schemas: Sequence[_Schema], keys: KeySource) -> Iterator[tuple[int, int, float]]:
    """Yield the joins of a database."""
    declared = list(_declared(schemas)) if keys != "inferred" else []
    yield from declared
    if keys == "inferred" or (keys == "auto" and not declared):
        yield from _referred(schemas)
        yield from _shared(schemas)


def _declared(schemas: Sequence[_Schema]) -> Iterator[tuple[int, int, float]]:
    places = {name: schema.place for schema in schemas for name in reversed(schema.names)}
    for schema in schemas:
        for key in schema.foreign_keys:
            place = places.get(key, places.get(key.rpartition(".")[0]))
            if place not in (None, schema.place):
                yield schema.place, place, 1.0


def _referred(schemas: Sequence[_Schema]) -> Iterator[tuple[int, int, float]]:
    """Yield joins of a column such as ``building_id`` with a table such as ``buildings``."""
    named: dict[str, list[int]] = defaultdict(list)
    for schema in schemas:
        named[_singular(_words(schema.names[1]))].append(schema.place)
    for schema in schemas:
        for column in schema.columns:
            key = _KEY.search(column)
            for place in named.get(_singular(column[: key.start()]), ()) if key else ():
                yield schema.place, place, 1.0


def _shared(schemas: Sequence[_Schema]) -> Iterator[tuple[int, int, float]]:
    """Yield joins of columns of one name: the fewer tables have it, the more it says."""
    having: dict[str, list[int]] = defaultdict(list)
    for schema in schemas:
        for column in schema.columns:
            having[column].append(schema.place)
    for places in having.values():
        if 1 < len(places) <= _MOST_TABLES:
            for left, right in combinations(places, 2):
                yield left, right, 1 / (len(places) - 1)


def _words(name: str) -> str:
    """Return a name in lower case, with ``_`` between its words: ``BuildingId`` -> building_id."""
    return re.sub(r"[\s\-]+", "_", _CAMEL.sub("_", name.strip())).lower()


def _singular(name: str) -> str:
    """Return a name with each of its words in the singular, by the regular endings of English."""
    return "_".join(map(_singular_word, name.split("_")))


def _singular_word(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
