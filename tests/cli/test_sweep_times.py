"""The seconds of a sweep's table: cold, or a dash with its reason."""

from rich.console import Console

from target_bench.cli.sweep_table import print_outcomes
from target_bench.schema import Score
from target_bench.sweeps.cell import CellOutcome, SweepCell


def test_seconds_are_cold_or_a_dash() -> None:
    stages = {"load": 7.0, "embed_corpus": 1.0, "retrieve": 2.5, "score": 9.0}
    scores = {"recall@10": Score(0.5, 0.4, 0.6, 10, "s")}
    outcomes = [
        CellOutcome(SweepCell(1, "retrieval", "mini", "bm25", (10,)), 20.0, scores, stages=stages),
        CellOutcome(
            SweepCell(2, "retrieval", "mini", "dense", (10,)),
            20.0,
            scores,
            stages={"load": 7.0, "retrieve": 2.5},
            left_out={"embed_corpus": "from a cache (saved index)"},
        ),
        CellOutcome(SweepCell(3, "retrieval", "mini", "oracle", (10,)), 20.0, scores),
    ]
    console = Console(width=100, no_color=True)
    with console.capture() as capture:
        print_outcomes(console, outcomes)
    text = capture.get()
    last = {line.split()[1]: line.split()[-1] for line in text.split("\n") if "0.500" in line}
    assert last == {"bm25": "3.5", "dense": "–", "oracle": "0.400-0.600"}
    assert "– is a time that is not shown: from a cache (saved index)." in " ".join(text.split())
