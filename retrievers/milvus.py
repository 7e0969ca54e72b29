# SPDX-License-Identifier: Apache-2.0
"""Milvus: a server, or Milvus Lite in a file."""

import importlib.util
import os
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from target_bench import ConfigError, MissingExtraError, Vectors
from target_bench.plugin_tools import Field, Format, RowLimit, VectorDatabase, looks_secret

_BATCH = 1000  # records that are sent at a time


class Milvus(VectorDatabase):
    """Cosine over a collection of Milvus with the index FLAT, which is exact.

    Needs: extras milvus and dense; MiniLM (download).

    The collection holds ``id`` (the place in the corpus), ``database_id``, ``table_id`` and
    ``vector``. One with a name is kept, and made anew by every run. A server's token
    is read from $MILVUS_TOKEN.

    Args:
        uri: the file of Milvus Lite, or the address of a server, as in http://localhost:19530; None
            for a temporary file.
        collection: the name of the collection; None for one that is dropped afterwards.
    """

    packages = ("pymilvus", "milvus-lite")
    changes_no_ranking = ("uri", "collection")

    def __init__(
        self,
        uri: str | None = None,
        collection: str | None = None,
        encoder: object = "minilm",
        fields: Sequence[Field] = ("title", "section", "header", "rows"),
        rows: RowLimit = "auto",
        format: Format = "text",
    ) -> None:
        if importlib.util.find_spec("pymilvus") is None:
            raise MissingExtraError("pymilvus", "milvus", "the retriever milvus")
        if uri is not None and looks_secret(uri):
            raise ConfigError("uri: keys come from the environment only ($MILVUS_TOKEN)")
        super().__init__(encoder, fields, rows, format)
        self.uri = uri
        self.collection = collection

    def fill(self, places: Sequence[int], vectors: Vectors) -> None:
        """Put the vectors of all tables into the database, in place of earlier ones."""
        from pymilvus import MilvusClient

        folder = None if self.uri else tempfile.mkdtemp(prefix="target-bench-")
        self._client = MilvusClient(
            self.uri or f"{folder}/milvus.db", token=os.environ.get("MILVUS_TOKEN", "")
        )
        self._name = self.collection or f"target_bench_{uuid.uuid4().hex}"
        if self._client.has_collection(self._name):
            self._client.drop_collection(self._name)
        temporary = None if self.collection else self._name
        self.opened(partial(_end, self._client, temporary, folder))
        index = self._client.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type="COSINE")
        self._client.create_collection(
            self._name,
            dimension=vectors.shape[1],
            metric_type="COSINE",
            index_params=index,
            consistency_level="Strong",
        )
        records = [
            {
                "id": place,
                "database_id": self._ids[place].database_id,
                "table_id": self._ids[place].table_id,
                "vector": vector,
            }
            for place, vector in zip(places, vectors.tolist(), strict=True)
        ]
        for start in range(0, len(records), _BATCH):
            self._client.insert(self._name, records[start : start + _BATCH])

    def nearest(self, vector: list[float], k: int) -> list[tuple[int, float]]:
        """Return the nearest tables of a vector: (place, cosine), best first."""
        [hits] = self._client.search(self._name, [vector], limit=k)
        return [(hit["id"], hit["distance"]) for hit in hits]


def _end(client: Any, collection: str | None, folder: str | None) -> None:
    """Delete a folder of ours, or drop a collection of ours.

    The client stays open: to close one stops Milvus Lite for the others of this process.
    """
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    elif collection:
        with suppress(Exception):  # a server that is gone has to keep it
            client.drop_collection(collection)
