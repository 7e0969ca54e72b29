"""Calls of a generator, held to its contract: a failed answer is a value, not an exception."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from target_bench.core import cache_use
from target_bench.core.contract import Generator, find_invalid_field, make_failed_generation
from target_bench.core.credentials import mask_answer, without_secrets
from target_bench.core.errors import PASSED_ON, PluginError, TargetBenchError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.plugin_errors import iterate_guarded, plugin_errors
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.core.user_code import show_value
from target_bench.models.cache import AnswerCache, ModelReply, request_key


def ask_generator(
    generator: Any, requests: Sequence[GenerationRequest], record: str | None = None
) -> dict[str, Generation]:
    """Return query id -> answer, one for each request; a failed one has an ``error``.

    ```python
    from target_bench import GenerationRequest, Generator
    from target_bench.plugin_tools import ask_generator

    class Echo(Generator):
        def generate(self, request):
            return request.query

    answers = ask_generator(Echo(), [GenerationRequest("q1", "qa", (), "Who won?")])
    print(answers["q1"].text)  # Who won?
    ```

    Args:
        generator: is asked.
        requests: what it is asked.
        record: what the answers are, as in ``contexts``, to record those of a generator that
            records none itself; by default they are not.

    Raises:
        TargetBenchError: what the generator raises on purpose, such as for a wrong key.
        PluginError: it breaks its contract as a whole.
    """
    if record is None:
        replies = iterate_answers(generator, requests)
    else:
        replies = ask_recorded(
            generator, requests, record, lambda answer: bool(answer.text.strip()), Observer()
        )
    answers = {answer.query_id: answer for answer in replies}
    cache_use.note_cached_answers(generator, any(answer.cached for answer in answers.values()))
    return answers


def iterate_answers(
    generator: Any,
    requests: Iterable[GenerationRequest],
    observer: Observer | None = None,
    label: str | None = None,
    advice: str = "",
) -> Iterator[Generation]:
    """Yield one answer for each request, as they come, in any order.

    Args:
        generator: is asked, all requests at once if it has a ``generate_many`` of its own.
        requests: are drawn as they are needed.
        observer: is passed on to ``generate_many``.
        label: what errors call the generator; default: its class.
        advice: ends the message of an error.

    Raises:
        PluginError: ``generate_many`` raised, or gave what answers no open request.
    """
    own = getattr(type(generator), "generate_many", Generator.generate_many)
    if own is Generator.generate_many:
        yield from (_ask_once(generator, request) for request in requests)
        return
    waiting: set[str] = set()

    def draw() -> Iterator[GenerationRequest]:
        for request in requests:
            waiting.add(request.query_id)
            yield request

    drawn, name = draw(), f"generator {label or type(generator).__name__}"
    with plugin_errors(name, "generate_many", advice):
        many = generator.generate_many(drawn, observer or Observer())
    for answer in iterate_guarded(many, name, "generate_many", advice):
        query_id = answer.query_id if isinstance(answer, Generation) else None
        if not isinstance(query_id, str) or query_id not in waiting:
            raise PluginError(
                f"{name}: generate_many returned {show_value(answer)}; expected a Generation "
                "for a request that is open"
            )
        waiting.remove(query_id)
        yield _check_answer(answer, query_id)
    for _ in drawn:  # the requests that generate_many did not draw have no answer either
        pass
    for query_id in waiting:
        yield Generation(query_id, "", error="missing: no answer was given")


def ask_recorded(
    generator: Any,
    requests: Sequence[GenerationRequest],
    kind: str,
    keep: Callable[[Generation], bool],
    observer: Observer,
) -> Iterator[Generation]:
    """Yield an answer to each request, recorded ones first.

    A generator with an attribute ``cache`` decides that itself: ``cache=False`` records nothing.

    Args:
        generator: is asked.
        requests: what it is asked; its last message counts.
        kind: what the answers are, as in ``questions``: those of another kind are others.
        keep: whether an answer can be used, so that it is recorded.
        observer: gets warnings.
    """
    identity, warning = plugin_identity(generator)
    if hasattr(generator, "cache") or warning is not None:
        if warning is not None:
            observer.warning(f"{kind} are not recorded: {warning}")
        yield from iterate_answers(generator, requests, observer)
        return
    keys = {
        r.query_id: request_key(kind, "", {"generator": identity, "prompt": r.messages[-1].content})
        for r in requests
    }
    with closing(AnswerCache()) as cache:
        missing = []
        for request in requests:
            recorded = cache.get_reply(keys[request.query_id])
            if recorded is None:
                missing.append(request)
            else:
                yield Generation(request.query_id, recorded.text, cached=True)
        for generation in iterate_answers(generator, missing, observer) if missing else ():
            if generation.error is None and keep(generation):
                answer = ModelReply(generation.text, generation.finish_reason)
                cache.put_reply(keys[generation.query_id], answer)
            yield generation


def _ask_once(generator: Any, request: GenerationRequest) -> Generation:
    query_id = request.query_id
    start = time.perf_counter()
    try:
        answer = generator.generate(request)
    except (*PASSED_ON, TargetBenchError):
        raise
    except BaseException as error:
        return _check_answer(make_failed_generation(query_id, error), query_id)
    if isinstance(answer, str):
        answer = Generation(query_id, answer, seconds=round(time.perf_counter() - start, 6))
    if not isinstance(answer, Generation):
        problem = (
            f"contract: generate returned {show_value(answer)}, not text or a Generation of it"
        )
        return Generation(query_id, "", error=problem)
    if answer.query_id != query_id:
        problem = f"its query_id is {show_value(answer.query_id)}; pass on request.query_id"
        return Generation(query_id, "", error=f"contract: {problem}")
    return _check_answer(answer, query_id)


def _check_answer(answer: Generation, query_id: str) -> Generation:
    """Return the answer, or what is wrong with it, without credentials."""
    problem = find_invalid_field(answer)
    if problem:
        return Generation(query_id, "", error=f"contract: no Generation: {problem}")
    if answer.error is not None:  # words of others: a server may repeat the key it was sent
        trace = answer.traceback and without_secrets(answer.traceback)
        answer = replace(answer, error=without_secrets(answer.error), traceback=trace)
    text = mask_answer(answer.text)
    return answer if text == answer.text else replace(answer, text=text)
