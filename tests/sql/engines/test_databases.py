"""Invalid limits."""

import math

import pytest

from target_bench.core.errors import ConfigError
from target_bench.sql.engines.databases import Limits


@pytest.mark.parametrize("seconds", [0, -1, math.inf, math.nan])
def test_seconds(seconds: float) -> None:
    with pytest.raises(ConfigError, match="seconds="):
        Limits(seconds=seconds)


def test_memory_rows_and_bytes() -> None:
    with pytest.raises(ConfigError, match="memory=1000"):
        Limits(memory=1000)
    with pytest.raises(ConfigError, match="rows=0"):
        Limits(rows=0)
    with pytest.raises(ConfigError, match="result_bytes=0"):
        Limits(result_bytes=0)
