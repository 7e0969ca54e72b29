"""Qdrant: the real client with its embedded database; what it holds is what was put there."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.data.tables import MemoryCorpus
from tests.contrib.vector_databases import finds_the_nearest, is_identified_without_its_place
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
    client = QdrantClient(path=str(path))
    try:
        return [c.name for c in client.get_collections().collections]
    finally:
        client.close()


def test_the_nearest() -> None:
    finds_the_nearest(Qdrant(encoder=UnitWords()))


def test_nothing_of_ours_is_left_behind(tmp_path: Path) -> None:
    retriever = _embedded(path=str(tmp_path))
    assert names(ask(retriever, ["kings"], 1)[0]) == ["kings"]
    retriever.embed_corpus(MemoryCorpus(TABLES[:2]))
    assert len(ask(retriever, ["kings"], 9)[0]) == 2
    retriever.close()
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


class Refusing(BaseHTTPRequestHandler):
    """A server that knows no key."""

    def do_GET(self) -> None:
        self.send_error(401)

    do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


def test_a_server_that_refuses_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(ConfigError, match=r"refuses the key; set \$QDRANT_API_KEY"):
            _embedded(url=f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


def test_identity() -> None:
    encoder = UnitWords()
    is_identified_without_its_place(
        Qdrant(encoder=encoder),
        Qdrant(encoder=encoder, collection="mine", timeout=5),
        Qdrant(encoder=encoder, rows=3),
    )
