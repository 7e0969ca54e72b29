"""Embeddings over real sockets: what is sent, what comes back, and that nothing is sent twice."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import ConfigError, PluginError
from target_bench.models.embedding_cache import encode_texts
from target_bench.models.encoders.openai import OpenAIEmbeddings
from tests import openai_server as served
from tests.openai_server import OpenAIServer, Reply, Request, vector

pytest.importorskip("openai")

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
    is_right(encoder.encode(["a", "", "half a \ud83d"], "table"), ["a", " ", "half a ?"])
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
    vectors, _ = encode_texts(first, [*texts, *texts[:10]], "table")
    is_right(vectors[:1000], texts)
    sent = [text for batch in inputs(server) for text in batch]
    assert sorted(sent) == sorted(texts)
    assert len(server.requests) == 8
    assert 2 <= server.most_at_once <= 16
    assert first.notes() == ["m: 1,000 texts embedded in 8 requests, 1,000 tokens"]
    second = OpenAIEmbeddings(
        "m", server.base_url, concurrency=3, batch_size=7, prices={"input": 1}
    )
    np.testing.assert_array_equal(encode_texts(second, texts, "table")[0], vectors[:1000])
    assert len(server.requests) == 8
    assert second.notes() == []
    encode_texts(OpenAIEmbeddings("other", server.base_url), texts[:5], "table")
    encode_texts(second, texts[:5], "query")
    assert len(server.requests) == 10


def test_no_edit_of_code_sends_paid_texts_again(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a prompt of the other kind of text; one of their own does, and our version."""
    encode_texts(OpenAIEmbeddings("m", server.base_url), ["a"], "table")
    monkeypatch.setattr("target_bench.core.identity.code_hash", lambda _: "edited")
    same = OpenAIEmbeddings("m", server.base_url, query_prompt="q: ", batch_size=7, timeout=9)
    encode_texts(same, ["a"], "table")
    assert len(server.requests) == 1
    for other in (
        OpenAIEmbeddings("m", server.base_url, table_prompt="t: "),
        OpenAIEmbeddings("m", server.base_url, dimensions=3),
        OpenAIEmbeddings("m", server.base_url, extra={"user": "me"}),
        OpenAIEmbeddings("m", server.base_url, max_tokens=9),
        OpenAIEmbeddings("m", server.base_url.replace("127.0.0.1", "localhost")),
    ):
        before = len(server.requests)
        encode_texts(other, ["a"], "table")
        assert len(server.requests) == before + 1
    monkeypatch.setattr(OpenAIEmbeddings, "VERSION", "another")
    before = len(server.requests)
    encode_texts(OpenAIEmbeddings("m", server.base_url), ["a"], "table")
    assert len(server.requests) == before + 1


def test_a_server_on_this_machine_is_paid_for_only_at_a_price(server: OpenAIServer) -> None:
    assert not OpenAIEmbeddings("m", base_url=server.base_url).paid
    assert OpenAIEmbeddings("m", base_url=server.base_url, prices={"input": 0.02}).paid
    assert OpenAIEmbeddings("m", base_url="https://example.com/v1").paid


Answer = Callable[[Request], Reply | None]


def first_times(n: int, reply: Reply) -> Answer:
    """This reply to the first requests that hold the text ``q``."""
    answered: list[Request] = []

    def script(request: Request) -> Reply | None:
        if "q" not in request.body["input"] or len(answered) == n:
            return None
        answered.append(request)
        return reply

    return script


def changed(change: Callable[[list[dict[str, Any]]], object]) -> Reply:
    """The answer to a request for ``q`` and ``r``, with its data changed."""
    body = served.embeddings({"input": ["q", "r"]})
    data = change(body["data"])
    return Reply(body | {"data": data} if data is not None else body)


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
        encode_texts(encoder, texts, "table")
    assert len(server.requests) <= 60
    answered = {r.body["input"][0] for r in server.requests[:49]}
    server.script = None
    server.requests.clear()
    vectors, _ = encode_texts(encoder, texts, "table")
    assert vectors.tolist() == [vector(text) for text in texts]
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
    vectors = OpenAIEmbeddings("m", server.base_url).encode(texts, "table")
    assert vectors.tolist() == [vector(text) for text in texts]


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
        encode_texts(
            OpenAIEmbeddings("m", server.base_url, batch_size=1), ["a", "b"], "table", cache=cache
        )


def test_faults_at_random_lose_and_repeat_nothing() -> None:
    texts = [f"text {i}" for i in range(1000)]
    with OpenAIServer(fault_rate=0.3, seed=3) as server:
        vectors, _ = encode_texts(
            OpenAIEmbeddings("m", server.base_url, batch_size=10, max_retries=20), texts, "table"
        )
        assert sum(server.answered.values()) == 100
    np.testing.assert_array_equal(vectors, np.array([vector(t) for t in texts], np.float32))
