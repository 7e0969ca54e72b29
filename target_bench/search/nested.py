"""Retrievers inside other retrievers: checked as by the harness, with rankings as arrays."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import contract, ranking, registry
from target_bench.core.contract import Retriever
from target_bench.core.credentials import mask_settings
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.retrieve import retrieve_tables
from target_bench.core.schema import Corpus, Query, TableId


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rankings of a batch.

    ```python
    import numpy as np

    from target_bench.plugin_tools import Candidates

    candidates = Candidates(np.array([[3, 0, -1]]), np.array([[0.9, 0.2, 0.0]]), "mine")
    print((candidates.rows >= 0).sum())  # 2
    ```
    """

    rows: NDArray[np.int64]
    """(n, k) positions in the corpus, best first; -1 after the last table of a ranking."""

    scores: NDArray[np.float64] | None
    """(n, k) scores, higher is better, 0 after the last; None from a retriever without scores."""

    label: str
    """The name of the retriever, for messages."""


class InnerRetriever:
    """A retriever inside another one: any object with ``embed_corpus`` and ``retrieve``.

    ```python
    from target_bench import load
    from target_bench.plugin_tools import InnerRetriever

    inner = InnerRetriever("bm25:k1=0.9")
    inner.embed_corpus(load("mini").corpus)
    print(inner.label, inner.candidates(["Which moons has Uranus?"], k=3).rows)
    # bm25:k1=0.9 [[59 61 60]]
    ```

    Args:
        spec: the retriever, or how it is written on the command line.

    Attributes:
        label: its name in messages.
        retriever: the retriever itself.

    Raises:
        ConfigError: the name is unknown, or the object is not a retriever.
    """

    def __init__(self, spec: object) -> None:
        self.label = mask_settings(spec) if isinstance(spec, str) else type(spec).__name__
        self.retriever: Any = contract.check_retriever(registry.make_part("retriever", spec))

    @property
    def ids(self) -> Sequence[TableId]:
        """The ids of the indexed tables, in corpus order."""
        return self._corpus.ids

    def embed_corpus(self, corpus: Corpus) -> None:
        """Index the tables."""
        self._corpus = corpus
        self.retriever.embed_corpus(corpus)

    def candidates(self, queries: Sequence[str], k: int) -> Candidates:
        """Return the rankings of several queries, checked and sorted by score.

        Raises:
            PluginError: a ranking breaks the contract of retrievers.
        """
        batch = getattr(self.retriever, "retrieve_batch", None)  # optional
        if callable(batch):
            answers = batch(list(queries), k)
        else:
            answers = [self.retriever.retrieve(query, k) for query in queries]
        if isinstance(answers, Ranked) and len(answers) == len(queries):
            arrays = ranking.sort_arrays(answers, k, self._corpus.ids)
            if arrays is not None:
                return Candidates(arrays.rows, arrays.scores, self.label)
        return self._check(answers, len(queries), k)

    def _check(self, answers: Any, n: int, k: int) -> Candidates:
        """Check rankings as the harness does, which has only their ids."""
        queries = [Query(str(i), "", ()) for i in range(n)]
        retrievals = retrieve_tables(_GivenRankings(answers), queries, k, self._corpus)
        for retrieval in retrievals:
            if retrieval.error is not None:
                raise PluginError(f"{self.label} {retrieval.error}")
        width = max((len(retrieval.tables) for retrieval in retrievals), default=0)
        rows = np.full((n, width), -1, dtype=np.int64)
        scores = np.zeros((n, width))
        positions = self._corpus.positions
        for i, retrieval in enumerate(retrievals):
            rows[i, : len(retrieval.tables)] = [positions[table] for table in retrieval.tables]
            scores[i, : len(retrieval.scores)] = retrieval.scores
        unscored = any(retrieval.tables and not retrieval.scores for retrieval in retrievals)
        return Candidates(rows, None if unscored else scores, self.label)

    def notes(self) -> list[str]:
        """Return the notes of the retriever, each after its label."""
        own = getattr(self.retriever, "notes", None)
        return [f"{self.label}: {note}" for note in own()] if callable(own) else []

    def save(self, folder: Path) -> None:
        """Write the index into a new folder."""
        folder.mkdir()
        self._find_method("save")(folder)

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the index."""
        self._corpus = corpus
        self._find_method("load")(folder, corpus)

    def _find_method(self, name: str) -> Any:
        method = getattr(self.retriever, name, None)
        if not callable(method):
            raise ConfigError(
                f"{self.label} cannot save or load its index: give it the methods save(folder) "
                "and load(folder, corpus)"
            )
        return method


class BatchRetriever(Retriever):
    """Base of retrievers that rank several queries together: defines ``retrieve``."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables for one query, best first."""
        return self.retrieve_batch([query], top_k)[0]

    @abstractmethod
    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries."""


class Wrapper(BatchRetriever):
    """Base of retrievers around another one: a subclass sets ``_inner`` and ``retrieve_batch``.

    ```python
    from target_bench import TableSearch
    from target_bench.plugin_tools import InnerRetriever, Wrapper

    class Lower(Wrapper):
        def __init__(self, retriever="bm25"):
            self.retriever = retriever
            self._inner = InnerRetriever(retriever)

        def retrieve_batch(self, queries, top_k):
            asked = [query.lower() for query in queries]
            return self._inner.retriever.retrieve_batch(asked, top_k)

    print(TableSearch("mini", Lower()).search("MOONS OF URANUS", k=1)[0].table.id)
    # 0/moons-of-uranus
    ```
    """

    _inner: InnerRetriever

    def parts(self) -> Mapping[str, object]:
        """Return the retriever inside."""
        return {"retriever": self._inner.retriever}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Index the tables."""
        self._inner.embed_corpus(corpus)

    def notes(self) -> Sequence[str]:
        """Return the notes of the retriever."""
        return self._inner.notes()


class _GivenRankings:
    """A retriever that returns given rankings, so that ``retrieve_tables`` checks them."""

    def __init__(self, rankings: Any) -> None:
        self._rankings = rankings

    def embed_corpus(self, corpus: Corpus) -> None:  # noqa: ARG002 (the contract's argument)
        raise AssertionError("nothing is indexed")

    def retrieve(self, query: str, top_k: int) -> Ranking:  # noqa: ARG002 (the contract's argument)
        raise AssertionError("all queries are asked together")

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Any:  # noqa: ARG002 (the contract's argument)
        return self._rankings
