"""The seconds of a sweep's table: cold, or a dash with its reason."""

from target_bench.cli.sweep import outcome_tables
from target_bench.core import text_tables
from target_bench.core.metric import Score
from target_bench.harness.sweeps.cell import CellOutcome, SweepCell


def test_seconds_are_cold_or_a_dash() -> None:
    stages = {"load": 7.0, "embed_corpus": 1.0, "retrieve": 2.5, "score": 9.0}
    scores = {"recall@10": Score(0.5, 0.4, 0.6, 10, "s")}
    outcomes = [
        CellOutcome(SweepCell(1, "retrieval", "mini", "bm25"), 20.0, scores, stages=stages),
        CellOutcome(
            SweepCell(2, "retrieval", "mini", "dense"),
            20.0,
            scores,
            stages={"load": 7.0, "retrieve": 2.5},
            left_out={"embed_corpus": "from a cache (saved index)"},
        ),
        CellOutcome(SweepCell(3, "retrieval", "mini", "oracle"), 20.0, scores),
    ]
    (table,) = outcome_tables(outcomes)
    assert [row[-1] for row in table.rows] == ["3.5", "–", ""]
    assert table.note == "– is a time that is not shown: from a cache (saved index)."
    for width in (40, 100, None):
        shown = " ".join(text_tables.text([table], width).split())
        assert shown.endswith(table.note)
