"""Two processes with one cache: a request is sent once, and a killed process holds nobody up."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.builders import ROOT
from tests.openai_server import OpenAIServer

pytest.importorskip("openai")

N = 24
ASK = f"""
import sys
from target_bench.core.observer import Observer
from target_bench.core.schema import GenerationRequest, Message
from target_bench.generators.openai import OpenAI

generator = OpenAI("m", sys.argv[1], concurrency=8)
texts = [f"q{{i}}" for i in range({N})]
requests = [GenerationRequest(q, "t", (Message("user", q),), "") for q in texts]
answers = {{a.query_id: a.text for a in generator.generate_many(requests, Observer())}}
assert answers == {{q: f"answer to {{q}}" for q in texts}}, answers
"""
EMBED = f"""
import sys
from target_bench.models.embedding_cache import encode_texts
from target_bench.models.encoders.openai import OpenAIEmbeddings

encoder = OpenAIEmbeddings("m", sys.argv[1], batch_size=4)
assert encode_texts(encoder, [f"q{{i}}" for i in range({N})], "table")[0].shape == ({N}, 8)
"""

Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(delay=0.2) as server:
        yield server


@pytest.fixture
def start(server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a program with the cache of the test."""
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    started: list[subprocess.Popen[str]] = []

    def begin(program: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", program, server.base_url]
        started.append(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def _finish(process: "subprocess.Popen[str]") -> None:
    _, error = process.communicate(timeout=60)
    assert process.returncode == 0, error


@pytest.mark.parametrize(("program", "n_requests"), [(ASK, N), (EMBED, N // 4)])
def test_no_request_is_sent_twice(
    program: str, n_requests: int, server: OpenAIServer, start: Start, tmp_path: Path
) -> None:
    for process in [start(program), start(program)]:
        _finish(process)
    assert len(server.requests) == n_requests
    assert set(server.asked.values()) == {1}
    assert not [*tmp_path.glob("cache/*.claims/*")], "claims are removed"


def test_the_claims_of_a_killed_process_are_released(server: OpenAIServer, start: Start) -> None:
    server.delay = 30.0
    first = start(ASK)
    deadline = time.monotonic() + 60
    while len(server.requests) < 8 and time.monotonic() < deadline:
        time.sleep(0.05)
    second = start(ASK)
    time.sleep(1.0)
    assert len(server.requests) == 8, "the second process waits for the first"
    server.delay = 0.0
    first.send_signal(signal.SIGKILL)
    _finish(second)
    assert len(server.requests) == 8 + N
