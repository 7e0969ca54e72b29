"""Small corpora, and questions to put to retrievers."""

from collections.abc import Iterable, Sequence
from typing import Any

from target_bench.core.contract import Retriever
from target_bench.core.registry import create
from target_bench.core.schema import Cell, Corpus, Table, TableId
from target_bench.data.tables import MemoryCorpus

Pairs = list[tuple[TableId, float]]


def table(
    name: str,
    title: str = "",
    header: Sequence[str] = ("name", "number"),
    rows: Sequence[Sequence[Cell]] = (),
    section: str = "",
) -> Table:
    """A table with a title and perhaps a section title."""
    return Table(TableId("0", name), header, rows, {"title": title, "section_title": section})


TABLES = (
    table("fruit", "Fruit prices", ("fruit", "price"), (("apple", 3), ("pear", 4.5))),
    table("rivers", "Rivers of France", ("river", "length"), (("Rhône", 813), ("Loire", 1006))),
    table("kings", "Kings", ("king", "from"), (("Løvenskiold", 1650), ("Ångström", None))),
    table("rowless", "Rivers without rows", ("river", "length")),
    table("bare", "", ("x", ""), (("", ""), (b"\x01", None))),
    table("twin1", "Twin", ("fruit", "river"), (("plum", "Rhine"), ("plum", "Rhine"))),
    table("twin2", "Twin", ("fruit", "river"), (("plum", "Rhine"), ("plum", "Rhine"))),
    table("tokyo", "東京 都市", ("都市", "人口"), (("東京", 14), ("大阪", 9))),
)

QUERIES = (
    "which river is the longest",
    "apple price",
    "plum",
    "river river fruit plum rhine length",
    "Ångström løvenskiold",
    "東京",
    "unheard-of",
    "",
    "  ?! ",
    "the of and",
)


def corpus() -> MemoryCorpus:
    """The small corpus."""
    return MemoryCorpus(TABLES)


def built(spec: str, tables: Corpus | None = None) -> Retriever:
    """A retriever that has indexed a corpus."""
    retriever: Retriever = create("retriever", spec)
    retriever.embed_corpus(corpus() if tables is None else tables)
    return retriever


def ask(retriever: Retriever, queries: Sequence[str] = QUERIES, k: int = 5) -> list[Pairs]:
    """The rankings of a batch, as lists of pairs."""
    return [_pairs(ranking) for ranking in retriever.retrieve_batch(list(queries), k)]


def _pairs(ranking: Iterable[Any]) -> Pairs:
    return [(TableId(*table_id), float(score)) for table_id, score in ranking]


def names(ranking: Pairs) -> list[str]:
    """The tables' own ids."""
    return [table_id.table_id for table_id, _ in ranking]


def same_rankings(rankings: Sequence[Pairs], expected: Sequence[Pairs]) -> None:
    """Assert the same tables in the same order, with equal scores up to the fifth decimal."""
    for mine, theirs in zip(rankings, expected, strict=True):
        assert [t for t, _ in mine] == [t for t, _ in theirs]
        for (_, left), (_, right) in zip(mine, theirs, strict=True):
            assert abs(left - right) < 1e-6
