"""Generators that behave, and some that do not, on the questions of mini."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from target_bench.core.observer import Observer
from target_bench.core.schema import GenerationRequest, Query
from target_bench.data.load import load
from target_bench.runs.result import Result
from tests.builders import Recorder
from tests.target import TARGET

QUESTIONS = tuple(
    query for query in load("mini").queries if query.metadata["task"] == "question_answering"
)
NUMBER = 41
"""The place of the 42nd question."""

FAULTY: set[str] = set()
"""Ids of the queries that ``Own`` fails on: a state of the world, not a setting."""


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
    """Gives answers of its own to some questions."""

    def __init__(self, answers: dict[str, Callable[[GenerationRequest], Any]]) -> None:
        super().__init__()
        self.answers = answers

    def generate(self, request: GenerationRequest) -> Any:
        return self.answers.get(request.query_id, super().generate)(request)


class Many:
    """A generator that answers many at once, without a base class, its own way."""

    def __init__(self, answers: Callable[[Iterator[GenerationRequest]], Iterator[Any]]) -> None:
        self.answers = answers

    def generate(self, request: GenerationRequest) -> str:
        raise AssertionError("generate_many is there")

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Any]:
        return self.answers(iter(requests))


def raising(error: BaseException) -> Callable[[GenerationRequest], Any]:
    """An answer that is none."""

    def answer(request: GenerationRequest) -> Any:
        raise error

    return answer


def answered(
    out: Path, generator: object, retriever: object = "oracle", **arguments: Any
) -> Result:
    """The questions of mini, answered."""
    target = TARGET(("qa", "mini"), out=out, observer=Recorder())
    (result,) = target.run(retriever, generator=generator, **arguments)
    return result


def lines(out: Path) -> list[dict[str, Any]]:
    """What the one run of answers holds."""
    (path,) = out.glob("question-answering-*/generations.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def counts(result: Result) -> tuple[int, int, int]:
    """How many answers were asked for, were given, and failed."""
    assert result.stored.answers is not None
    return (
        result.stored.answers.asked,
        result.stored.answers.answered,
        result.stored.answers.failed,
    )


def ids(queries: Iterable[Query]) -> list[str]:
    """Their ids."""
    return [query.id for query in queries]
