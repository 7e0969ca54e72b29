"""The corpus in memory: a sized, ordered, addressable collection with a fingerprint."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.corpora.store import MemoryCorpus, dataset
from target_bench.errors import DataError
from target_bench.schema import Cell, CorpusInfo, Query, Table, TableId

INFO = CorpusInfo("shop", "Shop", ("retrieval",), ("test",), "ours", "us", "https://example.org")

any_text = st.text(st.characters(), max_size=8)
any_cell: st.SearchStrategy[Cell] = st.one_of(
    any_text,
    st.integers(),
    st.floats(allow_nan=False),
    st.binary(max_size=4),
    st.none(),
)


@st.composite
def tables(draw: st.DrawFn) -> list[Table]:
    """Tables with different ids and anything in their cells."""
    ids = draw(st.lists(st.tuples(any_text, any_text), unique=True, min_size=1, max_size=6))
    found = []
    for table_id in ids:
        header = draw(st.lists(any_text, min_size=1, max_size=3))
        row = st.lists(any_cell, min_size=len(header), max_size=len(header))
        rows = draw(st.lists(row, max_size=3))
        context = draw(st.dictionaries(any_text, any_text, max_size=2))
        found.append(Table(TableId(*table_id), header, rows, context))
    return found


def _table(
    name: str = "t",
    header: Sequence[str] = ("a", "b"),
    rows: Sequence[Sequence[Cell]] = (("1", "2"), ("3", "4")),
    context: Mapping[str, Any] | None = None,
) -> Table:
    return Table(TableId("0", name), header, rows, context or {"title": "T"})


@given(tables())
def test_collection(given_tables: list[Table]) -> None:
    corpus = MemoryCorpus(iter(given_tables))
    assert len(corpus) == len(given_tables)
    assert list(corpus) == list(corpus) == given_tables
    assert list(corpus.ids) == [table.id for table in given_tables]
    assert dict(corpus.positions) == {table.id: i for i, table in enumerate(given_tables)}
    assert all(table.id in corpus and corpus[table.id] is table for table in given_tables)


@given(tables(), st.integers(min_value=1, max_value=8))
def test_batches(given_tables: list[Table], n: int) -> None:
    batches = list(MemoryCorpus(given_tables).batches(n))
    assert [table for batch in batches for table in batch] == given_tables
    assert all(len(batch) == n for batch in batches[:-1])
    assert 1 <= len(batches[-1]) <= n


@pytest.mark.parametrize("n", [0, -1])
def test_batches_of_nothing(n: int) -> None:
    with pytest.raises(ValueError, match="at least one table"):
        list(MemoryCorpus([_table()]).batches(n))


def test_addressing() -> None:
    corpus = MemoryCorpus([_table()])
    assert corpus["0", "t"] is corpus[TableId("0", "t")]
    assert ("0", "t") in corpus
    assert all(other not in corpus for other in (("1", "t"), ("0", "u"), "t", None, 5))
    with pytest.raises(KeyError):
        corpus["0", "u"]


def test_no_tables() -> None:
    corpus = MemoryCorpus([])
    assert len(corpus) == 0
    assert list(corpus.batches(3)) == []
    assert list(corpus.groups) == []
    assert corpus.fingerprint


@given(tables())
def test_same_content_same_fingerprint(given_tables: list[Table]) -> None:
    """Lists or tuples, context in another order: the content is what counts."""
    again = [
        Table(
            TableId(*table.id),
            tuple(table.header),
            tuple(tuple(row) for row in table.rows),
            dict(reversed(list(table.context.items()))),
        )
        for table in given_tables
    ]
    assert MemoryCorpus(again).fingerprint == MemoryCorpus(given_tables).fingerprint
    assert MemoryCorpus(again).groups == MemoryCorpus(given_tables).groups


@given(tables(), st.data())
def test_any_change_changes_the_fingerprint(given_tables: list[Table], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(given_tables) - 1))
    table = given_tables[place]
    row: Sequence[Cell] = ["new"] * len(table.header)
    changed = data.draw(
        st.sampled_from(
            [
                replace(table, id=TableId(table.id.database_id + "x", table.id.table_id)),
                replace(table, id=TableId(table.id.database_id, table.id.table_id + "x" * 9)),
                replace(table, header=[table.header[0] + "x", *table.header[1:]]),
                replace(table, rows=[*table.rows, row]),
                replace(table, context={**table.context, "new key": ""}),
            ]
        )
    )
    others = [*given_tables[:place], changed, *given_tables[place + 1 :]]
    if len({other.id for other in others}) == len(others):
        assert MemoryCorpus(others).fingerprint != MemoryCorpus(given_tables).fingerprint


@given(st.lists(any_cell, min_size=2, max_size=2, unique_by=lambda cell: (type(cell), cell)))
def test_every_cell_counts(two: list[Cell]) -> None:
    """Also between types: 1, 1.0, "1" and b"1" are four different cells."""
    one, other = (MemoryCorpus([_table(rows=[["x", cell]])]) for cell in two)
    assert one.fingerprint != other.fingerprint


def test_moving_content_changes_the_fingerprint() -> None:
    """Content at another place is other content."""
    first, second = _table("t"), _table("u", rows=[("5", "6")])
    variants = [
        [first, second],
        [second, first],
        [first],
        [_table("u"), _table("t", rows=[("5", "6")])],
        [_table(header=("a", "b"), rows=[]), second],
        [_table(header=("1", "2"), rows=[("a", "b"), ("3", "4")]), second],
        [_table(rows=[("3", "4"), ("1", "2")]), second],
        [_table(context={"title": "T", "section_title": None}), second],
        [_table(context={"section_title": "T"}), second],
    ]
    fingerprints = [MemoryCorpus(variant).fingerprint for variant in variants]
    assert len(set(fingerprints)) == len(fingerprints)


def test_groups_of_copies() -> None:
    """Same header and rows, whatever the id and the context."""
    corpus = MemoryCorpus(
        [
            _table("a"),
            _table("b", header=("a", "c")),
            _table("c", context={"title": "Another"}),
            _table("d", rows=()),
            _table("e"),
            _table("f", rows=()),
        ]
    )
    assert list(corpus.groups) == [0, 1, 0, 3, 0, 3]


def test_ids_must_be_unique() -> None:
    """A table id may recur in another database, not in its own."""
    other = Table(TableId("1", "t"), ["a"], [])
    assert len(MemoryCorpus([_table(), other])) == 2
    with pytest.raises(DataError, match="table 0/t occurs 3 times; ids must be unique"):
        MemoryCorpus([_table(), _table("u"), _table(), _table()])


def test_tables_must_be_rectangular() -> None:
    with pytest.raises(DataError, match="table 0/t, row 2: 1 cells under 2 columns"):
        MemoryCorpus([_table(rows=[("1", "2"), ("3",)])])
    with pytest.raises(DataError, match="table 0/t has no header"):
        MemoryCorpus([_table(header=(), rows=())])


def test_dataset_is_checked_and_noted() -> None:
    gold = (TableId("0", "t"),)
    queries = [Query("q1", "What?", gold), Query("q2", "\t ", gold)]
    found = dataset(INFO, "test", [_table()], iter(queries), {"a.txt": "00"})
    assert found.queries == tuple(queries)
    assert found.files == {"a.txt": "00"}
    assert found.notes == ("1 of 2 queries are empty",)


@pytest.mark.parametrize(
    ("queries", "fault"),
    [
        ([Query("q", "x", (TableId("0", "t"),))] * 2, "query id 'q' occurs twice"),
        ([Query("q", "x", ())], "query 'q' names no gold table"),
        (
            [Query("q", "x", (TableId("0", "t"), TableId("1", "t")))],
            "query 'q' has gold table 1/t, which is not among the 1 tables",
        ),
    ],
)
def test_dataset_refuses(queries: list[Query], fault: str) -> None:
    with pytest.raises(DataError, match=f"corpus shop, split test.*: {fault}"):
        dataset(INFO, "test", [_table()], queries, {})


def test_faults_of_tables_name_the_corpus() -> None:
    with pytest.raises(DataError, match=r"corpus shop, split test.*: table 0/t has no header"):
        dataset(INFO, "test", [_table(header=(), rows=())], [], {})
