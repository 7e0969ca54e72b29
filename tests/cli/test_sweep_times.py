"""The seconds of a sweep's table: cold, or a dash with its reason."""

from types import SimpleNamespace
from typing import Any

from target_bench.cli.sweep import outcome_tables
from target_bench.core.metric import Score
from target_bench.harness.sweeps.cell import CellOutcome, SweepCell
from target_bench.runs.times import ColdTimes


def _outcome(number: int, retriever: str, **times: Any) -> CellOutcome:
    result: Any = SimpleNamespace(
        times=ColdTimes(**times), all_scores={"recall@10": Score(0.5, 0.4, 0.6, 10, "s")}
    )
    return CellOutcome(SweepCell(number, "retrieval", "mini", retriever), 20.0, result)


def test_seconds_are_cold_or_a_dash() -> None:
    stages = {"load": 7.0, "embed_corpus": 1.0, "retrieve": 2.5, "score": 9.0}
    cached = {"embed_corpus": "from a cache (saved index)"}
    (table,) = outcome_tables(
        [
            _outcome(1, "bm25", seconds=stages),
            _outcome(2, "dense", seconds={"load": 7.0, "retrieve": 2.5}, left_out=cached),
            _outcome(3, "oracle"),
        ]
    )
    assert [row[-1] for row in table.rows] == ["3.5", "–", ""]
    assert table.note == "– is a time that is not shown: from a cache (saved index)."
