"""Agreement on highlighted cells."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from target_bench.core.errors import DataError
from target_bench.data.load import load, of_task
from target_bench.reporting.labels.agreement import _fleiss_kappa, cell_agreement
from tests.builders import json_lines

MINI = of_task(load("mini"), "table_to_text")


def test_fleiss_kappa() -> None:
    """The definition, pair by pair; of two raters with equal shares it is Cohen's."""

    def kappa(counts: Any, n: int) -> float | None:
        return _fleiss_kappa(np.asarray(counts, dtype=float), n)

    random = np.random.default_rng(0)
    for n in random.integers(2, 6, 50).tolist():
        yes = random.random((n, 40)) < random.random(40)
        observed = np.mean([(yes[a] == yes[b]).mean() for a in range(n) for b in range(a)])
        chance = yes.mean() ** 2 + (1 - yes.mean()) ** 2
        assert kappa(yes.sum(axis=0), n) == pytest.approx((observed - chance) / (1 - chance))
    first, second = np.array([1, 1, 0, 0, 1, 0]), np.array([1, 0, 0, 1, 1, 0])
    assert kappa(first + second, 2) == pytest.approx(cohen_kappa_score(first, second))
    assert kappa([0, 0], 3) is None


def _file(folder: Path, name: str, cells: Any, n: int = 3) -> Path:
    records = [
        {"query_id": query.id, "highlighted_cells": cells(query.metadata["highlighted_cells"])}
        for query in MINI.queries[:n]
    ]
    path = folder / name
    path.write_text(json_lines(records), encoding="utf-8")
    return path


def test_agreement_of_files(tmp_path: Path) -> None:
    same = [_file(tmp_path, f"{name}.jsonl", lambda cells: cells) for name in "ab"]
    agreement = cell_agreement(same, MINI)
    assert (agreement["annotators"], agreement["queries"]) == (["a", "b"], 3)
    assert (agreement["same"], agreement["kappa"], agreement["interval"]) == (1, 1, [1, 1])
    fewer = _file(tmp_path, "c.jsonl", lambda cells: cells[:1], n=2)
    agreement = cell_agreement([*same, fewer], MINI)
    assert agreement["queries"] == 2
    assert 0 < agreement["interval"][0] <= agreement["kappa"] < 1
    with pytest.raises(DataError, match="of two people or more"):
        cell_agreement(same[:1], MINI)
    outside = _file(tmp_path, "b.jsonl", lambda _: [[0, 99]])
    with pytest.raises(DataError, match=r"b\.jsonl: .* not all are cells of the table"):
        cell_agreement([same[0], outside], MINI)
