"""What a question asks of a table, what the table answers, and which other tables do."""

from dataclasses import replace

import pytest

from target_bench import Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.harness.questions.grounding import (
    Ask,
    Rarity,
    TableView,
    answers,
    difficulty_of,
    solve,
    spoken_name,
)

FILMS = Table(
    TableId("0", "films"),
    ["Film", "Director(s)", "Gross (US$)", "Year"],
    [
        ["Alien", "Ridley Scott", "$104", "1979"],
        ["Heat", "Michael Mann", "$187", "1995"],
        ["Collateral", "Michael Mann", "$217", "2004"],
    ],
    {"title": "Thrillers of Hollywood"},
)
COPY = replace(
    FILMS, id=TableId("0", "copy"), rows=[*FILMS.rows[:2], ["Ran", "Kurosawa", "$4", "1985"]]
)
OTHER = replace(FILMS, id=TableId("0", "other"), rows=[["Heat", "Dick Richards", "$2", "1986"]])
HEAT = Ask("lookup", ("director",), ("Heat",))


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (Ask("lookup", ("director",), ("Heat",)), ("Michael Mann",)),
        (Ask("lookup", ("film", "director"), ("mann",)), ("Heat", "Collateral")),
        (Ask("lookup", ("director", "year"), ("Alien",), n_asked=2), ("Ridley Scott", "1979")),
        (Ask("count", ("director",), ("Michael Mann",)), ("2",)),
        (Ask("highest", ("film", "gross")), ("Collateral",)),
        (Ask("lowest", ("film", "gross")), ("Alien",)),
        (Ask("highest", ("film", "director")), None),
        (Ask("comparison", ("gross",), ("Heat", "Alien")), ("Heat",)),
        (Ask("comparison", ("gross",), ("Heat", "Ran")), None),
        (Ask("lookup", ("director",), ("Ran",)), None),
        (Ask("lookup", ("actor",), ("Heat",)), None),
        (Ask("lookup", ("director",), ("Heat",), topic="thrillers hollywood"), ("Michael Mann",)),
        (Ask("lookup", ("director",), ("Heat",), topic="comedies"), None),
    ],
)
def test_answers(ask: Ask, answer: tuple[str, ...] | None) -> None:
    solution = solve(ask, TableView(FILMS))
    assert (solution and solution.answer) == answer


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Director(s)", "director"),
        ("Peak\nUS", "peak US"),
        ("#", ""),
        ("2004", ""),
        ("IMDb", "IMDb"),
    ],
)
def test_names_of_columns(name: str, expected: str) -> None:
    assert spoken_name(name) == expected


@pytest.mark.parametrize("cells", [["1", "2 kg", "3"], ["1", "", "3"], ["1", "2", "x"], ["1", "2"]])
def test_only_numbers_of_one_unit_are_ordered(cells: list[str]) -> None:
    table = Table(TableId("0", "t"), ["Weight"], [[cell] for cell in cells])
    assert solve(Ask("highest", ("weight",)), TableView(table)) is None


def test_negative_numbers() -> None:
    rows = [["Oslo", "-3"], ["Rome", "2"], ["Nice", "−5"]]
    view = TableView(Table(TableId("0", "t"), ["City", "Degrees"], rows))
    lowest = solve(Ask("lowest", ("city", "degrees")), view)
    assert lowest is not None
    assert lowest.answer == ("Nice",)


@pytest.mark.parametrize(
    ("cells", "value", "rows"),
    [
        (["1-2", "2-1", "1–2", "1", "2"], "1-2", [0, 2]),
        (["1.5", "5.1", "5", "1"], "1.5", [0]),
        (["1.5", "5.1", "5", "1-5"], "5", [2]),
        (["-3", "3", "−3", "$-3"], "-3", [0, 2]),
        (["A", "A+", "A-"], "A", [0]),
        (["Ridley Scott", "Scott Ridley", "Scott's ark"], "Ridley Scott", [0]),
        (["Ridley Scott", "Scott Ridley", "Prescott"], "Scott", [0, 1]),
        (["Ran (1985) film", "Ran 1985 film", "film Ran"], "Ran film", [0]),
        (["Ran (1985) film", "Ran 1985 film", "film Ran"], "Ran (1985) film", [0, 1]),
    ],
)
def test_rows_that_hold_a_value(cells: list[str], value: str, rows: list[int]) -> None:
    view = TableView(Table(TableId("0", "t"), ["Result"], [[cell] for cell in cells]))
    assert view.rows_with([value]) == rows


def test_tables_that_give_the_answer_and_others() -> None:
    corpus = MemoryCorpus([FILMS, COPY, OTHER])
    rarity = Rarity(corpus)
    collateral = Ask("lookup", ("director",), ("Collateral",))
    asks = [(HEAT, ("Michael Mann",)), (collateral, ("Michael Mann",))]
    (heat, not_heat), (only, others) = answers(asks, corpus, rarity)
    assert (set(heat), not_heat) == ({FILMS.id, COPY.id}, [OTHER.id])
    assert (set(only), others) == ({FILMS.id}, [])


def test_rare_words() -> None:
    corpus = MemoryCorpus([FILMS, COPY, OTHER])
    rare = Rarity(corpus).rare_words(
        "What is Collateral from 2004, and who made Ran?", TableView(FILMS)
    )
    assert rare == ["2004", "collateral"]
    levels = [difficulty_of(n) for n in (0, 1, 2, 3, 4, 9)]
    assert levels == ["hard"] * 2 + ["medium"] * 2 + ["easy"] * 2


@pytest.mark.parametrize(
    ("cell", "other"), [("-3", "3"), ("1-2", "2-1"), ("$5", "5%"), ("A+", "A")]
)
def test_marks_make_another_answer(cell: str, other: str) -> None:
    tables = [
        Table(TableId("0", name), ["Place", "Change"], [["Oslo", change]])
        for name, change in (("a", cell), ("b", other))
    ]
    corpus = MemoryCorpus(tables)
    ask = Ask("lookup", ("change",), ("Oslo",))
    ((same, others),) = answers([(ask, (cell,))], corpus, Rarity(corpus))
    assert (set(same), others) == ({tables[0].id}, [tables[1].id])
