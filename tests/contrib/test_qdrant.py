"""Qdrant: the real client with its embedded database; what it holds is what was put there."""

import gc
import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError, PluginError
from target_bench.core.identity import plugin_identity
from target_bench.core.schema import TableId
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.data.table_text import Serializer
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.encoders import UnitWords
from tests.retrievers.tables import TABLES, ask, corpus, names

pytest.importorskip("qdrant_client")

from qdrant_client import QdrantClient, models

Qdrant = registry.resolve("retriever", "qdrant")


def _embedded(**settings: Any) -> Any:
    retriever = Qdrant(**({"encoder": UnitWords()} | settings))
    retriever.embed_corpus(corpus())
    return retriever


def _collections(path: Path) -> list[str]:
    gc.collect()
    client = QdrantClient(path=str(path))
    try:
        return [c.name for c in client.get_collections().collections]
    finally:
        client.close()


def test_the_ranking_is_that_of_the_vectors() -> None:
    retriever = _embedded()
    texts = [Serializer()(table) for table in TABLES]
    tables = UnitWords().encode(texts, "table")
    for query in ("which river is the longest", "apple price", "東京", "plum rhine"):
        wanted = UnitWords().encode([query], "query")[0] @ tables.T
        found = ask(retriever, [query], len(TABLES))[0]
        assert len(found) == len(TABLES)
        for table_id, score in found:
            place = corpus().positions[table_id]
            assert score == pytest.approx(wanted[place], abs=1e-5)
        assert [score for _, score in found] == sorted((s for _, s in found), reverse=True)


def test_nothing_of_ours_is_left_behind(tmp_path: Path) -> None:
    retriever = _embedded(path=str(tmp_path))
    assert names(ask(retriever, ["kings"], 1)[0]) == ["kings"]
    retriever.embed_corpus(MemoryCorpus(TABLES[:2]))
    assert len(ask(retriever, ["kings"], 9)[0]) == 2
    del retriever
    assert _collections(tmp_path) == []


def test_a_named_collection_is_kept_and_found_full(tmp_path: Path) -> None:
    first = _embedded(path=str(tmp_path), collection="mine")
    ranking = names(ask(first, ["river"], 2)[0])
    assert "the collection 'mine' is kept" in first.notes()
    first.close()
    assert _collections(tmp_path) == ["mine"]
    encoder = UnitWords()
    again = _embedded(path=str(tmp_path), collection="mine", encoder=encoder)
    assert encoder.encoded == []  # no table was encoded
    assert names(ask(again, ["river"], 2)[0]) == ranking
    again.close()


@pytest.mark.parametrize(
    "other",
    [
        {"tables": TABLES[:3]},
        {"encoder": UnitWords(32)},
        {"fields": ["title"]},
    ],
    ids=["corpus", "encoder", "texts"],
)
def test_a_collection_of_something_else_is_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"path": str(tmp_path), "collection": "mine", "encoder": UnitWords()}
    _embedded(path=str(tmp_path), collection="mine").close()
    tables = MemoryCorpus(other.pop("tables", TABLES))
    retriever = Qdrant(**(settings | other))
    with pytest.raises(DataError, match=r"'mine' holds 8 points, of which 0 are"):
        retriever.embed_corpus(tables)
    retriever.close()
    assert _collections(tmp_path) == ["mine"]


def test_a_collection_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    client = QdrantClient(path=str(tmp_path))
    client.create_collection("theirs", models.VectorParams(size=2, distance=models.Distance.DOT))
    client.upsert("theirs", [models.PointStruct(id=7, vector=[1.0, 2.0], payload={"a": 1})])
    client.close()
    retriever = Qdrant(path=str(tmp_path), collection="theirs", encoder=UnitWords())
    with pytest.raises(DataError, match="holds 1 points, of which 0"):
        retriever.embed_corpus(corpus())
    retriever.close()
    assert _collections(tmp_path) == ["theirs"]


class Broken(Encoder):
    """Gives NaN."""

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        return np.full((len(texts), 3), np.nan, np.float32)


class Fitted(UnitWords):
    """Learns; refuses to encode before."""

    def fit(self, texts: Any) -> None:
        self._known = len(list(texts))

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        assert self._known == len(TABLES)
        return super().encode(texts, kind)


def test_encoders(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="NaN"):
        _embedded(encoder=Broken(), path=str(tmp_path), collection="mine")
    assert _collections(tmp_path) == []
    for _ in range(2):
        retriever = _embedded(encoder=Fitted(), path=str(tmp_path), collection="mine")
        assert names(ask(retriever, ["kings"], 1)[0]) == ["kings"]
        retriever.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the client's
def test_two_at_a_time(tmp_path: Path) -> None:
    first = _embedded(path=str(tmp_path))
    with pytest.raises(ConfigError, match="has this database open"):
        _embedded(path=str(tmp_path))
    first.close()


def test_an_unreachable_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "verysecret-0123456789")
    refused = pytest.raises(ConfigError, match=r"127.0.0.1:9 does not answer .*docker run")
    with pytest.warns(UserWarning, match="insecure connection"), refused as caught:
        _embedded(url="http://127.0.0.1:9", timeout=1)
    assert "verysecret" not in str(caught.value)


class _Refusing(BaseHTTPRequestHandler):
    """A server that knows no key."""

    status = 401

    def do_GET(self) -> None:
        body = json.dumps({"status": {"error": "Invalid API key"}}).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def refusing() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Refusing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_server_that_refuses(refusing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"refuses the key; set \$QDRANT_API_KEY"):
        _embedded(url=refusing)
    monkeypatch.setattr(_Refusing, "status", 500)
    with pytest.raises(PluginError, match="Unexpected Response: 500"):
        _embedded(url=refusing)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "http://x", "path": "y"}, "either a server or a folder"),
        ({"url": "http://user:word@x"}, "keys come from the environment"),
        ({"exact": False}, "no approximate index"),
        ({"timeout": 0}, "at least 1 second"),
        ({"fields": ["name"]}, "expected one or more of"),
        ({"encoder": "nobody"}, "unknown encoder 'nobody'"),
    ],
)
def test_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Qdrant(**({"encoder": UnitWords()} | settings))


def test_identity() -> None:
    one, warning = plugin_identity(Qdrant(encoder=UnitWords()))
    assert warning is None
    assert one["parts"]["encoder"]["config"] == {"dims": 256, "seed": 0}
    assert one == plugin_identity(Qdrant(encoder=UnitWords(), collection="mine", timeout=5))[0]
    assert one != plugin_identity(Qdrant(encoder=UnitWords(), rows=3))[0]
    spec = "qdrant:encoder=tests.retrievers.encoders:UnitWords,collection=mine"
    retriever = registry.create("retriever", spec)
    retriever.embed_corpus(corpus())
    assert retriever.retrieve("kings", 1)[0][0] == TableId("0", "kings")
