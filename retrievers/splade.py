# SPDX-License-Identifier: Apache-2.0
"""Learned sparse retrieval, SPLADE (Formal et al., SIGIR 2021), by sentence-transformers."""

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench import ConfigError, Corpus, MissingExtraError, Ranked, Retriever, Serializer
from target_bench.plugin_tools import (
    Field,
    LocalModel,
    Ranking,
    RowLimit,
    best_cosines,
    quietly,
    readable,
    saved_modules,
)


class Splade(Retriever):
    """The inner product of weights that a masked language model gives the words of its vocabulary.

    Needs: extra dense; a model (download).

    All tables that share a weighted word with the query are scored, by a product of sparse
    matrices. Texts over the model's limit are cut, counted and reported.

    Args:
        model: a SparseEncoder of sentence-transformers: a folder, or a name on the Hugging Face
            hub. The default one's licence is CC BY-NC-SA 4.0.
        fields: the parts of a table that are written.
        rows: how many rows of each table: a number, ``all``, or ``auto``, which is all of a web
            table and the first 1,000 of a table in a database.
        max_tokens: of a text at most. Default: the model's limit.
        batch_size: texts encoded at once, each with the vocabulary's size of numbers a token.
        device: as PyTorch names it. Default: the GPU if there is one.
        commit: of a model on the hub: a commit, branch or tag.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        ConfigError: a setting is invalid.
    """

    packages = ("sentence-transformers", "transformers", "tokenizers", "torch", "scipy", "numpy")
    queries_at_once = 256

    def __init__(
        self,
        model: str = "naver/splade-cocondenser-ensembledistil",
        fields: Sequence[Field] = ("title", "section", "header", "rows"),
        rows: RowLimit = "auto",
        max_tokens: int | None = None,
        batch_size: int = 16,
        device: str | None = None,
        commit: str | None = None,
    ) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtraError("sentence-transformers", "dense", "the retriever splade")
        for name, value, least in (("max_tokens", max_tokens, 3), ("batch_size", batch_size, 1)):
            if value is not None and value < least:
                raise ConfigError(f"{name}={value}: at least {least} is needed")
        self.model, self.commit, self.device = model, commit, device
        self.fields, self.rows = fields, rows
        self.max_tokens, self.batch_size = max_tokens, batch_size
        self._write = Serializer(tuple(fields), rows=rows)
        self._encoder = _SparseModel(model, commit, device, max_tokens)
        self._cut = [0, 0]

    def parts(self) -> Mapping[str, object]:
        """Return the model."""
        return {"model": self._encoder}

    def config(self) -> Mapping[str, Any]:
        """Return the settings, with the kind of device in place of its number."""
        return {**super().config(), "device": self._encoder.place.partition(":")[0]}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Encode all tables."""
        self._cut = [0, 0]
        self._ids = corpus.ids
        self._tables = self._encoded([self._write(table) for table in corpus], "document")

    def _encoded(self, texts: Sequence[str], task: str) -> Any:
        """Return the (texts, vocabulary) weights as a CSR matrix."""
        from scipy.sparse import csr_matrix

        model, read = self._encoder.loaded, [readable(text) for text in texts]
        if not read:
            return csr_matrix((0, model.get_embedding_dimension()))
        encode = model.encode_query if task == "query" else model.encode_document
        with quietly():
            tokens = model.tokenizer(read, truncation=False, verbose=False)["input_ids"]
            rows = encode(read, batch_size=self.batch_size, show_progress_bar=False)
        self._cut[0] += len(read)
        self._cut[1] += sum(len(ids) > model.max_seq_length for ids in tokens)
        rows = rows.coalesce().cpu()
        weights = rows.values().double().numpy()
        if not np.isfinite(weights).all():
            raise ConfigError(f"model={self.model}: a weight is NaN or infinite; it is broken")
        return csr_matrix((weights, rows.indices().numpy()), shape=tuple(rows.shape))

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables that share a weighted word with the query, best first."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if not len(self._ids) or not queries:
            return [[] for _ in queries]
        weights = self._encoded(queries, "query")
        units = _lengths(weights) * _lengths(self._tables).max()  # no product is larger
        units = np.exp2(np.ceil(np.log2(np.where(units > 0, units, 1.0))))[:, None]
        rows, scores = best_cosines((weights @ self._tables.T).toarray() / units, top_k)
        return Ranked(self._ids, np.where(scores > 0, rows, -1), np.maximum(scores, 0) * units)

    def notes(self) -> Sequence[str]:
        """Return how many texts were cut."""
        n, cut = self._cut
        return [f"{cut:,} of {n:,} texts are longer than the model's limit and were cut"][: cut > 0]

    def save(self, folder: Path) -> None:
        """Write the tables' weights."""
        for name in _PARTS:
            np.save(folder / f"{name}.npy", getattr(self._tables, name))
        kept = {"shape": self._tables.shape, "cut": self._cut}
        (folder / "splade.json").write_text(json.dumps(kept), encoding="ascii")

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files that ``save`` wrote."""
        from scipy.sparse import csr_matrix

        kept = json.loads((folder / "splade.json").read_bytes())
        parts = tuple(np.load(folder / f"{name}.npy", allow_pickle=False) for name in _PARTS)
        self._ids, self._cut = corpus.ids, kept["cut"]
        self._tables = csr_matrix(parts, shape=tuple(kept["shape"]))


_PARTS = ("data", "indices", "indptr")


def _lengths(rows: Any) -> NDArray[np.float64]:
    lengths: NDArray[np.float64] = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))[:, 0])
    return lengths


class _SparseModel(LocalModel):
    """A SparseEncoder, loaded when it is first needed; arguments as for ``Splade``."""

    def __init__(
        self, model: str, commit: str | None, device: str | None, max_tokens: int | None
    ) -> None:
        self.model, self.commit, self.device = model, commit, device
        self._max_tokens = max_tokens

    def read(self, source: str, **settings: Any) -> Any:
        """Read the model."""
        from sentence_transformers import SparseEncoder

        return SparseEncoder(source, device=self.place, **settings)

    def prepared(self, model: Any) -> Any:
        """Return the model with its limit set; a dense one would get a layer of random weights."""
        added = "SparseAutoEncoder"  # the library's, where a model has no sparse part of its own
        loaded = any(type(module).__name__ == added for module in model)
        if loaded and not any(name.endswith(added) for name in saved_modules(self.weights)):
            raise ConfigError(
                f"model={self.model}: it is no SparseEncoder; name one, or use dense:encoder=..."
            )
        if self._max_tokens is not None:
            model.max_seq_length = self._max_tokens
        return model.eval()
