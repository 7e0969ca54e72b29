"""A model behind the OpenAI API: its server, limits and retry policy, validated."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from target_bench.models.remote.endpoint import (
    Counted,
    Endpoint,
    Recorded,
    RetryPolicy,
    ServerState,
)
from target_bench.models.remote.openai_api import Server
from target_bench.models.remote.rate_limits import ConcurrencyWindow, Limiter, Tell
from target_bench.models.remote.server_settings import (
    check_at_least_one,
    check_extra,
    check_model,
)

A = TypeVar("A", bound=Counted)


class Served:
    """Base of generator and encoder, with one endpoint per event loop.

    Args:
        needed_for: who asks, for the message when the package is missing.
        own: parameters of a request that have settings of their own.
        retry_policy: how long a request is tried; ``attempts`` replaces its own.
        model: the name of the model.
        base_url: the server; None for $OPENAI_BASE_URL, else OpenAI's own.
        api_key_env: the name of the variable that holds the key.
        timeout: seconds that one attempt may take.
        concurrency: how many requests are under way at most.
        rpm: requests per minute at most.
        tpm: tokens per minute at most.
        attempts: how often a request is sent at most.
        extra: further parameters of a request.

    Attributes:
        server: where requests go.

    Raises:
        ConfigError: a setting is invalid.
        MissingExtraError: the package ``openai`` is missing.
    """

    def __init__(
        self,
        needed_for: str,
        own: Collection[str],
        retry_policy: RetryPolicy,
        *,
        model: str,
        base_url: str | None,
        api_key_env: str,
        timeout: float,
        concurrency: int,
        rpm: float | None,
        tpm: float | None,
        attempts: int,
        extra: Mapping[str, Any] | None,
    ) -> None:
        check_model(model)
        check_at_least_one(concurrency=concurrency)
        check_extra(extra, own)
        self.server = Server(base_url, api_key_env, timeout, needed_for)
        self._model = model
        self._concurrency = concurrency
        self._limiter = Limiter(rpm, tpm)
        self._retry_policy = replace(retry_policy, attempts=attempts)
        self._state = ServerState()

    def endpoint(
        self,
        recorded: Recorded[A] | None,
        waiting: Tell,
        seed: int = 0,
    ) -> Endpoint[A]:
        """Return the endpoint of the running event loop.

        Args:
            recorded: the answers so far, or None to ask every request.
            waiting: is called with the reason and the seconds of a wait.
            seed: of the waits.
        """
        return Endpoint(
            self._limiter,
            ConcurrencyWindow(self._concurrency),
            self._retry_policy,
            self._state,
            recorded,
            Random(seed),  # noqa: S311 (draws waits)
            waiting,
            lambda failure: self.server.advice(failure, self._model),
        )
