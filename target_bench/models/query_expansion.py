"""Retrieval by a query and by texts that a language model writes for it."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from target_bench.core import cache_use, registry
from target_bench.core.contract import check_generator
from target_bench.core.errors import ConfigError
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.schema import GenerationRequest, Message
from target_bench.models.generator_calls import ask_generator
from target_bench.search.fusion import Fusion, Method, Scale, expanded
from target_bench.search.nested import InnerRetriever, Wrapper

DEPTH = 200

_BULLET = re.compile(r"^\s*(?:[-*•#>]+|\(?\d+[.):])\s*")


class QueryExpansion(Wrapper):
    """The base of retrievers that ask a generator for further texts to search with.

    The retriever is asked with the query and with each text, and the rankings are fused; the texts
    share what ``weight`` leaves. A query whose request fails, or whose answer holds no text, is
    ranked by itself, counted and reported. A query is one request, in batches, and is asked once
    for as long as the object lives; its id is the query.

    Args:
        generator: as written on the command line, or an object.
        retriever: ranks: as written on the command line, or an object.
        prompt: what the generator is asked, with ``{{ query }}`` and ``{{ n }}`` where they go.
        n: how many texts to ask for, and to use at most.
        weight: of the query's own ranking, from 0 to 1.
        method: as for ``hybrid``.
        normalise: as for ``hybrid``.
        depth: how many tables each ranking has. Default: 200, or ``top_k`` where that is more.

    Attributes:
        writes: what one of the texts is, for notes.

    Raises:
        ConfigError: a part cannot be built, or a setting is invalid.
    """

    packages = ("numpy",)
    writes: ClassVar[str]

    def __init__(
        self,
        generator: Any,
        retriever: Any,
        prompt: str,
        n: int,
        weight: float = 0.5,
        method: Method = "weighted",
        normalise: Scale = "max",
        depth: int | None = None,
    ) -> None:
        self.generator = generator
        self.retriever = retriever
        self.prompt = prompt
        self.weight = weight
        self.method: Method = method
        self.normalise: Scale = normalise
        self.depth = depth
        if depth is not None and depth < 1:
            raise ConfigError(f"depth={depth}: at least 1 is needed")
        if not 0 <= weight <= 1:
            raise ConfigError(f"weight={weight}: the share of the query's ranking, from 0 to 1")
        if "{{ query }}" not in prompt:
            raise ConfigError("prompt: it has no field {{ query }}")
        if n < 1:
            raise ConfigError(f"{n} {self.writes}s: at least 1 is needed")
        self._n = n
        self._fusion = Fusion(method, normalise)
        self._inner = InnerRetriever(retriever)
        self._generator = check_generator(registry.part("generator", generator))
        self._texts: dict[str, list[str]] = {}
        self._failed: dict[str, str] = {}

    @abstractmethod
    def texts_in(self, answer: str) -> Iterable[str]:
        """Return the texts to search with in a generator's answer, the best first."""

    @staticmethod
    def without_bullet(line: str) -> str:
        """Return a line of an answer without the bullet or number that it begins with."""
        return _BULLET.sub("", line).strip()

    def parts(self) -> Mapping[str, object]:
        """Return the generator, and the retriever."""
        return {"generator": self._generator, **super().parts()}

    def notes(self) -> Sequence[str]:
        """Return the notes of the retriever, and the number of queries without further texts."""
        notes = list(super().notes())
        if self._failed:
            query, problem = next(iter(self._failed.items()))
            notes.append(
                f"{len(self._failed):,} of {len(self._failed) + len(self._texts):,} queries "
                f"got no {self.writes} and were ranked by themselves; the first, "
                f"{query[:80]!r}: {problem[:200]}"
            )
        return notes

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, expanded and computed together."""
        if not queries or not len(self._inner.ids):
            return [[] for _ in queries]
        if self.weight < 1:
            self._expand(queries)
        depth = self.depth or max(DEPTH, top_k)
        texts = [[query, *self._texts.get(query, [])] for query in queries]
        fused = expanded(self._inner, texts, self.weight, self._fusion, depth, top_k)
        return Ranked(self._inner.ids, *fused)

    def _expand(self, queries: Sequence[str]) -> None:
        """Have texts written for the queries that have none yet."""
        unique = dict.fromkeys(queries)
        new = [query for query in unique if query not in self._texts]
        if len(new) < len(unique):
            cache_use.note(f"{self.writes}s asked for before")
        prompt = self.prompt.replace("{{ n }}", str(self._n))
        prompts = {query: prompt.replace("{{ query }}", query) for query in new}
        requests = [
            GenerationRequest(query, "table_retrieval", (Message("user", text),), query)
            for query, text in prompts.items()
        ]
        answers = ask_generator(self._generator, requests)
        for query in new:
            answer = answers[query]
            texts = () if answer.error else dict.fromkeys(self.texts_in(answer.text))
            self._failed.pop(query, None)
            if texts:
                self._texts[query] = list(texts)[: self._n]
            else:
                self._failed[query] = answer.error or f"no {self.writes} in {answer.text!r:.150}"
