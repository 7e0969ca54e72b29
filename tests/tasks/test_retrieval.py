"""The settings of table retrieval: metrics of sets and of columns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET, score_rankings
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Corpus, Dataset, TableId
from target_bench.core.task_names import make_task
from target_bench.data.load import load
from target_bench.metrics.scores import headline
from target_bench.runs.result import metrics_worth_a_column

NEW = {"set_precision", "set_recall", "set_f1", "complete_recall", "set_size"}


def _scores(dataset: Dataset, settings: str = "") -> dict[str, Any]:
    rankings = {query.id: query.gold[:1] for query in dataset.queries}
    return dict(score_rankings(dataset, rankings, [1, 5], make_task(f"retrieval{settings}")).scores)


def _with(**changes: Any) -> Dataset:
    dataset = load("mini")
    queries = [q for q in dataset.queries if q.metadata.get("task") == "text_to_sql"]
    return replace(dataset, queries=(replace(queries[0], **changes),))


def test_sets_are_measured_where_asked_for() -> None:
    dataset = load("mini")
    plain, sets = _scores(dataset), _scores(dataset, ":sets=true")
    assert set(sets) - set(plain) == NEW
    assert all(plain[name] == sets[name] for name in plain)
    assert sets["set_size"].value == 1
    assert sets["set_precision"].value == 1
    assert sets["complete_recall"].value == plain["full_recall@5"].value


def test_columns_of_gold_sql() -> None:
    dataset = load("mini")
    scores = _scores(dataset, ":columns=true")
    with_sql = [q for q in dataset.queries if q.metadata.get("task") == "text_to_sql"]
    counting = [q for q in with_sql if q.references[0].startswith("SELECT count(*) FROM")]
    no_column = [q for q in counting if "WHERE" not in q.references[0]]
    assert scores["column_recall@5"].n == len(with_sql) - len(no_column) == 54
    assert 0.5 < scores["column_recall@1"].value < 1


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ([["t", "gone"]], r"gold_columns names \['t', 'gone'\], which is not a table and a column"),
        ([5], "names 5, which is not a table and a column"),
        ([[["t"], "a"]], r"names \[\['t'\], 'a'\], which is not"),
        (5, "gold_columns should be a list of pairs of table and column, but is 5"),
    ],
)
def test_gold_columns_that_are_invalid(columns: Any, fault: str) -> None:
    with pytest.raises(DataError, match=rf"mini test: query '[\w-]+': .*{fault}"):
        _scores(_with(metadata={"gold_columns": columns}), ":columns=true")


def test_passages_of_a_query() -> None:
    """They are gold tables, any of which is enough; without the entry they are not measured."""
    first, second = load("mini").corpus.ids[:2]
    query = {"gold": (first, second), "database_id": "0"}
    scores = _scores(_with(**query, metadata={"passages": [second.table_id]}))
    names = [f"recall[{part}]@1" for part in ("tables", "passages", "both")]
    assert [scores[name].value for name in names] == [1, 0, 0]
    assert headline(scores) == "recall[both]@5"
    assert "recall[both]@5" in metrics_worth_a_column([scores], False, True)
    assert not set(names) & set(_scores(_with(**query, metadata={})))
    with pytest.raises(DataError, match="passages names 'Nowhere', which is none of its gold"):
        _scores(_with(**query, metadata={"passages": ["Nowhere"]}))


def test_nothing_is_ranked_for_columns_that_are_not_there(tmp_path: Path) -> None:
    class Untouched:
        def embed_corpus(self, corpus: Corpus) -> None:
            raise AssertionError("indexed")

        def retrieve(self, query: str, top_k: int) -> list[TableId]:
            raise AssertionError("asked")

    dataset = load("mini")
    queries = tuple(replace(query, answer="", metadata={}) for query in dataset.queries)
    target = TARGET(("retrieval:columns=true", replace(dataset, queries=queries)), out=tmp_path)
    with pytest.raises(ConfigError, match="no query has gold columns"):
        target.run(Untouched())
    assert not list(tmp_path.iterdir())
