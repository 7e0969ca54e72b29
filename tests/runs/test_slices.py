"""What stands beside the metrics of each query."""

from target_bench.core.schema import Query, TableId
from target_bench.runs.slicing import partition, slice_columns


def _query(name: str, n_gold: int, database_id: str, **metadata: object) -> Query:
    gold = tuple(TableId(database_id, str(i)) for i in range(n_gold))
    return Query(name, "?", gold, "", database_id, metadata)


def test_columns() -> None:
    queries = [
        _query("a", 1, "d", hardness="easy", n=3, cells=[[1, 2]], evidence="x" * 65, mixed=1),
        _query("b", 2, "e", hardness=None, evidence="short", mixed="one"),
    ]
    assert slice_columns(queries) == {
        "slice.gold_tables": [1, 2],
        "slice.db_id": ["d", "e"],
        "slice.hardness": ["easy", None],
        "slice.n": [3, None],
    }


def test_metadata_never_hides_ours() -> None:
    assert slice_columns([_query("a", 2, "0", gold_tables=7)]) == {"slice.gold_tables": [2]}


def test_what_puts_queries_together() -> None:
    """An index, or an id, stands beside the metrics, but no chart by it says anything."""
    assert partition(["easy", "hard", "easy", None]).groups
    assert partition(["a", "b"]).groups
    assert partition(list("aabbcc")).groups
    assert not partition(["same", "same", None]).groups
    assert not partition(range(100)).groups
    assert not partition([None, None]).groups
    assert not partition([]).groups
