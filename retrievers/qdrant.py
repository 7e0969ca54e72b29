# SPDX-License-Identifier: Apache-2.0
"""A vector database, through its client: Qdrant, embedded or as a server."""

import importlib.util
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from target_bench import (
    ConfigError,
    Corpus,
    DataError,
    MissingExtraError,
    PluginError,
    Vectors,
)
from target_bench.plugin_tools import (
    Field,
    Format,
    RowLimit,
    VectorDatabase,
    looks_secret,
    without_secrets,
)

_KEY = "QDRANT_API_KEY"
_MARK = "target_bench"
"""The field of a point's payload that says which corpus, encoder and texts it is of."""

_UPLOAD = 256  # points that are sent at a time


class Qdrant(VectorDatabase):
    """Cosine between the vectors of query and tables, found by a Qdrant database.

    Needs: extras qdrant and dense; MiniLM (download).

    A collection without a name of the user's is made for one run and deleted when the retriever is
    gone. One with a name is kept; the next run of the same corpus, encoder and texts finds it full
    and encodes no table. A collection that holds anything else is refused and left as it is, and
    one that could not be filled is deleted if it was made here.

    Args:
        url: of the server; None for a database inside this process. Its key is read from
            $QDRANT_API_KEY.
        path: the folder of a database inside this process; None to keep it in memory.
        collection: the name of the collection; None for one that is deleted afterwards.
        exact: look at every vector; False for the database's approximate index, where there is
            a server.
        timeout: seconds to wait for the server.

    Raises:
        ConfigError: a setting is invalid, or there is no such encoder.
        MissingExtraError: qdrant-client is not installed.
    """

    packages = ("qdrant-client",)
    changes_no_ranking = ("url", "path", "collection", "timeout")

    def __init__(
        self,
        url: str | None = None,
        path: str | None = None,
        collection: str | None = None,
        encoder: object = "minilm",
        fields: Sequence[Field] = ("title", "section", "header", "rows"),
        rows: RowLimit = "auto",
        format: Format = "text",
        exact: bool = True,
        timeout: int = 60,
    ) -> None:
        if importlib.util.find_spec("qdrant_client") is None:
            raise MissingExtraError("qdrant-client", "qdrant", "the retriever qdrant")
        if url is not None and path is not None:
            raise ConfigError("url and path: a database is either a server or a folder")
        if url is not None and looks_secret(url):
            raise ConfigError(f"url: keys come from the environment only (${_KEY})")
        if not exact and url is None:
            raise ConfigError(
                "exact=false: a database inside this process has no approximate index"
            )
        if timeout < 1:
            raise ConfigError(f"timeout={timeout}: at least 1 second is needed")
        super().__init__(encoder, fields, rows, format)
        self.url = url
        self.path = path
        self.collection = collection
        self.exact = exact
        self.timeout = timeout

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change a ranking, and whether there is a server."""
        return {**super().config(), "server": self.url is not None}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Fill the collection, or take one that holds the same already.

        Raises:
            ConfigError: the server does not answer, or refuses the key.
            DataError: the collection holds something else.
        """
        with self._own_errors():
            super().embed_corpus(corpus)

    def is_filled(self, corpus: Corpus) -> bool:
        """Return whether the collection holds the points of this corpus; false if there is none.

        Raises:
            DataError: it holds something else, or only some of them.
        """
        from qdrant_client import QdrantClient, models

        where: dict[str, Any] = {"path": self.path} if self.path else {"location": ":memory:"}
        if self.url is not None:
            key = os.environ.get(_KEY) or None
            where = {"url": self.url, "api_key": key, "timeout": self.timeout}
        self._client = QdrantClient(**where, check_compatibility=False)
        self._temporary: list[str] = []
        self.opened(partial(_end, self._client, self._temporary))
        self._mark = self.mark(corpus)
        self._name = self.collection or f"target-bench-{self._mark[:16]}-{uuid.uuid4().hex[:8]}"
        if not self._client.collection_exists(self._name):
            return False
        same = models.FieldCondition(key=_MARK, match=models.MatchValue(value=self._mark))
        ours = models.Filter(must=[same])
        n_all = self._client.count(self._name, exact=True).count
        n_ours = self._client.count(self._name, count_filter=ours, exact=True).count
        points = self._client.scroll(self._name, scroll_filter=ours, limit=1)[0]
        if points and n_all == n_ours == (points[0].payload or {}).get("n_points"):
            return True
        raise DataError(
            f"the collection {self._name!r} holds {n_all} points, of which {n_ours} are of this "
            "corpus, encoder and way to write tables, or not all of them. Name another "
            "collection, or delete this one if it is not needed"
        )

    def fill(self, places: Sequence[int], vectors: Vectors) -> None:
        """Put the vectors of all tables into a new collection."""
        from qdrant_client import models

        cosine = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
        self._client.create_collection(self._name, vectors_config=cosine)
        self._temporary.append(self._name)  # until it is full
        points = [
            models.PointStruct(
                id=place,
                vector=vector,
                payload={
                    _MARK: self._mark,
                    "n_points": len(places),
                    "database_id": self._ids[place].database_id,
                    "table_id": self._ids[place].table_id,
                },
            )
            for place, vector in zip(places, vectors.tolist(), strict=True)
        ]
        try:
            for start in range(0, len(points), _UPLOAD):
                self._client.upsert(self._name, points=points[start : start + _UPLOAD], wait=True)
        except BaseException:
            self.close()
            raise
        if self.collection:
            self._temporary.remove(self._name)

    def nearest(self, vector: list[float], k: int) -> list[tuple[int, float]]:
        """Return the nearest tables of a vector: (place, cosine), best first."""
        return self._nearest_of_all([vector], k)[0]

    def nearest_of_each(self, vectors: Vectors, k: int) -> list[list[tuple[int, float]]]:
        """Return the nearest tables of several vectors, in one request."""
        return self._nearest_of_all(vectors.tolist(), k)

    def _nearest_of_all(self, vectors: list[list[float]], k: int) -> list[list[tuple[int, float]]]:
        from qdrant_client import models

        how = models.SearchParams(exact=self.exact) if self.url else None  # inside it is always
        requests = [
            models.QueryRequest(query=vector, limit=k, params=how, with_payload=False)
            for vector in vectors
        ]
        with self._own_errors():
            answers = self._client.query_batch_points(self._name, requests=requests)
        return [
            [(int(str(point.id)), point.score) for point in answer.points] for answer in answers
        ]

    def notes(self) -> Sequence[str]:
        """Return notes on the kept collection, approximate rankings, and those of the encoder."""
        lasts = self.collection and (self.url or self.path)  # memory ends with the process
        kept = f"the collection {self.collection!r} is kept" if lasts else None
        near = None if self.exact else "an approximate index was asked: rankings may lack tables"
        return [note for note in (kept, near, *super().notes()) if note]

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """Turn errors of the client into our own, without the key."""
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        where = self.url or self.path or "the database in memory"
        secrets = [os.environ.get(_KEY, "")]
        try:
            yield
        except ResponseHandlingException as error:
            raise ConfigError(
                without_secrets(
                    f"qdrant: {where} does not answer ({error.source}). Start it, as in "
                    "docker run -p 6333:6333 qdrant/qdrant, or leave url out for a database "
                    "inside this process",
                    secrets,
                )
            ) from error
        except UnexpectedResponse as error:
            if error.status_code in (401, 403):
                raise ConfigError(f"qdrant: {where} refuses the key; set ${_KEY}") from error
            text = without_secrets(f"qdrant: {where}: {' '.join(str(error).split())}", secrets)
            raise PluginError(text) from error
        except RuntimeError as error:
            if "already accessed" not in str(error):
                raise
            raise ConfigError(
                f"path={self.path}: another process, or another client, has this database open; a "
                "server (url) serves several"
            ) from error


def _end(client: Any, temporary: list[str]) -> None:
    """Delete collections of ours; a server that is gone has to keep them."""
    with suppress(Exception):
        for name in temporary:
            client.delete_collection(name)
    client.close()
