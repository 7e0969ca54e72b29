"""The client of a model behind the OpenAI API, for text and vectors; ``openai`` makes retries."""

import importlib.util
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from target_bench.core.credentials import is_secret, looks_secret, note_secrets, without_secrets
from target_bench.core.errors import ConfigError, MissingExtraError, PluginError, check_at_least_one
from target_bench.core.files import parse_json
from target_bench.models.remote.failures import Failure, classify_error, classify_reply
from target_bench.models.remote.http_client import (
    LONGEST_WAIT,
    RefusedReply,
    Sockets,
    make_http_client,
    read_retry_after,
)

if TYPE_CHECKING:
    import httpx
    from openai import OpenAI

OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "no-key"
_LONGEST_NAME = 100  # characters of a model's name in a reply
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Send = Callable[..., tuple[dict[str, Any], float]]
"""(body, with_schema=False) -> the JSON reply, and its seconds without retries; in any thread.

It raises ``Failure`` for a request without an answer; ``ConfigError`` if no request will have one
(no request succeeded, and key, model or address are wrong; or the account has no credit); and
``PluginError`` if the server asks to wait for long.
"""


class ServerSettings(Protocol):
    """The settings of a plug-in with a model behind the OpenAI API."""

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
    """A model behind the OpenAI API: its address and settings, but not the key.

    Args:
        settings: the plug-in that uses it.
        needed_for: the plug-in's name, for the message when the package ``openai`` is missing.
        reserved: parameters of a request that ``extra`` may not set.
        priced: the keys of ``prices``.
    """

    def __init__(
        self,
        settings: ServerSettings,
        needed_for: str,
        reserved: Collection[str],
        priced: Collection[str],
    ) -> None:
        if importlib.util.find_spec("openai") is None:
            raise MissingExtraError("openai", "openai", needed_for)
        self.settings = settings
        self._check_settings(reserved, priced)
        self.paid = settings.prices is not None or not is_local(self.address)
        self._has_replied = False  # a reply showed that key, model and address are right
        self.other_models: Counter[str] = Counter()  # names in replies

    def _check_settings(self, reserved: Collection[str], priced: Collection[str]) -> None:
        settings, variable, prices = self.settings, self.settings.api_key_env, self.settings.prices
        if not settings.model:
            raise ConfigError("model: the name of a model is needed")
        if not _VARIABLE.fullmatch(variable) or looks_secret(variable):
            raise ConfigError(
                "api_key_env is the name of the environment variable that holds the key, as in "
                "api_key_env=OPENAI_API_KEY, and never the key itself"
            )
        for name in ("timeout", "total_timeout"):
            if not getattr(settings, name) > 0:
                value = getattr(settings, name)
                raise ConfigError(f"{name}={value}: expected a number of seconds above 0")
        if settings.max_retries < 0:
            raise ConfigError(f"max_retries={settings.max_retries}: at least 0 is needed")
        check_at_least_one(
            concurrency=settings.concurrency, max_reply_bytes=settings.max_reply_bytes
        )
        _check_address(settings.base_url, self.address)
        if prices is not None and (
            set(prices) != set(priced) or not all(0 <= price < inf for price in prices.values())
        ):
            example = ", ".join(f"{name}: 0.15" for name in priced)
            raise ConfigError(
                "prices: expected the price of a million tokens of each of "
                f"{' and '.join(priced)}, as in {{{example}}}"
            )
        for name in settings.extra or ():
            if name in reserved:
                raise ConfigError(f"extra: target-bench sets {name} itself; leave it out")
            if is_secret(name):
                raise ConfigError(
                    f"extra: {name}: leave keys out; name their variable with api_key_env"
                )

    @property
    def address(self) -> str:
        """The address that requests are sent to."""
        variable = os.environ.get("OPENAI_BASE_URL", "")
        return ((self.settings.base_url or "").strip() or variable.strip() or OPENAI_URL).rstrip(
            "/"
        )

    def describe_other_models(self) -> list[str]:
        """Return a note on each other model that the replies named."""
        return [
            f"{self.address} names the model {name!r} in its replies ({n:,}), and "
            f"{self.settings.model!r} was asked"
            for name, n in self.other_models.most_common()
        ]

    @contextmanager
    def connect(self, path: str) -> Iterator[Send]:
        """Return the function that sends requests to a path within a ``with`` block.

        The key is read, and the client made, when the first request is sent.
        """
        import httpx

        clients: list[OpenAI] = []
        sockets = Sockets(self.settings.total_timeout, self.settings.max_reply_bytes)
        lock = Lock()

        def send(
            body: Mapping[str, Any], with_schema: bool = False
        ) -> tuple[dict[str, Any], float]:
            with lock:
                if not clients:
                    clients.append(self._make_client(sockets))
            try:
                # the typed methods validate every body and reply, which takes as long as all the
                # rest; and they turn a reply that is not JSON into text
                response = clients[0].post(path, cast_to=httpx.Response, body=dict(body))
                answer = _parse_reply(response)
            except RefusedReply as refusal:
                raise self._explain(refusal.failure, with_schema) from None
            except Exception as error:
                raise self._explain(error, with_schema) from None
            self._has_replied = True
            model = answer.get("model")
            if isinstance(model, str) and not _is_same_model(model, self.settings.model):
                self.other_models[without_secrets(model)[:_LONGEST_NAME]] += 1
            return answer, round(response.elapsed.total_seconds(), 6)

        try:
            yield send
        finally:
            with lock:
                for client in clients:
                    client.close()
            sockets.close()

    def _make_client(self, sockets: Sockets) -> "OpenAI":
        import openai

        key, timeout = self._read_key(), self.settings.timeout
        if key != _NO_KEY:
            note_secrets(key, "api_key")  # a server may repeat it
        return openai.OpenAI(
            api_key=key,
            base_url=self.address,
            timeout=timeout,
            max_retries=self.settings.max_retries,
            http_client=make_http_client(timeout, sockets),
            default_headers={"accept-encoding": "identity"},
        )

    def _read_key(self) -> str:
        """Return the key; a placeholder for a ``base_url`` whose server may need none."""
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

    def _explain(self, error: Exception, with_schema: bool) -> Exception:
        """Return the error to raise for one of ``openai``: a failure, or the end of the run."""
        failure = classify_error(error, with_schema)
        if failure is None:
            failure = Failure("bad_request", f"{type(error).__name__}: {error}")
        is_from_server = isinstance(error, Failure) or hasattr(error, "status_code")
        if failure.kind == "timeout" and not is_from_server:
            failure = Failure("timeout", f"no answer within {self.settings.timeout:g} s")
        response = getattr(error, "response", None)
        seconds = None if response is None else read_retry_after(response.headers)
        if seconds is not None and seconds > LONGEST_WAIT:
            return PluginError(
                without_secrets(
                    f"{failure}. The server asks to wait {seconds:.0f} s; the answers so far are "
                    "kept, run the same command again then."
                )
            )
        # A hopeless rate limit is one of money: there is no credit.
        if failure.hopeless and (not self._has_replied or failure.kind == "rate_limit"):
            return ConfigError(without_secrets(f"{failure}. {self._advise(failure)}"))
        is_answered = failure.kind not in ("rate_limit", "server_error", "timeout")
        if is_from_server and is_answered and not failure.hopeless:
            self._has_replied = True
        return failure

    def _advise(self, failure: Failure) -> str:
        """Return what to do about a hopeless failure."""
        variable = self.settings.api_key_env
        if failure.kind == "rate_limit":
            return (
                f"The account behind the key in ${variable} at {self.address} has no credit; the "
                "answers so far are kept. Add credit and run the same command again to resume."
            )
        request = f"The request was to model {self.settings.model!r} at {self.address}"
        if failure.kind == "unsupported_schema":
            return (
                f"{request}. In fact verification and text-to-SQL, --free-text (structured=False) "
                "asks without a JSON schema."
            )
        key = "set" if os.environ.get(variable) else "not set"
        return (
            f"{request} with the key in ${variable} (which is {key}); change model, base_url or "
            "api_key_env, or fix the key."
        )


def _is_same_model(reply: str, requested: str) -> bool:
    """Return whether two names may be of one model: ``gpt-4o`` and ``gpt-4o-2024-08-06``."""
    short = [name.rpartition("/")[2].lower() for name in (reply, requested)]
    return not reply or short[0].startswith(short[1]) or short[1].startswith(short[0])


def _parse_reply(response: "httpx.Response") -> dict[str, Any]:
    """Return the JSON object of an answer, or raise a ``Failure``."""
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
    error = body.get("error")
    if error:  # some servers send it as if it were an answer
        code = error.get("code") if isinstance(error, Mapping) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        raise classify_reply(status, body)
    return body


def is_local(address: str | None) -> bool:
    """Return whether an address is of this machine, whose servers are free."""
    try:
        host = urlsplit(address or "").hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        number = ip_address(host)
    except ValueError:  # a name, or no address at all, which ``_check_address`` reports
        return False
    return number.is_loopback or number.is_unspecified  # 0.0.0.0, as some servers call themselves


def _check_address(base_url: str | None, address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"base_url={base_url}: expected an address as in {OPENAI_URL} or http://localhost:8000/v1"
        )
    try:
        _ = parts.port
    except ValueError:
        raise ConfigError(f"base_url={base_url}: expected a port from 0 to 65535") from None
    if "@" in parts.netloc or parts.query:
        raise ConfigError("base_url: put no user, password or key into the address")
