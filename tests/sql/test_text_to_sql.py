"""What the task says of its judged answers."""

from types import SimpleNamespace
from typing import Any

import pytest

from target_bench.core.schema import Judgement, Query, Retrieval, TableId
from target_bench.core.task import Predictions
from target_bench.metrics.sql import JudgedQuery, Verdict
from target_bench.sql.judged_answer import JudgedAnswer
from target_bench.tasks.text_to_sql import TextToSQL

GOLD = (TableId("d", "hut"), TableId("d", "peak"))


@pytest.mark.parametrize(
    ("retrieved", "expected"),
    [
        ({"a": GOLD, "b": GOLD}, {}),
        ({"a": GOLD[:1], "b": GOLD[::-1]}, {"no_such_table": 1}),
        ({"a": (), "b": (TableId("e", "hut"),)}, {"no_such_table": 1, "correct": 1}),
        ({}, {}),
    ],
)
def test_outcomes_of_queries_whose_gold_tables_were_not_retrieved(
    retrieved: dict[str, tuple[TableId, ...]], expected: dict[str, int]
) -> None:
    """An unknown table is the generator's fault, or that of what it was shown."""
    verdicts: dict[str, Verdict] = {"a": "no_such_table", "b": "correct"}
    dataset: Any = SimpleNamespace(queries=[Query(name, "?", GOLD) for name in verdicts])
    records = {
        name: Judgement(name, "", JudgedAnswer(name, JudgedQuery(verdict), "SELECT 1").to_json())
        for name, verdict in verdicts.items()
    }
    rankings = {name: Retrieval(name, tables) for name, tables in retrieved.items()}
    task = TextToSQL()
    examples = task.examples(dataset, Predictions(rankings, judgements=records))
    report = task.report(dataset, examples)
    assert report.get("unretrieved", {}) == expected
    summary = task.view.summary(report | {"by": {}})
    shown = {block.label: block.counts for block in summary}
    assert shown.get("a gold table was not retrieved", {}) == expected
