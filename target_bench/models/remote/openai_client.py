"""The client of a model behind the OpenAI API, for text and vectors; its package tries again."""

import importlib.util
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from math import inf, isfinite
from socket import SHUT_RDWR
from threading import Event, Lock, Thread, local
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit
from weakref import WeakSet

from target_bench.core.credentials import is_secret, looks_secret, note_secrets, without_secrets
from target_bench.core.errors import ConfigError, MissingExtraError, PluginError, check_at_least_one
from target_bench.core.files import parse_json
from target_bench.models.remote.failures import (
    Failure,
    Kind,
    error_with_status_200,
    failure_of,
    refused,
)

if TYPE_CHECKING:
    import httpx
    from openai import OpenAI

HOME = "https://api.openai.com/v1"
LONGEST_WAIT = 60.0
"""Seconds that the package waits for a server at most; more end the run, to be continued later."""

_NO_KEY = "no-key"
_LONGEST_NAME = 100  # characters of a model that a server names
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Send = Callable[..., tuple[dict[str, Any], float]]
"""(body, schema=False) -> the JSON object that came, and seconds without waits; in any thread.

``schema`` is whether a JSON schema is among the parameters. Rate limits, timeouts, lost connections
and errors of the server are tried again. It raises ``Failure`` where there is no answer,
``ConfigError`` where no request will ever have one (key, model or address are wrong and none had
one so far, or the account has no credit), and ``PluginError`` where the server asks to wait for
long.
"""


class ServerSettings(Protocol):
    """The settings of a plug-in that asks a model behind the OpenAI API."""

    model: str
    base_url: str | None  # None for $OPENAI_BASE_URL, else OpenAI's own
    api_key_env: str  # the name of the variable that holds the key
    timeout: float  # seconds to wait for a connection, or for more of an answer
    total_timeout: float  # seconds for a whole reply
    max_reply_bytes: int
    max_retries: int
    concurrency: int
    prices: Mapping[str, float] | None  # per million tokens
    extra: Mapping[str, Any] | None  # further parameters of a request


class ModelServer:
    """A model behind the OpenAI API: where it is, and how it is asked; never the key itself.

    Args:
        settings: of who asks.
        needed_for: who asks, for the message when the package is missing.
        own: parameters of a request that have settings of their own.
        priced: what has a price.

    Raises:
        ConfigError: a setting is invalid.
        MissingExtraError: the package ``openai`` is missing.
    """

    def __init__(
        self,
        settings: ServerSettings,
        needed_for: str,
        own: Collection[str],
        priced: Collection[str],
    ) -> None:
        if importlib.util.find_spec("openai") is None:
            raise MissingExtraError("openai", "openai", needed_for)
        if not settings.model:
            raise ConfigError("model: the name of a model is needed")
        variable = settings.api_key_env
        if not _VARIABLE.fullmatch(variable) or looks_secret(variable):
            raise ConfigError(
                "api_key_env is the name of the environment variable that holds the key, as in "
                "api_key_env=OPENAI_API_KEY, and never the key itself"
            )
        if not settings.timeout > 0:
            raise ConfigError(f"timeout={settings.timeout}: expected a number of seconds above 0")
        if not settings.total_timeout > 0:
            raise ConfigError(
                f"total_timeout={settings.total_timeout}: expected a number of seconds above 0"
            )
        if settings.max_retries < 0:
            raise ConfigError(f"max_retries={settings.max_retries}: at least 0 is needed")
        check_at_least_one(
            concurrency=settings.concurrency, max_reply_bytes=settings.max_reply_bytes
        )
        self.settings = settings
        _check_address(settings.base_url, self.address)
        _check_prices(settings.prices, priced)
        _check_extra(settings.extra, own)
        self.paid = settings.prices is not None or not is_local(self.address)
        self._reached = False  # whether it has ever accepted a request
        self.other_models: Counter[str] = Counter()  # that replies name

    @property
    def address(self) -> str:
        """The address that requests are sent to."""
        address = (self.settings.base_url or "").strip() or os.environ.get(
            "OPENAI_BASE_URL", ""
        ).strip()
        return (address or HOME).rstrip("/")

    def notes_on_models(self) -> list[str]:
        """Return which other models the replies named."""
        return [
            f"{self.address} names the model {name!r} in its replies ({n:,}), and "
            f"{self.settings.model!r} was asked"
            for name, n in self.other_models.most_common()
        ]

    @contextmanager
    def connected(self, path: str) -> Iterator[Send]:
        """Return what sends requests within a ``with`` block; afterwards nothing is sent again.

        The key is read, and the client made, when the first request is sent.

        Args:
            path: as in ``/embeddings``.
        """
        clients: list[OpenAI] = []
        sockets = _Sockets()
        lock = Lock()

        def send(body: Mapping[str, Any], schema: bool = False) -> tuple[dict[str, Any], float]:
            with lock:
                if not clients:
                    clients.append(self._client(sockets))
            try:
                response = self._post(clients[0], path, dict(body))
                answer = _object(response)
                failure = error_with_status_200(answer)
                if failure is not None:
                    raise failure
            except Exception as error:
                raise self._final(error, schema) from None
            self._reached = True
            named = answer.get("model")
            if isinstance(named, str) and not _is_same_model(named, self.settings.model):
                self.other_models[without_secrets(named)[:_LONGEST_NAME]] += 1
            return answer, round(response.elapsed.total_seconds(), 6)

        try:
            yield send
        finally:
            with lock:
                for client in clients:
                    client.close()
            sockets.close()

    def _post(self, client: "OpenAI", path: str, body: dict[str, Any]) -> "httpx.Response":
        """Send a request, in a thread that is given up when one reply takes too long.

        A read timeout alone does not end a reply that comes a byte at a time.
        """
        import httpx

        attempt = _Attempt(self.settings.total_timeout)

        def post() -> None:
            _here.attempt = attempt
            try:
                # the typed methods walk through the whole body and every answer, which takes as
                # long as all the rest; and they make text of an answer that is not JSON
                attempt.response = client.post(path, cast_to=httpx.Response, body=body)
            except BaseException as error:
                attempt.error = error
            finally:
                attempt.done.set()

        Thread(target=post, name="target-bench-reply", daemon=True).start()
        while not attempt.done.wait(attempt.seconds_left()):
            if attempt.is_overdue():
                raise Failure("timeout", f"no whole reply within {attempt.total:g} s")
        if isinstance(attempt.error, _RefusedReply):
            raise attempt.error.failure
        if attempt.error is not None:
            raise attempt.error
        assert attempt.response is not None
        return attempt.response

    def _client(self, sockets: "_Sockets") -> "OpenAI":
        import httpx
        import openai

        class Client(openai.DefaultHttpxClient):
            """Tells the waiting thread when a request is sent and when its reply is read."""

            def send(self, request: httpx.Request, **settings: Any) -> httpx.Response:
                if self.is_closed:
                    raise _RefusedReply("connection", "closed; nothing more is sent")
                attempt: _Attempt = _here.attempt
                attempt.begin()
                request.extensions["trace"] = sockets.trace
                try:
                    return super().send(request, **settings)
                finally:
                    attempt.end()

        class LimitedStream(httpx.SyncByteStream):
            """A body that is read up to a number of bytes."""

            def __init__(self, stream: Any, most: int) -> None:
                self._stream, self._most = stream, most

            def __iter__(self) -> Iterator[bytes]:
                n = 0
                for part in self._stream:
                    n += len(part)
                    if n > self._most:
                        raise _RefusedReply(
                            "server_error",
                            f"the reply is longer than max_reply_bytes={self._most:,}",
                        )
                    yield part

            def close(self) -> None:
                self._stream.close()

        def limit(response: httpx.Response) -> None:
            # A few compressed bytes may stand for gigabytes.
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise _RefusedReply("server_error", "the reply is compressed, unasked")
            response.stream = LimitedStream(response.stream, self.settings.max_reply_bytes)

        key, timeout = self._key(), self.settings.timeout
        if key != _NO_KEY:
            note_secrets(key, "api_key")  # a server may repeat it
        return openai.OpenAI(
            api_key=key,
            base_url=self.address,
            timeout=timeout,
            max_retries=self.settings.max_retries,
            http_client=Client(
                timeout=timeout,
                headers={"accept-encoding": "identity"},
                event_hooks={"response": [_refuse_redirect, limit, _keep_from_trying_in_vain]},
            ),
            default_headers={"accept-encoding": "identity"},
        )

    def _key(self) -> str:
        """Return the key; a placeholder for a server of the user's that may need none.

        Raises:
            ConfigError: OpenAI itself is asked, and the variable is not set; or it holds no key.
        """
        variable = self.settings.api_key_env
        key = os.environ.get(variable, "").strip()
        if not key and self.settings.base_url is None:
            raise ConfigError(
                f"no API key: set the environment variable {variable}, name another with "
                "api_key_env=NAME, or name a server that needs none with base_url=ADDRESS"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(
                f"the key in ${variable} holds a line break, a space or another character "
                "that no key has; set the variable to the key alone"
            )
        return key or _NO_KEY

    def _final(self, error: Exception, schema: bool) -> Exception:
        """Return what is raised for an error of the package."""
        failure = failure_of(error, schema)
        if failure is None:
            failure = Failure("bad_request", f"{type(error).__name__}: {error}")
        has_words = isinstance(error, Failure) or getattr(error, "status_code", None) is not None
        if failure.kind == "timeout" and not has_words:
            failure = Failure("timeout", f"no answer within {self.settings.timeout:g} s")
        response = getattr(error, "response", None)
        seconds = None if response is None else retry_after(response.headers)
        if seconds is not None and seconds > LONGEST_WAIT:
            return PluginError(
                without_secrets(
                    f"{failure}. The server asks to wait {seconds:.0f} s; the answers so far are "
                    "kept, run the same command again then."
                )
            )
        if failure.hopeless and (not self._reached or failure.kind == "rate_limit"):
            return ConfigError(without_secrets(f"{failure}. {self._advice(failure)}"))
        if not failure.hopeless and failure.kind not in ("rate_limit", "server_error", "timeout"):
            self._reached = True
        return failure

    def _advice(self, failure: Failure) -> str:
        """Return the advice for an error that no further request can avoid."""
        variable = self.settings.api_key_env
        if failure.kind == "rate_limit":
            return (
                f"The account behind the key in ${variable} at {self.address} has no credit; the "
                "answers so far are kept, and the same command continues when there is credit."
            )
        asked = f"Asked was the model {self.settings.model!r} at {self.address}"
        if failure.kind == "unsupported_schema":
            return (
                f"{asked}. In fact verification and text-to-SQL, --free-text (structured=False) "
                "asks without a JSON schema."
            )
        key = "set" if os.environ.get(variable) else "not set"
        return (
            f"{asked} with the key in ${variable} (which is {key}); change model, base_url or "
            "api_key_env, or fix the key."
        )


def _is_same_model(named: str, asked: str) -> bool:
    """Return whether names may be of one model: ``gpt-4o`` is ``gpt-4o-2024-08-06``."""
    short = [name.rpartition("/")[2].lower() for name in (named, asked)]
    return not named or short[0].startswith(short[1]) or short[1].startswith(short[0])


_here = local()
"""``attempt``: the one that the thread makes."""


class _Attempt:
    """A request with its retries, and by when the reply under way has to be read."""

    def __init__(self, total: float) -> None:
        self.total = total
        self.done = Event()
        self.response: httpx.Response | None = None
        self.error: BaseException | None = None
        self._deadline = inf

    def begin(self) -> None:
        self._deadline = time.monotonic() + self.total

    def end(self) -> None:
        self._deadline = inf

    def seconds_left(self) -> float:
        """Return how long to wait, a second at most: another reply may be under way then."""
        return min(1.0, max(0.0, self._deadline - time.monotonic()))

    def is_overdue(self) -> bool:
        return time.monotonic() >= self._deadline


class _Sockets:
    """The sockets of a client, closed whatever its threads are doing.

    The client closes idle and busy ones, but none that is being connected while it is closed.
    """

    def __init__(self) -> None:
        self._streams: WeakSet[Any] = WeakSet()
        self._is_closed = False
        self._lock = Lock()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Record a connection that was made; the client calls this at each step of a request."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            with self._lock:
                self._streams.add(info["return_value"])
                if self._is_closed:
                    info["return_value"].close()

    def close(self) -> None:
        """Close them all, and each that is made afterwards."""
        with self._lock:
            self._is_closed = True
            for stream in self._streams:
                with suppress(OSError):  # it is closed already; else who reads from it wakes up
                    stream.get_extra_info("socket").shutdown(SHUT_RDWR)
                stream.close()


class _RefusedReply(BaseException):  # the package tries again after any Exception
    """A reply that is not read, and that no further request would make better."""

    def __init__(self, kind: Kind, message: str, hopeless: bool = False) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message, hopeless=hopeless)


def _refuse_redirect(response: "httpx.Response") -> None:
    """Refuse redirects to another host, which would get the prompt; and those that drop it."""
    if not response.has_redirect_location:
        return
    asked = response.request.url
    place = asked.join(response.headers["location"])
    secure = asked.scheme == "http" and (place.scheme, place.port, asked.port) == (
        "https",
        None,
        None,
    )
    is_same = (asked.scheme, asked.port) == (place.scheme, place.port) or secure
    if asked.host != place.host or not is_same:
        raise _RefusedReply(
            "server_error",
            f"the server redirects to {place.scheme}://{place.netloc.decode('ascii', 'replace')}, "
            "another host, to which nothing was sent; if it is the right one, name it as base_url",
            hopeless=True,
        )
    if response.status_code in (301, 302, 303):  # followed without the request's body
        raise _RefusedReply(
            "server_error",
            f"the server redirects to {place.path} with HTTP {response.status_code}, which drops "
            "the request; name the address that it redirects to as base_url",
            hopeless=True,
        )


def _keep_from_trying_in_vain(response: "httpx.Response") -> None:
    """Tell the package not to send a request again that is hopeless, or would wait for long."""
    if response.status_code != 429 and response.status_code < 500:
        return
    try:
        body = parse_json(response.read())
    except ValueError:
        body = response.text
    seconds = retry_after(response.headers) or 0
    if refused(response.status_code, body).hopeless or seconds > LONGEST_WAIT:
        response.headers["x-should-retry"] = "false"


def _object(response: "httpx.Response") -> dict[str, Any]:
    """Return the JSON object of an answer.

    Raises:
        Failure: it is something else.
    """
    try:
        body = parse_json(response.content)
    except ValueError:
        is_html = "html" in response.headers.get("content-type", "")
        if is_html or response.content.lstrip().startswith(b"<"):
            page = "the answer is a web page: is base_url right?"
            raise Failure("server_error", page, hopeless=True) from None
        raise Failure("server_error", "the answer is no JSON") from None
    if not isinstance(body, dict):
        raise Failure("server_error", "the answer is not a JSON object")
    return body


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait; None if it does not, or unreadably."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            seconds = float(headers[name]) * unit
            if isfinite(seconds):
                return max(0.0, seconds)
    with suppress(KeyError, ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    return None


def is_local(address: str | None) -> bool:
    """Return whether an address is of this machine, whose servers nobody is paid for."""
    try:
        host = urlsplit(address or "").hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        number = ip_address(host)
    except ValueError:  # a name, or no address at all: what asks it says so
        return False
    return number.is_loopback or number.is_unspecified  # 0.0.0.0, as some servers call themselves


def _check_address(base_url: str | None, address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"base_url={base_url}: expected an address as in {HOME} or http://localhost:8000/v1"
        )
    try:
        _ = parts.port
    except ValueError:
        raise ConfigError(f"base_url={base_url}: expected a port from 0 to 65535") from None
    if "@" in parts.netloc or parts.query:
        raise ConfigError("base_url: put no user, password or key into the address")


def _check_prices(prices: Mapping[str, float] | None, priced: Collection[str]) -> None:
    if prices is not None and (
        set(prices) != set(priced) or not all(0 <= price < inf for price in prices.values())
    ):
        example = ", ".join(f"{name}: 0.15" for name in priced)
        raise ConfigError(
            f"prices: expected the price of a million tokens of each of {' and '.join(priced)}, as "
            f"in {{{example}}}"
        )


def _check_extra(extra: Mapping[str, Any] | None, own: Collection[str]) -> None:
    for name in extra or ():
        if name in own:
            raise ConfigError(f"extra: {name} is not a further parameter of a request")
        if is_secret(name):
            raise ConfigError(f"extra: {name}: keys come from the environment (api_key_env) only")
