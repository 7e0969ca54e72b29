"""The contract of a generator as a list of checks."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from math import isfinite
from typing import Any
from unittest import SkipTest

from target_bench.core.contract import Generator, constructor_arguments, generation_fault
from target_bench.core.errors import ANY_ERROR, TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.core.settings import is_secret, looks_secret
from target_bench.testing import requests
from target_bench.testing.checks import (
    Check,
    CheckError,
    CheckFunction,
    Maker,
    Report,
    assemble,
    calling,
    maker,
    run,
)
from target_bench.testing.identities import expect_identity, identity, remade

MOST_REQUESTS = 280
"""How many requests all checks together send at most."""

_AS_VALUE = "Return a Generation with its error set, which costs one query."
_SHORTEST = 8  # characters of a secret; a shorter one may be a part of any word


def check_generator(
    generator: Callable[..., Any] | str,
    *,
    settings: Mapping[str, Any] | None = None,
    skip: Mapping[str, str] | None = None,
) -> Report:
    """Test whether a generator keeps the contract. It is asked, so one that is paid for costs.

    Args:
        generator: its class, a function that makes one, or a name with settings as on the command
            line (``openai:model=m``, ``my_file.py:Mine``).
        settings: arguments for the class or function.
        skip: names of checks to leave out, each with the reason, which the report shows.

    Returns:
        What passed and what was skipped; ``print`` shows it.

    Raises:
        CheckError: a check failed; the message names all that did and how to fix them.
        ConfigError: an unknown name or setting, an object in place of a class, or a model or
            extra that is not there.
    """
    made = _maker(generator, settings)
    return run(made.name, assemble(made, CHECKS, skip)).raise_failures()


def generator_checks(
    generator: Callable[..., Any] | str,
    *,
    settings: Mapping[str, Any] | None = None,
    skip: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return the checks of a generator, one by one; arguments and errors as ``check_generator``.

    With pytest::

        @pytest.mark.parametrize("check", generator_checks(MyGenerator), ids=str)
        def test_contract(check):
            check()
    """
    return assemble(_maker(generator, settings), CHECKS, skip)


def _maker(generator: Callable[..., Any] | str, settings: Mapping[str, Any] | None) -> Maker:
    return maker("generator", "generate", generator, settings)


def check_basics(make: Maker) -> None:
    """Check that it can be made, has ``generate``, and answers ordinary requests of every task."""
    generator = make()
    if not callable(getattr(generator, "generate", None)):
        raise CheckError(
            f"{type(generator).__name__} is not a generator: it has no method generate(request)"
        )
    for name in ("paid", "converses", "follows_schema"):
        if not isinstance(getattr(generator, name, False), bool):
            raise CheckError(f"{name} is {getattr(generator, name)!r}; write True or False")
    asked = requests.ordinary()
    found = [_answered(generator, request) for request in asked]
    errors = [answer.error for answer in found if answer.error is not None]
    if len(errors) == len(found):
        raise CheckError(f"every ordinary request failed; the first: {errors[0]}")


def check_query_ids(make: Maker) -> None:
    """Check that an answer carries the id of its request, however that looks."""
    generator = make()
    for request in requests.awkward():
        try:
            answer = generator.generate(request)
        except ANY_ERROR:
            continue
        if isinstance(answer, Generation):
            _expect_id(answer, request)


def check_many(make: Maker) -> None:
    """Check that ``generate_many`` gives the answers of ``generate``, in any order."""
    generator = make()
    _expect_own_many(generator)
    asked = requests.ordinary()
    if _many(generator, []):
        raise CheckError("generate_many of no request gave an answer")
    found = _many(generator, asked)
    for request in asked:
        alone = _answered(generator, request)
        together = found[request.query_id]
        if alone.text == together.text or alone.error or together.error:
            continue
        if _answered(make(), request).text == alone.text:
            raise CheckError(
                f"the request {request.query_id!r} got {together.text!r:.80} from generate_many, "
                f"and {alone.text!r:.80} from generate. Give each answer the id of its request."
            )


def check_errors(make: Maker) -> None:
    """Check that a request that fails costs that one answer and no other."""
    generator = make()
    asked = requests.awkward()
    if _has_many(generator):
        _many(generator, asked)
    for request in asked:
        try:
            generator.generate(request)
        except TargetBenchError as error:
            raise CheckError(
                f"generate raised {type(error).__name__} for {request.query_id!r}, which ends the "
                f"run: {error}. {_AS_VALUE}"
            ) from error
        except ANY_ERROR:
            continue


def check_usage(make: Maker) -> None:
    """Check that token counts, cost and seconds are numbers from 0 on, or None if not known."""
    generator = make()
    answers = [generator.generate(request) for request in requests.ordinary()]
    known = [answer for answer in answers if isinstance(answer, Generation)]
    if not known:
        raise SkipTest("it returns text alone, so a run has no counts of tokens")
    for answer in known:
        problem = generation_fault(answer)
        if problem:
            raise CheckError(f"the answer to {answer.query_id!r}: {problem}")
        for name in ("input_tokens", "output_tokens"):
            if isinstance(getattr(answer, name), bool):
                raise CheckError(f"the answer to {answer.query_id!r}: its {name} is bool")
    cost = getattr(generator, "estimated_cost", None)
    found = cost(10, 1_000) if callable(cost) else None
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if found is not None and not (is_number and isfinite(found) and found >= 0):
        raise CheckError(f"estimated_cost(10, 1000) is {found!r}; return a number or None")


def check_unanswered(make: Maker) -> None:
    """Check that ``unanswered`` gives some of the requests, or all, and sends nothing."""
    generator = make()
    unanswered = getattr(generator, "unanswered", None)
    if not callable(unanswered):
        raise SkipTest("it has no method unanswered")
    asked = requests.ordinary()
    with calling("unanswered"):
        left = list(unanswered(asked))
    if any(request not in asked for request in left) or len(left) > len(asked):
        raise CheckError("unanswered gave a request that it was not given, or one twice")


def check_schema(make: Maker) -> None:
    """Check that with ``follows_schema``, the answer to a request with a schema is JSON."""
    generator = make()
    if not getattr(generator, "follows_schema", False):
        raise SkipTest("it does not say follows_schema, so no schema is asked of it")
    for request in requests.with_schema():
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


def check_determinism(make: Maker) -> None:
    """Check that two new ones answer alike; where they do not, the report says so."""
    asked = requests.ordinary()
    one, other = make(), make()
    for request in asked:
        first, second = _answered(one, request), _answered(other, request)
        if not first.error and not second.error and first.text != second.text:
            raise SkipTest(
                f"two of them answer {request.query_id!r} differently, so a run cannot be "
                f"repeated: {first.text!r:.60} and {second.text!r:.60}"
            )


def check_inputs(make: Maker) -> None:
    """Check that requests are left as they are."""
    asked = requests.ordinary()
    before = deepcopy(asked)
    generator = make()
    for request in asked:
        _answered(generator, request)
    if asked != before:
        raise CheckError("it changes the request that it is given: its tables or its messages")


def check_secrets(make: Maker) -> None:
    """Check that what a run records of it, settings and answers, holds no credential."""
    generator = make()
    recorded = {"settings": "\n".join(_texts(generator))}
    for request in requests.ordinary()[:1]:
        answer = _answered(generator, request)
        recorded |= {"an answer": answer.text, "an error": answer.error or ""}
    known = _secrets(generator)
    for where, text in recorded.items():
        if looks_secret(text) or any(secret in text for secret in known):
            raise CheckError(
                f"{where}: a credential is recorded with every run. Read keys from the "
                "environment, and leave them out of config(), answers and errors."
            )


def _texts(generator: object) -> Iterator[str]:
    """Yield the settings under names of no secret, before the harness masks what is in them."""
    own = getattr(generator, "config", None)
    try:
        settings = own() if callable(own) else constructor_arguments(generator)
    except AttributeError:  # the check of the identity tells it
        return
    yield from (v for n, v in settings.items() if isinstance(v, str) and not is_secret(n))
    yield json.dumps(identity(generator), ensure_ascii=False)


def _secrets(generator: object) -> set[str]:
    """Return the values under the name of a secret, of the environment and of the object."""
    named = {**os.environ, **getattr(generator, "__dict__", {})}
    values = {value for name, value in named.items() if is_secret(name) and isinstance(value, str)}
    return {value for value in values if len(value) >= _SHORTEST}


def check_identity(make: Maker) -> None:
    """Check that class, settings and code are known, and its work does not change them."""

    def work(generator: Any) -> None:
        _answered(generator, requests.ordinary()[0])

    expect_identity(make, work)


def check_settings(make: Maker) -> None:
    """Check that its settings, as JSON, make another one with the same settings."""
    generator = make()
    described = _described(generator)
    if described:
        raise SkipTest(f"config() describes {', '.join(described)}, and does not name it")
    remade(generator)


def _described(generator: Any) -> list[str]:
    """Return the settings that ``config`` gives as a dictionary though they are not one."""
    own = getattr(generator, "config", None)
    settings = own() if callable(own) else {}
    return [
        name
        for name, value in settings.items()
        if isinstance(value, Mapping) and not isinstance(getattr(generator, name, {}), Mapping)
    ]


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
    if problem:
        raise CheckError(f"{where} returned a Generation that breaks the contract: {problem}")
    if answer.error is not None and answer.text:
        raise CheckError(f"{where} returned both a text and the error {answer.error!r:.80}")


def _has_many(generator: object) -> bool:
    own = getattr(type(generator), "generate_many", Generator.generate_many)
    return own is not Generator.generate_many


def _expect_own_many(generator: object) -> None:
    if not _has_many(generator):
        raise SkipTest("it has no generate_many of its own, so it is asked one request at a time")


def _many(generator: Any, asked: Sequence[GenerationRequest]) -> dict[str, Generation]:
    """Query id -> answer, of ``generate_many``; what breaks the contract fails the check."""
    where = f"generate_many of {len(asked)} requests"
    found: dict[str, Generation] = {}
    with calling(where, f"A failed request should not end the others. {_AS_VALUE}"):
        answers: Iterator[Any] = generator.generate_many(iter(asked), Observer())
        for answer in answers:
            if not isinstance(answer, Generation):
                raise CheckError(f"{where} gave {type(answer).__name__}, not a Generation")
            _expect_sound(answer, where)
            if answer.query_id in found:
                raise CheckError(f"{where} gave two answers to {answer.query_id!r:.60}")
            found[answer.query_id] = answer
    ids = {request.query_id for request in asked}
    if set(found) != ids:
        wrong = sorted(ids ^ set(found))[0]
        what = "no answer to" if wrong in ids else "an answer to an unknown request"
        raise CheckError(f"{where} gave {what} {wrong!r:.60}; there is one answer per request")
    return found


_BASICS = (check_basics,)

CHECKS: Mapping[CheckFunction, tuple[CheckFunction, ...]] = {
    check_basics: (),
    check_query_ids: _BASICS,
    check_many: _BASICS,
    check_errors: _BASICS,
    check_usage: _BASICS,
    check_unanswered: _BASICS,
    check_schema: _BASICS,
    check_determinism: _BASICS,
    check_inputs: _BASICS,
    check_identity: _BASICS,
    check_secrets: (*_BASICS, check_identity),
    check_settings: (*_BASICS, check_identity),
}
"""Each check, and those that have to pass before it means anything."""
