# SPDX-License-Identifier: Apache-2.0
"""A vector database, through its client: Qdrant, embedded or as a server."""

import hashlib
import importlib.util
import json
import os
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from target_bench import (
    ConfigError,
    Corpus,
    DataError,
    MissingExtraError,
    PluginError,
    Ranked,
    Retriever,
    Serializer,
    Vectors,
)
from target_bench.plugin_tools import (
    Encoding,
    Field,
    Format,
    Ranking,
    RowLimit,
    looks_secret,
    note_cached,
    plugin_identity,
    without_secrets,
)

_KEY = "QDRANT_API_KEY"
_MARK = "target_bench"
"""The field of a point's payload that says which corpus, encoder and texts it is of."""

_UPLOAD = 256  # points that are sent at a time
_CHANGES_NO_RANKING = ("url", "path", "collection", "timeout")


class Qdrant(Retriever):
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
        encoder: makes vectors of texts: an encoder, or the name of one with its settings.
        fields: the parts of a table to embed.
        rows: how many rows of each table, as for ``bm25``.
        format: how header and rows are written.
        exact: look at every vector; False for the database's approximate index, where there is
            a server.
        timeout: seconds to wait for the server.

    Raises:
        ConfigError: a setting is invalid, or there is no such encoder.
        MissingExtraError: qdrant-client is not installed.
    """

    packages = ("qdrant-client",)

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
        self.url = url
        self.path = path
        self.collection = collection
        self.encoder = encoder
        self.fields = fields
        self.rows = rows
        self.format = format
        self.exact = exact
        self.timeout = timeout
        self._serializer = Serializer(fields, format, rows)
        self._encoding = Encoding(encoder, unit=False)
        self._client: Any = None
        self._end: Any = None

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change a ranking; the encoder is a part."""
        settings = dict(super().config()) | {"server": self.url is not None}
        left_out = (*_CHANGES_NO_RANKING, "encoder")
        return {name: value for name, value in settings.items() if name not in left_out}

    def parts(self) -> Mapping[str, object]:
        """Return the encoder."""
        return {"encoder": self._encoding.encoder}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Fill the collection, or take one that holds the same already.

        Raises:
            ConfigError: the server does not answer, or refuses the key.
            DataError: the collection holds something else.
        """
        self.close()
        self._ids = corpus.ids
        mark = self._mark_of(corpus)
        texts = [self._serializer(table) for table in corpus]
        self._encoding.fit(texts)
        with self._asking():
            self._connect()
            self._name = self.collection or f"target-bench-{mark[:16]}-{uuid.uuid4().hex[:8]}"
            if self.collection and self._is_full(mark):
                note_cached("kept collection")
            else:
                self._fill(self._encoding.tables(texts), mark)
            held = self._client.get_collection(self._name).config.params.vectors
            self._dimensions: int = held.size

    def _mark_of(self, corpus: Corpus) -> str:
        """Return a hash of all that determines the points."""
        identity, warning = plugin_identity(self._encoding.encoder)
        texts = [list(self.fields), self.rows, self.format]
        content = [corpus.fingerprint, texts, identity if warning is None else identity["unique"]]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _connect(self) -> None:
        from qdrant_client import QdrantClient

        if self.url is None:
            self._client = QdrantClient(path=self.path) if self.path else QdrantClient(":memory:")
        else:
            self._client = QdrantClient(
                url=self.url,
                api_key=os.environ.get(_KEY) or None,
                timeout=self.timeout,
                check_compatibility=False,
            )
        self._temporary: list[str] = []
        self._end = weakref.finalize(self, _ended, self._client, self._temporary)

    def _is_full(self, mark: str) -> bool:
        """Return whether the collection holds the points of this corpus; false if there is none.

        Raises:
            DataError: it holds something else, or only some of them.
        """
        from qdrant_client import models

        if not self._client.collection_exists(self._name):
            return False
        same = models.FieldCondition(key=_MARK, match=models.MatchValue(value=mark))
        ours = models.Filter(must=[same])
        n_all = self._client.count(self._name, exact=True).count
        n_ours = self._client.count(self._name, count_filter=ours, exact=True).count
        if n_all == n_ours == len(self._ids):
            return True
        raise DataError(
            f"the collection {self._name!r} holds {n_all} points, of which {n_ours} are the "
            f"{len(self._ids)} of this corpus, encoder and way to write tables. Name another "
            "collection, or delete this one if it is not needed"
        )

    def _fill(self, vectors: Vectors, mark: str) -> None:
        from qdrant_client import models

        size = max(vectors.shape[1], 1)
        cosine = models.VectorParams(size=size, distance=models.Distance.COSINE)
        self._client.create_collection(self._name, vectors_config=cosine)
        self._temporary.append(self._name)  # until it is full
        try:
            for batch in self._points(vectors, mark):
                self._client.upsert(self._name, points=batch, wait=True)
        except BaseException:
            self.close()
            raise
        if self.collection:
            self._temporary.remove(self._name)

    def _points(self, vectors: Vectors, mark: str) -> Iterator[list[Any]]:
        from qdrant_client import models

        for start in range(0, len(vectors), _UPLOAD):
            yield [
                models.PointStruct(
                    id=place,
                    vector=vectors[place].tolist(),
                    payload={
                        _MARK: mark,
                        "database_id": self._ids[place].database_id,
                        "table_id": self._ids[place].table_id,
                    },
                )
                for place in range(start, min(start + _UPLOAD, len(vectors)))
            ]

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables for one query."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, in one request."""
        from qdrant_client import models

        if not queries or not self._ids:
            return [[] for _ in queries]
        vectors = self._encoding.queries(queries, self._dimensions)
        how = models.SearchParams(exact=self.exact) if self.url else None  # inside it is always
        requests = [
            models.QueryRequest(query=vector, limit=top_k, params=how, with_payload=False)
            for vector in vectors.tolist()
        ]
        with self._asking():
            answers = self._client.query_batch_points(self._name, requests=requests)
        k = min(top_k, len(self._ids))
        rows = np.full((len(queries), k), -1, np.int64)
        scores = np.zeros((len(queries), k))
        for i, answer in enumerate(answers):
            n = len(answer.points)
            rows[i, :n] = [point.id for point in answer.points]
            scores[i, :n] = [point.score for point in answer.points]
        pointless = np.logical_not(vectors.any(axis=1, keepdims=True))
        return Ranked(self._ids, np.where(pointless, -1, rows), scores)

    def notes(self) -> Sequence[str]:
        """Return notes on the kept collection, approximate rankings, and those of the encoder."""
        lasts = self.collection and (self.url or self.path)  # memory ends with the process
        kept = f"the collection {self.collection!r} is kept" if lasts else None
        near = None if self.exact else "an approximate index was asked: rankings may lack tables"
        return [note for note in (kept, near, *self._encoding.notes()) if note]

    def close(self) -> None:
        """Delete the collection if it was made for this run, and let go of the database."""
        if self._end is not None:
            self._end()
            self._end = None

    @contextmanager
    def _asking(self) -> Iterator[None]:
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


def _ended(client: Any, temporary: list[str]) -> None:
    """Delete collections of ours; a server that is gone has to keep them."""
    with suppress(Exception):
        for name in temporary:
            client.delete_collection(name)
    client.close()
