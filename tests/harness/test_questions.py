"""Synthetic questions about a corpus."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from target_bench import ConfigError, Generation, GenerationRequest, Table, TableId, ask
from target_bench.core.schema import Cell, Dataset
from target_bench.corpora import load
from target_bench.data.tables import MemoryCorpus
from target_bench.generators.openai import OpenAI
from target_bench.harness.consent import Estimate
from target_bench.harness.questions.ask import (
    AMBIGUOUS,
    ELSEWHERE,
    SyntheticQuestions,
    find_weakness,
    rate_questions,
)
from target_bench.harness.questions.model import (
    EMPTY,
    INCOMPLETE,
    NAMELESS,
    NO_JSON,
    NO_SUCH_CELL,
    UNSUPPORTED,
)
from target_bench.harness.questions.table_view import MAX_ROWS, TOO_LONG
from target_bench.harness.questions.templates import NO_QUESTION
from tests.openai_server import OpenAIServer, Reply, Request, answer


@pytest.fixture(scope="module")
def mini() -> Dataset:
    return load("mini")


@pytest.fixture(scope="module")
def questions(mini: Dataset) -> SyntheticQuestions:
    return ask(mini, 60, seed=1)


def _table(name: str, header: list[str], *rows: Sequence[Cell], title: str = "") -> Table:
    return Table(TableId("0", name), header, rows, {"title": title})


def test_answers_are_cells_of_a_row_that_a_unique_name_stands_for(
    mini: Dataset, questions: SyntheticQuestions
) -> None:
    assert len({query.text for query in questions.queries}) == 60
    for query in questions.queries:
        table = mini.corpus[query.gold[0]]
        (cell,) = query.metadata["cells"]
        row = [str(value) for value in table.rows[cell["row"] - 1]]
        assert query.synthetic
        assert query.answer == cell["value"] == row[list(table.header).index(cell["column"])]
        names = [value for value in row if value in query.text]
        assert any(sum(name in map(str, other) for other in table.rows) == 1 for name in names), (
            query
        )


def test_only_a_corpus_can_be_asked_about() -> None:
    with pytest.raises(ConfigError, match="42 is no corpus"):
        ask(42)  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_questions(
    mini: Dataset, questions: SyntheticQuestions
) -> None:
    assert ask(mini, 60, seed=1) == questions
    assert ask(mini, 60, seed=2).queries != questions.queries


def test_no_question_is_a_count_or_about_a_name_that_repeats() -> None:
    """13 parts are of steel, and 33 cells hold the word: nobody is asked how many."""
    rows: list[list[Cell]] = [
        [f"Part {i}", "steel" if i % 3 else "stainless steel"] for i in range(9)
    ]
    texts = [
        query.text
        for query in ask(MemoryCorpus([_table("parts", ["part", "material"], *rows)]), 99).queries
    ]
    assert len(texts) == 9
    assert not any("steel" in text or "many" in text for text in texts)


def test_a_title_is_asked_for_by_its_words() -> None:
    """Also where brackets stand inside of a word."""
    rows = [[f"City{i}", f"Mayor{i}"] for i in range(20)]
    for title in ("Cities list", "Cities(2016)list"):
        questions = ask(MemoryCorpus([_table("a", CITY, *rows, title=title)]), 20)
        assert (len(questions.queries), questions.dropped) == (20, {})


CITY = ["City", "Mayor"]


def test_equal_tables_are_both_gold_and_others_drop_the_question() -> None:
    rows: list[list[Cell]] = [["Oslo", "Ann"], ["Rome", "Bo"], ["Nice", "Cy"]]
    both = ask(MemoryCorpus([_table("a", CITY, *rows), _table("b", CITY, *rows)]), 5)
    assert both.n_several_gold == len(both.queries) > 0
    others: list[list[Cell]] = [[city, "Di"] for city, _ in rows]
    others[0][1] = "Ed"
    questions = ask(MemoryCorpus([_table("a", CITY, *rows), _table("b", CITY, *others)]), 500)
    assert (questions.queries, questions.wanted) == ((), 500)
    assert questions.dropped[AMBIGUOUS] == 6
    empty = ask(MemoryCorpus([Table(TableId("0", "a"), ["x"], [])]), 5)
    assert (empty.queries, empty.dropped) == ((), {NO_QUESTION: 1})


GERMAN = _table(
    "umsatz_2021",
    ["Bezeichnung der Filiale", "Umsatz im Geschäftsjahr", "Verantwortliche Person"],
    *[
        [f"{place} Süd", f"1.{100 + i},5", f"{name} Müller"]
        for i, (place, name) in enumerate([("München", "Käthe"), ("Köln", "Sören")])
    ],
    title="umsatz_2021",
)
FRENCH = _table(
    "effectifs",
    ["Ville", "Région", "Employés"],
    ["Lyon", "Rhône", 12],
    ["Nice", "Provence", 7],
)
SPANISH = _table("ciudades", ["Ciudad", "Población"], ["Sevilla", 10], ["Burgos", 4])
ENGLISH = _table(
    "towns",
    ["Town", "Mayor", "Inhabitants"],
    ["Albury on the hill", "Ann", 900],
    ["Barton by the sea", "Bo", 50],
)


def test_templates_ask_in_the_language_of_each_table_and_count_those_in_others() -> None:
    questions = ask(MemoryCorpus([GERMAN, FRENCH, SPANISH, ENGLISH]), 50)
    starts = {
        query.gold[0].table_id: query.text.split()[0] + " " + query.text.split()[1]
        for query in questions.queries
    }
    assert starts.keys() == {"umsatz_2021", "towns"}
    assert starts["umsatz_2021"] in ("Was ist", "Was steht")
    assert starts["towns"] == "What is"
    assert not any("umsatz_2021" in query.text for query in questions.queries)  # names the file
    assert questions.dropped == {
        f"tables in {language}, which no template speaks": 1 for language in ("French", "Spanish")
    }


def test_a_rating_says_whether_questions_tell_retrievers_apart(
    mini: Dataset, questions: SyntheticQuestions
) -> None:
    scores = rate_questions(mini, questions.queries)
    assert scores["bm25"].low > scores["titles alone"].value > scores["random"].high
    assert "bm25 gets nearly all right" in str(find_weakness(scores))
    few = rate_questions(mini, questions.queries[:3])
    assert "3 questions tell little" in str(find_weakness(few))
    given_away = scores | {"bm25": scores["titles alone"]}
    assert "titles alone do nearly as well" in str(find_weakness(given_away))
    alone = dict.fromkeys(scores, replace(scores["random"], value=1.0))
    assert "100% of the gold tables are found by chance" in str(find_weakness(alone))
    assert "not better than chance" in str(find_weakness(dict.fromkeys(scores, scores["random"])))
    good = scores | {
        "bm25": replace(scores["bm25"], value=0.9),
        "titles alone": replace(scores["random"], value=0.2),
    }
    assert find_weakness(good) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n=0: expected a whole number from 1"),
        ({"n": 1.5}, "n=1.5: expected a whole number"),
        ({"n": None}, "n=None: expected a whole number"),
    ],
)
def test_bad_settings(mini: Dataset, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ask(mini, **settings)


FILMS = _table(
    "films",
    ["Film", "Director(s)", "Gross (US$)", "Year"],
    ["Collateral", "Michael Mann", "$217", 2004],
    ["Heat", "Michael Mann", "$187", 1995],
    ["Ronin", "John Frankenheimer", "$104", 1998],
    title="Thrillers of Hollywood",
)
HEAT: dict[str, Any] = {"row": 2, "column": "Film", "value": "Heat"}
GOOD: dict[str, Any] = {
    "question": "Who made the thriller Heat?",
    "answer": ["Michael Mann"],
    "cells": [HEAT, {"row": 2, "column": "Director(s)", "value": "Michael Mann"}],
}
GROSS = [
    {"row": i, "column": "Gross (US$)", "value": str(row[2])} for i, row in enumerate(FILMS.rows, 1)
]
TOTAL = {"question": "What did the thrillers of Hollywood earn?", "answer": ["508"], "cells": GROSS}


class Writer:
    """A generator that replies with a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.prompt = ""

    def generate(self, request: GenerationRequest) -> Generation:
        self.prompt = str(request.messages[-1].content)
        return Generation(request.query_id, self.text)


def _written(*records: Any) -> SyntheticQuestions:
    reply = "Here they are:\n" + json.dumps({"questions": records})
    return ask(MemoryCorpus([FILMS]), 9, generator=Writer(reply))


def test_questions_of_a_model_are_kept_where_their_answer_follows_from_cells() -> None:
    heat, total = _written(GOOD, TOTAL).queries
    assert (heat.text, heat.answer, heat.gold) == (GOOD["question"], "Michael Mann", (FILMS.id,))
    assert heat.metadata["cells"][0] == HEAT
    assert (total.answer, heat.metadata["synthetic"]) == ("508", "Writer")
    writer = Writer("")
    ask(MemoryCorpus([FILMS]), 9, generator=writer)
    assert "Thrillers of Hollywood\nrow | Film | Director(s) | Gross (US$) | Year" in writer.prompt
    assert "2 | Heat | Michael Mann | $187 | 1995" in writer.prompt


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"question": " "}, INCOMPLETE),
        ({"answer": []}, INCOMPLETE),
        ({"cells": [{"row": "two"}]}, INCOMPLETE),
        ({"cells": [HEAT | {"row": float("inf")}]}, INCOMPLETE),
        ({"cells": [GROSS[0] | {"value": "-$217"}]}, NO_SUCH_CELL),
        ({"cells": [HEAT | {"value": "Ran"}]}, NO_SUCH_CELL),
        ({"cells": [HEAT | {"row": 9}]}, NO_SUCH_CELL),
        ({"cells": [HEAT | {"column": "Actor"}]}, NO_SUCH_CELL),
        ({"answer": ["Al Pacino"]}, UNSUPPORTED),
        ({"answer": ["7"]}, UNSUPPORTED),
        ({"cells": GROSS[:1], "answer": ["0"]}, UNSUPPORTED),
        ({"cells": GROSS[:1], "answer": ["-217"]}, UNSUPPORTED),
        ({"question": "Who made it?"}, NAMELESS),
        ({"question": "Was it Michael Mann?", "answer": ["Michael Mann*"]}, NAMELESS),
        ({"cells": [HEAT, {"row": 1, "column": "Year", "value": "2004"}], "answer": ["2004"]},
         ELSEWHERE),
    ],
)  # fmt: skip
def test_other_questions_of_a_model_are_dropped_with_the_reason(
    change: dict[str, Any], reason: str
) -> None:
    questions = _written(GOOD | change, GOOD)
    assert [query.text for query in questions.queries] == [GOOD["question"]]
    assert questions.dropped == {reason: 1}


def test_a_cell_of_which_comparing_leaves_nothing_names_no_row() -> None:
    """What stands in brackets is left out of names."""
    players = _table("players", ["Name", "Status", "Goals"], ["Ann", "(retired)", 3], ["Bo", "", 4])
    goals = {"row": 1, "column": "Goals", "value": "3"}
    record = {
        "question": "How many goals has the retired one?",
        "answer": ["3"],
        "cells": [{"row": 1, "column": "Status", "value": "(retired)"}, goals],
    }
    reply = Writer(json.dumps({"questions": [record]}))
    assert ask(MemoryCorpus([players]), 9, generator=reply).dropped == {NAMELESS: 1}


def test_tables_whose_ids_look_alike_are_asked_about_apart() -> None:
    tables = [
        Table(TableId(*pair), FILMS.header, FILMS.rows, {"title": title})
        for pair, title in ((("a", "b/c"), "Thrillers"), (("a/b", "c"), "Westerns"))
    ]
    titles: list[str] = []

    class Titles(Writer):
        def generate(self, request: GenerationRequest) -> Generation:
            titles.append(request.query_id)
            return super().generate(request)

    ask(MemoryCorpus(tables), 9, generator=Titles(""))
    assert len(set(titles)) == 2


@pytest.mark.parametrize("answer", ["30", "-30", "2", "404", "202", "187"])
def test_an_answer_may_be_computed_from_two_cells(answer: str) -> None:
    """Their difference either way, number, sum, mean and minimum."""
    (query,) = _written(TOTAL | {"answer": [answer], "cells": GROSS[:2]}).queries
    assert query.answer == answer


def test_a_model_is_not_asked_about_long_and_empty_tables_which_are_counted() -> None:
    header = list(FILMS.header)
    long = _table("long", header, *[FILMS.rows[0]] * (MAX_ROWS + 1))
    corpus = MemoryCorpus([long, _table("empty", header), FILMS])
    writer = Writer(json.dumps({"questions": [GOOD]}))
    assert [query.gold for query in ask(corpus, 1, generator=writer).queries] == [(FILMS.id,)]
    questions = ask(corpus, 9, generator=writer)
    assert [query.gold for query in questions.queries] == [(FILMS.id,)]
    assert questions.dropped == {TOO_LONG: 1, EMPTY: 1}


@pytest.mark.parametrize(
    "reply",
    [
        '{"questions": %s}',
        'Here they are: {"questions": %s} Enjoy.',
        '```json\n{"questions": %s}\n```',
        '{"notes": "films", "questions": %s}',
        '<think>{"questions": []}</think>{"questions": %s}',
    ],
)
def test_a_reply_is_read_with_words_around_its_json_and_other_keys_in_it(reply: str) -> None:
    questions = ask(MemoryCorpus([FILMS]), 9, generator=Writer(reply % json.dumps([GOOD])))
    assert [query.text for query in questions.queries] == [GOOD["question"]]


def test_a_reply_without_questions_is_counted() -> None:
    assert ask(MemoryCorpus([FILMS]), 9, generator=Writer("No.")).dropped == {NO_JSON: 1}


CITIES = MemoryCorpus(
    [
        _table("a", CITY, ["Oslo", "Ann"], ["Rome", "Bo"], title="Capitals"),
        _table("b", CITY, ["Nice", "Cy"], ["Rome", "Di"], title="Seaside towns"),
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


def test_a_model_writes_after_one_question_about_costs(server: OpenAIServer) -> None:
    estimates: list[Estimate] = []

    def agreed(estimate: Estimate) -> bool:
        estimates.append(estimate)
        return True

    questions = ask(CITIES, 5, generator=_model(server), confirm=agreed)
    (query,) = questions.queries
    assert (query.text, query.gold) == ("Who governs Oslo?", (TableId("0", "a"),))
    assert query.answer == "Ann"
    assert query.metadata["synthetic"] == "OpenAI"
    assert questions.dropped[AMBIGUOUS] == 1
    assert sum(questions.dropped.values()) == 2
    assert [estimate.requests for estimate in estimates] == [2]
    assert ask(CITIES, 5, generator=_model(server)).queries == questions.queries
    times = {"Capitals" in content: n for content, n in server.asked.items()}
    assert times == {True: 1, False: 2}  # what failed is asked again, what did not is recorded


def test_without_consent_nothing_is_sent(server: OpenAIServer) -> None:
    with pytest.raises(ConfigError, match="you did not confirm"):
        ask(CITIES, 5, generator=_model(server), confirm=lambda _: False)
    assert not server.requests
