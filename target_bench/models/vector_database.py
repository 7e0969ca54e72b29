"""Base of retrievers whose vectors lie in a database, which finds the nearest."""

import hashlib
import json
import weakref
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from target_bench.core import cache_use
from target_bench.core.identity import plugin_identity
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus, Field, Format, RowLimit
from target_bench.core.vectors import Vectors
from target_bench.data.table_text import Serializer
from target_bench.models.encoders.encoding import Encoding
from target_bench.search.nested import BatchRetriever


@dataclass(eq=False, repr=False)
class VectorDatabase(BatchRetriever):
    """Cosine between the vectors of query and tables, found by a database.

    ```python
    import numpy as np

    from target_bench import Encoder, TableSearch
    from target_bench.plugin_tools import VectorDatabase

    class Letters(Encoder):
        def encode(self, texts, kind):
            alphabet = "abcdefghijklmnopqrstuvwxyz"
            return np.array([[text.count(x) for x in alphabet] for text in texts], np.float32)

    class InMemory(VectorDatabase):
        def fill(self, places, vectors):
            self.places, self.vectors = places, vectors

        def nearest(self, vector, k):
            cosines = self.vectors @ np.array(vector)
            return [(self.places[row], cosines[row]) for row in np.argsort(-cosines)[:k]]

    hits = TableSearch("mini", InMemory(Letters())).search("Which moons has Uranus?", k=5)
    print(len(hits))  # 5
    ```

    A subclass has two methods, ``fill`` and ``nearest``, and settings that say where the database
    is. A query or a table whose vector is all zeros is not put to the database.

    Args:
        encoder: makes vectors of texts: an encoder, or the name of one with its settings.
        fields: the parts of a table to embed.
        rows: how many rows of each table, as for ``bm25``.
        format: how header and rows are written.

    Raises:
        ConfigError: a setting is invalid, or there is no such encoder.
    """

    changes_no_ranking: ClassVar[tuple[str, ...]] = ()
    """Settings that say where the database is, which are no part of the identity of a run."""

    encoder: object = "minilm"
    fields: Sequence[Field] = ("title", "section", "header", "rows")
    rows: RowLimit = "auto"
    format: Format = "text"

    def __post_init__(self) -> None:
        self._serializer = Serializer(self.fields, self.format, self.rows)
        self._encoding = Encoding(self.encoder, unit=True)
        self._close: weakref.finalize[..., Any] | None = None

    @abstractmethod
    def fill(self, places: Sequence[int], vectors: Vectors) -> None:
        """Put the vectors of all tables into the database, in place of earlier ones.

        Args:
            places: the numbers of the tables in the corpus, which ``nearest`` returns.
            vectors: (n, d) vectors of length 1, in single precision.
        """

    @abstractmethod
    def nearest(self, vector: list[float], k: int) -> list[tuple[int, float]]:
        """Return the ``k`` nearest tables of a vector of length 1: (number, cosine), best first."""

    def nearest_of_each(self, vectors: Vectors, k: int) -> list[list[tuple[int, float]]]:
        """Return the nearest tables of several vectors. Default: one after the other."""
        return [self.nearest(vector, k) for vector in vectors.tolist()]

    def is_filled(self, corpus: Corpus) -> bool:  # noqa: ARG002 (for databases that are kept)
        """Return whether the vectors of this corpus are in the database already. Default: no.

        Then no table is encoded. ``mark`` tells corpora, texts and encoders apart.
        """
        return False

    def mark(self, corpus: Corpus) -> str:
        """Hash all that determines the vectors: corpus, texts and encoder."""
        identity, warning = plugin_identity(self._encoding.encoder)
        texts = [list(self.fields), self.rows, self.format]
        content = [corpus.fingerprint, texts, identity if warning is None else identity["unique"]]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def opened(self, close: Callable[[], object]) -> None:
        """Register the function that closes the database, called when it is no longer used."""
        self._close = weakref.finalize(self, close)

    def close(self) -> None:
        """Close the database, if it is open."""
        if self._close is not None:
            self._close()

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change a ranking."""
        settings = super().config().items()
        return {name: value for name, value in settings if name not in self.changes_no_ranking}

    def parts(self) -> Mapping[str, object]:
        """Return the encoder."""
        return {"encoder": self._encoding.encoder}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Encode the tables, and fill the database."""
        self.close()
        self._ids = corpus.ids
        self._encoding.begin_corpus()
        self._dimensions: int | None = None
        self._is_empty = False
        if self.is_filled(corpus):
            cache_use.note_cached("kept vectors")
            return
        vectors = self._encoding.tables([self._serializer(table) for table in corpus])
        self._dimensions = vectors.shape[1]
        numbers = np.flatnonzero(vectors.any(axis=1)).tolist()
        self._is_empty = not numbers
        if numbers:
            self.fill(numbers, vectors[numbers])

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, which are encoded together."""
        if self._is_empty or not queries:
            return [[] for _ in queries]
        vectors = self._encoding.queries(queries, self._dimensions)
        is_known = np.any(vectors, axis=1)
        nearest = iter(self.nearest_of_each(vectors[is_known], min(top_k, len(self._ids))))
        return [
            [(self._ids[number], score) for number, score in next(nearest)] if known else []
            for known in is_known.tolist()
        ]

    def notes(self) -> Sequence[str]:
        """Return the notes of the encoder, and the number of vectors of zeros."""
        return self._encoding.notes()
