"""Questions from templates."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from target_bench import Table, TableId
from target_bench.harness.questions.grounding import TableView, solve
from target_bench.harness.questions.templates import key_column, proposals
from tests.harness.questions.test_grounding import FILMS

cell = st.text(alphabet="ab 1.,-()Öß\n", max_size=8)
tables = st.integers(1, 4).flatmap(
    lambda width: st.builds(
        Table,
        st.just(TableId("0", "t")),
        st.lists(cell, min_size=width, max_size=width),
        st.lists(st.lists(cell, min_size=width, max_size=width), max_size=6),
        st.fixed_dictionaries({}, optional={"title": cell, "section_title": cell}),
    )
)


@given(tables, st.integers())
def test_every_question_is_answered_by_its_table(table: Table, seed: int) -> None:
    view = TableView(table)
    for proposal in proposals(view, Random(seed), 20):
        found = solve(proposal.ask, view)
        assert found == proposal.solution
        assert proposal.evidence == proposal.solution.answer
        assert proposal.text.endswith("?")
        assert all(0 <= row < len(view.rows) for row, _ in proposal.solution.cells)


def test_a_seed_decides() -> None:
    view = TableView(FILMS)
    one, same = (proposals(view, Random(3), 10) for _ in range(2))
    assert one == same
    assert len({proposal.text for proposal in one}) == 10
    assert one != proposals(view, Random(4), 10)


def test_nothing_is_told_that_is_asked() -> None:
    for proposal in proposals(TableView(FILMS), Random(0), 200):
        if proposal.ask.kind == "lookup":
            assert not any(f" {answer}" in proposal.text for answer in proposal.solution.answer)


def test_rows_are_named_by_a_column_of_different_texts() -> None:
    assert key_column(TableView(FILMS)) == "film"
    numbers = Table(TableId("0", "t"), ["A", "B"], [["1", "x"], ["2", "x"], ["3", "x"]])
    assert key_column(TableView(numbers)) is None


def test_tables_without_rows_or_names() -> None:
    for header, rows in ((["A"], []), (["", "1"], [["x", "y"]]), ([], [])):
        table = Table(TableId("0", "t"), header, rows)
        assert proposals(TableView(table), Random(0), 5) == []
