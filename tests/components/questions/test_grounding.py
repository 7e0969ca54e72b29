"""Questions compared with all tables."""

from dataclasses import replace

from target_bench import TableId
from target_bench.components.questions.grounding import (
    Rarity,
    answers,
    difficulty_of,
    is_repeated,
)
from target_bench.components.questions.solving import Ask, TableView
from target_bench.data.tables import MemoryCorpus
from tests.components.questions.test_solving import FILMS

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
