"""Generators that behave, and some that do not; a retriever that may fail."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from target_bench.core.contract import Generator
from target_bench.core.observer import Observer
from target_bench.core.schema import Corpus, Generation, GenerationRequest, Query, TableId
from target_bench.data.load import load
from target_bench.harness.target import TARGET
from target_bench.runs.result import Result
from tests.builders import Recorder

QUESTIONS = tuple(
    query for query in load("mini").queries if query.metadata["task"] == "question_answering"
)
NUMBER = 41
"""The place of the 42nd question."""

FAULTY: set[str] = set()
"""Ids of the queries that ``Own`` fails on: a state of the world, not a setting."""

UNFOUND: set[str] = set()
"""Texts of the queries that ``Shaky`` fails on."""


class Own:
    """A user's generator: no base class, one method."""

    def __init__(self) -> None:
        self.asked: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest) -> Any:
        self.asked.append(request)
        if request.query_id in FAULTY:
            raise RuntimeError("the model is gone")
        return f"answer to {request.query_id}"


class Odd(Own):
    """Gives an answer of its own to the 42nd question."""

    def __init__(self, answer: Callable[[GenerationRequest], Any]) -> None:
        super().__init__()
        self.answer = answer

    def generate(self, request: GenerationRequest) -> Any:
        if request.query_id == QUESTIONS[NUMBER].id:
            return self.answer(request)
        return super().generate(request)


Answers = Callable[[Iterator[GenerationRequest]], Iterator[Any]]


class Many:
    """A generator that answers many at once, without a base class, its own way."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def generate(self, request: GenerationRequest) -> str:
        raise AssertionError("generate_many is there")

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Any]:
        return self.answers(self._noted(requests))

    def _noted(self, requests: Iterable[GenerationRequest]) -> Iterator[GenerationRequest]:
        for request in requests:
            self.asked.append(request.query_id)
            yield request


class Priced(Generator):
    """Costs money."""

    paid = True

    def __init__(self) -> None:
        self.asked = 0

    def config(self) -> dict[str, Any]:
        return {}

    def generate(self, request: GenerationRequest) -> Generation:
        self.asked += 1
        return Generation(request.query_id, "x", input_tokens=100, output_tokens=1, cost=0.25)

    def estimated_cost(self, n_requests: int, input_tokens: int) -> float:
        return n_requests * 0.25


class Shaky:
    """A retriever that fails on some queries."""

    def __init__(self) -> None:
        self.embedded = 0

    def embed_corpus(self, corpus: Corpus) -> None:
        self.embedded += 1
        self._ids = tuple(corpus.ids)

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        if query in UNFOUND:
            raise RuntimeError("the index is gone")
        return list(self._ids[:top_k])


def good(request: GenerationRequest) -> Generation:
    """A sound answer."""
    return Generation(request.query_id, f"answer to {request.query_id}")


def answered(
    out: Path, generator: object, retriever: object = "oracle", **arguments: Any
) -> Result:
    """The questions of mini, answered."""
    target = TARGET(("qa", "mini"), out=out, observer=arguments.pop("observer", Recorder()))
    (result,) = target.run(retriever, generator=generator, **arguments)  # type: ignore[arg-type]
    return result


def lines(out: Path) -> list[dict[str, Any]]:
    """What the one run of answers holds."""
    (path,) = out.glob("question-answering-*/generations.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def ids(queries: Iterable[Query]) -> list[str]:
    """Their ids."""
    return [query.id for query in queries]
