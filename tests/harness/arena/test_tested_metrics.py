"""Metrics under test: found by name, a user's own among them, and what they may not do."""

from pathlib import Path

import numpy as np
import pytest

from target_bench.core.errors import ConfigError, PluginError
from target_bench.harness.arena.tested_metrics import DEFAULT, metric_under_test
from target_bench.tables.compared_tables import ComparedTables

GOLD = "| a | b |\n|---|---|\n| one | 2 |\n| three | 4 |"
PAIRS = [ComparedTables(text, GOLD, "text") for text in (GOLD, GOLD.replace("three", "no"), "none")]
OWN = '''
from target_bench import Metric, MetricSpec

def rows(reference, answer):
    """Share of rows."""
    return len(set(reference) & set(answer)) / len(reference)

def same(reference, answer):
    import numpy
    return numpy.bool_(reference == answer)

def text(reference, answer):
    return "good"

def nothing(reference, answer):
    return None

def broken(reference, answer):
    raise KeyError("x")

class Cells(Metric):
    spec = MetricSpec("cells_wrong", of="tables", higher_is_better=False)
    signature = "cells"
    def statistics(self, examples):
        import numpy
        return numpy.array([[float(one.text != one.gold), 1.0] for one in examples])
    def value(self, totals):
        return totals[..., 0] / totals[..., 1]
'''


@pytest.fixture
def own(tmp_path: Path) -> str:
    """A file with metrics of a user."""
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return str(path)


@pytest.mark.parametrize("name", DEFAULT)
def test_the_reference_is_best_and_no_table_worst(name: str) -> None:
    values, seconds = metric_under_test(name).values(PAIRS)
    assert values[0] == max(values)
    assert values[2] == min(values) <= 0.0 or name == "rougeL"
    assert seconds >= 0
    if not name.startswith("h_structure"):
        assert values[1] < values[0]


def test_a_users_own(own: str) -> None:
    assert metric_under_test(f"{own}:rows").values(PAIRS)[0] == pytest.approx([1, 2 / 3, 0])
    assert metric_under_test(f"{own}:rows").spec.description == "Share of rows."
    assert list(metric_under_test(f"{own}:same").values(PAIRS)[0]) == [1, 0, 0]
    assert list(metric_under_test(f"{own}:Cells").values(PAIRS)[0]) == [0, -1, -1]
    with pytest.raises(PluginError, match=r"raised KeyError in scoring: 'x'\n  File .*own.py"):
        metric_under_test(f"{own}:broken").values(PAIRS)


@pytest.mark.parametrize("name", ["text", "nothing"])
def test_a_function_that_returns_no_number(own: str, name: str) -> None:
    with pytest.raises(PluginError, match=f"metric {name} raised .* it has to return a number"):
        metric_under_test(f"{own}:{name}").values(PAIRS)


def test_names_that_are_none(own: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown metric 'tedz'.*teds"):
        metric_under_test("tedz")
    with pytest.raises(ConfigError, match="recall:k=3: is a metric of rankings; expected"):
        metric_under_test("recall:k=3")
    with pytest.raises(ConfigError, match="no 'Other'"):
        metric_under_test(f"{own}:Other")


def test_nothing_to_score() -> None:
    values, seconds = metric_under_test("teds").values([])
    assert (values.shape, seconds) == ((0,), 0.0)
    assert np.isnan(metric_under_test("p_content").values(PAIRS)[0]).all()
