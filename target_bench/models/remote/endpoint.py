"""One server as a model sees it: limits, retries, and every request sent once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Generic, Protocol, TypeVar

from target_bench.core.errors import ConfigError, PluginError
from target_bench.models.remote.failures import Failure
from target_bench.models.remote.rate_limits import ConcurrencyWindow, Limiter, Tell


class Counted(Protocol):
    """Reply of a server: text, vectors, or anything else that takes tokens."""

    @property
    def input_tokens(self) -> int | None:
        """Tokens that were sent, where the server counts them."""

    @property
    def output_tokens(self) -> int | None:
        """Tokens of the answer, where the server counts them."""


A = TypeVar("A", bound=Counted)


class Recorded(Protocol[A]):
    """Storage of answers."""

    async def get(self, key: str) -> A | None:
        """Return the answer of a request."""

    async def put(self, key: str, answer: A) -> None:
        """Record it; it is kept when this returns."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """A retry policy: how often a request is sent, and the waits between. Only this code retries.

    Attributes:
        attempts: how often it is sent at most.
        first: the longest wait before the second attempt, in seconds; it doubles with each.
        longest: the longest wait between two attempts that no server asked for.
        total: the longest sum of all waits, those that a server asked for included.
    """

    attempts: int = 6
    first: float = 0.5
    longest: float = 30.0
    total: float = 600.0

    def __post_init__(self) -> None:
        """Check.

        Raises:
            ConfigError: there is not even one attempt.
        """
        if self.attempts < 1:
            raise ConfigError(f"attempts={self.attempts}: at least 1 is needed")

    def wait(self, attempt: int, random: Random) -> float:
        """Draw the seconds before the next attempt: uniform up to a bound that doubles."""
        return random.uniform(0, min(self.longest, self.first * 2 ** min(attempt - 1, 30)))


@dataclass(frozen=True, slots=True)
class Asked(Generic[A]):
    """One request.

    Attributes:
        key: equal for requests that have the same answer.
        tokens: of prompt and answer together, estimated.
        send: sends it once; raises ``Failure``.
        prepare: connects, if not done yet; called before the request has its turn, so that
            the time this takes brings no requests together.
    """

    key: str
    tokens: int
    send: Callable[[], Awaitable[A]]
    prepare: Callable[[], object] = bool


@dataclass(frozen=True, slots=True)
class Reply(Generic[A]):
    """An answer, and how it came.

    Attributes:
        answer: what was answered.
        seconds: how long the server took, or None if it was not asked.
        cached: whether it was recorded before, or asked by another request at the same time.
    """

    answer: A
    seconds: float | None
    cached: bool


class ServerState:
    """The state of a server: whether it has ever accepted a request; outlives event loops."""

    def __init__(self) -> None:
        self.reached = False


class Endpoint(Generic[A]):
    """A client of one server, with rate limits and retries; belongs to one event loop.

    Args:
        limiter: when a request may be sent; shared by all who ask this server.
        window: how many may be under way.
        retry_policy: how long a request is tried.
        state: whether the server was ever reached.
        recorded: the answers so far, or None to ask every request.
        random: draws the waits.
        tell: is called when it waits.
        advice: what to do about a failure that every request will share.
    """

    def __init__(
        self,
        limiter: Limiter,
        window: ConcurrencyWindow,
        retry_policy: RetryPolicy,
        state: ServerState,
        recorded: Recorded[A] | None,
        random: Random,
        tell: Tell,
        advice: Callable[[Failure], str],
    ) -> None:
        self._limiter = limiter
        self._window = window
        self._retry_policy = retry_policy
        self._state = state
        self._recorded = recorded
        self._random = random
        self._tell = tell
        self._advice = advice
        self._under_way: dict[str, asyncio.Future[Reply[A]]] = {}
        self._end: Exception | None = None  # what no request survives; then none is sent

    async def ask(self, asked: Asked[A]) -> Reply[A]:
        """Return the answer: a recorded one, that of the same request under way, or the server's.

        Raises:
            Failure: there is none.
            ConfigError: no request will ever have one.
            StoreError: answers cannot be recorded.
        """
        if self._recorded is None:
            return await self._answered(asked)
        other = self._under_way.get(asked.key)
        if other is not None:
            return replace(await asyncio.shield(other), seconds=None, cached=True)
        return await self._first(asked, self._recorded)

    async def _first(self, asked: Asked[A], recorded: Recorded[A]) -> Reply[A]:
        promise: asyncio.Future[Reply[A]] = asyncio.get_running_loop().create_future()
        self._under_way[asked.key] = promise
        try:
            reply = await self._recorded_or_answered(asked, recorded)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                promise.cancel()
            else:
                promise.set_exception(error)
                promise.exception()  # marked as retrieved, if no one else waits for it
            raise
        finally:
            del self._under_way[asked.key]
        promise.set_result(reply)
        return reply

    async def _recorded_or_answered(self, asked: Asked[A], recorded: Recorded[A]) -> Reply[A]:
        found = await recorded.get(asked.key)
        if found is not None:
            return Reply(found, None, True)
        reply = await self._answered(asked)
        await recorded.put(asked.key, reply.answer)
        return reply

    async def _answered(self, asked: Asked[A]) -> Reply[A]:
        asked.prepare()
        waited = 0.0
        for attempt in range(1, self._retry_policy.attempts + 1):
            try:
                return await self._once(asked)
            except Failure as failure:
                waited += await self._rest(failure, attempt, waited)
        raise AssertionError("the last attempt answers or raises")

    async def _once(self, asked: Asked[A]) -> Reply[A]:
        used = asked.tokens
        await self._window.enter()
        try:
            await self._limiter.turn(asked.tokens, self._tell)
            if self._end is not None:
                raise self._end
            start = self._limiter.clock.now()
            answer = await asked.send()
            seconds = self._limiter.clock.now() - start
            if answer.input_tokens is not None and answer.output_tokens is not None:
                used = answer.input_tokens + answer.output_tokens
            self._state.reached = True
            self._window.grow()
        finally:
            self._limiter.settle(asked.tokens, used)
            self._window.leave()
        return Reply(answer, round(seconds, 6), False)

    async def _rest(self, failure: Failure, attempt: int, waited: float) -> float:
        """Wait before the next attempt; how long, in seconds.

        Raises:
            Failure: there is no next attempt.
            ConfigError: nor will any other request have an answer.
            PluginError: nor will they for a long time.
        """
        if not failure.again or attempt == self._retry_policy.attempts:
            raise self._final(failure, attempt)
        if failure.wait is not None and failure.wait > self._retry_policy.total:
            self._end = PluginError(
                f"{failure}. The server asks to wait {failure.wait:.0f} s; the answers so far are "
                "kept, run the same command again then."
            )
            raise self._end
        seconds = failure.wait or self._retry_policy.wait(attempt, self._random)
        if waited + seconds > self._retry_policy.total:
            raise self._final(failure, attempt, seconds)
        if failure.wait is None and failure.kind != "rate_limit":
            await self._limiter.clock.sleep(seconds)
        elif self._limiter.pause(seconds, failure.message, self._tell):
            self._window.shrink()
        return seconds

    def _final(self, failure: Failure, attempt: int, seconds: float | None = None) -> Exception:
        if failure.hopeless and (not self._state.reached or failure.kind == "rate_limit"):
            self._end = ConfigError(self._advice(failure))
            return self._end
        if not failure.hopeless and failure.kind not in ("rate_limit", "server_error", "timeout"):
            self._state.reached = True
        message = failure.message
        if seconds is not None:
            message = f"{message} (the next attempt would be in {seconds:.0f} s, too late)"
        elif attempt > 1:
            message = f"{message} (after {attempt} attempts)"
        return Failure(failure.kind, message, tokens=failure.tokens)
