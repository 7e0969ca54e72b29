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


def test_settings_that_differ_have_columns_of_their_own() -> None:
    """What all cells of a retriever share stands with its name; the user's name replaces it."""
    texts = ["bm25:k1=0.9,b=0.4", "bm25:k1=1.2,b=0.4", "lsa:dims=20", "a/b.py:Mine:key=***"]
    names = [None, None, "ours", None]
    scores = {"recall@10": Score(0.5, 0.4, 0.6, 10, "s")}
    outcomes = [
        CellOutcome(SweepCell(i, "retrieval", "mini", text, retriever_name=name), 1.0, scores)
        for i, (text, name) in enumerate(zip(texts, names, strict=True))
    ]
    (table,) = outcome_tables(outcomes)
    headings = [column.shown_label for column in table.columns[1:-2]]
    assert headings == ["retriever", "k1", "b", "dims", "key"]
    assert [row[1] for row in table.rows] == ["bm25", "bm25", "ours", "a/b.py:Mine"]
    assert [row[2] for row in table.rows] == ["0.9", "1.2", "", ""]
    (one,) = outcome_tables(outcomes[:1])
    assert one.rows[0][1] == "bm25:k1=0.9,b=0.4", "the only retriever with all its settings"
    (two,) = outcome_tables(outcomes[:2])
    assert [row[1:3] for row in two.rows] == [["bm25:b=0.4", "0.9"], ["bm25:b=0.4", "1.2"]]
