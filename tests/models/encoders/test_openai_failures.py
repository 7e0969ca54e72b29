"""Embeddings when the server fails, refuses, or sends something else."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openai")

from target_bench.core.errors import ConfigError, PluginError
from target_bench.models.embedding_cache import encoded
from target_bench.models.encoders.openai import OpenAIEmbeddings
from tests import openai_server as served
from tests.openai_server import OpenAIServer, Reply, Request, vector

pytestmark = pytest.mark.usefixtures("quick_retries")

Answer = Callable[[Request], Reply | None]


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own."""
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path))


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def first_times(n: int, reply: Reply) -> Answer:
    """This reply to the first requests that hold the text ``q``."""
    asked: list[Request] = []

    def script(request: Request) -> Reply | None:
        if "q" not in request.body["input"] or len(asked) == n:
            return None
        asked.append(request)
        return reply

    return script


def changed(change: Callable[[list[dict[str, Any]]], object]) -> Reply:
    """The answer to a request for ``q`` and ``r``, with its data changed."""
    body = served.embeddings({"input": ["q", "r"]})
    found = change(body["data"])
    return Reply(body | {"data": found} if found is not None else body)


NOT_TWO = "not one vector for each of 2 texts"
LASTING = [
    (served.broken_json(), "the answer is no JSON"),
    (Reply({"data": None}), NOT_TWO),
    (changed(lambda data: data[:1]), NOT_TWO),
    (changed(lambda data: [*data, data[0]]), NOT_TWO),
    (changed(lambda data: data[0].update(index=1)), NOT_TWO),
    (changed(lambda data: data[0].update(index=[])), NOT_TWO),
    (changed(lambda data: data[0].update(embedding=[1.0])), NOT_TWO),
    (changed(lambda data: [d.update(embedding=[]) for d in data] and None), NOT_TWO),
    (changed(lambda data: data[0].update(embedding="?")), NOT_TWO),
    (changed(lambda data: data[0].update(embedding=["a"])), NOT_TWO),
    (changed(lambda data: data[0].update(embedding=3)), NOT_TWO),
    (changed(lambda data: data[0].pop("embedding") and None), NOT_TWO),
    (changed(lambda data: ["text", "text"]), NOT_TWO),
]


def test_failures_that_pass_and_that_do_not(server: OpenAIServer) -> None:
    cut_off = Reply(served.embeddings({"input": ["q", "r"]}), cut=True)
    encoder = OpenAIEmbeddings("m", server.base_url, max_retries=2)
    encoder.encode(["x"], "table")
    server.script = first_times(2, cut_off)
    assert encoder.encode(["q", "r"], "table").tolist() == [vector("q"), vector("r")]
    server.script = first_times(99, cut_off)
    with pytest.raises(PluginError, match=r"'m' at http.*connection: "):
        encoder.encode(["q", "r"], "table")
    assert len(server.requests) == 7


@pytest.mark.parametrize(("reply", "message"), LASTING)
def test_replies_that_hold_no_vectors(server: OpenAIServer, reply: Reply, message: str) -> None:
    encoder = OpenAIEmbeddings("m", server.base_url)
    encoder.encode(["x"], "table")
    server.script = first_times(99, reply)
    with pytest.raises(PluginError, match=f"'m' at http.*{message}"):
        encoder.encode(["q", "r"], "table")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (served.wrong_key("sk-secret-0123456789abcdef"), "authentication"),
        (served.error(429, "pay", "insufficient_quota"), "pay"),
    ],
)
def test_nothing_goes_on_if_the_first_request_is_hopeless(
    server: OpenAIServer, reply: Reply, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-0123456789abcdef")
    server.script = lambda _: reply
    encoder = OpenAIEmbeddings("m", server.base_url, "MY_KEY", batch_size=1, concurrency=2)
    with pytest.raises(ConfigError, match=message) as raised:
        encoder.encode([str(i) for i in range(50)], "table")
    assert "MY_KEY" in str(raised.value)
    assert "sk-secret" not in str(raised.value)
    assert len(server.requests) <= 4


def test_what_was_embedded_before_a_failure_is_kept(server: OpenAIServer) -> None:
    """The money runs out in the middle; what is under way is waited for, and all is recorded."""
    texts = [f"{i:03}" for i in range(100)]

    def until_the_50th(request: Request) -> Reply | None:
        if len(server.requests) < 50:
            return (
                None
                if len(server.requests) % 2
                else Reply(served.embeddings(request.body), delay=0.05)
            )
        return served.error(402, "no money left")

    server.script = until_the_50th
    encoder = OpenAIEmbeddings("m", server.base_url, batch_size=1, concurrency=8)
    with pytest.raises(ConfigError, match="no money left"):
        encoded(encoder, texts, "table")
    assert len(server.requests) <= 60
    answered = {r.body["input"][0] for r in server.requests[:49]}
    server.script = None
    server.requests.clear()
    found, _ = encoded(encoder, texts, "table")
    assert found.tolist() == [vector(text) for text in texts]
    assert {r.body["input"][0] for r in server.requests} == set(texts) - answered


def overflowing(most: int) -> Answer:
    def script(request: Request) -> Reply | None:
        longest = max(len(text) for text in request.body["input"])
        return served.overflow() if longest > most else None

    return script


def test_a_text_that_is_too_long_is_named(server: OpenAIServer) -> None:
    texts = ["short"] * 20
    texts[13] = "long " * 100
    server.script = overflowing(300)
    encoder = OpenAIEmbeddings("m", server.base_url)
    with pytest.raises(ConfigError, match="'long long ") as raised:
        encoder.encode(texts, "table")
    for part in ("about 125 tokens", "maximum context length is 8192", "rows=", "max_tokens=N"):
        assert part in str(raised.value)
    cut = OpenAIEmbeddings("m", server.base_url, max_tokens=75)
    assert cut.encode(texts, "table").shape == (20, 8)


@pytest.mark.parametrize(
    "refusal",
    [
        served.error(413, "Payload too large"),
        served.error(422, "batch size 64 > maximum allowed batch size 32"),
        served.error(400, "Requested 400000 tokens, max 300000 tokens per request"),
    ],
)
def test_a_batch_that_is_too_large_is_sent_in_parts(server: OpenAIServer, refusal: Reply) -> None:
    server.script = lambda request: refusal if len(request.body["input"]) > 5 else None
    texts = [str(i) for i in range(37)]
    found = OpenAIEmbeddings("m", server.base_url).encode(texts, "table")
    assert found.tolist() == [vector(text) for text in texts]


def test_dimensions_that_the_model_does_not_know(server: OpenAIServer) -> None:
    server.script = lambda request: Reply(served.embeddings({"input": request.body["input"]}))
    with pytest.raises(PluginError, match="dimensions=3 was asked for, and vectors of 8 came"):
        OpenAIEmbeddings("m", server.base_url, dimensions=3).encode(["a"], "table")
    assert len(server.requests) == 1


@pytest.mark.parametrize("cache", [True, False])
def test_batches_of_other_dimensions(server: OpenAIServer, cache: bool) -> None:
    def mixed(request: Request) -> Reply | None:
        shorter = {"input": request.body["input"], "dimensions": 3}
        return Reply(served.embeddings(shorter)) if request.body["input"] == ["a"] else None

    server.script = mixed
    with pytest.raises(PluginError, match="dimensions"):
        encoded(
            OpenAIEmbeddings("m", server.base_url, batch_size=1), ["a", "b"], "table", cache=cache
        )


def test_faults_at_random_lose_and_repeat_nothing() -> None:
    texts = [f"text {i}" for i in range(1000)]
    with OpenAIServer(fault_rate=0.3, seed=3) as server:
        found, _ = encoded(
            OpenAIEmbeddings("m", server.base_url, batch_size=10, max_retries=20), texts, "table"
        )
        assert sum(server.answered.values()) == 100
    np.testing.assert_array_equal(found, np.array([vector(t) for t in texts], np.float32))
