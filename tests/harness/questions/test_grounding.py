"""Questions compared with all tables."""

from dataclasses import replace

import pytest

from target_bench import Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.harness.questions.grounding import (
    Rarity,
    answers,
    difficulty_of,
    is_repeated,
)
from target_bench.harness.questions.solving import Ask, TableView
from tests.harness.questions.test_solving import FILMS

COPY = replace(
    FILMS, id=TableId("0", "copy"), rows=[*FILMS.rows[:2], ["Ran", "Kurosawa", "$4", "1985"]]
)
OTHER = replace(FILMS, id=TableId("0", "other"), rows=[["Heat", "Dick Richards", "$2", "1986"]])
HEAT = Ask("lookup", ("director",), ("Heat",))


def test_tables_that_give_the_answer_and_others() -> None:
    corpus = MemoryCorpus([FILMS, COPY, OTHER])
    rarity = Rarity(corpus)
    collateral = Ask("lookup", ("director",), ("Collateral",))
    asked = [(HEAT, ("Michael Mann",)), (collateral, ("Michael Mann",))]
    heat, only = answers(asked, corpus, rarity)
    assert set(heat.same) == {FILMS.id, COPY.id}
    assert heat.others == [OTHER.id]
    assert set(only.same) == {FILMS.id}
    assert only.others == []


def test_rare_words() -> None:
    corpus = MemoryCorpus([FILMS, COPY, OTHER])
    rare = Rarity(corpus).rare_words(
        "What is Collateral from 2004, and who made Ran?", TableView(FILMS)
    )
    assert rare == ["2004", "collateral"]
    assert [difficulty_of(n) for n in (0, 1, 2, 3, 4, 9)] == ["hard"] * 2 + ["medium"] * 2 + [
        "easy"
    ] * 2


def test_repeated_questions() -> None:
    text = "Who directed Heat in Thrillers of Hollywood?"
    assert is_repeated("who directed heat, in thrillers of Hollywood", [text])
    assert not is_repeated("Who directed Alien?", [text])
    assert not is_repeated(text, [])


@pytest.mark.parametrize(("one", "other"), [("-3", "3"), ("1-2", "2-1"), ("$5", "5%"), ("A+", "A")])
def test_marks_make_another_answer(one: str, other: str) -> None:
    tables = [
        Table(TableId("0", name), ["Place", "Change"], [["Oslo", cell]])
        for name, cell in (("a", one), ("b", other))
    ]
    corpus = MemoryCorpus(tables)
    asked = [(Ask("lookup", ("change",), ("Oslo",)), (one,))]
    (found,) = answers(asked, corpus, Rarity(corpus))
    assert set(found.same) == {tables[0].id}
    assert found.others == [tables[1].id]
