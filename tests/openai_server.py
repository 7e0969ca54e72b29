"""A small HTTP server that speaks the OpenAI API, with every fault that the real ones have.

Real sockets, standard library only. As a fixture: ``with OpenAIServer() as server``; as a program:
``python -m tests.openai_server --port 8000 --delay 0.05 --fault-rate 0.2``.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from threading import Thread
from typing import Any


@dataclass(frozen=True)
class Request:
    """What the server got.

    Attributes:
        path: without the query.
        content: of the last message, or the input of an embedding.
        body: the JSON object.
        key: of the Authorization header.
        time: when it came, on the monotonic clock.
    """

    path: str
    content: str
    body: Mapping[str, Any]
    key: str
    time: float


@dataclass(frozen=True)
class Reply:
    """What the server sends.

    Attributes:
        body: a JSON object, or bytes that are sent as they are.
        status: of HTTP.
        headers: further ones.
        delay: seconds before it is sent.
        cut: send half of the body, then close the connection.
    """

    body: Mapping[str, Any] | bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False


def answer(
    text: str | None,
    finish_reason: str = "stop",
    refusal: str | None = None,
    model: str = "m",
    **reply: Any,
) -> Reply:
    """An answer of a chat model."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}
    tokens = len(text or "") // 4 + 1
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
        "usage": {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens},
    }
    return Reply(body, **reply)


def error(status: int, message: str, code: str | None = None, **reply: Any) -> Reply:
    """An error, in the form of the API."""
    return Reply({"error": {"message": message, "code": code, "type": None}}, status, **reply)


def rate_limited(**headers: str) -> Reply:
    """A 429; ``retry_after="1"`` becomes the header ``retry-after``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error(429, "Rate limit reached", "rate_limit_exceeded", headers=named)


def overflow() -> Reply:
    """The error of a prompt that is too long."""
    message = "This model's maximum context length is 8192 tokens"
    return error(400, message, "context_length_exceeded")


def unknown_model() -> Reply:
    """The error of a model that does not exist."""
    return error(404, "The model `m` does not exist", "model_not_found")


def wrong_key(key: str) -> Reply:
    """The error of a wrong key, which it repeats, as some servers do."""
    return error(401, f"Incorrect API key provided: {key}", "invalid_api_key")


def cut() -> Reply:
    """An answer that ends in the middle of its body."""
    return answer("never seen whole", cut=True)


def broken_json() -> Reply:
    """A whole answer whose JSON is not."""
    return Reply(b'{"choices": [{"message": {"content": "half')


Script = Callable[[Request], Reply | None]
"""request -> what to send; None for the usual answer."""


class OpenAIServer:
    """The server, in a thread of its own.

    Args:
        port: 0 for any free one.
        delay: seconds before each usual answer.
        key: the key that is required, or None for any.
        fault_rate: the share of requests that fail at random: 429, 500 or a cut connection.
        seed: of the faults.
        brief: usual answers do not repeat what was asked.
    """

    def __init__(
        self,
        port: int = 0,
        delay: float = 0.0,
        key: str | None = None,
        fault_rate: float = 0.0,
        seed: int = 0,
        brief: bool = False,
    ) -> None:
        self.port = port
        self.delay = delay
        self.key = key
        self.fault_rate = fault_rate
        self.brief = brief
        self.script: Script | None = None
        self.scripted: dict[str, list[Reply]] = defaultdict(list)
        self.requests: list[Request] = []
        self.answered: Counter[str] = Counter()
        self.at_once = 0
        self.most_at_once = 0
        self._random = Random(seed)
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def asked(self) -> Counter[str]:
        """Content -> how many requests had it."""
        return Counter(request.content for request in self.requests)

    def __enter__(self) -> "OpenAIServer":
        self._thread.start()
        self._ready.result(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._ready.result().call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def wait(self) -> None:
        """Until the thread ends."""
        self._thread.join()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        server.close()
        for _ in range(3):  # a client that is cut off may have connected again in time
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(0.02)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._connection(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: writer.close())  # it may be cancelled before it begins

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length") or 0))
        path = head[0].split()[1].partition("?")[0]
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            reply, request = self._reply(path, headers, body)
            if reply.delay:
                await asyncio.sleep(reply.delay)
        finally:
            self.at_once -= 1
        if reply.status == 200 and not reply.cut:
            self.answered[request.content] += 1
        writer.write(_bytes(reply))
        await writer.drain()
        return not reply.cut

    def _reply(self, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[Reply, Request]:
        body = json.loads(raw) if raw else {}
        key = headers.get("authorization", "").removeprefix("Bearer ")
        request = Request(path, _content(body), body, key, time.monotonic())
        self.requests.append(request)
        if self.key is not None and key != self.key:
            return wrong_key(key), request
        if self.scripted[request.content]:
            return self.scripted[request.content].pop(0), request
        scripted = self.script(request) if self.script else None
        return scripted or self._fault() or self._usual(request), request

    def _fault(self) -> Reply | None:
        if self._random.random() >= self.fault_rate:
            return None
        faults = rate_limited(retry_after_ms="5"), error(500, "The server had an error"), cut()
        return self._random.choice(faults)

    def _usual(self, request: Request) -> Reply:
        if request.path == "/v1/chat/completions":
            asked = request.body.get("response_format") or {}
            text = "a brief answer" if self.brief else f"answer to {request.content}"
            if asked.get("type") == "json_schema":
                text = json.dumps({"answer": text})
            return answer(text, model=str(request.body.get("model")), delay=self.delay)
        if request.path == "/v1/embeddings":
            return Reply(embeddings(request.body), delay=self.delay)
        if request.path == "/v1/models":
            model = {"id": "m", "object": "model", "created": 1, "owned_by": "tests"}
            return Reply({"object": "list", "data": [model]})
        return Reply(b"Not Found", 404)


def _content(body: Mapping[str, Any]) -> str:
    if "messages" in body:
        return str(body["messages"][-1]["content"])
    return str(body.get("input", ""))


def vector(text: str) -> list[float]:
    """The vector of a text: 8 numbers that follow from it."""
    return [byte / 256 for byte in hashlib.sha256(text.encode()).digest()[:8]]


def _written(numbers: list[float], body: Mapping[str, Any]) -> list[float] | str:
    if body.get("encoding_format") != "base64":
        return numbers
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request for embeddings; each text counts as one token."""
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    data = [
        {
            "object": "embedding",
            "index": i,
            "embedding": _written(vector(str(text))[: body.get("dimensions")], body),
        }
        for i, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    return {"object": "list", "data": data, "model": body.get("model"), "usage": usage}


def _bytes(reply: Reply) -> bytes:
    raw = isinstance(reply.body, bytes)
    body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
    headers = {
        "content-type": "text/plain" if raw else "application/json",
        "content-length": str(len(body)),
        **reply.headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    start = f"HTTP/1.1 {reply.status} Status\r\n{head}\r\n".encode()
    return start + (body[: len(body) // 2] if reply.cut else body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--key")
    parser.add_argument("--fault-rate", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--brief", action="store_true")
    given = parser.parse_args()
    with OpenAIServer(**vars(given)) as server:
        print(server.base_url, flush=True)  # noqa: T201
        with suppress(KeyboardInterrupt):
            server.wait()


if __name__ == "__main__":
    main()
