"""Many requests at a time: none lost, none sent twice, bounded memory, nothing left behind."""

import logging
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openai")

from target_bench.core.errors import ConfigError, TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.schema import GenerationRequest, Message
from target_bench.generators.openai import OpenAI
from tests import openai_server as served
from tests.openai_server import OpenAIServer

pytestmark = pytest.mark.usefixtures("quick_retries")


class Listener(Observer):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warning(self, message: str) -> None:
        self.warnings.append(message)


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own."""
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))


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
        assert {r.query_id for r in generator.unanswered(requests(4))} == {"q0"}


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_an_interrupt_ends_it_at_once() -> None:
    with OpenAIServer(delay=30) as server:
        answers = OpenAI("m", server.base_url, cache=False).generate_many(requests(99), Observer())
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            next(answers)
        answers.close()  # type: ignore[attr-defined]  # it is a generator
        assert time.monotonic() - start < 20


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
    monkeypatch.setenv("MY_KEY", key)
    with OpenAIServer() as server:
        server.scripted["q0"] = [served.answer(f"it is {key}")]
        generator = OpenAI("m", server.base_url, api_key_env="MY_KEY")
        [answer] = generator.generate_many(requests(1), Observer())
    assert answer.text == text
