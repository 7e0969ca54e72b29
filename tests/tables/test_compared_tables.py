"""An answer beside its reference: what is read of it."""

from time import process_time

import pytest

from target_bench.tables.answer_tables import TableFormat
from target_bench.tables.compared_tables import ComparedTables

GOLD: dict[TableFormat, str] = {
    "text": "Team:\n| Team | Wins |\n|---|---|\n| Hawks | 46 |\n\n"
    "Player:\n| Player | Points |\n|---|---|\n| Ann | 7 |",
    "html": "<table><tr><th>Team</th><th>Wins</th></tr><tr><td>Hawks</td><td>46</td></tr></table>",
    "latex": r"\begin{tabular}{lr} Team & Wins \\ Hawks & 46 \\ \end{tabular}",
}


TABLE = "<table><tr><td>1</td></tr></table>"
DEEP = "<div>" * 16 + TABLE + "</div>" * 16


@pytest.mark.parametrize("table_format", list(GOLD))
def test_reasoning_is_not_part_of_an_answer(table_format: TableFormat) -> None:
    gold = GOLD[table_format]
    plain = ComparedTables(gold, gold, table_format)
    reasoned = ComparedTables(f"<think>Team | rows as | asked.</think>{gold}", gold, table_format)
    assert plain.h_score is not None
    assert reasoned.said == gold
    assert reasoned.h_score == plain.h_score
    assert reasoned.answer == plain.answer


@pytest.mark.parametrize(
    ("answer", "gold", "content"),
    [
        (TABLE, TABLE, 2),
        (DEEP, TABLE, 0),
        (TABLE, DEEP, None),
        (DEEP, DEEP, None),
        (None, DEEP, None),
    ],
)
def test_a_reference_that_the_official_score_refuses_is_left_out(
    answer: str | None, gold: str, content: float | None
) -> None:
    found = ComparedTables(answer, gold, "html").h_score
    assert (None if found is None else found.content) == content


@pytest.mark.parametrize(
    ("table_format", "row", "end"),
    [
        ("text", "| Ann | 7 |\n", ""),
        ("html", "<tr><td>1</td></tr>", "</table>"),
        ("latex", r"a & b \\ ", r"\end{tabular}"),
    ],
)
def test_an_endless_answer_is_unreadable_in_every_score(
    table_format: TableFormat, row: str, end: str
) -> None:
    """The official score of the LaTeX is -149,998: it would outweigh thousands of answers."""
    gold = GOLD[table_format]
    answer = gold.removesuffix(end) + row * (2_700_000 // len(row)) + end
    start = process_time()
    endless = ComparedTables(answer, gold, table_format)
    assert endless.answer.error == "too_long"
    assert endless.h_score is not None
    assert (endless.h_score.content, endless.h_score.structure) == (0, 0)
    assert ComparedTables(gold, answer, table_format).h_score is None
    assert process_time() - start < 2


@pytest.mark.parametrize("name", ["csv", "json"])
def test_formats_without_an_official_score(name: TableFormat) -> None:
    assert ComparedTables("[[1, 2], [3, 4]]", "[[1, 2], [3, 4]]", name).h_score is None
