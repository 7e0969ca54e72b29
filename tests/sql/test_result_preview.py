"""Beginnings of results, as runs record them."""

import json

from target_bench.core.schema import Executed
from target_bench.sql.judged_answer import readable
from target_bench.sql.workers.process import CHARACTERS, COLUMNS, Shape, beginning


def test_cells_become_text() -> None:
    """JSON has no bytes, no infinity and no integer of 64 bits that a browser reads rightly."""
    row = (None, 1, 2**63 - 1, 0.5, float("inf"), "a|b", b"\x00\xff", "\ud800")
    found = readable(beginning(Executed("executed", tuple("abcdefgh"), (row,))), Shape(1, 8))
    assert found == {
        "columns": list("abcdefgh"),
        "rows": [[None, "1", "9223372036854775807", "0.5", "inf", "a|b", "x'00ff'", "?"]],
        "n_columns": 8,
    }
    json.dumps(found, allow_nan=False, ensure_ascii=False).encode()


def test_what_is_large_is_cut() -> None:
    wide = tuple(f"c{i}" for i in range(30))
    cell = "x" * 10_000
    cut = beginning(Executed("executed", wide, ((cell,) * 30,) * 100))
    assert all(len(str(cell)) <= CHARACTERS + 1 for row in cut.rows for cell in row)
    found = readable(cut, Shape(100, 30))
    assert found is not None
    assert (len(found["rows"]), len(found["rows"][0]), found["n_columns"]) == (20, 20, 30)
    assert found["rows"][0][0] == "x" * CHARACTERS + "…"
    exact = readable(beginning(Executed("executed", ("a",), (("y" * CHARACTERS,),))), Shape(1, 1))
    assert exact is not None
    assert exact["rows"] == [["y" * CHARACTERS]]


def test_what_was_not_executed_has_no_result() -> None:
    assert readable(None, None) is None
    assert readable(beginning(Executed("timeout", message="30 s")), Shape()) is None


def test_a_result_without_rows_keeps_its_columns() -> None:
    found = readable(beginning(Executed("executed", ("a", "b"))), Shape(0, 2))
    assert found == {"columns": ["a", "b"], "rows": [], "n_columns": 2}


def test_names_of_columns_are_cut() -> None:
    """A statement writes them, so they are as long as it likes."""
    cut = beginning(Executed("executed", ("x" * 18_000,) * 1_960, ((1,) * 1_960,)))
    assert cut.columns == ("x" * (CHARACTERS + 1),) * COLUMNS
    found = readable(cut, Shape(1, 1_960))
    assert found is not None
    assert found["columns"] == ["x" * CHARACTERS + "…"] * COLUMNS
    assert found["n_columns"] == 1_960
