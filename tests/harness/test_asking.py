"""Synthetic questions about a corpus."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from target_bench import ConfigError, Generation, GenerationRequest, Generator, Table, TableId, ask
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
def asked(mini: Dataset) -> SyntheticQuestions:
    return ask(mini, 60, seed=1)


def test_questions_are_grounded(mini: Dataset, asked: SyntheticQuestions) -> None:
    assert len(asked.queries) == 60
    for query in asked.queries:
        view = TableView(mini.corpus[query.gold[0]])
        held = {str(name): i for i, name in enumerate(view.table.header)}
        assert query.synthetic
        assert query.answer
        for cell in query.metadata["cells"]:
            assert view.rows[cell["row"] - 1][held[cell["column"]]] == cell["value"]
    assert len({query.id for query in asked.queries}) == 60
    assert len({query.text for query in asked.queries}) == 60


@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
def test_difficulty(mini: Dataset, difficulty: Any) -> None:
    found = ask(mini, 10, difficulty=difficulty)
    assert found.counts("difficulty") == {difficulty: 10}
    rare = [query.metadata["rare_words"] for query in found.queries]
    assert all({"easy": n >= 4, "medium": n in (2, 3), "hard": n < 2}[difficulty] for n in rare)


def _table(name: str, *rows: list[str], title: str = "") -> Table:
    return Table(TableId("0", name), ["City", "Mayor"], rows, {"title": title})


def test_equal_tables_are_both_gold_and_others_drop_the_question() -> None:
    rows = [["Oslo", "Ann"], ["Rome", "Bo"], ["Nice", "Cy"]]
    copies = MemoryCorpus([_table("a", *rows), _table("b", *rows)])
    both = ask(copies, 5)
    assert both.several == len(both.queries) > 0
    other = MemoryCorpus([_table("a", *rows), _table("b", *([c, "Di"] for c, _ in rows))])
    found = ask(other, 500)
    assert found.dropped[AMBIGUOUS] > 0
    assert not any(query.text == "What is the mayor of Oslo?" for query in found.queries)
    assert found.wanted == 500 > len(found.queries)


GERMAN = MemoryCorpus(
    [
        Table(
            TableId("0", f"umsatz_{year}"),
            ["Bezeichnung der Filiale", "Umsatz im Geschäftsjahr", "Verantwortliche Person"],
            [
                [f"{name} Süd {year}", f"1.{base + i}1{i},5", f"{who} Müller"]
                for i, (name, who) in enumerate(zip(places, people, strict=True))
            ],
            {"title": f"umsatz_{year}"},
        )
        for year, base in ((2021, 10), (2022, 40))
        for places, people in [
            (
                ("München", "Köln", "Nürnberg", "Göttingen", "Würzburg"),
                ("Jürgen", "Käthe", "Günther", "Bärbel", "Sören"),
            )
        ]
    ]
)


def test_questions_are_in_the_language_of_the_tables() -> None:
    """They name the columns as they stand, do not give the file away, and write decimal commas."""
    found = ask(GERMAN, 40, seed=2)
    words = ("Was ", "Wo ", "Wie ", "Wer ")
    assert len(found.queries) > 10
    assert all(query.text.startswith(words) for query in found.queries)
    assert not any("umsatz_" in query.text or "umsatz 20" in query.text for query in found.queries)
    english = ask(GERMAN, 10, language="en").queries
    assert not any(query.text.startswith(words) for query in english)


def test_questions_about_tables_of_several_languages_are_in_that_of_each() -> None:
    english = Table(
        TableId("0", "towns"),
        ["Town", "Mayor", "Inhabitants"],
        [["Albury on the hill", "Ann", 900], ["Barton by the sea", "Bo", 50], ["Ely", "Cy", 7]],
    )
    found = ask(MemoryCorpus(with_languages([*GERMAN, english])), 20, seed=2).queries
    of_english = [query.gold == (english.id,) for query in found]
    words = ("Was ", "Wo ", "Wie ", "Wer ")
    assert set(of_english) == {True, False}
    assert [not query.text.startswith(words) for query in found] == of_english


def test_templates_ask_in_few_languages() -> None:
    message = "the tables are in Finnish, and templates ask in English, German, French, Spanish"
    with pytest.raises(ConfigError, match=message):
        ask(CITIES, 5, language="fi")


def test_how_far_questions_tell_retrievers_apart(mini: Dataset, asked: SyntheticQuestions) -> None:
    scores = separation(mini, asked.queries)
    assert scores["bm25"].low > scores["titles alone"].value > scores["random"].high
    assert "bm25 has nearly all right" in str(advice(scores))
    few = separation(mini, asked.queries[:3])
    assert "3 questions tell little" in str(advice(few))
    given_away = scores | {"bm25": scores["titles alone"]}
    assert "titles alone do nearly as well" in str(advice(given_away))
    alone = dict.fromkeys(scores, replace(scores["random"], value=1.0))
    assert "100% of the gold tables are found by chance" in str(advice(alone))
    assert "not better than chance" in str(advice(dict.fromkeys(scores, scores["random"])))


def test_tables_that_can_not_be_asked_about() -> None:
    found = ask(MemoryCorpus([Table(TableId("0", "a"), ["x"], [])]), 5)
    assert (found.queries, found.dropped) == ((), {NO_QUESTION: 1})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n=0: expected a whole number from 1"),
        ({"n": 1.5}, "n=1.5: expected a whole number"),
        ({"n": "3"}, "n='3': expected a whole number"),
        ({"n": None}, "n=None: expected a whole number"),
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
        found = [
            _question("Who governs Oslo?", 1, "Oslo", "Ann"),
            _question("Who governs Rome?", 2, "Rome", "Bo"),
        ]
        return answer(json.dumps({"questions": found}))
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

    found = ask(CITIES, 5, generator=_model(server), confirm=agreed)
    (query,) = found.queries
    assert (query.text, query.gold, query.answer) == (
        "Who governs Oslo?",
        (TableId("0", "a"),),
        "Ann",
    )
    assert query.metadata["synthetic"] == "OpenAI"
    assert found.dropped == {AMBIGUOUS: 1, f"{FAILED}: invalid_json": 1}
    assert [estimate.requests for estimate in estimates] == [2]
    assert ask(CITIES, 5, generator=_model(server)).queries == found.queries
    asked = server.asked
    assert sorted(asked.values()) == [1, 2]  # what failed is asked again, what did not is recorded
    assert ["Capitals" in content for content, n in asked.items() if n == 1] == [True]


def test_without_consent_nothing_is_sent(server: OpenAIServer) -> None:
    with pytest.raises(ConfigError, match="not agreed to"):
        ask(CITIES, 5, generator=_model(server), confirm=lambda _: False)
    assert not server.requests


class Own(Generator):
    """Fails, and counts."""

    def __init__(self) -> None:
        self._asked = 0

    def generate(self, request: GenerationRequest) -> Generation:
        """Fail."""
        raise RuntimeError(request.query_id)
