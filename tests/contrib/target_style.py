"""Retrievers as users of the original TARGET package write them: its imports, its signatures."""

from typing import Iterable  # noqa: UP035 (as they write it)

import numpy as np
from target_benchmark.dictionary_keys import (  # type: ignore[import-not-found]
    DATABASE_ID_COL_NAME,
    TABLE_COL_NAME,
    TABLE_ID_COL_NAME,
)
from target_benchmark.retrievers import (  # type: ignore[import-not-found]
    AbsCustomEmbeddingRetriever,
    AbsStandardEmbeddingRetriever,
)
from target_benchmark.retrievers.AbsRetrieverBase import (  # type: ignore[import-not-found]
    AbsRetrieverBase,
)
from target_benchmark.retrievers.RetrieversDataModels import (  # type: ignore[import-not-found]
    RetrievalResultDataModel,
)
from target_benchmark.retrievers.utils import (  # type: ignore[import-not-found]
    markdown_table_str,
)


class Overlapping(AbsCustomEmbeddingRetriever):  # type: ignore[misc]
    """Counts shared words; keeps a dictionary a dataset."""

    def __init__(self, expected_corpus_format: str = "nested array", lower: bool = True):
        super().__init__(expected_corpus_format=expected_corpus_format)
        self.lower = lower
        self.corpora: dict = {}  # type: ignore[type-arg]
        self.batches: list = []  # type: ignore[type-arg]

    def _words(self, text: str) -> set[str]:
        return set((text.lower() if self.lower else text).replace(",", " ").split())

    def embed_corpus(self, dataset_name: str, corpus: Iterable[dict]) -> None:  # type: ignore[type-arg]
        tables = {}
        for batch in corpus:
            self.batches.append(batch)
            for i in range(len(batch[TABLE_COL_NAME])):
                key = (batch[DATABASE_ID_COL_NAME][i], batch[TABLE_ID_COL_NAME][i])
                cells = [str(cell) for row in batch[TABLE_COL_NAME][i] for cell in row]
                title = batch["context"][i].get("title") or ""
                tables[key] = self._words(" ".join([title, *cells]))
        self.corpora[dataset_name] = tables

    def retrieve(self, query: str, dataset_name: str, top_k: int, **kwargs) -> list[tuple]:  # type: ignore[no-untyped-def,type-arg]
        tables = self.corpora[dataset_name]
        words = self._words(query)
        return sorted(tables, key=lambda key: -len(words & tables[key]))[:top_k]


class Letters(AbsStandardEmbeddingRetriever):  # type: ignore[misc]
    """Counts letters; a vector a table."""

    def __init__(self, num_rows=None):  # type: ignore[no-untyped-def]
        super().__init__("nested array")
        self.num_rows = num_rows

    def _vector(self, text: str) -> np.ndarray:
        return np.array([text.lower().count(chr(97 + i)) for i in range(26)], dtype=float)

    def embed_query(self, query: str, dataset_name: str) -> np.ndarray:
        return self._vector(query)

    def embed_corpus(self, dataset_name: str, corpus_entry: dict) -> np.ndarray:  # type: ignore[type-arg]
        table = corpus_entry[TABLE_COL_NAME]
        return self._vector(markdown_table_str(table, num_rows=self.num_rows))


class Frames(AbsCustomEmbeddingRetriever):  # type: ignore[misc]
    """Expects another form of tables."""

    def __init__(self, form: str = "dataframe"):
        super().__init__(form)
        self.form = form

    def embed_corpus(self, dataset_name, corpus):  # type: ignore[no-untyped-def]
        self.tables = [table for batch in corpus for table in batch["table"]]

    def retrieve(self, query, dataset_name, top_k):  # type: ignore[no-untyped-def]
        return []


class InBatches(AbsRetrieverBase):  # type: ignore[misc]
    """Has a batch method of its own, and ids that are numbers."""

    def embed_corpus(self, dataset_name, corpus):  # type: ignore[no-untyped-def]
        self.ids = [int(i) for batch in corpus for i in batch["table_id"]]

    def retrieve_batch(self, queries, dataset_name, top_k, **kwargs):  # type: ignore[no-untyped-def]
        self.seen = queries
        return [
            RetrievalResultDataModel(
                dataset_name=dataset_name,
                query_id=query_id,
                retrieval_results=[(0, i) for i in self.ids[:top_k]],
            )
            for query_id in queries["query_id"]
        ]
