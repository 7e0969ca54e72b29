"""The contract of a generator as checks: requests of every task, awkward texts, and a schema."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.built_in import ANSWER_TASK
from target_bench.core.contract import Generator, check_attributes, generation_fault
from target_bench.core.errors import ANY_ERROR, TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest, Message, Table
from target_bench.data.table_text import Serializer
from target_bench.testing import samples
from target_bench.testing.checks import (
    Check,
    CheckError,
    Contract,
    Report,
    calling,
    checks_of,
    expect,
    expect_identity,
    maker,
    run,
)

MOST_REQUESTS = 90
"""How many requests all checks together send at most."""


def check_generator(generator: Callable[[], Any] | str, **options: Any) -> Report:
    """Run ``generator_checks``: return the report, or raise one ``CheckError`` of all faults."""
    return run(generator, generator_checks(generator, **options)).raise_failures()


def generator_checks(
    generator: Callable[[], Any] | str, *, skip: Mapping[str, str] | None = None
) -> list[Check]:
    """Return the checks of a generator, one by one. It is asked, so one that is paid for costs.

    Args:
        generator: its class, a function that makes one, or a name with settings as on the command
            line (``openai:model=m``, ``my_file.py:Mine``).
        skip: names of checks to leave out, each with the reason, which the report shows.

    Raises:
        ConfigError: as ``retriever_checks``.
    """
    return checks_of(GeneratorContract(maker("generator", generator)), skip)


class GeneratorContract(Contract):
    """The checks of a generator."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._requests = make, ordinary()

    def basics(self) -> None:
        """It can be made, has `generate`, and answers ordinary requests of every task."""
        generator = self._make()
        is_one = callable(getattr(generator, "generate", None))
        expect(is_one, f"{type(generator).__name__} has no method generate(request)")
        check_attributes("generator", generator)
        errors = [answer.error for answer in self._answers if answer.error is not None]
        expect(len(errors) < len(self._answers), f"every request failed; the first: {errors[:1]}")

    def inputs(self) -> None:
        """Requests are left as they are."""
        assert self._answers
        expect(self._requests == ordinary(), "it changes its request: the tables or the messages")

    def many(self) -> None:
        """`generate_many` gives the answers of `generate`, in any order.

        Give each request one answer, under its id.
        """
        generator = self._make()
        if not _has_many(generator):
            raise SkipTest("it has no generate_many of its own: it is asked one request at a time")
        answers = _many(generator, ordinary())
        for request, alone in zip(ordinary(), self._answers, strict=True):
            together = answers[request.query_id]
            expect(
                alone.text == together.text
                or alone.error
                or together.error
                or _answered(generator, request).text != alone.text,  # no two answers are alike
                f"{request.query!r} got {together.text!r:.80} from generate_many, and "
                f"{alone.text!r:.80} from generate",
            )

    def errors(self) -> None:
        """Any request is answered under its own id, or fails and costs that one answer.

        Return a Generation with its error set in place of an exception.
        """
        generator = self._make()
        if _has_many(generator):
            _many(generator, awkward())
        for request in awkward():
            try:
                _sound(generator.generate(request), request)
            except CheckError:
                raise
            except TargetBenchError as error:
                raise CheckError(f"{request.query!r:.60} ended the run: {error}") from error
            except ANY_ERROR:  # recorded as the error of its answer
                continue

    def schema(self) -> None:
        """With `follows_schema`, the answer to a request with a schema is JSON.

        Pass answer_schema to the model, or leave follows_schema False.
        """
        generator = self._make()
        if not getattr(generator, "follows_schema", False):
            raise SkipTest("it does not say follows_schema, so no schema is asked of it")
        properties = {"answer": {"type": "string"}}
        schema = {"type": "object", "properties": properties, "required": ["answer"]}
        request = _request("schema", samples.QUERIES[0], _tables(), schema=schema)
        answer = _answered(generator, request)
        expect(answer.error is None, f"the request with a schema failed: {answer.error}")
        with calling(f"reading the JSON of {answer.text!r:.200}"):
            json.loads(answer.text)

    def determinism(self) -> None:
        """Two new ones answer alike; where they do not, the report says so."""
        generator = self._make()
        for request, first in zip(ordinary(), self._answers, strict=True):
            second = _answered(generator, request)
            if not first.error and not second.error and first.text != second.text:
                raise SkipTest(
                    f"two of them answer {request.query!r} differently, so a run cannot be "
                    f"repeated: {first.text!r:.60} and {second.text!r:.60}"
                )

    def identity(self) -> None:
        """Class, settings and code are known, and its work does not change them.

        Keep what is random or learned under other names than settings.
        """
        expect_identity(self._make, lambda generator: _answered(generator, ordinary()[0]))

    @cached_property
    def _answers(self) -> list[Generation]:
        """The answers to the ordinary requests."""
        generator = self._make()
        return [_answered(generator, request) for request in self._requests]


def _answered(generator: Any, request: GenerationRequest) -> Generation:
    """Return the answer to a request; what breaks the contract fails the check."""
    with calling(f"generate of {request.query!r:.60}"):
        answer = generator.generate(request)
    return _sound(answer, request)


def _sound(answer: Any, request: GenerationRequest | None = None) -> Generation:
    """Return the answer, a text too, as a ``Generation``; fails if it is not of the request."""
    if isinstance(answer, str) and request is not None:
        return Generation(request.query_id, answer)
    if not isinstance(answer, Generation):
        raise CheckError(f"an answer is {answer!r:.80}; expected a text or a Generation")
    problem = generation_fault(answer)
    if answer.error is not None and answer.text:
        problem = f"it has both a text and the error {answer.error!r:.80}"
    if request is not None and answer.query_id != request.query_id:
        problem = f"its query_id is {answer.query_id!r:.60}; pass on request.query_id"
    expect(not problem, f"an answer breaks the contract: {problem}")
    return answer


def _has_many(generator: object) -> bool:
    own = getattr(type(generator), "generate_many", Generator.generate_many)
    return own is not Generator.generate_many


def _many(generator: Any, requests: Sequence[GenerationRequest]) -> dict[str, Generation]:
    """Query id -> answer, of ``generate_many``; what breaks the contract fails the check."""
    call = f"generate_many of {len(requests)} requests"
    with calling(call):
        answers = list(generator.generate_many(iter(requests), Observer()))
    answered = sorted(_sound(answer).query_id for answer in answers)
    is_whole = answered == sorted(request.query_id for request in requests)
    expect(is_whole, f"{call} gave {len(answered)} answers, or some under other ids")
    return {answer.query_id: answer for answer in answers}


# Requests, new objects at each call, so that a plug-in that changes one spoils no other check


def ordinary() -> list[GenerationRequest]:
    """Return a question over three tables under each task there is."""
    pairs = zip(registry.names("task"), samples.QUERIES, strict=False)
    return [_request(task, question, _tables(), task) for task, question in pairs]


def awkward() -> list[GenerationRequest]:
    """Return questions of all kinds over odd tables or none, under odd ids."""
    odd = list(samples.odd().corpus)
    small = [[], *([table] for table in odd if len(str(table.rows)) < 1_000)]
    return [
        _request(f"{n} {odd[n % len(odd)].id.table_id}", text, small[n % len(small)])
        for n, text in enumerate((*samples.TEXTS, "river " * 2_000))
    ]


def _tables() -> list[Table]:
    return list(samples.ordinary().corpus)[:3]


def _request(
    query_id: str,
    question: str,
    tables: Sequence[Table],
    task: str = ANSWER_TASK,
    schema: Mapping[str, Any] | None = None,
) -> GenerationRequest:
    prompt = "\n\n".join([*map(Serializer(), tables), f"Question: {question}"])
    system = Message("system", "Answer from the tables. Answer with nothing else.")
    messages = (system, Message("user", prompt))
    return GenerationRequest(query_id, task, messages, question, tuple(tables), schema)
