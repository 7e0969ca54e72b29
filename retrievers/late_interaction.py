# SPDX-License-Identifier: Apache-2.0
"""Late interaction (Khattab and Zaharia 2020): every token of a query looks for its best match."""

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench import (
    ConfigError,
    Corpus,
    MissingExtraError,
    Ranked,
    Retriever,
    Serializer,
    TextKind,
    Vectors,
)
from target_bench.plugin_tools import (
    Field,
    Format,
    InnerRetriever,
    LocalModel,
    Ranking,
    RowLimit,
    best_cosines,
    minilm_model,
    quietly,
    readable,
    saved_modules,
)

DType = Literal["float32", "float16", "bfloat16"]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_CELLS = 8_000_000  # products of tokens held at a time
_TABLES_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class _TokenVectors:
    """The vectors of the tokens of several texts, one after the other.

    Attributes:
        vectors: (tokens, d) vectors of length 1, of single or half precision; zeros for a text
            without a token.
        ends: (texts,) the number of vectors up to the end of each text; each has at least one.
    """

    vectors: NDArray[Any]
    ends: NDArray[np.int64]

    @property
    def starts(self) -> NDArray[np.int64]:
        """The place of the first vector of each text."""
        return np.concatenate([np.zeros(1, dtype=np.int64), self.ends[:-1]])


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
        batch_size: how many texts are encoded at once.
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
        self._encoder = _TokenEncoder(model, commit, max_tokens, batch_size, device, dtype)

    def parts(self) -> Mapping[str, object]:
        """Return the model, and the retriever of the candidates."""
        return {"model": self._encoder, "retriever": self._inner.retriever}

    def config(self) -> Mapping[str, Any]:
        """Return the settings, with the kind of device in place of its number.

        Raises:
            ConfigError: there is no such device.
        """
        return {**super().config(), "device": self._encoder.place.partition(":")[0]}

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
        counts = json.dumps({"cut": self._encoder.counts["table"]})
        (folder / "late_interaction.json").write_text(counts, encoding="ascii")
        np.save(folder / "vectors.npy", self._tokens.vectors)
        np.save(folder / "ends.npy", self._tokens.ends)
        if self._in_two_stages:
            self._inner.save(folder / "retriever")

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files that ``save`` wrote; the vectors stay on disk until they are used."""
        self._encoder.load()
        n, cut = json.loads((folder / "late_interaction.json").read_bytes())["cut"]
        self._encoder.counts["table"] = n, cut
        self._begin(corpus)
        vectors = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
        self._tokens = _TokenVectors(vectors, np.load(folder / "ends.npy", allow_pickle=False))
        if self._in_two_stages:
            self._inner.load(folder / "retriever", corpus)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables whose tokens match those of the query best, best first."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if not len(self._ids) or not queries:
            return [[] for _ in queries]
        tokens = self._encoder.encode(queries, "query")
        rows, scores = self._ranked(queries, tokens, top_k)
        pointless = np.logical_not(
            np.logical_or.reduceat(tokens.vectors.any(axis=1), tokens.starts)
        )
        return Ranked(self._ids, np.where(pointless[:, None], -1, rows), scores)

    def _ranked(
        self, queries: Sequence[str], tokens: _TokenVectors, top_k: int
    ) -> tuple[Places, Floats]:
        if not self._in_two_stages:
            return self._searched(tokens, top_k)
        candidates = self._inner.candidates(queries, self.depth or max(100, top_k))
        rows = np.sort(np.where(candidates.rows < 0, len(self._ids), candidates.rows), axis=1)
        parts = [
            self._rescored(tokens.vectors[first:last], places[places < len(self._ids)], top_k)
            for first, last, places in zip(tokens.starts, tokens.ends, rows, strict=True)
        ]
        rows, scores = map(np.concatenate, zip(*parts, strict=True))
        return rows, scores

    def _searched(self, tokens: _TokenVectors, k: int) -> tuple[Places, Floats]:
        """Return the best of all tables for each query."""
        scores = np.concatenate(list(self._sums(tokens)), axis=1)
        scores = scores / np.diff(tokens.ends, prepend=0)[:, None]
        return best_cosines(scores, k)

    def _sums(self, of_queries: _TokenVectors) -> Iterator[Floats]:
        """Yield the (queries, tables) sums of the best cosines for consecutive tables."""
        tokens, starts, ends = self._tokens.vectors, self._tokens.starts, self._tokens.ends
        room = max(1, _CELLS // len(of_queries.vectors))
        first = 0
        while first < len(ends):
            start = starts[first]
            last = max(first + 1, int(np.searchsorted(ends, start + room, side="right")))
            there = np.asarray(tokens[start : ends[last - 1]], dtype=np.float32)
            best = np.maximum.reduceat(
                of_queries.vectors @ there.T, starts[first:last] - start, axis=1
            )
            yield np.add.reduceat(best.astype(np.float64), of_queries.starts, axis=0)
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
        order, best_means = best_cosines(means, k)
        rows[:, : order.shape[1]], scores[:, : order.shape[1]] = places[order], best_means
        return rows, scores


def _in_half(tokens: _TokenVectors) -> _TokenVectors:
    return _TokenVectors(tokens.vectors.astype(np.float16), tokens.ends)


def _joined(parts: list[_TokenVectors]) -> _TokenVectors:
    """Return the vectors of consecutive texts as one; each part leaves the list as it is copied."""
    if not parts:
        return _TokenVectors(np.zeros((0, 1), dtype=np.float16), np.zeros(0, dtype=np.int64))
    lengths = np.concatenate([np.diff(part.ends, prepend=0) for part in parts])
    ends = np.cumsum(lengths, dtype=np.int64)
    vectors = np.empty((ends[-1], parts[0].vectors.shape[1]), dtype=np.float16)
    end = len(vectors)
    while parts:
        part = parts.pop().vectors
        vectors[end - len(part) : end] = part
        end -= len(part)
    return _TokenVectors(vectors, ends)


def _check_package() -> None:
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingExtraError("sentence-transformers", "dense", "the retriever late-interaction")
    if importlib.util.find_spec("sentence_transformers.multi_vector_encoder") is None:
        raise ConfigError(
            "the retriever late-interaction needs sentence-transformers from version 6 on, which "
            "has MultiVectorEncoder. Install it with: pip install -U 'sentence-transformers>=6'"
        )


class _TokenEncoder(LocalModel):
    """A model of late interaction, loaded when it is first needed.

    A model that was not made for late interaction, such as MiniLM, gives the last hidden states
    of its tokens, brought to length 1; sentence-transformers' projection of random numbers is not
    used. Arguments as for ``LateInteraction``.

    Attributes:
        counts: how many texts of a kind were encoded, and how many of them were cut.
    """

    def __init__(
        self,
        model: str,
        commit: str | None,
        max_tokens: int | None,
        batch_size: int,
        device: str | None,
        dtype: DType,
    ) -> None:
        self.model = minilm_model() if model == "minilm" else model
        self.commit = commit
        self._max_tokens = max_tokens
        self._batch_size = batch_size
        self.device = device
        self._dtype = dtype
        self.counts: dict[TextKind, tuple[int, int]] = {}

    def load(self) -> None:
        """Load the model, and start the counts of cut texts again.

        Raises:
            ConfigError: there is no such model, or it cannot be loaded.
        """
        assert self.loaded
        self.counts = {"table": (0, 0), "query": (0, 0)}

    def encode(self, texts: Sequence[str], kind: TextKind) -> _TokenVectors:
        """Return the vectors of the tokens of the texts, in their order.

        Raises:
            ConfigError: as for ``load``, or a vector holds NaN.
        """
        read = [readable(text) for text in texts]
        task = {"query": "query", "table": "document"}[kind]
        prompt = self.loaded.prompts.get(task) or None
        with quietly():
            self._count([(prompt or "") + text for text in read], kind)
            vectors_of_texts = self.loaded.encode(
                read,
                prompt=prompt,
                task=task,
                batch_size=self._batch_size,
                show_progress_bar=False,
            )
        empty = np.zeros((1, self.loaded.get_embedding_dimension()), dtype=np.float32)
        parts = [part.float().cpu().numpy() if len(part) else empty for part in vectors_of_texts]
        vectors = np.concatenate([empty[:0], *parts])
        if not np.isfinite(vectors).all():
            raise ConfigError(
                f"model={self.model}: a vector holds NaN or infinity. The weights are broken, or "
                "their numbers are too large for float16: try dtype=bfloat16 or dtype=float32"
            )
        return _TokenVectors(vectors, np.cumsum([len(part) for part in parts], dtype=np.int64))

    def _count(self, texts: Sequence[str], kind: TextKind) -> None:
        """Count the texts, and those of them that lose tokens."""
        n, cut = self.counts[kind]
        limit = self.loaded.max_seq_length
        if limit and texts:
            tokens = self.loaded.tokenizer(list(texts), truncation=False, verbose=False)
            cut += sum(len(ids) > limit for ids in tokens["input_ids"])
        self.counts[kind] = n + len(texts), cut

    def notes(self) -> list[str]:
        """Return how many texts were cut."""
        names = {"query": "queries", "table": "table texts"}
        return [
            f"{cut:,} of {n:,} {names[kind]} are longer than the limit of "
            f"{self.loaded.max_seq_length:,} tokens and were cut"
            for kind, (n, cut) in self.counts.items()
            if cut
        ]

    def read(self, source: str, **settings: Any) -> Any:
        """Read the model, a ``MultiVectorEncoder``."""
        import torch
        from sentence_transformers import MultiVectorEncoder

        kind = getattr(torch, self._dtype)
        model = MultiVectorEncoder(
            source, device=self.place, model_kwargs={"dtype": kind}, **settings
        )
        model.to(kind)
        model.eval()
        return model

    def prepared(self, model: Any) -> Any:
        """Return the model as it was trained, with its limit set."""
        model = _without_random_projection(model, saved_modules(self.weights))
        if self._max_tokens is not None:
            most = getattr(model.config, "max_position_embeddings", None)
            if isinstance(most, int) and 0 < most < self._max_tokens:
                raise ConfigError(
                    f"max_tokens={self._max_tokens}: model={self.model} has places for {most} "
                    "tokens"
                )
            model.max_seq_length = self._max_tokens
        return model


def _without_random_projection(model: Any, saved: Sequence[str]) -> Any:
    """Return the model without the projection that was not among its saved modules.

    For a model that has only encoded whole texts, the library adds one of random numbers.
    """
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Dense

    architectures = getattr(model.config, "architectures", None) or [""]
    made_for_it = architectures[0] == "HF_ColBERT" or architectures[0].endswith("ForRetrieval")
    if made_for_it or any(name.endswith(("Dense", "MultiVectorMask")) for name in saved):
        return model
    kept = [module for module in model if not isinstance(module, Dense)]
    encoder = MultiVectorEncoder(modules=kept, device=str(model.device), prompts=model.prompts)
    encoder.eval()
    return encoder
