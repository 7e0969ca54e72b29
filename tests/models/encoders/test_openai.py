"""Embeddings over real sockets: what is sent, what comes back, and that nothing is sent twice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openai")

from target_bench.models.embedding_cache import encoded
from target_bench.models.encoders.openai import OpenAIEmbeddings
from tests import openai_server as served
from tests.openai_server import OpenAIServer, Reply, Request, vector

pytestmark = pytest.mark.usefixtures("quick_retries")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def inputs(server: OpenAIServer) -> list[list[str]]:
    return [list(request.body["input"]) for request in server.requests]


def is_right(vectors: Any, texts: list[str]) -> None:
    np.testing.assert_array_equal(vectors, np.array([vector(t) for t in texts], np.float32))


def test_what_is_sent_and_what_comes_back(server: OpenAIServer) -> None:
    encoder = OpenAIEmbeddings("m", server.base_url, query_prompt="query: ", extra={"user": "me"})
    is_right(encoder.encode(["a", "b"], "query"), ["query: a", "query: b"])
    [request] = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {
        "model": "m",
        "input": ["query: a", "query: b"],
        "encoding_format": "base64",
        "user": "me",
    }
    is_right(encoder.encode(["a", ""], "table"), ["a", " "])
    assert encoder.encode([], "table").shape == (0, 0)


def test_batches_by_count_and_by_tokens(server: OpenAIServer) -> None:
    encoder = OpenAIEmbeddings("m", server.base_url, batch_size=3, batch_tokens=10, concurrency=1)
    texts = ["x" * n for n in (4, 8, 12, 16, 16, 16, 80, 4, 4)]
    list(encoder.encode_parts(texts, "table"))
    assert [[len(t) for t in batch] for batch in inputs(server)] == [
        [4, 8, 12], [16, 16], [16], [80], [4, 4],
    ]  # fmt: skip


@pytest.mark.parametrize("with_index", [True, False])
def test_order(server: OpenAIServer, with_index: bool) -> None:
    def shuffled(request: Request) -> Reply:
        body = served.embeddings(request.body)
        if with_index:
            body["data"] = body["data"][1:] + body["data"][:1]
        else:
            body["data"] = [{"embedding": item["embedding"]} for item in body["data"]]
        delay = 0.2 if request.body["input"][0] == "0" else 0  # the first batch comes last
        return Reply(body, delay=delay)

    server.script = shuffled
    texts = [str(i) for i in range(20)]
    is_right(OpenAIEmbeddings("m", server.base_url, batch_size=6).encode(texts, "table"), texts)


def test_a_second_run_sends_nothing(server: OpenAIServer) -> None:
    """1,000 texts: each sent once, in full batches, many at a time."""
    server.delay = 0.02
    texts = [f"table {i} " + "x" * (i % 50) for i in range(1000)]
    first = OpenAIEmbeddings("m", server.base_url)
    vectors, _ = encoded(first, [*texts, *texts[:10]], "table")
    is_right(vectors[:1000], texts)
    sent = [text for batch in inputs(server) for text in batch]
    assert sorted(sent) == sorted(texts)
    assert len(server.requests) == 8
    assert 2 <= server.most_at_once <= 16
    assert first.notes() == ["m: 1,000 texts embedded in 8 requests, 1,000 tokens"]
    second = OpenAIEmbeddings(
        "m", server.base_url, concurrency=3, batch_size=7, prices={"input": 1}
    )
    np.testing.assert_array_equal(encoded(second, texts, "table")[0], vectors[:1000])
    assert len(server.requests) == 8
    assert second.notes() == []
    encoded(OpenAIEmbeddings("other", server.base_url), texts[:5], "table")
    encoded(second, texts[:5], "query")
    assert len(server.requests) == 10


def test_no_edit_of_code_sends_paid_texts_again(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a prompt of the other kind of text; one of their own does, and our version."""
    encoded(OpenAIEmbeddings("m", server.base_url), ["a"], "table")
    monkeypatch.setattr("target_bench.core.identity.code_hash", lambda _: "edited")
    same = OpenAIEmbeddings("m", server.base_url, query_prompt="q: ", batch_size=7, timeout=9)
    encoded(same, ["a"], "table")
    assert len(server.requests) == 1
    for other in (
        OpenAIEmbeddings("m", server.base_url, table_prompt="t: "),
        OpenAIEmbeddings("m", server.base_url, dimensions=3),
        OpenAIEmbeddings("m", server.base_url, extra={"user": "me"}),
        OpenAIEmbeddings("m", server.base_url, max_tokens=9),
        OpenAIEmbeddings("m", server.base_url.replace("127.0.0.1", "localhost")),
    ):
        before = len(server.requests)
        encoded(other, ["a"], "table")
        assert len(server.requests) == before + 1
    monkeypatch.setattr(OpenAIEmbeddings, "VERSION", "another")
    before = len(server.requests)
    encoded(OpenAIEmbeddings("m", server.base_url), ["a"], "table")
    assert len(server.requests) == before + 1


def test_a_server_on_this_machine_is_paid_for_only_at_a_price(server: OpenAIServer) -> None:
    assert not OpenAIEmbeddings("m", base_url=server.base_url).paid
    assert OpenAIEmbeddings("m", base_url=server.base_url, prices={"input": 0.02}).paid
    assert OpenAIEmbeddings("m", base_url="https://example.com/v1").paid
