"""Support of sentences by tables and of tables by texts, and the metrics of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.grid import GridCell
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.descriptions.description_metrics import JudgedDescriptions
from target_bench.tables.descriptions.evaluation_text import evidence
from target_bench.tables.faithfulness.facts import known
from target_bench.tables.faithfulness.support import (
    Claim,
    Support,
    cell_claims,
    sentence_support,
    table_support,
)
from target_bench.tables.faithfulness.support_metrics import (
    sentence_support_metrics,
    table_support_metrics,
)
from target_bench.tables.header_cell_scores import Headers

ROWS = [
    [GridCell("Year", is_header=True), GridCell("Winner", is_header=True)],
    [GridCell("2000"), GridCell("Andre Agassi")],
    [GridCell("2001"), GridCell("Thomas Johansson")],
]
REPORT = "The Hawks (46-12) beat the Magic 95-88. Al Horford had four assists."


def _sentences(*texts: str | None) -> JudgedDescriptions:
    about = evidence(ROWS, [(1, 0), (1, 1)], "Australian Open")
    return JudgedDescriptions(list(texts), [()] * len(texts), [about] * len(texts))


def _values(metrics: list, examples: object) -> list[list[float]]:  # type: ignore[type-arg]
    return [list(m.per_query(m.statistics(examples))) for m in metrics]


def test_sentences_need_no_reference() -> None:
    examples = _sentences(
        "Andre Agassi won the Australian Open in 2000.",
        "Andre Agassi won it in 1999.",
        "A man won.",
        None,
    )
    facts, cells = _values(sentence_support_metrics(judged=False), examples)
    assert facts == [1.0, 0.5, pytest.approx(np.nan, nan_ok=True), 0.0]
    assert cells == [1.0, 0.5, 0.0, 0.0]


def test_the_mean_is_over_answers_with_a_share() -> None:
    metric = sentence_support_metrics(judged=False)[0]
    statistics = metric.statistics(_sentences("A man won.", "It was in 2000."))
    assert metric.counted(statistics) == 1
    assert metric.value(statistics.sum(axis=0)) == 1.0
    assert list(metric.weights(statistics)) == [0.0, 1.0]
    assert np.isnan(metric.value(metric.statistics(_sentences("A man won.")).sum(axis=0)))


def _table(answer: str | None, source: str | None = REPORT) -> ComparedTables:
    gold = "| | Points |\n|---|---|\n| Hawks | 95 |"
    return ComparedTables(answer, gold, "text", source=source)


def test_tables_need_no_reference() -> None:
    examples = [
        _table("| | Points | Wins |\n|---|---|---|\n| Hawks | 95 | 46 |\n| Magic | 89 | |"),
        _table("no table"),
        _table(None),
        _table("| | Points |\n|---|---|\n| Hawks | 95 |", None),
    ]
    cells, facts = _values(table_support_metrics(), examples)
    assert cells == [0.8, 0.0, 0.0, pytest.approx(np.nan, nan_ok=True)]
    assert facts[0] == pytest.approx(4 / 8)
    assert facts[1:3] == [0.0, 0.0]
    assert np.isnan(facts[3])


def test_names_of_columns_are_not_claims() -> None:
    rows = "| Nobody said | Hawks |\n| Points | 95 |"
    keys = ComparedTables(rows, rows, "text", headers=Headers(column=False), source=REPORT)
    assert [one.text for one in keys.support.claims] == ["Hawks", "95"]
    assert keys.support.precision == 1.0


def test_both_directions_are_the_same_code() -> None:
    sentence = sentence_support("Hawks 95", "Hawks\n95", ["Hawks", "95"])
    table = table_support([[["Hawks", "95"]]], "Hawks 95")
    assert sentence.precision == table.coverage == 1.0
    assert sentence.coverage == table.precision == 1.0


def test_cells_that_say_nothing_are_left_out() -> None:
    assert cell_claims(["", "-", "of the", "95"], known("95")) == (Claim("95", True),)
    assert Support().precision is None
    assert Support(failed=True).precision == 0.0


@given(st.lists(st.text(max_size=20), max_size=6))
def test_a_text_with_all_cells_supports_them(cells: list[str]) -> None:
    text = "\n".join(f"| {cell} |" for cell in cells)
    found = cell_claims(cells, known(text))
    assert len(found) <= len(cells)
    for cell, claim in zip([c for c in cells if cell_claims([c], known(""))], found, strict=True):
        assert claim.text == cell.strip()
