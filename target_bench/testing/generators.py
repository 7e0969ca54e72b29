"""The contract of a generator as checks: requests of every task, awkward texts, and a schema."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.contract import Generator, constructor_arguments, generation_fault
from target_bench.core.credentials import is_secret, looks_secret
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
    identity_of,
    maker,
    run,
)

MOST_REQUESTS = 280
"""How many requests all checks together send at most."""

Make = Callable[[], Any]

_AS_VALUE = "Return a Generation with its error set, which costs one query."


def check_generator(generator: Callable[..., Any] | str, **options: Any) -> Report:
    """Run ``generator_checks``: return the report, or raise one ``CheckError`` of all faults."""
    return run(generator, generator_checks(generator, **options)).raise_failures()


def generator_checks(
    generator: Callable[..., Any] | str,
    *,
    settings: Mapping[str, Any] | None = None,
    skip: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return the checks of a generator, one by one. It is asked, so one that is paid for costs.

    Args:
        generator: its class, a function that makes one, or a name with settings as on the command
            line (``openai:model=m``, ``my_file.py:Mine``).
        settings: arguments for the class or function.
        skip: names of checks to leave out, each with the reason, which the report shows.

    Raises:
        ConfigError: an unknown name or setting, an object in place of a class, or a model or
            extra that is not there.
    """
    return checks_of(GENERATOR, maker("generator", "generate", generator, settings), skip)


def basics(make: Make) -> None:
    """It can be made, has `generate`, and answers ordinary requests of every task."""
    generator = make()
    expect(
        callable(getattr(generator, "generate", None)),
        f"{type(generator).__name__} is not a generator: it has no method generate(request)",
    )
    for name in ("paid", "converses", "follows_schema"):
        value = getattr(generator, name, False)
        expect(isinstance(value, bool), f"{name} is {value!r}; write True or False")
    answers = [_answered(generator, request) for request in ordinary()]
    failed = [answer.error for answer in answers if answer.error is not None]
    expect(len(failed) < len(answers), f"every ordinary request failed; the first: {failed[:1]}")


def many(make: Make) -> None:
    """`generate_many` gives the answers of `generate`, in any order."""
    generator = make()
    if not _has_many(generator):
        raise SkipTest("it has no generate_many of its own, so it is asked one request at a time")
    answers = _many(generator, ordinary())
    for request in ordinary():
        alone, together = _answered(generator, request), answers[request.query_id]
        alike = alone.text == together.text or alone.error or together.error
        expect(
            alike or _answered(make(), request).text != alone.text,  # it answers as it likes
            f"the request {request.query_id!r} got {together.text!r:.80} from generate_many, "
            f"and {alone.text!r:.80} from generate. Give each answer the id of its request.",
        )


def errors(make: Make) -> None:
    """Any request is answered under its own id, or fails and costs that one answer."""
    generator = make()
    if _has_many(generator):
        _many(generator, awkward())
    for request in awkward():
        try:
            answer = generator.generate(request)
        except TargetBenchError as error:
            raise CheckError(
                f"generate raised {type(error).__name__} for {request.query_id!r}, which ends the "
                f"run: {error}. {_AS_VALUE}"
            ) from error
        except ANY_ERROR:
            continue
        if isinstance(answer, Generation):
            _expect_sound(answer, f"generate of the request {request.query_id!r}", request)


def schema(make: Make) -> None:
    """With `follows_schema`, the answer to a request with a schema is JSON."""
    generator = make()
    if not getattr(generator, "follows_schema", False):
        raise SkipTest("it does not say follows_schema, so no schema is asked of it")
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    tables, task = list(samples.ordinary().corpus)[:3], registry.names("task")[0]
    answer = _answered(generator, _request("schema", task, samples.QUERIES[0], tables, schema))
    expect(answer.error is None, f"the request with a schema failed: {answer.error}")
    hint = "Pass answer_schema to the model, or leave follows_schema False."
    with calling(f"reading the JSON of an answer to a schema, {answer.text!r:.200},", hint):
        json.loads(answer.text)


def determinism(make: Make) -> None:
    """Two new ones answer alike; where they do not, the report says so."""
    generator, other_generator = make(), make()
    for request in ordinary():
        first, second = _answered(generator, request), _answered(other_generator, request)
        if not first.error and not second.error and first.text != second.text:
            raise SkipTest(
                f"two of them answer {request.query_id!r} differently, so a run cannot be "
                f"repeated: {first.text!r:.60} and {second.text!r:.60}"
            )


def inputs(make: Make) -> None:
    """Requests are left as they are."""
    requests, generator = ordinary(), make()
    before = deepcopy(requests)
    for request in requests:
        _answered(generator, request)
    expect(requests == before, "it changes its request: the tables or the messages")


def identity(make: Make) -> None:
    """Class, settings and code are known, and its work does not change them."""
    expect_identity(make, lambda generator: _answered(generator, ordinary()[0]))


def secrets(make: Make) -> None:
    """What a run records of it, settings and answers, holds no credential."""
    generator = make()
    answer = _answered(generator, ordinary()[0])
    keys = [
        value
        for name, value in {**os.environ, **getattr(generator, "__dict__", {})}.items()
        if is_secret(name) and isinstance(value, str) and len(value) >= 8  # shorter: in many a word
    ]
    config = (
        generator.config
        if hasattr(generator, "config")
        else partial(constructor_arguments, generator)
    )
    settings = [v for n, v in config().items() if isinstance(v, str) and not is_secret(n)]
    settings.append(json.dumps(identity_of(generator), ensure_ascii=False))
    for where, text in (
        ("settings", "\n".join(settings)),
        ("an answer", answer.text),
        ("an error", answer.error or ""),
    ):
        expect(
            not looks_secret(text) and not any(key in text for key in keys),
            f"{where}: a credential is recorded with every run. Read keys from the "
            "environment, and leave them out of config(), answers and errors.",
        )


GENERATOR: Contract = (basics, many, errors, schema, determinism, inputs, identity, secrets)


def _answered(generator: Any, request: GenerationRequest) -> Generation:
    """Return the answer to a request; what breaks the contract fails the check."""
    call = f"generate of the request {request.query_id[:40]!r}"
    with calling(call, _AS_VALUE):
        answer = generator.generate(request)
    if isinstance(answer, str):
        return Generation(request.query_id, answer)
    return _expect_sound(answer, call, request)


def _expect_sound(answer: Any, call: str, request: GenerationRequest | None = None) -> Generation:
    """Return the answer; fails if it is no sound ``Generation``, or not of the request."""
    if not isinstance(answer, Generation):
        raise CheckError(f"{call} returned {type(answer).__name__}; return a text or a Generation")
    problem = generation_fault(answer)
    if answer.error is not None and answer.text:
        problem = f"both a text and the error {answer.error!r:.80}"
    if request is not None and answer.query_id != request.query_id:
        problem = f"query_id is {answer.query_id!r:.60}; pass on request.query_id"
    expect(not problem, f"{call} returned a Generation that breaks the contract: {problem}")
    return answer


def _has_many(generator: object) -> bool:
    own = getattr(type(generator), "generate_many", Generator.generate_many)
    return own is not Generator.generate_many


def _many(generator: Any, requests: Sequence[GenerationRequest]) -> dict[str, Generation]:
    """Query id -> answer, of ``generate_many``; what breaks the contract fails the check."""
    call = f"generate_many of {len(requests)} requests"
    with calling(call, f"A failed request should not end the others. {_AS_VALUE}"):
        listed = list(generator.generate_many(iter(requests), Observer()))
    answers = {_expect_sound(answer, call).query_id: answer for answer in listed}
    unanswered = {request.query_id for request in requests} ^ set(answers)
    expect(
        len(answers) == len(listed) and not unanswered,
        f"{call} gave {len(listed)} answers; there is one answer per request, under its query_id "
        f"(amiss: {sorted(unanswered)[:3]})",
    )
    return answers


# Requests, new objects at each call, so that a plug-in that changes one spoils no other check


def ordinary() -> list[GenerationRequest]:
    """Return three questions over three tables, under each task there is."""
    tables = list(samples.ordinary().corpus)[:3]
    return [
        _request(f"{task}-{number}", task, question, deepcopy(tables))
        for task in registry.names("task")
        for number, question in enumerate(samples.QUERIES[:3])
    ]


def awkward() -> list[GenerationRequest]:
    """Return requests with ids and questions of all kinds, odd tables, no table."""
    task = registry.names("task")[0]
    odd = [t for t in samples.odd().corpus if t.id.table_id not in ("wide", "long-cell", "long")]
    names = [table_id.table_id for table_id in samples.awkward_ids().corpus.ids]
    texts = (*samples.TEXTS, "river " * 2_000)
    return [
        *(_request(f"text {n}", task, text, odd[:1]) for n, text in enumerate(texts)),
        *(_request(f"odd {n}", task, "What is it?", [table]) for n, table in enumerate(odd)),
        *(_request(name, task, f"Who is {n}?", []) for n, name in enumerate(names)),
    ]


def _request(
    query_id: str,
    task: str,
    question: str,
    tables: Sequence[Table],
    schema: Mapping[str, Any] | None = None,
) -> GenerationRequest:
    prompt = "\n\n".join([*map(Serializer(), tables), f"Question: {question}"])
    system = Message("system", "Answer from the tables. Answer with nothing else.")
    messages = (system, Message("user", prompt))
    return GenerationRequest(query_id, task, messages, question, tuple(tables), schema)
