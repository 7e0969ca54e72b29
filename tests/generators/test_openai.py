"""What is sent, what becomes of every kind of answer, and many requests at a time.

None is lost, none sent twice, and no key is left anywhere.
"""

import json
import logging
import os
import signal
import socket
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from email.utils import formatdate
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError, TargetBenchError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.generators.openai import OpenAI
from tests import openai_server as served
from tests.openai_server import OpenAIServer

pytest.importorskip("openai")

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


def test_what_waits_when_the_connection_is_closed_is_not_sent(server: OpenAIServer) -> None:
    server.script = lambda _: served.rate_limited(retry_after="1")
    generator = OpenAI("m", server.base_url, cache=False, max_retries=1)
    errors: list[Exception] = []

    def send() -> None:
        try:
            ask_server(request())
        except Exception as error:
            errors.append(error)

    with generator.connect() as ask_server:
        waiting = threading.Thread(target=send)
        waiting.start()
        while not server.requests:
            sleep(0.01)
        sleep(0.1)
    waiting.join()
    assert len(server.requests) == 1
    assert len(errors) == 1


def test_no_socket_is_left_open_when_a_connection_is_made_too_late(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connecting, closed = threading.Event(), threading.Event()
    made: list[socket.socket] = []
    create_connection = socket.create_connection

    def late(*args: Any, **settings: Any) -> socket.socket:
        connecting.set()
        closed.wait(30)
        made.append(create_connection(*args, **settings))
        return made[0]

    monkeypatch.setattr(socket, "create_connection", late)
    with OpenAI("m", server.base_url, cache=False).connect() as ask_server:

        def ask_in_vain() -> None:
            with suppress(Exception):
                ask_server(request())

        asking = threading.Thread(target=ask_in_vain)
        asking.start()
        assert connecting.wait(30)
    closed.set()
    asking.join(30)
    assert [connection.fileno() for connection in made] == [-1]
    assert not server.requests


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


def test_a_lone_surrogate_is_sent_as_a_question_mark(server: OpenAIServer) -> None:
    answer = OpenAI("m", server.base_url).generate(request("half a \ud83d"))
    assert (answer.text, answer.error) == ("answer to half a ?", None)


def test_a_request_that_was_never_sent_shows_nothing_of_the_server(server: OpenAIServer) -> None:
    """A lone surrogate, as in a label of a schema, cannot be sent."""
    generator = OpenAI("m", server.base_url, cache=False)
    answer = generator.generate(request(schema={"enum": ["half a \ud83d"]}))
    assert (answer.error or "").startswith("bad_request: UnicodeEncodeError")
    assert not server.requests
    server.script = lambda _: served.wrong_key("sk-secret")
    with pytest.raises(ConfigError, match="authentication"):
        generator.generate(request())


def test_settings_as_on_the_command_line() -> None:
    settings = "base_url='http://localhost:8000/v1',prices={input: 0.15, output: 0.60}"
    generator = registry.create("generator", f"openai:model=m,{settings}")
    assert generator.prices == {"input": 0.15, "output": 0.6}
    assert generator.estimate_cost(1000, 1_000_000) == pytest.approx(0.15 + 0.6 * 0.512)
    assert OpenAI("m").estimate_cost(1, 1) is None


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


class Listener(Observer):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warning(self, message: str) -> None:
        self.warnings.append(message)


def requests(n: int, prefix: str = "q") -> Iterator[GenerationRequest]:
    for i in range(n):
        text = f"{prefix}{i}"
        yield GenerationRequest(text, "qa", (Message("user", text),), text)


KINDS = ("rate_limit: ", "server_error: ", "connection: ")


def test_random_faults_lose_nothing_and_send_no_answered_request_again() -> None:
    with OpenAIServer(fault_rate=0.2, seed=3) as server:
        first = list(OpenAI("m", server.base_url).generate_many(requests(300), Observer()))
        assert Counter(g.query_id for g in first) == Counter(r.query_id for r in requests(300))
        answered = {g.query_id for g in first if g.error is None}
        for generation in first:
            if generation.error is None:
                assert generation.text == f"answer to {generation.query_id}"
            else:
                assert generation.error.startswith(KINDS)
        assert len(answered) > 295
        assert server.answered == Counter(answered)
        assert len(server.requests) > 330
        assert server.most_at_once <= 32
        server.requests.clear()
        again = list(OpenAI("m", server.base_url).generate_many(requests(300), Observer()))
        assert {g.query_id for g in again if g.cached} == answered
        assert not server.asked.keys() & answered


def test_what_is_recorded_needs_neither_server_nor_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        prices = {"input": 1.0, "output": 1.0}
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        [first] = OpenAI("m", prices=prices).generate_many(requests(1), Observer())
    monkeypatch.delenv("OPENAI_API_KEY")
    [again] = OpenAI("m", prices=prices).generate_many(requests(1), Observer())
    assert again.cached
    assert (again.text, again.cost) == (first.text, first.cost)
    with pytest.raises(ConfigError, match="no API key"):
        list(OpenAI("m", seed=1).generate_many(requests(1), Observer()))


def test_the_same_request_is_sent_once_even_at_the_same_time() -> None:
    twenty = [
        GenerationRequest(str(i), "qa", (Message("user", "same"),), "same") for i in range(20)
    ]
    with OpenAIServer(delay=0.05) as server:
        answers = list(OpenAI("m", server.base_url).generate_many(twenty, Observer()))
        assert len(server.requests) == 1
    assert sorted(g.cached for g in answers) == [False] + [True] * 19
    assert {g.query_id for g in answers} == {str(i) for i in range(20)}


def test_no_more_is_drawn_than_is_under_way() -> None:
    drawn = 0

    def counted() -> Iterator[GenerationRequest]:
        nonlocal drawn
        for request in requests(500):
            drawn += 1
            yield request

    with OpenAIServer() as server:
        generator = OpenAI("m", server.base_url, concurrency=8, cache=False)
        for given, _ in enumerate(generator.generate_many(counted(), Observer())):
            assert drawn - given <= 8
    assert drawn == 500
    assert server.most_at_once <= 8


def test_what_is_under_way_when_an_error_ends_it_is_kept() -> None:
    """Those answers are paid for: the next run does not send their requests again."""
    with OpenAIServer(delay=0.5) as server:
        server.scripted["q0"] = [served.rate_limited(retry_after="3600")]
        generator = OpenAI("m", server.base_url, concurrency=4)
        with pytest.raises(TargetBenchError, match="answers so far"):
            list(generator.generate_many(requests(4), Observer()))
        assert {r.query_id for r in generator.find_unanswered(requests(4))} == {"q0"}


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_an_interrupt_ends_it_at_once() -> None:
    with OpenAIServer(delay=30) as server:
        answers = OpenAI("m", server.base_url, cache=False).generate_many(requests(99), Observer())
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = monotonic()
        with pytest.raises(KeyboardInterrupt):
            next(answers)
        answers.close()  # type: ignore[attr-defined]  # it is a generator
        assert monotonic() - start < 20


def test_the_key_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("MY_KEY", secret)
    caplog.set_level(logging.DEBUG)
    with OpenAIServer() as server, warnings.catch_warnings(record=True) as caught:
        for text in ("q3", "q4"):
            server.scripted[text] = [served.wrong_key(secret)]
        server.scripted["q5"] = [served.error(500, f"key {secret}")] * 9
        server.scripted["q6"] = [served.rate_limited(), served.answer(None, refusal=secret)]
        generator = OpenAI("m", server.base_url, api_key_env="MY_KEY")
        listener = Listener()
        list(generator.generate_many(requests(1), listener))
        answers = list(generator.generate_many(requests(10), listener))
        assert all(request.key == secret for request in server.requests)
    shown = [repr(answers), repr(generator), repr(vars(generator)), str(generator.config())]
    shown += [caplog.text, str([str(w.message) for w in caught])]
    assert sum("***" in (g.error or "") for g in answers) == 4
    assert not any(secret in text for text in shown)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(secret.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("sk-short-12345", "it is ***"),
        ("a-long-key-with-letters-only", "it is ***"),
        ("lm-studio", "it is lm-studio"),
        ("k1", "it is k1"),
    ],
)
def test_a_key_that_is_not_a_placeholder_is_taken_out_of_an_answer(
    key: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_LAB", key)  # no name of a secret
    with OpenAIServer() as server:
        server.scripted["q0"] = [served.answer(f"it is {key}")]
        generator = OpenAI("m", server.base_url, api_key_env="OF_THE_LAB")
        [answer] = generator.generate_many(requests(1), Observer())
    assert answer.text == text
