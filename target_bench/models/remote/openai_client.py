"""The client of a model behind the OpenAI API, for text and vectors; its package tries again.

``ModelServer`` holds the settings, checked; ``Connection`` sends requests, from any thread.
"""

import importlib.util
import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cache
from ipaddress import ip_address
from math import inf, isfinite
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from target_bench.core.credentials import is_secret, looks_secret, may_be_a_word
from target_bench.core.errors import ConfigError, MissingExtraError, PluginError
from target_bench.core.files import parse_json
from target_bench.models.remote.failures import (
    Failure,
    error_with_status_200,
    failure_of,
    refused,
)

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx
    from openai import OpenAI

HOME = "https://api.openai.com/v1"
LONGEST_WAIT = 60.0
"""Seconds that the package waits for a server at most; more end the run, to be continued later."""

_NO_KEY = "no-key"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORTH_TELLING = 1.0  # seconds

Tell = Callable[[str, float], object]
"""(reason, seconds): is called, in any thread, when a server asks to wait."""


class ServerSettings(Protocol):
    """The settings of a plug-in that asks a model behind the OpenAI API."""

    model: str
    base_url: str | None  # None for $OPENAI_BASE_URL, else OpenAI's own
    api_key_env: str  # the name of the variable that holds the key
    timeout: float  # seconds to wait for a connection, or for more of an answer
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
        if settings.max_retries < 0:
            raise ConfigError(f"max_retries={settings.max_retries}: at least 0 is needed")
        check_at_least_one(concurrency=settings.concurrency)
        self.settings = settings
        self._model, self._variable = settings.model, settings.api_key_env
        _check_address(settings.base_url, self.address)
        _check_prices(settings.prices, priced)
        _check_extra(settings.extra, own)
        self.paid = settings.prices is not None or not is_local(self.address)
        self.reached = False  # whether it has ever accepted a request

    @property
    def address(self) -> str:
        """The address that requests are sent to."""
        address = (self.settings.base_url or "").strip() or os.environ.get(
            "OPENAI_BASE_URL", ""
        ).strip()
        return (address or HOME).rstrip("/")

    def key(self) -> str:
        """Return the key; a placeholder for a server of the user's that may need none.

        Raises:
            ConfigError: OpenAI itself is asked, and the variable is not set.
        """
        key = os.environ.get(self._variable, "").strip()
        if not key and self.settings.base_url is None:
            raise ConfigError(
                f"no API key: set the environment variable {self._variable}, name another with "
                "api_key_env=NAME, or name a server that needs none with base_url=ADDRESS"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(
                f"the key in ${self._variable} holds a line break, a space or another character "
                "that no key has; set the variable to the key alone"
            )
        return key or _NO_KEY

    def advice(self, failure: Failure) -> str:
        """Return the advice for an error that no further request can avoid."""
        if failure.kind == "rate_limit":
            return (
                f"{failure}. The account behind the key in ${self._variable} at {self.address} "
                "has no credit; the answers so far are kept, and the same command continues when "
                "there is credit."
            )
        if failure.kind == "unsupported_schema":
            return (
                f"{failure}. Asked was the model {self._model!r} at {self.address}. In fact "
                "verification and text-to-SQL, --free-text (structured=False) asks without a JSON "
                "schema."
            )
        key = "set" if os.environ.get(self._variable) else "not set"
        return (
            f"{failure}. Asked was the model {self._model!r} at {self.address} with the key in "
            f"${self._variable} (which is {key}); change model, base_url or api_key_env, or "
            "fix the key."
        )


class Connection:
    """A client for one path of a server, made when the first request is sent.

    The package sends a request again after rate limits, timeouts, lost connections and errors of
    the server, and waits as a ``Retry-After`` header says. While it waits, no thread sends
    anything.

    Args:
        server: where requests go.
        path: as in ``/embeddings``.
        tell: is called when the server asks to wait.
    """

    def __init__(self, server: ModelServer, path: str, tell: Tell) -> None:
        self._server = server
        self._path = path
        self._tell = tell
        self._paused_until = -inf
        self._lock = Lock()
        self._key = _NO_KEY
        self._client: OpenAI | None = None

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        """Close the client: a thread that is still under way sends nothing again."""
        if self._client is not None:
            self._client.close()

    def send(self, body: Mapping[str, Any], schema: bool = False) -> tuple[dict[str, Any], float]:
        """Send a request, in any thread, and again where that may help.

        Args:
            body: all its parameters.
            schema: whether a JSON schema is among them.

        Returns:
            The JSON object that came, and the seconds that it took, waits excluded.

        Raises:
            Failure: there is no answer; no key is in its text, even if the server repeated it.
            ConfigError: no request will ever have one: key, model or address are wrong and none
                had one so far, or the account has no credit.
            PluginError: the server asks to wait for long.
        """
        import httpx

        client = self._opened()
        try:
            # the typed methods walk through the whole body and every answer, which takes as long
            # as all the rest; and they make text of an answer that is not JSON
            response = client.post(self._path, cast_to=httpx.Response, body=dict(body))
            answer = self._object(response)
            failure = error_with_status_200(answer)
            if failure is not None:
                raise failure
        except Exception as error:
            raise self._final(error, schema) from None
        self._server.reached = True
        return answer, round(response.elapsed.total_seconds(), 6)

    def _opened(self) -> "OpenAI":
        with self._lock:
            if self._client is None:
                import openai

                server, settings = self._server, self._server.settings
                self._key = server.key()
                http = openai.DefaultHttpxClient(
                    verify=_certificates(
                        os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
                    ),
                    timeout=settings.timeout,
                    event_hooks={"request": [self._before], "response": [self._after]},
                )
                self._client = openai.OpenAI(
                    api_key=self._key,
                    base_url=server.address,
                    timeout=settings.timeout,
                    max_retries=settings.max_retries,
                    http_client=http,
                )
            return self._client

    def _before(self, _: "httpx.Request") -> None:
        """Wait for the end of a pause that the server has asked any thread for."""
        while (left := self._paused_until - time.monotonic()) > 0:
            time.sleep(left)
        if self._client is None or self._client.is_closed():  # while it waited
            raise RuntimeError("the connection is closed")

    def _after(self, response: "httpx.Response") -> None:
        """Begin a pause if the server asks for it; keep the package from trying in vain."""
        if response.status_code != 429 and response.status_code < 500:
            return
        try:
            body = parse_json(response.read())
        except ValueError:
            body = response.text
        failure, seconds = refused(response.status_code, body), retry_after(response.headers)
        if failure.hopeless or (seconds or 0) > LONGEST_WAIT:
            response.headers["x-should-retry"] = "false"  # is heeded by the package
        elif seconds:
            with self._lock:
                now = time.monotonic()
                begins = now >= self._paused_until
                self._paused_until = max(self._paused_until, now + seconds)
            if begins and seconds >= _WORTH_TELLING:
                self._tell(self._masked(failure.message), seconds)

    def _object(self, response: "httpx.Response") -> dict[str, Any]:
        content = response.content
        if not may_be_a_word(self._key):
            content = content.replace(self._key.encode(), b"***")
        try:
            body = parse_json(content)
        except ValueError:
            is_html = "html" in response.headers.get("content-type", "")
            if is_html or content.lstrip().startswith(b"<"):
                page = "the answer is a web page: is base_url right?"
                raise Failure("server_error", page, hopeless=True) from None
            raise Failure("server_error", "the answer is no JSON") from None
        if not isinstance(body, dict):
            raise Failure("server_error", "the answer is not a JSON object")
        return body

    def _final(self, error: Exception, schema: bool) -> Exception:
        """Return what is raised for an error of the package."""
        failure = failure_of(error, schema)
        if failure is None:
            failure = Failure("bad_request", f"{type(error).__name__}: {error}")
        message = failure.message
        if failure.kind == "timeout" and getattr(error, "status_code", None) is None:
            message = f"no answer within {self._server.settings.timeout:g} s"
        failure = Failure(failure.kind, self._masked(message), hopeless=failure.hopeless)
        response = getattr(error, "response", None)
        seconds = None if response is None else retry_after(response.headers)
        if seconds is not None and seconds > LONGEST_WAIT:
            return PluginError(
                f"{failure}. The server asks to wait {seconds:.0f} s; the answers so far are kept, "
                "run the same command again then."
            )
        if failure.hopeless and (not self._server.reached or failure.kind == "rate_limit"):
            return ConfigError(self._server.advice(failure))
        if not failure.hopeless and failure.kind not in ("rate_limit", "server_error", "timeout"):
            self._server.reached = True
        return failure

    def _masked(self, text: str) -> str:
        return text if self._key == _NO_KEY else text.replace(self._key, "***")


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


@cache
def _certificates(file: str | None, folder: str | None) -> "SSLContext":  # noqa: ARG001 (httpx reads both)
    """Return the certificates, which take long to load."""
    import httpx

    return httpx.create_ssl_context()


def check_at_least_one(**settings: int | None) -> None:
    """Check settings that count something; None is none.

    Raises:
        ConfigError: one is below 1.
    """
    for name, value in settings.items():
        if value is not None and value < 1:
            raise ConfigError(f"{name}={value}: at least 1 is needed")


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
