"""Late interaction (Khattab and Zaharia 2020): every token of a query looks for its best match."""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.array_files import read_array, read_json, write_array, write_json
from target_bench.core.contract import Retriever, constructor_arguments
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.ranking import SINGLE, Ranked, Ranking, graded, stacked
from target_bench.core.ranking import top_k as best_columns
from target_bench.core.schema import Corpus, Field, Format, RowLimit
from target_bench.core.vectors import Vectors
from target_bench.data.table_text import Serializer
from target_bench.models.encoders.token_vectors import DType, TokenEncoder, TokenVectors
from target_bench.search.nested import InnerRetriever

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_CELLS = 8_000_000
"""Products of tokens held at a time."""
_TABLES_AT_ONCE = 1024


class LateInteraction(Retriever):
    """ColBERT's MaxSim: each token of the query counts its best cosine with a token of the table.

    Needs: extra dense; a model (download).

    The score is the mean over the tokens of the query, which ranks like their sum. A small corpus
    is searched whole. In a larger one, another retriever finds candidates, and only these are
    scored.

    The vectors of all tokens are held in memory, or mapped from a saved index, two bytes per
    dimension: for MiniLM (384 dimensions) a table of 128 tokens takes 98 kB, and 10,000 such
    tables 1 GB. They are not kept in the cache of embeddings.

    Args:
        model: a MultiVectorEncoder of sentence-transformers: a folder, or a name on the Hugging
            Face hub. Of other encoders, as the default ``minilm``, the vectors of the tokens are
            taken as they are.
        retriever: finds the candidates in a larger corpus: as written on the command line, or an
            object.
        depth: how many candidates are scored. Default: 100, or ``top_k`` where that is more.
        exact: the most tables that are searched without candidates.
        fields: what of a table is written.
        rows: how many rows of each table: a number, ``all``, or ``auto``, which is all of a web
            table and the first 1,000 of a table in a database.
        format: how header and rows are written.
        max_tokens: of a text at most. Default: the model's limit.
        batch_size: how many texts are encoded at once; halved where memory does not suffice.
        device: as PyTorch names it, for encoding. Default: the GPU if there is one.
        dtype: of the weights.
        commit: of a model on the hub: a commit, branch or tag.

    Raises:
        MissingExtraError: sentence-transformers is not installed, or older than version 6.
        ConfigError: a setting is invalid.
    """

    packages = ("sentence-transformers", "transformers", "tokenizers", "torch", "numpy")
    queries_at_once = 256

    def __init__(
        self,
        model: str = "minilm",
        retriever: Any = "bm25",
        depth: int | None = None,
        exact: int = 5_000,
        fields: Sequence[Field] = ("title", "section", "header", "rows"),
        rows: RowLimit = "auto",
        format: Format = "text",
        max_tokens: int | None = None,
        batch_size: int = 32,
        device: str | None = None,
        dtype: DType = "float32",
        commit: str | None = None,
    ) -> None:
        self.model = model
        self.retriever = retriever
        self.depth = depth
        self.exact = exact
        self.fields = fields
        self.rows: RowLimit = rows
        self.format: Format = format
        self.max_tokens = max_tokens
        self.batch_size = batch_size
        self.device = device
        self.dtype: DType = dtype
        self.commit = commit
        for name, least in (("depth", 1), ("exact", 0), ("max_tokens", 3), ("batch_size", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"{name}={value}: at least {least} is needed")
        self._write = Serializer(tuple(fields), format, rows)
        _check_package()
        self._inner = InnerRetriever(retriever)
        self._in_two_stages = False
        self._encoder = TokenEncoder(model, commit, max_tokens, batch_size, device, dtype)

    def parts(self) -> Mapping[str, object]:
        """Return the model, and the retriever of the candidates."""
        return {"model": self._encoder, "retriever": self._inner.retriever}

    def config(self) -> Mapping[str, Any]:
        """Return the settings, with the kind of device in place of its number.

        Raises:
            ConfigError: there is no such device.
        """
        return {**constructor_arguments(self), "device": self._encoder.place.partition(":")[0]}

    def notes(self) -> Sequence[str]:
        """Return the notes of the retriever of candidates, and the number of cut texts."""
        return [*(self._inner.notes() if self._in_two_stages else ()), *self._encoder.notes()]

    def embed_corpus(self, corpus: Corpus) -> None:
        """Encode the tokens of all tables; have candidates indexed where there are many tables."""
        self._encoder.load()
        self._begin(corpus)
        if self._in_two_stages:
            self._inner.embed_corpus(corpus)
        parts = [
            _in_half(self._encoder.encode([self._write(table) for table in tables], "table"))
            for tables in corpus.batches(_TABLES_AT_ONCE)
        ]
        self._tokens = _joined(parts)

    def _begin(self, corpus: Corpus) -> None:
        self._ids = corpus.ids
        self._in_two_stages = len(corpus) > self.exact

    def save(self, folder: Path) -> None:
        """Write the vectors, and the index of the candidates if there is one."""
        write_json(folder / "late_interaction.json", {"cut": self._encoder.cut})
        write_array(folder / "vectors.npy", self._tokens.vectors)
        write_array(folder / "ends.npy", self._tokens.ends)
        if self._in_two_stages:
            self._inner.save(folder / "retriever")

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files that ``save`` wrote; the vectors stay on disk until they are used."""
        self._encoder.load()
        n, cut = read_json(folder / "late_interaction.json")["cut"]
        self._encoder.cut = n, cut
        self._begin(corpus)
        ends = np.array(read_array(folder / "ends.npy"))
        self._tokens = TokenVectors(read_array(folder / "vectors.npy"), ends)
        if self._in_two_stages:
            self._inner.load(folder / "retriever", corpus)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables whose tokens match those of the query best, best first."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if not len(self._ids) or not queries:
            return [[] for _ in queries]
        asked = self._encoder.encode(queries, "query")
        rows, scores = self._ranked(queries, asked, top_k)
        pointless = np.logical_not(np.logical_or.reduceat(asked.vectors.any(axis=1), asked.starts))
        return Ranked(self._ids, np.where(pointless[:, None], -1, rows), scores)

    def _ranked(
        self, queries: Sequence[str], asked: TokenVectors, top_k: int
    ) -> tuple[Places, Floats]:
        if not self._in_two_stages:
            return self._searched(asked, top_k)
        found = self._inner.candidates(queries, self.depth or max(100, top_k))
        rows = np.sort(np.where(found.rows < 0, len(self._ids), found.rows), axis=1)
        parts = [
            self._rescored(asked.vectors[first:last], places[places < len(self._ids)], top_k)
            for first, last, places in zip(asked.starts, asked.ends, rows, strict=True)
        ]
        return stacked(parts)

    def _searched(self, asked: TokenVectors, k: int) -> tuple[Places, Floats]:
        """Return the best of all tables for each query."""
        scores = np.concatenate(list(self._sums(asked)), axis=1)
        scores = scores / np.diff(asked.ends, prepend=0)[:, None]
        return best_columns(graded(scores, 1.0, SINGLE), k)

    def _sums(self, asked: TokenVectors) -> Iterator[Floats]:
        """Yield the (queries, tables) sums of the best cosines for consecutive tables."""
        tokens, starts, ends = self._tokens.vectors, self._tokens.starts, self._tokens.ends
        room = max(1, _CELLS // len(asked.vectors))
        first = 0
        while first < len(ends):
            start = starts[first]
            last = max(first + 1, int(np.searchsorted(ends, start + room, side="right")))
            there = np.asarray(tokens[start : ends[last - 1]], dtype=np.float32)
            best = np.maximum.reduceat(asked.vectors @ there.T, starts[first:last] - start, axis=1)
            yield np.add.reduceat(best.astype(np.float64), asked.starts, axis=0)
            first = last

    def _rescored(self, query: Vectors, places: Places, k: int) -> tuple[Places, Floats]:
        """Return the (1, k) best of some tables for one query, -1 after the last."""
        rows, scores = np.full((1, k), -1, dtype=np.int64), np.zeros((1, k))
        if not len(places):
            return rows, scores
        starts, ends = self._tokens.starts[places], self._tokens.ends[places]
        slices = zip(starts.tolist(), ends.tolist(), strict=True)
        tokens = np.concatenate([self._tokens.vectors[first:last] for first, last in slices])
        cosines = query @ tokens.astype(np.float32).T
        inside = np.concatenate([[0], np.cumsum(ends - starts)[:-1]])
        best = np.maximum.reduceat(cosines, inside, axis=1).astype(np.float64)
        means = best.sum(axis=0)[None] / len(query)
        order, found = best_columns(graded(means, 1.0, SINGLE), k)
        rows[:, : order.shape[1]], scores[:, : order.shape[1]] = places[order], found
        return rows, scores


def _in_half(tokens: TokenVectors) -> TokenVectors:
    return TokenVectors(tokens.vectors.astype(np.float16), tokens.ends)


def _joined(parts: list[TokenVectors]) -> TokenVectors:
    """Return the vectors of consecutive texts as one; each part leaves the list as it is copied."""
    if not parts:
        return TokenVectors(np.zeros((0, 1), dtype=np.float16), np.zeros(0, dtype=np.int64))
    lengths = np.concatenate([np.diff(part.ends, prepend=0) for part in parts])
    ends = np.cumsum(lengths, dtype=np.int64)
    vectors = np.empty((ends[-1], parts[0].vectors.shape[1]), dtype=np.float16)
    end = len(vectors)
    while parts:
        part = parts.pop().vectors
        vectors[end - len(part) : end] = part
        end -= len(part)
    return TokenVectors(vectors, ends)


def _check_package() -> None:
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingExtraError("sentence-transformers", "dense", "the retriever late-interaction")
    if importlib.util.find_spec("sentence_transformers.multi_vector_encoder") is None:
        raise ConfigError(
            "the retriever late-interaction needs sentence-transformers from version 6 on, which "
            "has MultiVectorEncoder. Install it with: pip install -U 'sentence-transformers>=6'"
        )
