"""One request at a time: what is sent, and what becomes of every kind of answer."""

import json
from collections.abc import Iterator
from email.utils import formatdate
from time import monotonic, time
from typing import Any

import pytest

pytest.importorskip("openai")

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.generators.openai import OpenAI
from tests import openai_server as served
from tests.openai_server import OpenAIServer

pytestmark = pytest.mark.usefixtures("quick_retries")

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def request(text: str = "q", schema: dict[str, Any] | None = None) -> GenerationRequest:
    return GenerationRequest(f"id {text}", "qa", (Message("user", text),), text, (), schema)


def ask(
    server: OpenAIServer, *replies: served.Reply, schema: bool = False, **settings: Any
) -> Generation:
    """The answer after one that shows that key, model and address are right."""
    generator = OpenAI("m", server.base_url, **{"cache": False} | settings)
    assert generator.generate(request("first")).error is None
    server.scripted["q"] = list(replies)
    return generator.generate(request(schema=SCHEMA if schema else None))


def test_what_is_sent_and_what_comes_back(server: OpenAIServer) -> None:
    prices = {"input": 1.0, "output": 2.0}
    extra = {"top_p": 0.5, "chat_template_kwargs": {"x": 1}}
    generator = OpenAI("m", server.base_url, prices=prices, extra=extra, cache=False)
    answer = generator.generate(request("hello"))
    assert (answer.query_id, answer.text, answer.error) == ("id hello", "answer to hello", None)
    assert (answer.input_tokens, answer.output_tokens) == (10, 4)
    assert answer.cost == pytest.approx(18e-6)
    assert answer.seconds is not None
    assert not answer.cached
    [sent] = server.requests
    assert sent.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "temperature": 0.0,
        "max_tokens": 512,
        "seed": 0,
        **extra,
    }


def test_a_schema_is_sent_and_its_answer_is_json(server: OpenAIServer) -> None:
    answer = ask(server, schema=True)
    assert json.loads(answer.text) == {"answer": "answer to q"}
    assert server.requests[-1].body["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (served.wrong_key("no"), "authentication: HTTP 401"),
        (served.unknown_model(), "unknown_model: HTTP 404: The model `m` does not exist"),
        (served.error(400, "bad field"), "bad_request: HTTP 400: bad field"),
        (served.overflow(), "context_overflow: HTTP 400: This model's maximum"),
        (served.answer(None), "empty_answer: "),
        (served.answer("  "), "empty_answer: "),
        (served.answer(None, refusal="I will not"), "refusal: I will not"),
        (served.answer("part", "content_filter"), "content_filter: "),
        (served.answer("", "length"), "truncated: "),
        (served.error(403, "Your input was flagged by moderation"), "content_filter: HTTP 403"),
        (
            served.error(
                400, "the model's maximum context length is 9; type: invalid_request_error"
            ),
            "context_overflow: ",
        ),
        (served.error(400, "This model takes no temperature: unknown parameter"), "bad_request: "),
        (served.broken_json(), "server_error: the answer is no JSON"),
        (served.Reply(b"[1]"), "server_error: the answer is not a JSON object"),
        (served.Reply({"choices": []}), "server_error: the answer has no choices"),
        (served.Reply({"error": {"message": "x", "code": 502}}), "server_error: HTTP 502: x"),
        (served.Reply({"error": "overloaded"}), "server_error: "),
        (served.error(403, "not you"), "authentication: HTTP 403: not you"),
        (served.error(400, "unknown model: x"), "unknown_model: "),
        (served.error(400, "no", "context_length_exceeded"), "context_overflow: "),
        (served.error(400, "no", "content_filter"), "content_filter: "),
    ],
)
def test_final_failures(server: OpenAIServer, reply: served.Reply, error: str) -> None:
    answer = ask(server, reply)
    assert answer.text == ""
    assert (answer.error or "").startswith(error)
    assert server.asked["q"] == 1


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (served.rate_limited(), "rate_limit: HTTP 429"),
        (served.error(500, "oops"), "server_error: HTTP 500: oops"),
        (served.error(503, "oops"), "server_error: HTTP 503"),
        (served.error(408, "slow"), "timeout: HTTP 408"),
        (served.error(409, "busy"), "server_error: HTTP 409"),
        (served.cut(), "connection: "),
        (served.answer("late", delay=5), "timeout: no answer within 0.5 s"),
    ],
)
def test_passing_failures(server: OpenAIServer, reply: served.Reply, error: str) -> None:
    timeout = 0.5 if reply.delay else 60.0
    mended = ask(server, reply, reply, max_retries=2, timeout=timeout)
    assert (mended.text, mended.error) == ("answer to q", None)
    assert server.asked["q"] == 3
    lasting = ask(server, *[reply] * 3, max_retries=2, timeout=timeout)
    assert (lasting.error or "").startswith(error)
    assert server.asked["q"] == 6


@pytest.mark.parametrize(("status", "code"), [(429, "insufficient_quota"), (402, None)])
def test_no_money_ends_the_run_whenever_it_happens(
    server: OpenAIServer, status: int, code: str | None
) -> None:
    """Every request after it would fail alike."""
    assert ask(server, served.answer("first")).text == "first"
    with pytest.raises(ConfigError, match="pay"):
        ask(server, served.error(status, "pay", code))


@pytest.mark.parametrize("key", ["sk-first-SECRET\nsk-second-SECRET", "sk SECRET", "sk-é-SECRET"])
def test_invalid_keys(monkeypatch: pytest.MonkeyPatch, server: OpenAIServer, key: str) -> None:
    """They are told without being shown, and nothing is sent."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ConfigError, match="no key has") as caught:
        ask(server)
    assert "SECRET" not in str(caught.value)
    assert not server.requests


def test_an_answer_is_json_in_a_code_fence_too_and_else_fails(server: OpenAIServer) -> None:
    fenced = '```json\n{"answer": "Paris"}\n```'
    answer = ask(server, served.answer(fenced), schema=True)
    assert (answer.text, answer.error) == (fenced, None)
    failed = ask(server, served.answer("Paris"), schema=True)
    assert (failed.error or "").startswith("invalid_json: ")
    assert "--free-text" in (failed.error or "")


def test_a_server_without_schemas_ends_the_run_before_its_first_answer(
    server: OpenAIServer,
) -> None:
    server.script = lambda _: served.error(400, "response_format: json_schema is not supported")
    generator = OpenAI("m", server.base_url, cache=False)
    with pytest.raises(ConfigError, match=r"unsupported_schema: .*--free-text"):
        generator.generate(request(schema=SCHEMA))


@pytest.mark.parametrize("header", ["retry-after", "retry-after-ms", "date"])
def test_retry_after_is_obeyed(server: OpenAIServer, header: str) -> None:
    value = {"retry-after": "1", "retry-after-ms": "1000", "date": formatdate(time() + 2)}[header]
    name = "retry-after" if header == "date" else header
    start = monotonic()
    answer = ask(server, served.rate_limited(**{name: value}))
    assert answer.error is None
    assert monotonic() - start >= 0.9
    assert (answer.seconds or 9) < 0.9


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (served.wrong_key("sk-secret"), "authentication"),
        (served.unknown_model(), "unknown_model"),
        (served.Reply(b"Not Found", 404), "bad_request: nothing answers there"),
        (served.Reply(b"<html>", headers={"content-type": "text/html"}), "is base_url right"),
    ],
)
def test_nothing_goes_on_if_the_first_request_is_hopeless(
    server: OpenAIServer, reply: served.Reply, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    server.script = lambda _: reply
    generator = OpenAI("gpt-x", server.base_url, api_key_env="MY_KEY", cache=False)
    with pytest.raises(ConfigError) as raised:
        generator.generate(request())
    for part in (kind, "gpt-x", server.base_url, "MY_KEY"):
        assert part in str(raised.value)
    assert "sk-secret" not in str(raised.value)


def test_settings_as_on_the_command_line() -> None:
    settings = "base_url='http://localhost:8000/v1',prices={input: 0.15, output: 0.60}"
    generator = registry.create("generator", f"openai:model=m,{settings}")
    assert generator.prices == {"input": 0.15, "output": 0.6}
    assert generator.estimated_cost(1000, 1_000_000) == pytest.approx(0.15 + 0.6 * 0.512)
    assert OpenAI("m").estimated_cost(1, 1) is None


def test_the_identity_holds_what_can_change_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    plain = OpenAI("m")
    other = OpenAI("m", concurrency=1, timeout=1, max_retries=1, cache=False)
    assert plain.config() == other.config()
    assert plain.config() != OpenAI("m", seed=1).config()
    assert plain.config() != OpenAI("m", extra={"top_p": 0.1}).config()
    assert plugin_identity(plain)[1] is None
    before = plain.config()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert OpenAI("m").config() != before
