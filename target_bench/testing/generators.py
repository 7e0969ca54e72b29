"""The contract of a generator as checks: requests of every task, awkward texts, and a schema."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.contract import Generator, constructor_arguments, generation_fault
from target_bench.core.errors import ANY_ERROR, TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest, Message, Table
from target_bench.core.settings import is_secret, looks_secret
from target_bench.data.table_text import Serializer
from target_bench.testing import checks, samples
from target_bench.testing.checks import (
    Check,
    CheckError,
    Contract,
    Report,
    calling,
    expect_identity,
    maker,
    name_of,
    remade,
    run,
)

MOST_REQUESTS = 280
"""How many requests all checks together send at most."""

_AS_VALUE = "Return a Generation with its error set, which costs one query."
_SHORTEST = 8  # characters of a secret; a shorter one may be a part of any word

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def check_generator(generator: Callable[..., Any] | str, **options: Any) -> Report:
    """Test whether a generator keeps the contract; arguments and errors as ``generator_checks``.

    Returns:
        What passed and what was skipped; ``print`` shows it.

    Raises:
        CheckError: a check failed; the message names all that did and how to fix them.
    """
    return run(name_of(generator), generator_checks(generator, **options)).raise_failures()


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
    return GENERATOR.checks(maker("generator", "generate", generator, settings), skip)


GENERATOR: Contract[Callable[[], Any]] = Contract()


@GENERATOR.check()
def basics(make: Callable[[], Any]) -> None:
    """It can be made, has `generate`, and answers ordinary requests of every task."""
    generator = make()
    if not callable(getattr(generator, "generate", None)):
        raise CheckError(
            f"{type(generator).__name__} is not a generator: it has no method generate(request)"
        )
    for name in ("paid", "converses", "follows_schema"):
        if not isinstance(getattr(generator, name, False), bool):
            raise CheckError(f"{name} is {getattr(generator, name)!r}; write True or False")
    found = [_answered(generator, request) for request in ordinary()]
    errors = [answer.error for answer in found if answer.error is not None]
    if len(errors) == len(found):
        raise CheckError(f"every ordinary request failed; the first: {errors[0]}")


@GENERATOR.check("basics")
def many(make: Callable[[], Any]) -> None:
    """`generate_many` gives the answers of `generate`, in any order."""
    generator = make()
    if not _has_many(generator):
        raise SkipTest("it has no generate_many of its own, so it is asked one request at a time")
    if _many(generator, []):
        raise CheckError("generate_many of no request gave an answer")
    found = _many(generator, ordinary())
    for request in ordinary():
        alone, together = _answered(generator, request), found[request.query_id]
        if alone.text == together.text or alone.error or together.error:
            continue
        if _answered(make(), request).text == alone.text:
            raise CheckError(
                f"the request {request.query_id!r} got {together.text!r:.80} from generate_many, "
                f"and {alone.text!r:.80} from generate. Give each answer the id of its request."
            )


@GENERATOR.check("basics")
def errors(make: Callable[[], Any]) -> None:
    """Any request is answered under its own id, or fails and costs that one answer."""
    generator = make()
    if _has_many(generator):
        _many(generator, awkward())
    for request in awkward():
        try:
            answer = generator.generate(request)
            if isinstance(answer, Generation):
                _expect_id(answer, request)
        except CheckError:
            raise
        except TargetBenchError as error:
            raise CheckError(
                f"generate raised {type(error).__name__} for {request.query_id!r}, which ends the "
                f"run: {error}. {_AS_VALUE}"
            ) from error
        except ANY_ERROR:
            continue


@GENERATOR.check("basics")
def schema(make: Callable[[], Any]) -> None:
    """With `follows_schema`, the answer to a request with a schema is JSON."""
    generator = make()
    if not getattr(generator, "follows_schema", False):
        raise SkipTest("it does not say follows_schema, so no schema is asked of it")
    sample, task = samples.ordinary(), registry.names("task")[0]
    for n, question in enumerate(sample.queries[:2]):
        request = _request(f"schema-{n}", task, question, list(sample.corpus)[:3], _SCHEMA)
        answer = _answered(generator, request)
        if answer.error is not None:
            raise CheckError(f"the request with a schema failed: {answer.error}")
        try:
            json.loads(answer.text)
        except ValueError as error:
            raise CheckError(
                f"the answer to a request with a schema is not JSON: {answer.text!r:.200}. Pass "
                "answer_schema to the model, or leave follows_schema False."
            ) from error


@GENERATOR.check("basics")
def determinism(make: Callable[[], Any]) -> None:
    """Two new ones answer alike; where they do not, the report says so."""
    one, other = make(), make()
    for request in ordinary():
        first, second = _answered(one, request), _answered(other, request)
        if not first.error and not second.error and first.text != second.text:
            raise SkipTest(
                f"two of them answer {request.query_id!r} differently, so a run cannot be "
                f"repeated: {first.text!r:.60} and {second.text!r:.60}"
            )


@GENERATOR.check("basics")
def inputs(make: Callable[[], Any]) -> None:
    """Requests are left as they are."""
    asked, generator = ordinary(), make()
    before = deepcopy(asked)
    for request in asked:
        _answered(generator, request)
    if asked != before:
        raise CheckError("it changes the request that it is given: its tables or its messages")


@GENERATOR.check("basics")
def identity(make: Callable[[], Any]) -> None:
    """Class, settings and code are known, make the same one, and its work changes none."""
    expect_identity(make, lambda generator: _answered(generator, ordinary()[0]))
    remade(make())


@GENERATOR.check("basics identity")
def secrets(make: Callable[[], Any]) -> None:
    """What a run records of it, settings and answers, holds no credential."""
    generator = make()
    answer = _answered(generator, ordinary()[0])
    own = getattr(generator, "config", None)
    config = own() if callable(own) else constructor_arguments(generator)
    shown = [v for n, v in config.items() if isinstance(v, str) and not is_secret(n)]
    shown.append(json.dumps(checks.identity(generator), ensure_ascii=False))
    named = {**os.environ, **getattr(generator, "__dict__", {})}
    known = {v for n, v in named.items() if is_secret(n) and isinstance(v, str)}
    for where, text in (
        ("settings", "\n".join(shown)),
        ("an answer", answer.text),
        ("an error", answer.error or ""),
    ):
        if looks_secret(text) or any(len(s) >= _SHORTEST and s in text for s in known):
            raise CheckError(
                f"{where}: a credential is recorded with every run. Read keys from the "
                "environment, and leave them out of config(), answers and errors."
            )


def _answered(generator: Any, request: GenerationRequest) -> Generation:
    """Ask as the harness does; what breaks the contract fails the check."""
    where = f"generate of the request {request.query_id[:40]!r}"
    with calling(where, _AS_VALUE):
        answer = generator.generate(request)
    if isinstance(answer, str):
        return Generation(request.query_id, answer)
    if not isinstance(answer, Generation):
        raise CheckError(f"{where} returned {type(answer).__name__}; return a text or a Generation")
    _expect_sound(answer, where)
    _expect_id(answer, request)
    return answer


def _expect_id(answer: Generation, request: GenerationRequest) -> None:
    if answer.query_id != request.query_id:
        raise CheckError(
            f"the answer to {request.query_id!r:.60} is a Generation of {answer.query_id!r:.60}; "
            "pass on request.query_id"
        )


def _expect_sound(answer: Generation, where: str) -> None:
    problem = generation_fault(answer)
    if isinstance(answer.input_tokens, bool) or isinstance(answer.output_tokens, bool):
        problem = "its number of tokens is bool"
    if problem:
        raise CheckError(f"{where} returned a Generation that breaks the contract: {problem}")
    if answer.error is not None and answer.text:
        raise CheckError(f"{where} returned both a text and the error {answer.error!r:.80}")


def _has_many(generator: object) -> bool:
    own = getattr(type(generator), "generate_many", Generator.generate_many)
    return own is not Generator.generate_many


def _many(generator: Any, asked: Sequence[GenerationRequest]) -> dict[str, Generation]:
    """Query id -> answer, of ``generate_many``; what breaks the contract fails the check."""
    where = f"generate_many of {len(asked)} requests"
    found: dict[str, Generation] = {}
    with calling(where, f"A failed request should not end the others. {_AS_VALUE}"):
        for answer in generator.generate_many(iter(asked), Observer()):
            if not isinstance(answer, Generation):
                raise CheckError(f"{where} gave {type(answer).__name__}, not a Generation")
            _expect_sound(answer, where)
            if answer.query_id in found:
                raise CheckError(f"{where} gave two answers to {answer.query_id!r:.60}")
            found[answer.query_id] = answer
    wanted = {request.query_id for request in asked}
    for wrong in sorted(wanted ^ set(found)):
        what = "no answer to" if wrong in wanted else "an answer to an unknown request"
        raise CheckError(f"{where} gave {what} {wrong!r:.60}; there is one answer per request")
    return found


# Requests, new objects at each call, so that a plug-in that changes one spoils no other check


def ordinary() -> list[GenerationRequest]:
    """Return three questions over three tables, under each task there is."""
    sample = samples.ordinary()
    return [
        _request(f"{task}-{number}", task, question, list(sample.corpus)[:3])
        for task in registry.names("task")
        for number, question in enumerate(sample.queries[:3])
    ]


def awkward() -> list[GenerationRequest]:
    """Return requests with ids and questions of all kinds, odd tables, no table."""
    task = registry.names("task")[0]
    odd = [t for t in samples.odd().corpus if t.id.table_id not in ("wide", "long-cell", "long")]
    names = [table_id.table_id for table_id in samples.awkward_ids().corpus.ids]
    texts = ("", " ", *samples.SCRIPTS, *samples.OPERATORS, "river " * 2_000)
    return [
        *(_request(f"text {n}", task, text, odd[:1]) for n, text in enumerate(texts)),
        *(_request(f"odd {n}", task, "What is it?", [one]) for n, one in enumerate(odd)),
        *(_request(name, task, f"Who is {n}?", []) for n, name in enumerate(names)),
    ]


def _request(
    query_id: str,
    task: str,
    question: str,
    shown: Sequence[Table],
    schema: Mapping[str, Any] | None = None,
) -> GenerationRequest:
    prompt = "\n\n".join([*map(Serializer(), shown), f"Question: {question}"])
    system = Message("system", "Answer from the tables. Answer with nothing else.")
    messages = (system, Message("user", prompt))
    return GenerationRequest(query_id, task, messages, question, tuple(shown), schema)
