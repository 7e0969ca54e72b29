"""Gold tables that are not among the tables."""

from pathlib import Path

import pytest

from target_bench import DataError, load


@pytest.mark.parametrize(
    ("gold", "parts"),
    [
        (["films.csv"], ["query '1' has gold table 0/films.csv, which is not among the 2 tables"]),
        (["films.csv"], ["1 gold table of 1 query missing: films.csv (perhaps films)"]),
        (
            ["x", "y", "films"],
            ["2 gold tables of 2 queries missing", "x (no table has a similar name"],
        ),
        ([f"x{i}" for i in range(7)], ["7 gold tables of 7 queries", "; 2 more. Correct the"]),
    ],
)
def test_all_that_are_missing_are_listed(tmp_path: Path, gold: list[str], parts: list[str]) -> None:
    for name in ("films", "towns"):
        (tmp_path / f"{name}.csv").write_text("a,b\n1,2\n")
    lines = ["query_id,query,table_id", *(f"{i},q,{name}" for i, name in enumerate(gold, start=1))]
    (tmp_path / "queries.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError) as error:
        load(tmp_path)
    for part in ("queries.csv", *parts):
        assert part in str(error.value)
