"""Late fusion: several retrievers rank, and their rankings become one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, check_at_least_one
from target_bench.core.ranking import Ranked, Ranking, split_into_blocks, stack_rankings
from target_bench.core.schema import Corpus
from target_bench.search.fusion import Fusion, Method, Scale
from target_bench.search.nested import BatchRetriever, InnerRetriever

DEFAULT = ("bm25", "dense:encoder=minilm")
DEFAULT_WEIGHTS = (0.65, 0.35)
DEPTH = 200

_BLOCK_CELLS = 250_000


@dataclass(eq=False, repr=False)
class Hybrid(BatchRetriever):
    """Fuse the rankings of other retrievers.

    Needs: extra dense and MiniLM (download), or other retrievers.

    Every retriever returns its ``depth`` best tables, and all of them are ranked. A table that is
    missing from a full ranking gets the score of the last table there, else 0 (or the last score if
    negative); with ``rrf``, nothing.

    The default weights were chosen on the validation splits of FeTaQA and TabFact.

    Args:
        retrievers: at least one: as written on the command line, or objects.
        weights: one for each; default: (0.65, 0.35) for the default retrievers, else 1.
        method: ``weighted`` adds normalised scores, ``rrf`` reciprocal ranks.
        normalise: with ``weighted``, the scale: ``max`` divides by a query's largest score,
            ``minmax`` maps its lowest and highest to 0 and 1, ``zscore`` subtracts the mean and
            divides by the standard deviation, ``none`` changes nothing.
        constant: with ``rrf``, its constant k: the larger, the less the first ranks count.
        depth: how many tables each retriever returns; others are not found. Default: 200, or
            ``top_k`` where that is more.

    Raises:
        ConfigError: no retriever, weights of another number, a depth or constant below 1, or a
            retriever that cannot be built.
    """

    packages = ("numpy",)

    retrievers: Sequence[Any] = DEFAULT
    weights: Sequence[float] | None = None
    method: Method = "weighted"
    normalise: Scale = "max"
    constant: int = 60
    depth: int | None = None

    def __post_init__(self) -> None:
        n = len(self.retrievers)
        if isinstance(self.retrievers, str) or not n:
            raise ConfigError(
                f"retrievers={self.retrievers!r}: expected a list of retrievers, as in "
                "retrievers=[bm25,tfidf]"
            )
        if self.weights is not None and len(self.weights) != n:
            raise ConfigError(f"weights={list(self.weights)!r}: {n} retrievers need {n} weights")
        if self.weights is not None and not all(0 <= w < float("inf") for w in self.weights):
            raise ConfigError(f"weights={list(self.weights)!r}: a weight is a number from 0")
        check_at_least_one(depth=self.depth)
        self._fusion = Fusion(self.method, self.normalise, self.constant)
        self._parts = [InnerRetriever(retriever) for retriever in self.retrievers]

    def parts(self) -> Mapping[str, object]:
        """Return all the retrievers, under the name of their setting."""
        return {"retrievers": Fused([part.retriever for part in self._parts])}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Have every part index the tables."""
        self._ids = corpus.ids
        for part in self._parts:
            part.embed_corpus(corpus)

    def notes(self) -> Sequence[str]:
        """Return the notes of the parts."""
        return [note for part in self._parts for note in part.notes()]

    def save(self, folder: Path) -> None:
        """Write each part's index into a folder of its own."""
        for path, part in self._folders(folder):
            part.save(path)

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files that ``save`` wrote."""
        self._ids = corpus.ids
        for path, part in self._folders(folder):
            part.load(path, corpus)

    def _folders(self, folder: Path) -> Iterator[tuple[Path, InnerRetriever]]:
        return ((folder / str(n), part) for n, part in enumerate(self._parts, 1))

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if not len(self._ids):
            return [[] for _ in queries]
        depth = self.depth or max(DEPTH, top_k)
        weights = self._part_weights()
        rankings = []
        for block in split_into_blocks(len(queries), depth * len(self._parts), _BLOCK_CELLS):
            lists = [part.candidates(queries[block], depth) for part in self._parts]
            rankings.append(self._fusion.fuse(lists, weights, depth, len(self._ids), top_k))
        return Ranked(self._ids, *stack_rankings(rankings))

    def _part_weights(self) -> Sequence[float]:
        if self.weights is not None:
            return self.weights
        return DEFAULT_WEIGHTS if tuple(self.retrievers) == DEFAULT else [1.0] * len(self._parts)


class Fused:
    """The retrievers of a hybrid as one part, whose identity has each under its number."""

    def __init__(self, retrievers: Sequence[object]) -> None:
        self._retrievers = retrievers

    def config(self) -> Mapping[str, Any]:
        """Return nothing: the parts hold all settings."""
        return {}

    def parts(self) -> Mapping[str, object]:
        """Return the retrievers by their numbers, from 1."""
        return {str(n): retriever for n, retriever in enumerate(self._retrievers, 1)}
