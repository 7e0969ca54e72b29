"""Embedding models behind the OpenAI API: OpenAI's own, and those of any server that speaks it."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from target_bench.core.contract import get_constructor_arguments
from target_bench.core.credentials import without_secrets
from target_bench.core.errors import ConfigError, PluginError, check_at_least_one
from target_bench.core.prompt_writer import CHARACTERS_PER_TOKEN, estimate_text_tokens
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.embedding_cache import encode_texts
from target_bench.models.local_models import replace_surrogates
from target_bench.models.remote.failures import Failure
from target_bench.models.remote.openai_client import ModelServer, Send
from target_bench.models.remote.threads import imap_unordered

_OWN = ("model", "input", "dimensions")
_CHANGES_NO_VECTOR = (
    "api_key_env",
    "batch_size",
    "batch_tokens",
    "concurrency",
    "timeout",
    "total_timeout",
    "max_reply_bytes",
    "max_retries",
    "prices",
)
_SHOWN = 60  # characters of a text in a message

_Batch = list[tuple[int, str]]  # texts of one request, with their positions
_Embedded = tuple[list[int], Vectors, int]  # positions, vectors, and how many tokens they have


@dataclass(eq=False, repr=False)
class OpenAIEmbeddings(Encoder):
    """Asks an embedding model, many texts per request and many requests at a time.

    Needs: extra openai; a server.

    Vectors are those of the server, unchanged. They are recorded as they come, so that no text is
    sent twice. Nothing tells what weights a server has: if it puts others under the same name,
    remove the folder ``embeddings`` of the cache.

    Args:
        model: the name of the model.
        base_url: the server; default: $OPENAI_BASE_URL, else OpenAI's own.
        api_key_env: the name of the variable that holds the key (never the key).
        batch_size: texts per request at most.
        batch_tokens: tokens per request at most, estimated at four characters each; a longer text
            is sent by itself.
        dimensions: the length of the vectors, for models that can shorten them; None for the
            model's own.
        query_prompt: goes before every query.
        table_prompt: goes before every table.
        max_tokens: cut longer texts to this many tokens, estimated at four characters each, prompt
            included; None to send them whole.
        concurrency: how many requests are under way at most.
        timeout: seconds to wait for a connection, or for more of an answer.
        total_timeout: seconds for a whole reply; raise it for a slow model on this machine.
        max_reply_bytes: a longer reply is not read.
        max_retries: how often a request is sent again at most, after a rate limit (as its
            ``Retry-After`` says), a timeout, a lost connection or an error of the server.
        prices: of ``input``, per million tokens. Without them a server on this machine (localhost)
            costs nothing, and is not asked about.
        extra: further parameters of a request, as the server names them; answers may be asked for
            as numbers in place of base64 with ``{encoding_format: float}``.
    """

    paid = True

    model: str
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    batch_size: int = 128
    batch_tokens: int = 100_000
    dimensions: int | None = None
    query_prompt: str = ""
    table_prompt: str = ""
    max_tokens: int | None = None
    concurrency: int = 16
    timeout: float = 60.0
    total_timeout: float = 600.0
    max_reply_bytes: int = 16_000_000
    max_retries: int = 8
    prices: Mapping[str, float] | None = None
    extra: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_at_least_one(
            batch_size=self.batch_size,
            batch_tokens=self.batch_tokens,
            dimensions=self.dimensions,
            max_tokens=self.max_tokens,
        )
        self._server = ModelServer(self, "the encoder openai", _OWN, ("input",))
        self.paid = self._server.paid
        self.begin_corpus()

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change a vector; where requests really go is one of them."""
        settings = get_constructor_arguments(self)
        kept = {name: value for name, value in settings.items() if name not in _CHANGES_NO_VECTOR}
        return kept | {"base_url": self._server.address}

    def revision(self) -> str:
        """Return address and model: a hosted model has no hash that could be asked for."""
        return f"{self._server.address} {self.model}"

    def begin_corpus(self) -> None:
        """Start the counts of requests and tokens again."""
        self._n_embedded = self._n_requests = self._n_tokens = 0
        self._server.other_models.clear()

    def notes(self) -> Sequence[str]:
        """Return a note on requests and their cost."""
        notes = self._server.describe_other_models()
        if not self._n_embedded:
            return notes
        price = self.prices and self._n_tokens * self.prices["input"] / 1e6
        cost = "" if price is None else f", for {price:.4g}"
        return [
            *notes,
            f"{self.model}: {self._n_embedded:,} texts embedded in {self._n_requests:,} requests, "
            f"{self._n_tokens:,} tokens{cost}",
        ]

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return the (n, d) vectors of the texts; recorded ones are not used.

        Raises:
            ConfigError: key, model or address are wrong, or the model takes no text so long.
            PluginError: the server fails to answer, or answers with something else.
        """
        return encode_texts(self, texts, kind, cache=False)[0]

    def encode_parts(
        self, texts: Sequence[str], kind: TextKind
    ) -> Iterator[tuple[Sequence[int], Vectors, Sequence[bool]]]:
        """Yield positions of some texts, their vectors, and which were cut; errors as ``encode``.

        When one request fails for good no other is begun, and those under way are waited for.
        """
        prompt = self.query_prompt if kind == "query" else self.table_prompt
        whole = [prompt + text for text in texts]
        sent = [self._truncate(text) for text in whole]
        errors: list[Exception] = []
        batches = takewhile(lambda _: not errors, self._split(sent))
        with self._server.connect("/embeddings") as send:

            def embed(batch: _Batch) -> tuple[list[_Embedded], Exception | None]:
                parts: list[_Embedded] = []
                try:
                    self._embed(batch, send, parts)
                except (Failure, ConfigError, PluginError) as error:
                    return parts, error
                return parts, None

            for parts, error in imap_unordered(embed, batches, self.concurrency):
                for positions, vectors, tokens in parts:
                    self._n_embedded += len(positions)
                    self._n_requests += 1
                    self._n_tokens += tokens
                    yield positions, vectors, [len(sent[i]) < len(whole[i]) for i in positions]
                if error is not None:
                    errors.append(error)
        if errors and isinstance(errors[0], Failure):
            problem = without_secrets(str(errors[0]))
            raise PluginError(
                f"embedding with the model {self.model!r} at {self._server.address} failed: "
                f"{problem}. What was embedded before is kept if it is cached; run the same "
                "command again."
            )
        if errors:
            raise errors[0]

    def _truncate(self, text: str) -> str:
        longest = self.max_tokens and self.max_tokens * CHARACTERS_PER_TOKEN
        return replace_surrogates(text[:longest]) or " "  # the API takes no empty text

    def _split(self, texts: Sequence[str]) -> Iterator[_Batch]:
        batch: _Batch = []
        tokens = 0
        for position, text in enumerate(texts):
            more = estimate_text_tokens(text)
            if batch and (len(batch) == self.batch_size or tokens + more > self.batch_tokens):
                yield batch
                batch, tokens = [], 0
            batch.append((position, text))
            tokens += more
        if batch:
            yield batch

    def _embed(self, batch: _Batch, send: Send, parts: list[_Embedded]) -> None:
        """Have a batch embedded; one that is too much for the server is sent in halves."""
        body: dict[str, Any] = {
            "model": self.model,
            "input": [text for _, text in batch],
            "encoding_format": "base64",
        }
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        try:
            reply, _ = send(body | dict(self.extra or {}))
        except Failure as failure:
            if failure.kind != "context_overflow":
                raise
            if len(batch) == 1:
                text = batch[0][1]
                n_tokens = estimate_text_tokens(text)
                raise ConfigError(
                    f"the model {self.model!r} takes no text so long: {text[:_SHOWN]!r}..., about "
                    f"{n_tokens:,} tokens ({failure.message}). Make tables shorter, as with "
                    "rows=10, or have texts cut with max_tokens=N (estimated at four characters "
                    "per token; set it lower if that is not enough)."
                ) from failure
            middle = len(batch) // 2
            for half in (batch[:middle], batch[middle:]):
                self._embed(half, send, parts)
        else:
            parts.append(_read_vectors(reply, [i for i, _ in batch], self.dimensions))


def _read_vectors(
    reply: Mapping[str, Any], positions: list[int], dimensions: int | None
) -> _Embedded:
    """Read the vectors in a server's reply, in the order of the texts, or raise a ``Failure``."""
    n = len(positions)
    try:
        data = reply["data"]
        order = [item.get("index") for item in data]
        if order == [None] * n:  # some servers leave it out
            order = list(range(n))
        rows = dict(zip(order, (_decode(item["embedding"]) for item in data), strict=True))
        vectors = np.stack([rows[i] for i in range(n)])
        if len(data) != n or vectors.ndim != 2 or not vectors.shape[1]:
            raise ValueError(f"{len(data)} of shape {vectors.shape[1:]} came")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"not one vector for each of {n} texts ({type(error).__name__}: {error})"
        raise Failure("server_error", problem) from None
    if dimensions not in (None, vectors.shape[1]):
        raise Failure(
            "bad_request",
            f"dimensions={dimensions} was asked for, and vectors of {vectors.shape[1]} came; the "
            "model cannot shorten them: leave dimensions out",
        )
    usage = reply.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return positions, vectors, tokens if isinstance(tokens, int) and tokens > 0 else 0


def _decode(embedding: Any) -> Vectors:
    """Return (d,) numbers, which come as base64 or as a list."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    vector: Vectors = np.array(embedding, np.float32)
    return vector
