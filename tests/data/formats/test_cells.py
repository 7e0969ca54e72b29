"""Values of other systems as cells and as JSON."""

import datetime
import enum
from collections import OrderedDict
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow
import pytest

from target_bench.core.errors import DataError
from target_bench.data.formats.cells import convert_cells
from target_bench.data.formats.records import read_arrow_grid


class Colour(enum.StrEnum):
    RED = "red"


DAY = datetime.datetime(2020, 2, 29, 1, 2, 3)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (DAY, "2020-02-29T01:02:03"),
        (DAY.replace(tzinfo=datetime.UTC), "2020-02-29T01:02:03+00:00"),
        (DAY.date(), "2020-02-29"),
        (DAY.time(), "01:02:03"),
        (datetime.timedelta(hours=1), "1:00:00"),
        (Decimal("1.50"), "1.50"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (bytearray(b"x"), b"x"),
        (memoryview(b"x"), b"x"),
        (Colour.RED, "red"),
        (np.str_("x"), "x"),
        (np.int64(5), 5),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.datetime64("2020-02-29T01:02:03.000000001", "ns"), "2020-02-29T01:02:03.000000001"),
        ([1, "ö", None, b"\xff"], '[1, "ö", null, "ff"]'),
        ((1, (2,)), "[1, [2]]"),
        (OrderedDict(a=DAY.date()), '{"a": "2020-02-29"}'),
        ({5: 1}, '{"5": 1}'),
        (np.array([[1, 2]]), "[[1, 2]]"),
        (np.array([]), "[]"),
    ],
)
def test_other_values(value: Any, cell: Any) -> None:
    (made,) = convert_cells([value])
    assert (type(made), made) == (type(cell), cell)


def test_grid_of_an_arrow_table() -> None:
    """Columns of one name stay apart; the index that pandas adds goes, a column like it stays."""
    arrays = [pyarrow.array([1]), pyarrow.array(["x"]), pyarrow.array([2]), pyarrow.array([3])]
    names = ["a", "a", "__index_level_0__", "__index_level_x"]
    assert read_arrow_grid(pyarrow.table(arrays, names=names), "here") == (
        ["a", "a", "__index_level_x"],
        [[1, "x", 3]],
    )
    assert read_arrow_grid(pyarrow.table({}), "here") == ([], [])


def test_values_that_python_has_not() -> None:
    table = pyarrow.table({"when": pyarrow.array([2**62], pyarrow.timestamp("s"))})
    with pytest.raises(DataError, match=r"here, column 'when': a value cannot be read.*Cast it to"):
        read_arrow_grid(table, "here")
