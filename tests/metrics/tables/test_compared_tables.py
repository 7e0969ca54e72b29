"""An answer beside its reference: what is read of it."""

import pytest

from target_bench.metrics.tables.answer_tables import TableFormat
from target_bench.metrics.tables.compared_tables import ComparedTables

GOLD: dict[TableFormat, str] = {
    "text": "Team:\n| Team | Wins |\n|---|---|\n| Hawks | 46 |\n\n"
    "Player:\n| Player | Points |\n|---|---|\n| Ann | 7 |",
    "html": "<table><tr><th>Team</th><th>Wins</th></tr><tr><td>Hawks</td><td>46</td></tr></table>",
    "latex": r"\begin{tabular}{lr} Team & Wins \\ Hawks & 46 \\ \end{tabular}",
}


@pytest.mark.parametrize("table_format", list(GOLD))
def test_reasoning_is_not_part_of_an_answer(table_format: TableFormat) -> None:
    gold = GOLD[table_format]
    plain = ComparedTables(gold, gold, table_format)
    reasoned = ComparedTables(f"<think>Team | rows as | asked.</think>{gold}", gold, table_format)
    assert plain.h_score is not None
    assert reasoned.said == gold
    assert reasoned.h_score == plain.h_score
    assert reasoned.answer == plain.answer
