"""Statements near the gold: no score differs from BIRD's rule without being counted.

The whole of 4,000 is ``python -m tests.real.sql_mutations 4000``.
"""

from collections import Counter
from itertools import islice

import pytest

from target_bench.sql.databases import EngineName
from tests.real.databases import needs_databases
from tests.real.sql_mutations import CHANGES, mutants, silent_differences

pytestmark = needs_databases

DATABASES = ("concert_singer", "world_1", "student_club", "superhero", "wta_1", "car_1")
"""Of all sizes; a copy of each is made for DuckDB."""


@pytest.mark.parametrize(("engine", "differ"), [("sqlite", 0), ("duckdb", 0.05)])
def test_no_silent_difference(engine: EngineName, differ: float) -> None:
    chosen = list(islice(mutants(DATABASES), 160))
    assert set(Counter(mutant.kind for mutant in chosen)) == set(CHANGES)
    lines, outcomes = silent_differences(chosen, engine, workers=2)
    assert not lines, "\n".join(lines)
    assert min(outcomes["correct"], outcomes["wrong_result"]) > 30, "both are tried"
    assert outcomes["translation_differs"] <= differ * len(chosen)
