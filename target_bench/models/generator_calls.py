"""Asking a generator outside of a run; a failed answer is a value, not an exception."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

from target_bench.core import cache_use
from target_bench.core.contract import Generator, make_failed_generation, plugin_errors
from target_bench.core.errors import PASSED_ON, TargetBenchError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.core.user_code import shown
from target_bench.models.cache import AnswerCache, ModelReply, request_key


def ask_generator(
    generator: Any, requests: Sequence[GenerationRequest], record: str | None = None
) -> dict[str, Generation]:
    """Return query id -> answer, one for each request; a failed one has an ``error``.

    Args:
        generator: is asked.
        requests: what it is asked.
        record: what the answers are, as in ``contexts``, to record those of a generator that
            records none itself; by default they are not.

    Raises:
        TargetBenchError: what the generator raises on purpose, such as for a wrong key.
        PluginError: it breaks its contract as a whole.
    """
    generations = {
        r.query_id: Generation(r.query_id, "", error="missing: no answer") for r in requests
    }
    with plugin_errors(f"generator {type(generator).__name__}", "generate_many"):
        if record is None:
            replies = iter_answers(generator, requests, Observer())
        else:
            replies = ask_recorded(
                generator, requests, record, lambda answer: bool(answer.text.strip()), Observer()
            )
        generations |= {answer.query_id: answer for answer in replies}
    cache_use.record_answers(
        generator, any(generation.cached for generation in generations.values())
    )
    return generations


def iter_answers(
    generator: Any, requests: Iterable[GenerationRequest], observer: Observer
) -> Iterator[Generation]:
    """Yield the answers as they come, in any order."""
    own = getattr(type(generator), "generate_many", Generator.generate_many)
    if own is Generator.generate_many:
        for request in requests:
            yield _ask_once(generator, request)
    else:
        yield from generator.generate_many(iter(requests), observer)


def ask_recorded(
    generator: Any,
    requests: Sequence[GenerationRequest],
    kind: str,
    keep: Callable[[Generation], bool],
    observer: Observer,
) -> Iterator[Generation]:
    """Yield an answer to each request, recorded ones first.

    Answers of a generator that records them itself are left to it.

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
        yield from iter_answers(generator, requests, observer)
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
        for generation in iter_answers(generator, missing, observer) if missing else ():
            if generation.error is None and keep(generation):
                answer = ModelReply(generation.text, generation.finish_reason)
                cache.put_reply(keys[generation.query_id], answer)
            yield generation


def _ask_once(generator: Any, request: GenerationRequest) -> Generation:
    try:
        answer = generator.generate(request)
    except (*PASSED_ON, TargetBenchError):
        raise
    except BaseException as error:
        return make_failed_generation(request.query_id, error)
    if isinstance(answer, str):
        return Generation(request.query_id, answer)
    if isinstance(answer, Generation) and answer.query_id == request.query_id:
        return answer
    problem = f"contract: generate returned {shown(answer)}, not text or a Generation of it"
    return Generation(request.query_id, "", error=problem)
