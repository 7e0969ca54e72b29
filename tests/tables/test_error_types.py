"""Types of errors from the differences of tables; H-Score v2 of whole answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.tables.answer_tables import AnswerTable, ReadAnswer
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.h_score import h_score_v2

GOLD = (("", "Wins", "Losses"), ("Hawks", "1,046", "12"), ("Magic", "19", "41"))


def _read(*rows: tuple[str, ...], name: str = "Team") -> ReadAnswer:
    return ReadAnswer((AnswerTable(name, rows),))


def _markdown(answer: ReadAnswer) -> str:
    lines = [f"{t.name}:\n" + "".join(f"|{'|'.join(r)}|\n" for r in t.rows) for t in answer.tables]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("answer", "errors"),
    [
        (_read(*GOLD), {}),
        (_read(GOLD[0], GOLD[2], GOLD[1]), {}),
        (_read(GOLD[0], ("Hawks", "1046", "12"), GOLD[2]), {"element_format": 1}),
        (_read(GOLD[0], ("Hawks", "1047", ""), GOLD[2]), {"element": 2}),
        (_read(GOLD[0], GOLD[1]), {"structure": 1}),
        (_read(("", "Won", "Losses"), *GOLD[1:]), {"structure_naming": 1}),
        (_read(*GOLD, name="Side"), {"structure_naming": 1}),
        (ReadAnswer((), ("no_table",)), {"structure": 1}),
    ],
)
def test_each_type(answer: ReadAnswer, errors: dict[str, int]) -> None:
    found = ComparedTables(_markdown(answer), _markdown(_read(*GOLD)), "text").errors
    assert {kind: n for kind, n in found.items() if n} == errors


ROWS = st.lists(
    st.lists(st.sampled_from(["", "a", "b", "12"]), min_size=1, max_size=4).map(tuple),
    min_size=1,
    max_size=5,
)
ANSWERS = st.lists(ROWS.map(lambda rows: AnswerTable("", tuple(rows))), max_size=3).map(
    lambda tables: ReadAnswer(tuple(tables))
)


@given(ANSWERS, ANSWERS)
def test_h_score_v2_is_bounded_and_symmetric(one: ReadAnswer, other: ReadAnswer) -> None:
    found, reverse = h_score_v2(one, other), h_score_v2(other, one)
    assert all(0 <= value <= 1 for value in found)
    assert found == pytest.approx(reverse)
    assert tuple(h_score_v2(one, one)) == (1, 1)
