"""Synthetic questions about a corpus."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from target_bench import ConfigError, Table, TableId, ask
from target_bench.core.schema import Dataset
from target_bench.corpora import load
from target_bench.data.table_text import with_languages
from target_bench.data.tables import MemoryCorpus
from target_bench.generators.openai import OpenAI
from target_bench.harness.asking import (
    AMBIGUOUS,
    NO_QUESTION,
    SyntheticQuestions,
    advice,
    separation,
)
from target_bench.harness.questions.from_model import FAILED
from target_bench.harness.questions.grounding import TableView
from target_bench.harness.stages.consent import Estimate
from tests.openai_server import OpenAIServer, Reply, Request, answer


@pytest.fixture(scope="module")
def mini() -> Dataset:
    return load("mini")


@pytest.fixture(scope="module")
def questions(mini: Dataset) -> SyntheticQuestions:
    return ask(mini, 60, seed=1)


def test_questions_are_grounded(mini: Dataset, questions: SyntheticQuestions) -> None:
    assert len(questions.queries) == 60
    for query in questions.queries:
        view = TableView(mini.corpus[query.gold[0]])
        held = {str(name): i for i, name in enumerate(view.table.header)}
        assert query.synthetic
        assert query.answer
        for cell in query.metadata["cells"]:
            assert view.rows[cell["row"] - 1][held[cell["column"]]] == cell["value"]
    assert len({query.id for query in questions.queries}) == 60
    assert len({query.text for query in questions.queries}) == 60


@pytest.mark.parametrize(
    ("difficulty", "least", "most"), [("easy", 4, 99), ("medium", 2, 3), ("hard", 0, 1)]
)
def test_difficulty(mini: Dataset, difficulty: Any, least: int, most: int) -> None:
    questions = ask(mini, 10, difficulty=difficulty)
    assert questions.counts("difficulty") == {difficulty: 10}
    rare = [query.metadata["rare_words"] for query in questions.queries]
    assert all(least <= n <= most for n in rare)


def _table(name: str, *rows: list[str], title: str = "") -> Table:
    return Table(TableId("0", name), ["City", "Mayor"], rows, {"title": title})


def test_equal_tables_are_both_gold_and_others_drop_the_question() -> None:
    rows = [["Oslo", "Ann"], ["Rome", "Bo"], ["Nice", "Cy"]]
    both = ask(MemoryCorpus([_table("a", *rows), _table("b", *rows)]), 5)
    assert both.several == len(both.queries) > 0
    other = MemoryCorpus([_table("a", *rows), _table("b", *([c, "Di"] for c, _ in rows))])
    questions = ask(other, 500)
    assert questions.dropped[AMBIGUOUS] > 0
    assert not any(query.text == "What is the mayor of Oslo?" for query in questions.queries)
    assert questions.wanted == 500 > len(questions.queries)
    empty = ask(MemoryCorpus([Table(TableId("0", "a"), ["x"], [])]), 5)
    assert (empty.queries, empty.dropped) == ((), {NO_QUESTION: 1})


PLACES = ("München", "Köln", "Nürnberg", "Göttingen", "Würzburg")
PEOPLE = ("Jürgen", "Käthe", "Günther", "Bärbel", "Sören")
GERMAN = MemoryCorpus(
    [
        Table(
            TableId("0", f"umsatz_{year}"),
            ["Bezeichnung der Filiale", "Umsatz im Geschäftsjahr", "Verantwortliche Person"],
            [
                [f"{place} Süd {year}", f"1.{base + i}1{i},5", f"{name} Müller"]
                for i, (place, name) in enumerate(zip(PLACES, PEOPLE, strict=True))
            ],
            {"title": f"umsatz_{year}"},
        )
        for year, base in ((2021, 10), (2022, 40))
    ]
)
WORDS = ("Was ", "Wo ", "Wie ", "Wer ")


def test_questions_are_in_the_language_of_the_tables() -> None:
    """They name the columns as they stand, do not give the file away, and write decimal commas."""
    texts = [query.text for query in ask(GERMAN, 40, seed=2).queries]
    assert len(texts) > 10
    assert all(text.startswith(WORDS) for text in texts)
    assert not any("umsatz_" in text or "umsatz 20" in text for text in texts)
    english = ask(GERMAN, 10, language="en").queries
    assert not any(query.text.startswith(WORDS) for query in english)


def test_questions_about_tables_of_several_languages_are_in_that_of_each() -> None:
    english = Table(
        TableId("0", "towns"),
        ["Town", "Mayor", "Inhabitants"],
        [["Albury on the hill", "Ann", 900], ["Barton by the sea", "Bo", 50], ["Ely", "Cy", 7]],
    )
    queries = ask(MemoryCorpus(with_languages([*GERMAN, english])), 20, seed=2).queries
    about_english = [query.gold == (english.id,) for query in queries]
    assert set(about_english) == {True, False}
    assert [not query.text.startswith(WORDS) for query in queries] == about_english


def test_how_far_questions_tell_retrievers_apart(
    mini: Dataset, questions: SyntheticQuestions
) -> None:
    scores = separation(mini, questions.queries)
    assert scores["bm25"].low > scores["titles alone"].value > scores["random"].high
    assert "bm25 has nearly all right" in str(advice(scores))
    few = separation(mini, questions.queries[:3])
    assert "3 questions tell little" in str(advice(few))
    given_away = scores | {"bm25": scores["titles alone"]}
    assert "titles alone do nearly as well" in str(advice(given_away))
    alone = dict.fromkeys(scores, replace(scores["random"], value=1.0))
    assert "100% of the gold tables are found by chance" in str(advice(alone))
    assert "not better than chance" in str(advice(dict.fromkeys(scores, scores["random"])))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n=0: expected a whole number from 1"),
        ({"n": 1.5}, "n=1.5: expected a whole number"),
        ({"n": None}, "n=None: expected a whole number"),
        ({"language": "fi"}, "in Finnish, and templates ask in English, German, French, Spanish"),
        ({"tables": [("0", "nope")]}, r"tables: \('0', 'nope'\) is not a table of the corpus"),
        ({"difficulty": "tiny"}, "easy, medium, hard or mixed"),
    ],
)
def test_bad_settings(mini: Dataset, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ask(mini, **settings)


CITIES = MemoryCorpus(
    [
        _table("a", ["Oslo", "Ann"], ["Rome", "Bo"], title="Capitals"),
        _table("b", ["Nice", "Cy"], ["Rome", "Di"], title="Seaside towns"),
    ]
)


def _question(text: str, row: int, city: str, mayor: str) -> dict[str, Any]:
    cells = [
        {"row": row, "column": name, "value": value}
        for name, value in (("City", city), ("Mayor", mayor))
    ]
    return {"question": text, "answer": [mayor], "cells": cells}


def _script(request: Request) -> Reply:
    if "Capitals" in request.content:
        questions = [
            _question("Who governs Oslo?", 1, "Oslo", "Ann"),
            _question("Who governs Rome?", 2, "Rome", "Bo"),
        ]
        return answer(json.dumps({"questions": questions}))
    return answer("I would rather not.")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    pytest.importorskip("openai")
    with OpenAIServer() as running:
        running.script = _script
        yield running


def _model(server: OpenAIServer) -> OpenAI:
    prices = {"input": 1.0, "output": 1.0}  # or a server on this machine costs nothing
    return OpenAI(model="m", base_url=server.base_url, api_key_env="NO_KEY", prices=prices)


def test_a_model_writes(server: OpenAIServer) -> None:
    estimates: list[Estimate] = []

    def agreed(estimate: Estimate) -> bool:
        estimates.append(estimate)
        return True

    questions = ask(CITIES, 5, generator=_model(server), confirm=agreed)
    (query,) = questions.queries
    assert (query.text, query.gold) == ("Who governs Oslo?", (TableId("0", "a"),))
    assert query.answer == "Ann"
    assert query.metadata["synthetic"] == "OpenAI"
    assert questions.dropped == {AMBIGUOUS: 1, f"{FAILED}: invalid_json": 1}
    assert [estimate.requests for estimate in estimates] == [2]
    assert ask(CITIES, 5, generator=_model(server)).queries == questions.queries
    times = {"Capitals" in content: n for content, n in server.asked.items()}
    assert times == {True: 1, False: 2}  # what failed is asked again, what did not is recorded


def test_without_consent_nothing_is_sent(server: OpenAIServer) -> None:
    with pytest.raises(ConfigError, match="not agreed to"):
        ask(CITIES, 5, generator=_model(server), confirm=lambda _: False)
    assert not server.requests
