"""An HTTP client for untrusted model servers: it limits time, bytes and hosts."""

import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from math import isfinite
from socket import SHUT_RDWR
from threading import Lock, local
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from target_bench.core.files import parse_json
from target_bench.models.remote.failures import Failure, Kind, classify_reply

if TYPE_CHECKING:
    import httpx

LONGEST_WAIT = 60.0
"""Seconds to wait for a server at most; if it asks for more, the run ends, to be continued."""


class RefusedReply(BaseException):  # the package ``openai`` retries after any Exception
    """A reply that is not read, and that a retry would not make better."""

    def __init__(self, kind: Kind, message: str, hopeless: bool = False) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message, hopeless=hopeless)


def make_http_client(timeout: float, sockets: "Sockets") -> "httpx.Client":
    """Make the client that the package ``openai`` sends requests with.

    Args:
        timeout: seconds to wait for a connection, or for more of a reply.
        sockets: watches and closes its connections.
    """
    import httpx
    import openai

    class Client(openai.DefaultHttpxClient):
        def send(self, request: httpx.Request, **settings: Any) -> httpx.Response:
            if self.is_closed:
                raise RefusedReply("connection", "closed; nothing more is sent")
            sockets.start_reply()
            request.extensions["trace"] = sockets.trace
            return super().send(request, **settings)

    hooks = [_refuse_redirect, _refuse_compression, _stop_futile_retries]
    return Client(
        timeout=timeout,
        headers={"accept-encoding": "identity"},
        event_hooks={"response": hooks},
    )


class Sockets:
    """The connections of a client: each reply has an end, and all are closed with the client.

    Args:
        total_timeout: seconds for a whole reply.
        max_bytes: of a reply.
    """

    # The timeouts of httpx are for one read, so a reply a byte at a time never times out. And
    # closing a client does not close a connection that a thread is just making.

    def __init__(self, total_timeout: float, max_bytes: int) -> None:
        self._total_timeout = total_timeout
        self._max_bytes = max_bytes
        self._reply = local()  # deadline and bytes of the one that the thread reads
        self._streams: WeakSet[Any] = WeakSet()
        self._is_closed = False
        self._lock = Lock()

    def start_reply(self) -> None:
        """Start to count seconds and bytes of the reply to a request of this thread."""
        self._reply.deadline = time.monotonic() + self._total_timeout
        self._reply.n_bytes = 0

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Watch a new connection; httpx calls this at each step of a request."""
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        stream = info["return_value"]
        stream.read = partial(self._read, stream.read)  # httpx offers no other way to its reads
        with self._lock:
            self._streams.add(stream)
            if self._is_closed:
                stream.close()

    def close(self) -> None:
        """Close all connections, and every later one as soon as it is made."""
        with self._lock:
            self._is_closed = True
            for stream in self._streams:
                with suppress(OSError):  # it is closed already; else a thread that reads wakes up
                    stream.get_extra_info("socket").shutdown(SHUT_RDWR)
                stream.close()

    def _read(self, read: Any, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._reply.deadline - time.monotonic()
        try:
            chunk: bytes = read(max_bytes, min(left, timeout or left)) if left > 0 else b""
        except Exception:
            if time.monotonic() < self._reply.deadline:
                raise
            left = 0.0
        if left <= 0:
            raise RefusedReply("timeout", f"no whole reply within {self._total_timeout:g} s")
        self._reply.n_bytes += len(chunk)
        if self._reply.n_bytes > self._max_bytes:
            limit = f"max_reply_bytes={self._max_bytes:,}"
            raise RefusedReply("server_error", f"the reply is longer than {limit}")
        return chunk


def _refuse_redirect(response: "httpx.Response") -> None:
    """Refuse redirects to another server, which would get the prompt; and those that drop it."""
    if not response.has_redirect_location:
        return
    url = response.request.url
    to = url.join(response.headers["location"])
    to_https = (url.scheme, to.scheme, to.port, url.port) == ("http", "https", None, None)
    if url.host != to.host or not (to_https or (url.scheme, url.port) == (to.scheme, to.port)):
        message = (
            f"the server redirects to {to.scheme}://{to.netloc.decode('ascii', 'replace')}, "
            "another host, port or protocol, to which nothing was sent; if it is right, name it as "
            "base_url"
        )
    elif response.status_code in (301, 302, 303):  # followed without the request's body
        message = (
            f"the server redirects to {to.path} with HTTP {response.status_code}, which drops "
            "the request; name the address that it redirects to as base_url"
        )
    else:
        return
    raise RefusedReply("server_error", message, hopeless=True)


def _refuse_compression(response: "httpx.Response") -> None:
    # A few bytes of a compressed reply may stand for gigabytes.
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        problem = "the reply is compressed, though the request accepts none"
        raise RefusedReply("server_error", problem)


def _stop_futile_retries(response: "httpx.Response") -> None:
    """Tell the package ``openai`` not to retry what is hopeless or would wait for long."""
    if response.status_code != 429 and response.status_code < 500:
        return
    try:
        body = parse_json(response.read())
    except ValueError:
        body = response.text
    seconds = read_retry_after(response.headers) or 0
    if classify_reply(response.status_code, body).hopeless or seconds > LONGEST_WAIT:
        response.headers["x-should-retry"] = "false"


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait; None if it does not, or cannot be read."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            seconds = float(headers[name]) * unit
            if isfinite(seconds):
                return max(0.0, seconds)
    with suppress(KeyError, ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    return None
