"""Amounts of memory as users write them."""

from typing import Any

import numpy as np
import pytest

from target_bench.core.settings import n_bytes

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (1, 1),
        (10**30, 10**30),
        (np.int64(5), 5),
        ("1", 1),
        ("500MB", 500_000_000),
        ("500 mb", 500_000_000),
        (" 1.5 GB\n", 1_500_000_000),
        ("2GiB", 2**31),
        ("2gi", 2**31),
        ("2g", 2 * 10**9),
        ("0.5KiB", 512),
        ("1.0000000001t", 10**12 + 100),
        ("12B", 12),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_amounts(amount: Any, expected: int) -> None:
    assert n_bytes(amount) == expected
