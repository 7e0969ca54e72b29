"""Dense retrieval (Karpukhin et al. 2020): serializer x encoder x index.

Every table is written as one text and encoded once. The score of a table is the cosine of its
vector and the query's, or their inner product.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from target_bench.core import registry
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.schema import Corpus, Field, Format, RowLimit
from target_bench.core.vectors import Encoder, VectorIndex
from target_bench.data.table_text import Serializer
from target_bench.models.encoders.encoding import Encoding
from target_bench.search.nested import BatchRetriever

_TABLES_AT_ONCE = 4096


@dataclass(eq=False, repr=False)
class Dense(BatchRetriever):
    """Tables with the nearest vectors to a query's.

    Needs: extra dense and MiniLM (download), or another encoder.

    Args:
        encoder: turns texts into vectors: a name with settings, or an object.
        index: searches vectors: a name with settings, or an object.
        fields: the parts of a table that are encoded.
        rows: how many rows of each table: a number, ``all``, or ``auto``, which is all of a web
            table and the first 1,000 of a table in a database.
        format: how header and rows are written.
        similarity: ``cosine``, or ``dot`` for inner products; ``auto`` is what the model declares,
            else cosine.
        cache: keep embeddings on disk, and look there first.

    Raises:
        ConfigError: a name or a setting is invalid.
    """

    packages = ("numpy",)
    queries_at_once: ClassVar[int] = 2048

    encoder: str | Encoder = "minilm"
    index: str | VectorIndex = "exact"
    fields: Sequence[Field] = ("title", "section", "header", "rows")
    rows: RowLimit = "auto"
    format: Format = "text"
    similarity: Literal["auto", "cosine", "dot"] = "auto"
    cache: bool = True

    def __post_init__(self) -> None:
        self._write = Serializer(tuple(self.fields), self.format, self.rows)
        # None, for auto: of length 1 unless the model was made for inner products
        unit_vectors = {"cosine": True, "dot": False}.get(self.similarity)
        self._encoding = Encoding(self.encoder, self.cache, unit_vectors)
        self._index: VectorIndex = registry.make_part("index", self.index)

    def parts(self) -> Mapping[str, object]:
        """Return encoder and index."""
        return {"encoder": self._encoding.encoder, "index": self._index}

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change a ranking."""
        return {name: value for name, value in super().config().items() if name != "cache"}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Write, encode and index every table."""
        self._ids = corpus.ids
        self._encoding.begin_corpus()
        parts = (
            self._encoding.tables([self._write(table) for table in tables])
            for tables in corpus.batches(_TABLES_AT_ONCE)
        )
        self._index.build_parts(parts)

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, searched together."""
        if not queries:
            return []
        vectors = self._encoding.queries(queries)
        scores, rows = self._index.search(vectors, top_k)
        has_direction = vectors.any(axis=1, keepdims=True)  # a zero vector ranks no table
        return Ranked(self._ids, np.where(has_direction, rows, -1), scores)

    def notes(self) -> Sequence[str]:
        """Return the notes of encoder and index, and the number of zero vectors."""
        return [*self._encoding.notes(), *self._index.notes()]

    def save(self, folder: Path) -> None:
        """Write the index."""
        (folder / "index").mkdir()
        self._index.save(folder / "index")

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files that ``save`` wrote."""
        self._ids = corpus.ids
        self._encoding.begin_corpus()
        self._index.load(folder / "index")
