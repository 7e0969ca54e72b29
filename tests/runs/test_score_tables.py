"""Which metrics a table of scores has a column of."""

from pathlib import Path

import pytest

from target_bench.core.metric import Score
from target_bench.runs.score_tables import (
    choose_metrics,
    make_group_tables,
    make_slice_tables,
    metric_column,
)
from tests.target import TARGET

RANKED = ["recall@1", "recall@5", "recall@10", "mrr"]
DATABASES = ["recall[db]@1", "recall[db]@5", "recall[db]@10"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (RANKED, ["recall@1", "recall@10"]),
        ([*RANKED, *DATABASES], ["recall@1", "recall@10", "recall[db]@1"]),
        (["recall@10", "recall[db]@10"], ["recall@10", "recall[db]@10"]),
    ],
)
def test_columns_of_rankings(names: list[str], shown: list[str]) -> None:
    scores = {name: Score(0.5, 0.4, 0.6, 10, "") for name in names}
    assert choose_metrics([scores], answered=False, retrieved=True) == shown


def test_all_metrics_are_those_over_some_query(tmp_path: Path) -> None:
    """Without retrieval, nothing is said of the rankings."""
    mini = TARGET(("question_answering", "mini"), out=tmp_path)
    (result,) = mini.run("no-context", limit=5)
    assert "recall@1" in result.scores
    tables = make_group_tables([result], every=True)
    shown = [column.name.split("\n")[0] for table in tables for column in table.columns]
    assert "exact_match" in shown
    assert not any(name.startswith(("recall", "R@")) for name in shown)


def test_sets_are_a_table_of_their_own(tmp_path: Path) -> None:
    """Of the runs that chose how many tables to return."""
    (tmp_path / "first.py").write_text(FIRST, encoding="utf-8")
    mini = TARGET(("retrieval", "mini"), out=tmp_path / "runs")
    results = [*mini.run("bm25", limit=5), *mini.run(f"{tmp_path / 'first.py'}:First", limit=5)]
    rankings, sets = make_group_tables(results)
    headings = [[column.name for column in table.columns[1:-1]] for table in (rankings, sets)]
    assert headings == [
        [metric_column(name).name for name in names]
        for names in (
            ("recall@1", "recall@10"),
            ("set_precision", "set_recall", "set_f1", "complete_recall", "set_size"),
        )
    ]
    assert (len(rankings.rows), len(sets.rows), sets.title) == (2, 1, "sets of tables")


def test_results_of_two_calls_have_the_parts_of_either(tmp_path: Path) -> None:
    mini = TARGET(("retrieval", "mini"), out=tmp_path)
    divided, whole = mini.run("bm25", limit=20, by="gold_tables"), mini.run("tfidf", limit=20)
    for results in (divided + whole, whole + divided):
        (table,) = make_slice_tables(results)
        assert table.columns[0].name == "gold_tables"
        assert {row[2] for row in table.rows} == {"bm25", "tfidf"}
        assert "by gold_tables" in str(results)


FIRST = """
from target_bench import Retriever

class First(Retriever):
    returns_sets = True

    def embed_corpus(self, corpus):
        self.ids = list(corpus.ids)

    def retrieve(self, query, top_k):
        return self.ids[:1]
"""
