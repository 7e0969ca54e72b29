"""Embedding models behind the OpenAI API: OpenAI's own, and those of any server that speaks it."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from target_bench.core.contract import constructor_arguments
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.tokens import CHARACTERS_PER_TOKEN, tokens_in
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.remote.concurrency import ConcurrentRequests, Work
from target_bench.models.remote.embedding_replies import Embedded, read_embedded
from target_bench.models.remote.endpoint import Asked, Endpoint, RetryPolicy
from target_bench.models.remote.failures import Failure
from target_bench.models.remote.openai_api import Connection, Server
from target_bench.models.remote.served_model import Served
from target_bench.models.remote.server_settings import (
    check_at_least_one,
    check_prices,
    is_local,
)

PREPARATION = 1
"""The version of what is done to texts and vectors here (prompts, cutting, order); part of what
vectors are recorded under, in place of a hash of this code."""

_OWN = ("model", "input", "dimensions")
_CHANGES_NO_VECTOR = (
    "api_key_env",
    "batch_size",
    "batch_tokens",
    "concurrency",
    "rpm",
    "tpm",
    "timeout",
    "attempts",
    "prices",
)
_SHOWN = 60  # characters of a text in a message


class OpenAIEmbeddings(Encoder):
    """Asks an embedding model, many texts per request and many requests at a time.

    Needs: extra openai; a server.

    Vectors are those of the server, unchanged. ``models.embedding_cache`` records them as
    they come, so that no text is sent twice. Nothing tells what weights a server has: if it puts
    others under the same name, clear the cache
    (``target-bench data cache clear --only embeddings``).

    Args:
        model: the name of the model.
        base_url: the server; default: $OPENAI_BASE_URL, else OpenAI's own.
        api_key_env: the name of the variable that holds the key (never the key).
        batch_size: texts per request at most.
        batch_tokens: tokens per request at most, estimated at four characters each; a longer text
            is sent alone.
        dimensions: the length of the vectors, for models that can shorten them; None for the
            model's own.
        query_prompt: goes before every query.
        table_prompt: goes before every table.
        max_tokens: cut longer texts to this many tokens, estimated at four characters each, prompt
            included; None to send them whole. ``notes`` says how many were cut.
        concurrency: how many requests are under way at most.
        rpm: requests per minute at most.
        tpm: tokens per minute at most.
        timeout: seconds that one attempt may take.
        attempts: how often a request is sent at most.
        prices: of ``input``, per million tokens. Without them a server on this machine (localhost)
            costs nothing, and is not asked about.
        extra: further parameters of a request, as the server names them; answers may be asked for
            as numbers in place of base64 with ``{encoding_format: float}``.
    """

    paid = True
    retry_policy: ClassVar[RetryPolicy] = RetryPolicy()

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        batch_size: int = 128,
        batch_tokens: int = 100_000,
        dimensions: int | None = None,
        query_prompt: str = "",
        table_prompt: str = "",
        max_tokens: int | None = None,
        concurrency: int = 16,
        rpm: float | None = None,
        tpm: float | None = None,
        timeout: float = 60.0,
        attempts: int = 6,
        prices: Mapping[str, float] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.base_url = base_url
        self.api_key_env = api_key_env
        self.batch_size = batch_size
        self.batch_tokens = batch_tokens
        self.dimensions = dimensions
        self.query_prompt = query_prompt
        self.table_prompt = table_prompt
        self.max_tokens = max_tokens
        self.concurrency = concurrency
        self.rpm = rpm
        self.tpm = tpm
        self.timeout = timeout
        self.attempts = attempts
        self.prices = prices
        self.extra = extra
        check_at_least_one(
            batch_size=batch_size,
            batch_tokens=batch_tokens,
            dimensions=dimensions,
            max_tokens=max_tokens,
        )
        check_prices(prices, ("input",), "that of a million tokens, as in {input: 0.02}")
        self._served = Served(
            "the encoder openai",
            _OWN,
            self.retry_policy,
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            timeout=timeout,
            concurrency=concurrency,
            rpm=rpm,
            tpm=tpm,
            attempts=attempts,
            extra=extra,
        )
        self._server = self._served.server
        self.paid = prices is not None or not is_local(self._server.address)
        self._account = _Account()

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change a vector; where requests really go is one of them."""
        settings = constructor_arguments(self)
        kept = {name: value for name, value in settings.items() if name not in _CHANGES_NO_VECTOR}
        return kept | {"base_url": self._server.address}

    def revision(self) -> str:
        """Return address and model: a hosted model has no hash that could be asked for."""
        return f"{self._server.address} {self.model}"

    def recorded_as(self, kind: TextKind) -> Mapping[str, Any] | None:
        """Return address, model and all that is sent with a text of this kind.

        Code and packages are not among it: an edit would have texts sent, and paid for, again. A
        class that inherits is known by its code.
        """
        if type(self) is not OpenAIEmbeddings:
            return None
        extra = {k: v for k, v in (self.extra or {}).items() if k != "encoding_format"}
        config = {
            "model": self.model,
            "base_url": self._server.address,
            "dimensions": self.dimensions,
            "prompt": self.query_prompt if kind == "query" else self.table_prompt,
            "max_tokens": self.max_tokens,
            "extra": extra,
        }
        return {"class": "openai:OpenAIEmbeddings", "preparation": PREPARATION, "config": config}

    def fit(self, texts: Iterable[str]) -> None:  # noqa: ARG002 (the contract's argument)
        """Start the counts again: another corpus begins."""
        self._account = _Account()

    def load(self, folder: Path) -> None:  # noqa: ARG002 (the contract's argument)
        """Start the counts again: the tables of another corpus are in its index already."""
        self._account = _Account()

    def add_recorded(self, kind: TextKind, n: int, n_cut: int) -> None:  # noqa: ARG002 (the contract's argument)
        """Count texts that were cut in an earlier run."""
        self._account.prepared(n, n_cut)

    def notes(self) -> Sequence[str]:
        """Return notes on requests and their cost, cut texts, and pauses of the server."""
        return self._account.notes(self.model, self.max_tokens, self.prices)

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return the (n, d) vectors of the texts; all are sent.

        Raises:
            ConfigError: key, model or address are wrong, or the model takes no text so long.
            PluginError: the server fails to answer, or answers with something else.
        """
        rows: dict[int, Vectors] = {}
        for places, vectors, _ in self.encode_parts(texts, kind):
            rows.update(zip(places, vectors, strict=True))
        lengths = sorted({len(row) for row in rows.values()})
        if len(lengths) > 1:
            raise PluginError(
                f"the model {self.model!r} at {self._server.address} gave vectors of "
                f"{lengths[0]} and of {lengths[-1]} dimensions"
            )
        return np.stack([rows[i] for i in range(len(texts))]) if rows else _EMPTY

    def encode_parts(
        self, texts: Sequence[str], kind: TextKind
    ) -> Iterator[tuple[Sequence[int], Vectors, Sequence[bool]]]:
        """Yield places of some texts, their vectors, and which were cut; errors as ``encode``.

        When one request fails for good no other is begun, and those under way are waited for.
        """
        prompt = self.query_prompt if kind == "query" else self.table_prompt
        whole = [prompt + text for text in texts]
        sent = [self._cut(text) for text in whole]
        cut = [len(text) < len(given) for text, given in zip(sent, whole, strict=True)]
        self._account.prepared(len(cut), sum(cut))
        failed: list[Exception] = []
        batches = takewhile(lambda _: not failed, self._batches(sent))
        running: ConcurrentRequests[_Batch, _Done] = ConcurrentRequests(
            lambda: self._session(running), self.concurrency
        )
        for done in running.results(batches):
            for embedded in done.parts:
                self._account.add(embedded)
                yield embedded.places, embedded.vectors, [cut[i] for i in embedded.places]
            if done.error is not None:
                failed.append(done.error)
        if failed:
            raise failed[0]

    def _cut(self, text: str) -> str:
        most = self.max_tokens and self.max_tokens * CHARACTERS_PER_TOKEN
        return text[:most] or " "  # the API takes no empty text

    def _batches(self, texts: Sequence[str]) -> Iterator["_Batch"]:
        places: list[int] = []
        tokens = 0
        for place, text in enumerate(texts):
            more = tokens_in(text)
            full = len(places) == self.batch_size or tokens + more > self.batch_tokens
            if places and full:
                yield _Batch(places, [texts[i] for i in places], tokens)
                places, tokens = [], 0
            places.append(place)
            tokens += more
        if places:
            yield _Batch(places, [texts[i] for i in places], tokens)

    @asynccontextmanager
    async def _session(
        self, running: "ConcurrentRequests[_Batch, _Done]"
    ) -> AsyncIterator[Work["_Batch", "_Done"]]:
        endpoint: Endpoint[Embedded] = self._served.endpoint(
            None,
            lambda reason, seconds: running.post(lambda: self._account.waited(reason, seconds)),
        )
        asking = _Asking(self, endpoint, self._server)
        try:
            yield asking.done
        finally:
            await asking.close()

    def body(self, texts: Sequence[str]) -> dict[str, Any]:
        """Return the fields of the request, without ``extra``."""
        body = {"model": self.model, "input": list(texts), "encoding_format": "base64"}
        return body if self.dimensions is None else body | {"dimensions": self.dimensions}


_EMPTY: Vectors = np.zeros((0, 0), np.float32)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Texts of one request, their places, and about how many tokens they have together."""

    places: Sequence[int]
    texts: Sequence[str]
    tokens: int

    def halves(self) -> Iterator["_Batch"]:
        middle = len(self.texts) // 2
        for part in (slice(None, middle), slice(middle, None)):
            texts = self.texts[part]
            yield _Batch(self.places[part], texts, sum(map(tokens_in, texts)))


@dataclass(frozen=True, slots=True)
class _Done:
    """Result of a batch: vectors, and the error if some are missing."""

    parts: Sequence[Embedded]
    error: Exception | None = None


class _Asking:
    """One event loop's way from texts to vectors."""

    def __init__(
        self, model: OpenAIEmbeddings, endpoint: Endpoint[Embedded], server: Server
    ) -> None:
        self._model = model
        self._endpoint = endpoint
        self._server = server
        self._connection = Connection(server, "/embeddings")

    async def done(self, batch: _Batch) -> _Done:
        parts: list[Embedded] = []
        try:
            await self._embed(batch, parts.append)
        except Failure as failure:
            return _Done(parts, self._failed(failure))
        except (ConfigError, PluginError) as error:
            return _Done(parts, error)
        return _Done(parts)

    async def _embed(self, batch: _Batch, keep: Callable[[Embedded], None]) -> None:
        """Have a batch embedded; one that is too much for the server is sent in halves."""
        try:
            keep(await self._once(batch))
        except Failure as failure:
            if failure.kind != "context_overflow":
                raise
            if len(batch.texts) == 1:
                raise self._too_long(batch, failure) from failure
            for half in batch.halves():
                await self._embed(half, keep)

    async def _once(self, batch: _Batch) -> Embedded:
        body = self._model.body(batch.texts) | dict(self._model.extra or {})

        async def send() -> Embedded:
            return await self._connection.create(
                body, lambda found: read_embedded(found, batch.places, self._model.dimensions)
            )

        asked = Asked("", batch.tokens, send, self._connection.open)
        return (await self._endpoint.ask(asked)).answer

    def _too_long(self, batch: _Batch, failure: Failure) -> ConfigError:
        [text] = batch.texts
        return ConfigError(
            f"the model {self._model.model!r} takes no text so long: {text[:_SHOWN]!r}..., "
            f"about {batch.tokens:,} tokens ({failure.message}). Make tables shorter, as with "
            "rows=10, or have texts cut with max_tokens=N (estimated at four characters per token; "
            "set it lower if that is not enough)."
        )

    def _failed(self, failure: Failure) -> PluginError:
        return PluginError(
            f"embedding with the model {self._model.model!r} at {self._server.address} failed: "
            f"{failure}. What was embedded before is kept if it is cached; run the same command "
            "again."
        )

    async def close(self) -> None:
        await self._connection.close()


class _Account:
    """Totals of the sent requests; safe for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._texts = self._cut = 0
        self._embedded = self._requests = self._tokens = 0
        self._seconds = 0.0
        self._reason = ""

    def prepared(self, n: int, n_cut: int) -> None:
        with self._lock:
            self._texts += n
            self._cut += n_cut

    def add(self, embedded: Embedded) -> None:
        with self._lock:
            self._embedded += len(embedded.places)
            self._requests += 1
            self._tokens += embedded.input_tokens or 0

    def waited(self, reason: str, seconds: float) -> None:
        with self._lock:
            self._seconds += seconds
            self._reason = reason

    def notes(
        self, model: str, max_tokens: int | None, prices: Mapping[str, float] | None
    ) -> list[str]:
        notes = []
        if self._embedded:
            cost = "" if prices is None else f", for {self._tokens * prices['input'] / 1e6:.4g}"
            notes.append(
                f"{model}: {self._embedded:,} texts embedded in {self._requests:,} requests, "
                f"{self._tokens:,} tokens{cost}"
            )
        if self._cut:
            notes.append(
                f"{model}: {self._cut:,} of {self._texts:,} texts were cut at about "
                f"{max_tokens:,} tokens"
            )
        if self._seconds:
            notes.append(f"{model}: waited {self._seconds:.0f} s in all, last for: {self._reason}")
        return notes
