"""Answers beside their references: official scores, headers and cells, errors."""

from difflib import SequenceMatcher
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.tables.answer_tables import TableFormat
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.h_score import difflib_ratio
from target_bench.tables.header_cell_scores import Headers, compute_chrf
from target_bench.tables.table_metrics import collect_findings

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
    assert reasoned.plain == gold
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
    scores = ComparedTables(answer, gold, "html").h_score
    assert (None if scores is None else scores.content) == content


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
    assert not ComparedTables(answer, answer, table_format).is_correct
    assert process_time() - start < 2


TEAM = "Team:\n| | Wins | Losses |\n| Hawks | 46 | 12 |\n| Magic | 19 | 41 |"


@pytest.mark.parametrize(
    ("answer", "is_correct", "ragged"),
    [
        (TEAM, True, False),
        (
            "Here:\n```\nTeam:\n| Team | Losses | Wins |\n|Magic|41|19|\n|Hawks|12|46|\n```",
            True,
            False,
        ),
        (TEAM.replace("46", "47"), False, False),
        (TEAM.replace("Team:", "Player:"), False, False),
        (f"{TEAM}\n| Magic | 19 | 41 |", False, False),
        (f"{TEAM}\n\nPlayer:\n| | Points |\n| Ann | 7 |", False, False),
        (TEAM.replace("| 41 |", "| 41 | 3 |"), False, True),
        ("There is none.", False, False),
        (None, False, False),
    ],
)
def test_correct_answers_and_wrong_formats(
    answer: str | None, is_correct: bool, ragged: bool
) -> None:
    """Rows and columns in any order, any corner; a missing table is not ragged."""
    compared = ComparedTables(answer, TEAM, "text")
    assert (compared.is_correct, compared.ragged_partners) == (is_correct, [ragged])


REPEATED = "Team:\n| | Wins | Losses |\n| Hawks | 1 | 2 |\n| Hawks | 3 | 4 |\n| Magic | 5 | 6 |"


@pytest.mark.parametrize(
    ("answer", "is_correct"),
    [
        (REPEATED.replace("| 1 | 2 |\n| Hawks | 3 | 4 |", "| 3 | 4 |\n| Hawks | 1 | 2 |"), True),
        (REPEATED.replace("| 1 | 2 |\n| Hawks | 3 | 4 |", "| 1 | 4 |\n| Hawks | 3 | 2 |"), False),
        (f"{REPEATED}\n| Magic | 5 | 6 |", False),
    ],
)
def test_values_of_rows_with_one_name_belong_together(answer: str, is_correct: bool) -> None:
    """Scores of headers and cells are of sets: by them all of these are the same."""
    assert ComparedTables(answer, REPEATED, "text").is_correct == is_correct


TEXTS = st.lists(st.text(alphabet="aab é1", max_size=9), min_size=1, max_size=6)


@given(answers=TEXTS, golds=TEXTS)
def test_many_texts_at_once(answers: list[str], golds: list[str]) -> None:
    """The values are those of each pair alone, bit for bit."""
    scores = compute_chrf(answers, golds)
    alone = [[compute_chrf([answer], [gold]).item() for answer in answers] for gold in golds]
    assert scores.tolist() == alone


ITEMS = st.lists(st.sampled_from(["", "", "", "a", "b", "cc", "12"]), max_size=30)


@given(ITEMS, ITEMS)
def test_ratio_is_difflibs(left: list[str], right: list[str]) -> None:
    assert difflib_ratio(left, right) == SequenceMatcher(None, left, right).ratio()


def test_findings_of_tables_with_other_kinds_of_headers() -> None:
    """Queries may have tables of one name, some of them without names of rows or of columns."""
    kinds = (Headers(), Headers(row=False), Headers(column=False))
    pairs = [ComparedTables(TEAM, TEAM, "text", headers) for headers in kinds]
    assert collect_findings(pairs, judged=False)["by_table"] == {
        "Team": {"n": 3, "row_header": [1] * 3, "col_header": [1] * 3, "cells": [1] * 3}
    }
