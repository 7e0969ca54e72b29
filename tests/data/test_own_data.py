"""Data frames as corpora."""

import datetime
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow
import pytest

from target_bench import corpora
from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.data.own_data import from_dataframe
from tests.data.written import asked

QUERIES = [asked("t")]
COLUMNS = {"a": [1, 2], "b": ["x", None]}


def _grid(dataset: Dataset, name: str = "t") -> list[list[Any]]:
    table = dataset.corpus["0", name]
    return [list(table.header), *(list(row) for row in table.rows)]


def _stream(table: pyarrow.Table) -> Any:
    """Something that is a data frame by the protocol alone."""

    class Frame:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table.__arrow_c_stream__(requested_schema)

    return Frame()


def test_context_that_is_not_a_mapping() -> None:
    context: Any = {"t": "a title"}
    with pytest.raises(DataError, match="context of the table 't' should be a mapping"):
        from_dataframe({"t": COLUMNS}, QUERIES, context=context)


@pytest.mark.parametrize("kind", ["dict", "table", "batch", "reader", "stream", "pandas", "polars"])
def test_frames_of_many_kinds(kind: str) -> None:
    table = pyarrow.table(COLUMNS)
    if kind in ("pandas", "polars"):
        frame = pytest.importorskip(kind).DataFrame(COLUMNS)
    else:
        frame = {
            "dict": COLUMNS,
            "table": table,
            "batch": table.to_batches()[0],
            "reader": table.to_reader(),
            "stream": _stream(table),
        }[kind]
    dataset = from_dataframe({"t": frame}, QUERIES)
    assert _grid(dataset) == [["a", "b"], [1, "x"], [2, None]]
    assert dataset.corpus["0", "t"].context == {"title": "t"}
    assert (dataset.info.name, dataset.split, dataset.files) == ("frames", "test", {})
    assert dataset.queries[0].gold == (TableId("0", "t"),)


def test_typed_columns() -> None:
    frame = {
        "day": [datetime.date(2020, 2, 29), None],
        "real": [float("nan"), 1.5],
        "raw": [b"\xff", b""],
        "many": [[1, 2], None],
        "flag": [True, None],
    }
    rows = _grid(from_dataframe({"t": frame}, QUERIES))[1:]
    assert repr(rows) == repr(
        [["2020-02-29", float("nan"), b"\xff", "[1, 2]", True], [None, 1.5, b"", None, None]]
    )


def test_pandas_missing_values_and_times() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "n": pandas.array([1, None], dtype="Int64"),
            "x": [1.5, None],
            "t": [pandas.Timestamp("2020-02-29 01:02:03"), pandas.NaT],
            "c": pandas.Categorical(["u", None]),
        }
    )
    rows = _grid(from_dataframe({"t": frame}, QUERIES))[1:]
    assert rows == [[1, 1.5, "2020-02-29T01:02:03", "u"], [None, None, None, None]]


def test_ids_as_text() -> None:
    dataset = from_dataframe({5: COLUMNS}, [asked("5")], context={5: {"title": "Five"}})  # type: ignore[dict-item]
    assert dataset.corpus["0", "5"].context == {"title": "Five"}
    with pytest.raises(DataError, match="table 0/5 occurs twice"):
        from_dataframe({5: COLUMNS, "5": COLUMNS}, [asked("5")])  # type: ignore[dict-item]


def test_context() -> None:
    about = {"t": {"title": "T", "section_title": "S", "day": datetime.date(2020, 2, 29)}}
    dataset = from_dataframe({"t": COLUMNS, "u": COLUMNS}, QUERIES, context=about)
    assert dataset.corpus["0", "t"].context == about["t"] | {"day": "2020-02-29"}
    assert dataset.corpus["0", "u"].context == {"title": "u"}
    with pytest.raises(DataError, match="context names the table 'z', which is not among"):
        from_dataframe({"t": COLUMNS}, QUERIES, context={"z": {}})
    with pytest.raises(DataError, match="table 't': field 'x': object"):
        from_dataframe({"t": COLUMNS}, QUERIES, context={"t": {"x": object()}})


def test_queries_of_many_kinds() -> None:
    columns = {
        "query_id": [1, 2],
        "query": ["A?", "B?"],
        "table_id": [["t"], ["t", "u"]],
        "answer": ["x", None],
        "level": ["hard", None],
    }
    kinds: list[Any] = [columns, pyarrow.table(columns), pyarrow.table(columns).to_pylist()]
    records = pyarrow.table(columns).to_pylist()
    kinds.append(iter(records))
    kinds.append(
        [
            r | {"table_id": np.array(r["table_id"]), "query_id": np.int64(r["query_id"])}
            for r in records
        ]
    )
    for queries in kinds:
        one, two = from_dataframe({"t": COLUMNS, "u": {"x": [1]}}, queries).queries
        assert (one.id, one.text, one.answer, one.metadata) == ("1", "A?", "x", {"level": "hard"})
        assert two.gold == (TableId("0", "t"), TableId("0", "u"))
        assert (two.answer, two.metadata) == ("", {})


@pytest.mark.parametrize(
    ("queries", "fault"),
    [
        (5, "queries: int is neither"),
        ([5], "query 1: expected a JSON object, found int"),
        ([], "1 tables and 0 queries; both are needed"),
        ([asked("t"), asked("t")], "query id 'q1' occurs twice"),
        ([asked("t"), {"query_id": "q2"}], "query 2: no field 'table_id'; it has query_id"),
        ([asked("t", query_id=1.0)], "query 1: field 'query_id' should be text or a whole number"),
        ([asked("z")], "query 'q1' has gold table 0/z, which is not among the 1 tables"),
        ({"query_id": [1, 2], "query": ["x"]}, "queries: dict is not a data frame"),
    ],
)
def test_broken_queries(queries: Any, fault: str) -> None:
    with pytest.raises(DataError) as caught:
        from_dataframe({"t": COLUMNS}, queries)
    assert fault in str(caught.value)


def test_all_faults_of_a_query_are_told() -> None:
    with pytest.raises(DataError) as caught:
        from_dataframe({"t": COLUMNS}, [{"query_id": 1.0, "query": 3, "table_id": ["t", 1.5]}])
    lines = str(caught.value).splitlines()
    fields = [line.partition("field ")[2].partition(" ")[0] for line in lines]
    assert fields == ["'query_id'", "'query'", "'table_id'"]


@pytest.mark.everywhere
def test_no_frame_library_is_imported() -> None:
    script = (
        "import sys; from target_bench.corpora import from_dataframe; "
        "print(sorted({'pandas', 'polars', 'pyarrow', 'duckdb'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def test_pandas_periods() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"year": pandas.period_range("2020", "2021", freq="Y")})
    with pytest.raises(DataError, match="table 't', column 'year': holds periods of pandas"):
        corpora.from_dataframe({"t": frame}, [{"query_id": 1, "query": "x", "table_id": "t"}])
