"""The corpus in memory: a sized, ordered, addressable collection with a fingerprint."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.core.schema import Cell, CorpusInfo, Query, Table, TableId
from target_bench.data.reading import make_dataset
from target_bench.data.tables import MemoryCorpus, decode_json, encode_context
from tests.data.strategies import tables

QUERY = Query("q", "x", (TableId("0", "t"),))
INFO = CorpusInfo("shop", "Shop", ("retrieval",), ("test",), "ours", "us", "https://example.org")


def _table(
    name: str = "t",
    header: Sequence[str] = ("a", "b"),
    rows: Sequence[Sequence[Cell]] = (("1", "2"), ("3", "4")),
    context: Mapping[str, Any] | None = None,
) -> Table:
    return Table(TableId("0", name), header, rows, context or {"title": "T"})


@given(tables(), st.integers(min_value=1, max_value=8))
def test_batches_and_fingerprints(given_tables: list[Table], n: int) -> None:
    """Lists or tuples, context in another order: the content is what counts."""
    corpus = MemoryCorpus(given_tables)
    batches = list(corpus.batches(n))
    assert [table for batch in batches for table in batch] == given_tables
    assert all(len(batch) == n for batch in batches[:-1])
    assert 1 <= len(batches[-1]) <= n
    again = MemoryCorpus(
        Table(
            TableId(*table.id),
            tuple(table.header),
            tuple(tuple(row) for row in table.rows),
            dict(reversed(list(table.context.items()))),
        )
        for table in given_tables
    )
    assert (again.fingerprint, again.groups) == (corpus.fingerprint, corpus.groups)


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
    """Same header and rows, with any id and context."""
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
    with pytest.raises(DataError, match="table 0/t occurs twice; ids must be unique"):
        MemoryCorpus([_table(), _table("u"), _table(), _table()])


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"id": ("0", "t")}, r"table id: expected a TableId of two texts, found \('0', 't'\)"),
        ({"id": TableId("0", 5)}, "table id: expected a TableId of two texts"),  # type: ignore[arg-type]
        ({"header": (), "rows": ()}, "table 0/t has no header"),
        ({"rows": [("1", "2"), ("3",)]}, "table 0/t, row 2: 1 cells under 2 columns"),
        ({"header": "ab"}, "table 0/t: a column name is not text: 'ab'"),
        ({"header": ["a", None]}, "table 0/t: a column name is not text"),
        ({"header": 5}, "table 0/t: header and rows should be lists of cells"),
        ({"rows": ["12"]}, "table 0/t, row 1: expected a list of cells, found '12'"),
        ({"rows": [["1", "2"], 5]}, "table 0/t: header and rows should be lists of cells"),
        ({"rows": [["1", ["2"]]]}, r"table 0/t, row 1: a cell cannot be list \(\['2'\]\)"),
        ({"rows": [["1", {"a": 1}]]}, "table 0/t, row 1: a cell cannot be dict"),
        ({"rows": [["1", 2j]]}, "table 0/t, row 1: a cell cannot be complex"),
    ],
)
def test_tables_of_the_wrong_form(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        MemoryCorpus([replace(_table(), **changes)])


def test_number_of_too_many_digits() -> None:
    """Python writes no whole number of more than 4,300 digits."""
    corpus = MemoryCorpus([_table(rows=[["1", 10**5000]])])
    with pytest.raises(DataError, match="table 0/t: Exceeds the limit"):
        corpus.fingerprint  # noqa: B018


@pytest.mark.parametrize(
    "context",
    [
        {"$bytes": "00"},
        {"$bytes": "no hex"},
        {"a": {"$bytes": b"x"}},
        {"$bytes$": 1, "$bytes": [{"$bytes$$": b"y"}]},
        {"a": [b"x", {"$bytes": None}], "$other": "z"},
    ],
)
def test_context_comes_back(context: dict[str, Any]) -> None:
    """Bytes are written as an object of one key; a real object of that key is another thing."""
    assert decode_json(encode_context(_table(context=context))) == context


@pytest.mark.parametrize("context", [{"a": object()}, {"a": 1, 5: 2}])
def test_context_that_is_not_json(context: Any) -> None:
    with pytest.raises(DataError, match="table 0/t, context: "):
        encode_context(_table(context=context))


@pytest.mark.parametrize(
    ("queries", "fault"),
    [
        ([QUERY] * 2, "query id 'q' occurs twice"),
        (
            [Query("q", "x", (TableId("0", "t"), TableId("1", "t")))],
            "query 'q' has gold table 1/t, which is not among the 1 tables",
        ),
        ([], "1 tables and 0 queries; both are needed"),
        (replace(QUERY, id=5), "query 5: id: expected text, found 5"),  # type: ignore[arg-type]
        (replace(QUERY, text=None), "query 'q': text: expected text, found None"),  # type: ignore[arg-type]
        (replace(QUERY, database_id=0), "query 'q': database_id: expected text, found 0"),  # type: ignore[arg-type]
        (replace(QUERY, gold=None), "query 'q': gold: expected a tuple of TableId, found None"),  # type: ignore[arg-type]
        (replace(QUERY, gold=TableId("0", "t")), "query 'q': gold: expected a tuple of TableId"),  # type: ignore[arg-type]
        (
            replace(QUERY, gold=(TableId("0", 5),)),  # type: ignore[arg-type]
            "query 'q': gold: expected a tuple of TableId",
        ),
    ],
)
def test_queries_that_a_dataset_refuses(queries: Any, fault: str) -> None:
    queries = [queries] if isinstance(queries, Query) else queries
    with pytest.raises(DataError, match=f"corpus shop, split test.*: {fault}"):
        make_dataset(INFO, "test", [_table()], queries)
