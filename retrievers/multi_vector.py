# SPDX-License-Identifier: Apache-2.0
"""Several vectors per table: one a row. A table is found by its best one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench import (
    ConfigError,
    Corpus,
    Ranked,
    Retriever,
    Serializer,
    Table,
    Vectors,
)
from target_bench.plugin_tools import (
    Encoding,
    Field,
    Ranking,
    RowLimit,
    best_cosines,
    cell_text,
    first_rows,
)

_QUERIES = 64  # that are compared with all vectors at a time
_CELLS = 4_000_000  # scores of vectors that are held at a time


class MultiVector(Retriever):
    """The cosine of the query with the best of a table's vectors.

    Needs: extra dense and MiniLM (download), or another encoder.

    Each row is a text of its own: title and section, then ``header: cell`` for every cell that is
    not empty. One more text has what the table is as a whole. Equal texts of a table are one.
    Search is exact: every query is compared with every vector. Vectors are held in memory, four
    bytes a dimension: 100,000 rows of 384 dimensions are 154 MB.

    Args:
        encoder: turns texts into vectors: as written on the command line, or an object.
        rows: how many rows of each table, from the first: a number, ``all``, or ``auto``, which is
            all of a web table and the first 1,000 of a table in a database. Tables with more are
            reported.
        context: what is written before the cells of each row.
        whole: the parts of the one text more; ``[]`` for none. Tables without rows have it in any
            case: with ``[]``, of what is written before the cells and the header.
        cache: whether vectors are recorded on disk, and recorded ones used.

    Raises:
        ConfigError: the encoder cannot be built, or a setting is invalid.
    """

    packages = ("numpy",)

    def __init__(
        self,
        encoder: Any = "minilm",
        rows: RowLimit = 100,
        context: Sequence[Field] = ("title", "section"),
        whole: Sequence[Field] = ("title", "section", "header", "rows"),
        cache: bool = True,
    ) -> None:
        self.encoder = encoder
        self.rows = rows
        self.context = context
        self.whole = whole
        self.cache = cache
        if {"header", "rows"} & set(context):
            raise ConfigError(
                f"context={list(context)!r}: header and rows are in each text already"
            )
        self._context = Serializer(tuple(context)) if context else None
        self._whole = Serializer(tuple(whole) or (*context, "header"), rows="auto")
        Serializer(("rows",), rows=rows)  # checks rows
        self._encoding = Encoding(encoder, cache)
        self._n_cut = 0

    def parts(self) -> Mapping[str, object]:
        """Return the encoder."""
        return {"encoder": self._encoding.encoder}

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change a ranking."""
        return {name: value for name, value in super().config().items() if name != "cache"}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Encode the texts of all tables."""
        self._ids = corpus.ids
        self._n_cut = 0
        texts: list[str] = []
        starts: list[int] = []
        for table in corpus:
            starts.append(len(texts))
            texts += self._texts(table)
        self._starts = np.array(starts, dtype=np.int64)
        if texts:
            self._encoding.fit(texts)
        self._vectors = self._encoding.tables(texts)

    def _texts(self, table: Table) -> list[str]:
        """Return the texts of a table, at least one."""
        table_title = self._context(table) if self._context else ""
        rows = first_rows(table, self.rows)
        self._n_cut += len(rows) < len(table.rows)
        texts = [_row_text(table_title, table.header, row) for row in rows]
        if self.whole or not texts:
            texts.insert(0, self._whole(table))
        return list(dict.fromkeys(texts))

    def notes(self) -> Sequence[str]:
        """Return the number of tables with rows left out, and the notes of the encoder."""
        notes = self._encoding.notes()
        if self._n_cut:
            notes.insert(
                0,
                f"{self._n_cut:,} of {len(self._ids):,} tables have more rows than rows="
                f"{self.rows} lets in: those behind are not searched",
            )
        return notes

    def save(self, folder: Path) -> None:
        """Write the vectors, and what the encoder has learned."""
        (folder / "multi_vector.json").write_text(json.dumps({"cut": self._n_cut}))
        np.save(folder / "vectors.npy", self._vectors)
        np.save(folder / "starts.npy", self._starts)
        self._encoding.save(folder)

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files that ``save`` wrote; the vectors stay on disk until they are used."""
        self._ids = corpus.ids
        self._n_cut = json.loads((folder / "multi_vector.json").read_bytes())["cut"]
        self._vectors = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
        self._starts = np.load(folder / "starts.npy", allow_pickle=False)
        self._encoding.load(folder)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables with the best vectors, best first."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if not len(self._ids) or not queries:
            return [[] for _ in queries]
        vectors = self._encoding.queries(queries, self._vectors.shape[1])
        blocks = [
            best_cosines(self._scores(vectors[start : start + _QUERIES]), top_k)
            for start in range(0, len(vectors), _QUERIES)
        ]
        rows, scores = map(np.concatenate, zip(*blocks, strict=True))
        return Ranked(self._ids, np.where(vectors.any(axis=1, keepdims=True), rows, -1), scores)

    def _scores(self, queries: Vectors) -> NDArray[np.float64]:
        """Return the (queries, tables) best cosines."""
        return np.concatenate(list(self._best(queries.T.astype(np.float64)))).T

    def _best(self, queries: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """Yield (tables, queries) best cosines of consecutive tables.

        Products are of double precision: how many are computed at once changes no digit that ranks.
        """
        ends = np.append(self._starts[1:], len(self._vectors))
        room = max(1, _CELLS // queries.shape[1])
        first = 0
        while first < len(ends):
            start = self._starts[first]
            last = max(first + 1, int(np.searchsorted(ends, start + room, side="right")))
            rows = np.asarray(self._vectors[start : ends[last - 1]], dtype=np.float64)
            yield np.maximum.reduceat(rows @ queries, self._starts[first:last] - start, axis=0)
            first = last


def _row_text(table_title: str, header: Sequence[str], row: Sequence[Any]) -> str:
    cells = zip(header, map(cell_text, row), strict=True)
    pairs = [f"{name}: {cell}" if name else cell for name, cell in cells if cell]
    return ". ".join(part for part in (table_title, ", ".join(pairs)) if part)
