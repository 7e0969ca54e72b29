"""Query expansion by hypothetical schemas, with generators that need no model."""

import re
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.contract import Generator
from target_bench.core.identity import plugin_identity
from target_bench.core.schema import Generation, GenerationRequest
from tests.retrievers.tables import QUERIES, ask, built, corpus, names

HySE = registry.resolve("retriever", "hyse")

RIVERS = '[{"title": "Rivers of France", "columns": ["river", "length"]}]'
TWO = '[{"title": "Kings", "columns": ["king"]}, {"title": "Twin", "columns": ["fruit"]}]'


class Saying(Generator):
    """Gives every query the same answer."""

    def __init__(self, answer: str = RIVERS, error: str | None = None) -> None:
        self.answer = answer
        self.error = error
        self.requests: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest) -> Generation:
        self.requests.append(request)
        text = "" if self.error else self.answer
        return Generation(request.query_id, text, error=self.error)


def expanding(generator: Any, **settings: Any) -> Any:
    retriever = HySE(generator, **{"retriever": "bm25", **settings})
    retriever.embed_corpus(corpus())
    return retriever


def test_scores_are_shared_between_query_and_schemas() -> None:
    retriever = expanding(Saying(TWO), weight=0.6, normalise="none")
    plain = built("bm25")
    own, kings, twin = (dict(r) for r in ask(plain, ["apple", "Kings king", "Twin fruit"], 100))
    expected = {
        table: 0.6 * own.get(table, 0) + 0.2 * kings.get(table, 0) + 0.2 * twin.get(table, 0)
        for table in {*own, *kings, *twin}
    }
    assert dict(ask(retriever, ["apple"], 100)[0]) == pytest.approx(expected, abs=1e-5)


def test_a_query_is_asked_once() -> None:
    generator = Saying()
    retriever = expanding(generator)
    ask(retriever, ["plum", "plum", "apple"])
    ask(retriever, ["plum"])
    assert [request.query for request in generator.requests] == ["plum", "apple"]
    assert len({request.query_id for request in generator.requests}) == 2
    (message,) = generator.requests[0].messages
    assert "Write 3 different schemas" in message.content
    assert message.content.endswith("plum")


@pytest.mark.parametrize(
    ("generator", "problem"),
    [
        (Saying(error="server: 500"), "server: 500"),
        (Saying("I do not know."), "no hypothetical schema in 'I do not know.'"),
    ],
)
def test_a_failed_expansion_is_counted_and_the_query_stands_alone(
    generator: Saying, problem: str
) -> None:
    retriever = expanding(generator, normalise="none")
    assert [names(r) for r in ask(retriever)] == [names(r) for r in ask(built("bm25"))]
    (note,) = retriever.notes()
    assert f"{len(QUERIES)} of {len(QUERIES)} queries got no hypothetical schema" in note
    assert problem in note
    generator.error, generator.answer = None, RIVERS
    ask(retriever, [QUERIES[0]])
    assert f"{len(QUERIES) - 1} of {len(QUERIES)} queries" in retriever.notes()[0]


def test_identity_holds_generator_retriever_and_prompt() -> None:
    identity, warning = plugin_identity(HySE(Saying(), "bm25"))
    assert warning is None
    assert set(identity["parts"]) == {"generator", "retriever"}
    assert identity["config"]["prompt"].startswith("Imagine")
    for other in (
        HySE(Saying("other"), "bm25"), HySE(Saying(), "tfidf"),
        HySE(Saying(), "bm25", prompt="{{ query }}?"),
    ):  # fmt: skip
        assert plugin_identity(other)[0] != identity


@pytest.mark.parametrize(
    "answer",
    [
        '[{"title": "A b", "columns": ["x", "y"]}, {"title": "C", "columns": ["z"]}]',
        'Sure!\n```json\n[{"title": "A b", "columns": ["x", "y"]},\n{"name":"C","columns":"z"}]```',
        '{"schemas": [{"name": "A b", "columns": ["x", "y"]}, {"name": "C", "columns": ["z"]}]}',
        '{"title": "A b", "columns": ["x", "y"]}\n{"title": "C", "columns": ["z"]}',
        '{"A b": ["x", "y"], "C": ["z"]}',
        '{"1": {"title": "A b", "columns": ["x", "y"]}, "2": {"title": "C", "columns": ["z"]}}',
        '[["A b", "x", "y"], ["C", "z"]]',
        '["A b: x, y", "C: z"]',
        "1. A b: x, y\n2. C: z",
        "Here they are\n\n- **A b** (x, y)\n- **C** (z)",
        "| A b | x | y |\n| C | z |",
        "A b: x, y\nC: z\nA b: x, y",
    ],
)
def test_schemas_are_read_however_they_are_written(answer: str) -> None:
    read = expanding(Saying()).texts_in(answer)
    texts = [" ".join(re.sub("[:,]", " ", text).split()) for text in read]
    assert list(dict.fromkeys(texts)) == ["A b x y", "C z"]


@pytest.mark.parametrize("answer", ["", "I cannot say.", "[1] [2]", "{}", "[[[[", "{" * 5000])
def test_no_schema(answer: str) -> None:
    assert expanding(Saying()).texts_in(answer) == []
