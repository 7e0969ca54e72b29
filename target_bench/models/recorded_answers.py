"""Answers of a generator to requests about tables, each asked for once and then recorded."""

from collections.abc import Callable, Iterable, Iterator

from target_bench.core.contract import Generator
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.models.generator_calls import answers
from target_bench.models.remote.answer_cache import Answer, AnswerCache, file, request_key


class RecordedAnswers:
    """Asks a generator.

    Args:
        generator: the generator.
        kind: what the answers are, as in ``table-summaries``: those of another kind are others.
        keep: whether an answer can be used, so that it is recorded.
        cache: whether answers of a generator that keeps none itself are recorded, and recorded
            ones used.

    Attributes:
        warnings: what the generator and the cache have said.
    """

    def __init__(
        self, generator: Generator, kind: str, keep: Callable[[Generation], bool], cache: bool
    ) -> None:
        self._generator = generator
        self._kind = kind
        self._keep = keep
        self._cache = cache and not hasattr(generator, "cache")  # those keep their own
        self.warnings: list[str] = []

    def answers(self, requests: list[GenerationRequest]) -> Iterator[Generation]:
        """Yield an answer to each request, recorded ones first.

        Raises:
            ConfigError: the generator cannot be asked.
            StoreError: answers cannot be recorded.
        """
        keys = self._keys(requests)
        if keys is None:
            yield from self._asked(requests)
            return
        recorded = AnswerCache(file(), self.warnings.append)
        try:
            known = {r.query_id: recorded.get(keys[r.query_id]) for r in requests}
            for query_id, answer in known.items():
                if answer is not None:
                    yield Generation(query_id, answer.text, cached=True)
            for found in self._asked([r for r in requests if known[r.query_id] is None]):
                if found.error is None and self._keep(found):
                    recorded.put(keys[found.query_id], Answer(found.text, found.finish_reason))
                yield found
        finally:
            recorded.close()

    def _keys(self, requests: Iterable[GenerationRequest]) -> dict[str, str] | None:
        """Return the key of recorded answers; None if nothing is recorded."""
        if not self._cache:
            return None
        identity, warning = plugin_identity(self._generator)
        if warning is not None:
            self.warnings.append(f"{self._kind} are not recorded: {warning}")
            return None
        return {
            r.query_id: request_key(
                self._kind, "", {"generator": identity, "prompt": r.messages[-1].content}
            )
            for r in requests
        }

    def _asked(self, requests: list[GenerationRequest]) -> Iterator[Generation]:
        if requests:
            yield from answers(self._generator, requests, _Listener(self.warnings))


class _Listener(Observer):
    """Keeps warnings."""

    def __init__(self, warnings: list[str]) -> None:
        self._warnings = warnings

    def warning(self, message: str) -> None:
        if message not in self._warnings:
            self._warnings.append(message)
