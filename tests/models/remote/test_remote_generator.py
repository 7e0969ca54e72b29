"""Wrapped models: failures by their kind, and a recorded answer is never asked for again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import StoreError
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.models.remote.remote_generator import ExternalModelGenerator
from target_bench.testing import check_generator
from tests.openai_server import (
    OpenAIServer,
    Reply,
    answer,
    error,
    overflow,
    rate_limited,
)

pytestmark = pytest.mark.usefixtures("clients_of_others")

Make = Callable[..., ExternalModelGenerator]

KEY = "sk-verysecret-0123456789"


def _langchain(server: OpenAIServer, cache: bool = True, **settings: Any) -> ExternalModelGenerator:
    import langchain_openai
    from pydantic import SecretStr

    from target_bench.generators.langchain import LangChain

    model = langchain_openai.ChatOpenAI(
        model="m", base_url=server.base_url, api_key=SecretStr(KEY), max_retries=0, **settings
    )
    return LangChain(model, concurrency=4, cache=cache)


def _llama_index(
    server: OpenAIServer, cache: bool = True, **settings: Any
) -> ExternalModelGenerator:
    from llama_index.llms.openai_like import OpenAILike

    from target_bench.generators.llama_index import LlamaIndex

    model = OpenAILike(
        model="m",
        api_base=server.base_url,
        api_key=KEY,
        max_retries=0,
        is_chat_model=True,
        **settings,
    )
    return LlamaIndex(model, concurrency=4, cache=cache)


_PACKAGES = {_langchain: "langchain_openai", _llama_index: "llama_index.llms.openai_like"}


@pytest.fixture(params=[_langchain, _llama_index])
def make(request: pytest.FixtureRequest) -> Make:
    """Makes a generator over a server."""
    made: Make = request.param
    pytest.importorskip(_PACKAGES[made])  # here, as a check takes a skip for an error
    return made


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


def _requests(n: int) -> Iterator[GenerationRequest]:
    for i in range(n):
        yield GenerationRequest(f"id{i}", "qa", (Message("user", f"q{i}"),), f"q{i}")


def _answers(generator: ExternalModelGenerator, n: int) -> list[Generation]:
    return sorted(
        generator.generate_many(_requests(n), Observer()), key=lambda g: int(g.query_id[2:])
    )


def test_what_is_sent_and_what_comes_back(make: Make, server: OpenAIServer) -> None:
    server.delay = 0.02
    answers = _answers(make(server, temperature=0.25), 30)
    assert [a.text for a in answers] == [f"answer to q{i}" for i in range(30)]
    assert {a.input_tokens for a in answers} == {10}
    assert all(a.error is None and a.output_tokens and a.seconds for a in answers)
    assert 2 <= server.most_at_once <= 4
    assert server.requests[0].body["temperature"] == 0.25


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (overflow(), "context_overflow: HTTP 400: This model's maximum context"),
        (rate_limited(retry_after_ms="1"), "rate_limit: HTTP 429: Rate limit reached"),
        (error(401, f"Incorrect API key provided: {KEY}"), "authentication: HTTP 401: Incorrect"),
        (answer("late", delay=30.0), "timeout: ReadTimeout"),
        (answer("cut", cut=True), "connection: RemoteProtocolError"),
        (answer(""), "empty_answer: no text (finish_reason stop)"),
        (answer(None, refusal="I will not"), "refusal: I will not"),
        (answer(None, "content_filter"), "content_filter: "),
    ],
)
def test_failures_are_named_by_their_kind_and_cost_one_query(
    make: Make, server: OpenAIServer, reply: Reply, expected: str
) -> None:
    server.scripted["q3"] = [reply]
    answers = _answers(make(server, timeout=2.0 if reply.delay else 30.0), 6)
    failed = answers.pop(3)
    assert failed.text == ""
    assert (failed.error or "").startswith(expected)
    assert KEY not in (failed.error or "")
    assert [a.error for a in answers] == [None] * 5


def test_a_recorded_answer_is_never_asked_for_again(make: Make, server: OpenAIServer) -> None:
    first = _answers(make(server), 10)
    assert not any(answer.cached for answer in first)
    assert [r.query_id for r in make(server).find_unanswered(_requests(12))] == ["id10", "id11"]
    again = _answers(make(server), 12)
    assert [answer.cached for answer in again] == [True] * 10 + [False] * 2
    assert [(f.text, f.input_tokens, f.output_tokens, f.finish_reason) for f in again[:10]] == [
        (f.text, f.input_tokens, f.output_tokens, f.finish_reason) for f in first
    ]
    assert {answer.seconds for answer in again[:10]} == {None}
    assert set(server.asked.values()) == {1}
    assert not any(answer.cached for answer in _answers(make(server, cache=False), 3))
    assert len(list(make(server, cache=False).find_unanswered(_requests(3)))) == 3


def test_a_key_that_a_server_repeats_is_nowhere(
    make: Make, server: OpenAIServer, tmp_path: Path
) -> None:
    server.script = lambda request: answer(f"your key is {request.key}")
    [single] = _answers(make(server), 1)
    assert single.text == "your key is ***"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(KEY.encode() in path.read_bytes() for path in files)


def test_answers_that_cannot_be_recorded_end_it(
    make: Make, server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="answers cannot be recorded"):
        _answers(make(server), 3)
    assert not server.requests


def test_the_contract_is_kept(make: Make, server: OpenAIServer) -> None:
    assert not check_generator(lambda: make(server)).skipped
    assert server.requests
