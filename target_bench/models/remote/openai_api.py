"""The OpenAI API as OpenAI and many servers speak it: one reading of its errors."""

import asyncio
import importlib.util
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.files import parse_json
from target_bench.core.settings import looks_secret, may_be_a_word
from target_bench.models.remote.failures import Failure, Refused, error_in
from target_bench.models.remote.rate_limits import retry_after

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx
    from openai import AsyncOpenAI

HOME = "https://api.openai.com/v1"
_NO_KEY = "no-key"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Server:
    """Address of requests, and the variable that holds the key; never the key itself.

    Attributes:
        base_url: the address, or None for $OPENAI_BASE_URL, else OpenAI's own.
        api_key_env: the name of the variable.
        timeout: seconds that one attempt may take.
        needed_for: who asks, for the message when the package is missing.
    """

    base_url: str | None
    api_key_env: str
    timeout: float
    needed_for: str

    def __post_init__(self) -> None:
        """Check.

        Raises:
            ConfigError: the address, the variable or the timeout is invalid.
            MissingExtraError: the package ``openai`` is missing.
        """
        if importlib.util.find_spec("openai") is None:
            raise MissingExtraError("openai", "openai", self.needed_for)
        if not _VARIABLE.fullmatch(self.api_key_env) or looks_secret(self.api_key_env):
            raise ConfigError(
                "api_key_env is the name of the environment variable that holds the key, as in "
                "api_key_env=OPENAI_API_KEY, and never the key itself"
            )
        address = urlsplit(self.address)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ConfigError(
                f"base_url={self.base_url}: expected an address as in {HOME} or "
                "http://localhost:8000/v1"
            )
        if not _has_port(address):
            raise ConfigError(f"base_url={self.base_url}: expected a port from 0 to 65535")
        if "@" in address.netloc or address.query:
            raise ConfigError("base_url: put no user, password or key into the address")
        if not self.timeout > 0:
            raise ConfigError(f"timeout={self.timeout}: expected a number of seconds above 0")

    @property
    def address(self) -> str:
        """The address that requests are sent to."""
        address = (self.base_url or "").strip() or os.environ.get("OPENAI_BASE_URL", "").strip()
        return (address or HOME).rstrip("/")

    def key(self) -> str:
        """Return the key; a placeholder for a server of the user's that may need none.

        Raises:
            ConfigError: OpenAI itself is asked, and the variable is not set.
        """
        key = os.environ.get(self.api_key_env, "").strip()
        if not key and self.base_url is None:
            raise ConfigError(
                f"no API key: set the environment variable {self.api_key_env}, name another with "
                "api_key_env=NAME, or name a server that needs none with base_url=ADDRESS"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(
                f"the key in ${self.api_key_env} holds a line break, a space or another character "
                "that no key has; set the variable to the key alone"
            )
        return key or _NO_KEY

    def advice(self, failure: Failure, model: str) -> str:
        """Return the advice for an error that no further request can avoid."""
        if failure.kind == "rate_limit":
            return (
                f"{failure}. The account behind the key in ${self.api_key_env} at {self.address} "
                "has no credit; the answers so far are kept, and the same command continues when "
                "there is credit."
            )
        if failure.kind == "unsupported_schema":
            return (
                f"{failure}. Asked was the model {model!r} at {self.address}. In fact verification "
                "and text-to-SQL, --free-text (structured=False) asks without a JSON schema."
            )
        key = "set" if os.environ.get(self.api_key_env) else "not set"
        return (
            f"{failure}. Asked was the model {model!r} at {self.address} with the key in "
            f"${self.api_key_env} (which is {key}); change model, base_url or api_key_env, or "
            "fix the key."
        )


def _has_port(address: SplitResult) -> bool:
    try:
        return address.port is None or address.port >= 0
    except ValueError:
        return False


T = TypeVar("T")
Read = Callable[[Mapping[str, Any]], T]


class Connection:
    """The package's clients for one path, used in one event loop; their own retries are off.

    A client has one request under way at a time, and is made when no other is free: the package's
    pool of connections looks at all of them for every request, which takes longer than all the
    rest when there are many. Bodies are sent as they are, with the client's ``post``: its typed
    methods walk through the whole body to find names to change, which takes as long again.

    Args:
        server: where requests go.
        path: what is asked for, as in ``/embeddings``.
    """

    def __init__(self, server: Server, path: str) -> None:
        self._server = server
        self._path = path
        self._key = _NO_KEY
        self._make: Callable[[], AsyncOpenAI] | None = None
        self._all: list[AsyncOpenAI] = []
        self._free: list[AsyncOpenAI] = []

    def open(self) -> None:
        """Make the first client, if there is none.

        Raises:
            ConfigError: there is no key, or it is invalid.
        """
        if self._make is None:
            self._key = self._server.key()
            self._make = _maker(self._server, self._key)
            self._free.append(self._another())

    async def create(self, body: Mapping[str, Any], read: Read[T], schema: bool = False) -> T:
        """Send a request once.

        Args:
            body: all its parameters.
            read: takes the answer out of the JSON object; may raise ``Failure``.
            schema: whether a JSON schema is sent along.

        Raises:
            Failure: there is no answer; no key is in its text, even if the server repeated it.
        """
        self.open()
        try:
            async with asyncio.timeout(self._server.timeout):
                raw = await self._sent(body)
            found = self._object(self._without_key(raw.content), raw.headers)
            refused = error_in(found)
            if refused is not None:
                raise refused.failure(schema)
            return read(found)
        except Failure as failure:
            raise self._clean(failure) from None
        except Exception as error:
            raise self._clean(self._failure(error, schema)) from None

    async def close(self) -> None:
        """Close all connections."""
        for client in self._all:
            await client.close()

    async def _sent(self, body: Mapping[str, Any]) -> "httpx.Response":
        import httpx

        client = self._free.pop() if self._free else self._another()
        try:
            return await client.post(self._path, cast_to=httpx.Response, body=body)
        finally:
            self._free.append(client)

    def _another(self) -> "AsyncOpenAI":
        assert self._make is not None, "opened before"
        client = self._make()
        self._all.append(client)
        return client

    def _without_key(self, content: bytes) -> bytes:
        """Return a message of the server, with the key masked."""
        return content if may_be_a_word(self._key) else content.replace(self._key.encode(), b"***")

    def _object(self, content: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        try:
            body = parse_json(content)
        except ValueError:
            page = "html" in headers.get("content-type", "") or content.lstrip().startswith(b"<")
            what = "a web page: is base_url right?" if page else "no JSON"
            raise Failure(
                "server_error", f"the answer is {what}", again=not page, hopeless=page
            ) from None
        if not isinstance(body, dict):
            raise Failure("server_error", "the answer is not a JSON object", again=True)
        return body

    def _failure(self, error: Exception, with_schema: bool) -> Failure:
        import openai

        if isinstance(error, TimeoutError | openai.APITimeoutError):
            seconds = self._server.timeout
            return Failure("timeout", f"no answer within {seconds:g} s", again=True)
        if isinstance(error, openai.APIConnectionError):
            cause = error.__cause__
            why = f"{type(cause).__name__}: {cause}" if cause else str(error)
            return Failure("connection", why, again=True, hopeless=True)
        if isinstance(error, openai.APIStatusError):
            wait = retry_after(error.response.headers, time.time())
            return Refused.read(error.status_code, error.body, wait).failure(with_schema)
        return Failure("bad_request", f"{type(error).__name__}: {error}")

    def _clean(self, failure: Failure) -> Failure:
        """Return the same failure with the key taken out of what the server says."""
        return failure.without(self._key) if self._key != _NO_KEY else failure


def _maker(server: Server, key: str) -> "Callable[[], AsyncOpenAI]":
    """Return a maker of clients that share what takes long to load: the certificates."""
    import openai

    certificates = _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    def client() -> openai.AsyncOpenAI:
        http = openai.DefaultAsyncHttpxClient(verify=certificates, timeout=server.timeout)
        return openai.AsyncOpenAI(
            api_key=key,
            base_url=server.address,
            timeout=server.timeout,
            max_retries=0,
            http_client=http,
        )

    return client


@cache
def _certificates(file: str | None, folder: str | None) -> "SSLContext":  # noqa: ARG001 (httpx reads both)
    """Return the certificates; a file that is replaced later is not read again."""
    import httpx

    return httpx.create_ssl_context()
