"""Servers that redirect, never end a reply, repeat the key, or have another model."""

import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.contract import Generator
from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest, Message
from tests.builders import Recorder
from tests.openai_server import OpenAIServer, Reply, answer

pytest.importorskip("openai")

from target_bench.generators.openai import OpenAI
from target_bench.models.encoders.openai import OpenAIEmbeddings

KEY = "key-verysecret-0123456789"
Serve = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


def _ask(generator: Generator, observer: Observer | None = None) -> Generation:
    request = GenerationRequest("q", "qa", (Message("user", "the prompt"),), "the prompt")
    [answered] = generator.generate_many([request], observer or Observer())
    return answered


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("where", ["127.0.0.1", "localhost"])  # another port, another name
def test_a_redirect_to_another_host_or_port_is_refused(
    status: int, where: str, server: OpenAIServer
) -> None:
    with OpenAIServer() as other:
        place = other.base_url.replace("127.0.0.1", where)
        server.script = lambda _: Reply({}, status, {"location": f"{place}/chat/completions"})
        with pytest.raises(
            ConfigError,
            match=r"redirects to .*another host, port or protocol, to which nothing was",
        ):
            _ask(OpenAI("m", server.base_url))
        assert other.requests == []
        assert len(server.requests) == 1, "refused ones are not tried again"


def test_a_redirect_on_the_same_host_keeps_the_request_or_is_refused(server: OpenAIServer) -> None:
    to = {"location": "/v1/chat/completions"}
    moved = server.base_url.replace("/v1", "/old")
    server.script = lambda request: Reply({}, 307, to) if request.path.startswith("/old") else None
    assert _ask(OpenAI("m", moved)).text == "answer to the prompt"
    server.script = lambda request: Reply({}, 302, to) if request.path.startswith("/old") else None
    with pytest.raises(ConfigError, match="HTTP 302, which drops the request"):
        _ask(OpenAI("m", moved, seed=1))


def _drip_body(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"1\r\n \r\n")
        time.sleep(0.1)


def _drip_headers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-a: b\r\n")
        time.sleep(0.1)


def _flood(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def _compress(connection: socket.socket) -> None:
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = b"".join(packed.compress(b" " * (1 << 20)) for _ in range(4)) + packed.flush()
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


@pytest.fixture
def raw_server() -> Iterator[Callable[[Serve], str]]:
    """Starts a server that hands each connection to a function; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    served: list[socket.socket] = []

    def start(serve: Serve) -> str:
        def answer_one(connection: socket.socket) -> None:
            try:
                connection.recv(100_000)
                serve(connection)
            except OSError:
                pass

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                served.append(connection)
                threading.Thread(target=answer_one, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"

    yield start
    listener.close()
    for connection in served:
        connection.close()


@pytest.mark.parametrize(
    ("serve", "error"),
    [
        (_drip_body, "timeout: no whole reply within 1 s"),
        (_drip_headers, "timeout: no whole reply within 1 s"),
        (_flood, "server_error: the reply is longer than max_reply_bytes=1,000,000"),
        (_compress, "server_error: the reply is compressed, though the request accepts none"),
    ],
)
def test_a_reply_that_never_ends_fails(
    serve: Serve, error: str, raw_server: Callable[[Serve], str]
) -> None:
    start = time.monotonic()
    limits: dict[str, Any] = {"total_timeout": 1.0, "max_reply_bytes": 1_000_000}
    failed = _ask(OpenAI("m", raw_server(serve), **limits))
    assert failed.error == error
    assert time.monotonic() - start < 10


def test_waits_between_retries_are_no_part_of_a_reply(server: OpenAIServer) -> None:
    limited = Reply({"error": {"message": "slow down"}}, 429, {"retry-after": "2"})
    server.scripted["the prompt"] = [limited]
    assert _ask(OpenAI("m", server.base_url, total_timeout=1.0)).text == "answer to the prompt"


def test_the_key_is_masked_in_every_field(server: OpenAIServer, tmp_path: Path) -> None:
    server.script = lambda _: answer(f"the key is {KEY}", f"{KEY}{'x' * 1000}", model=KEY)
    recorder = Recorder()
    answered = _ask(OpenAI("m", server.base_url), recorder)
    assert answered.finish_reason is not None
    assert answered.finish_reason.startswith("***")
    assert len(answered.finish_reason) == 100
    assert KEY not in f"{answered} {recorder.warnings}"
    for path in (tmp_path / "cache").rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    ("asked", "named", "noted"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", False),
        ("openai/gpt-4o", "GPT-4o", False),
        ("m", "gpt-evil", True),
        ("gpt-4o", "gpt-3.5-turbo", True),
    ],
)
def test_a_reply_that_names_another_model_is_noted(
    asked: str, named: str, noted: bool, server: OpenAIServer
) -> None:
    server.script = lambda _: answer("yes", model=named)
    recorder = Recorder()
    assert _ask(OpenAI(asked, server.base_url), recorder).text == "yes"
    note = (
        f"{server.base_url} names the model '{named}' in its replies (1), and '{asked}' was asked"
    )
    assert recorder.warnings == [note] * noted


def test_an_encoder_notes_another_model_too(server: OpenAIServer) -> None:
    encoder = OpenAIEmbeddings("m", server.base_url)
    assert not any("names the model" in note for note in encoder.notes())
    data = [{"index": 0, "embedding": [1.0, 2.0]}]
    server.script = lambda _: Reply({"data": data, "model": "other"})
    encoder.encode(["a text"], "query")
    assert "names the model 'other' in its replies (1), and 'm' was asked" in encoder.notes()[0]
