"""Rate limits of an endpoint: requests and tokens per minute, pauses, concurrent requests."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from math import isfinite
from threading import Lock

from target_bench.core.errors import ConfigError

Tell = Callable[[str, float], None]
"""(reason, seconds): is called when nothing is sent for a while."""

_WORTH_TELLING = 1.0  # seconds


class Clock:
    """The system's clock; tests put in one of their own."""

    def now(self) -> float:
        """Return monotonic seconds from an arbitrary start."""
        return time.monotonic()

    def today(self) -> float:
        """Return the seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Let this many seconds go by."""
        await asyncio.sleep(seconds)


def retry_after(headers: Mapping[str, str], today: float) -> float | None:
    """Return how many seconds a server asks to wait.

    Args:
        headers: of its answer, looked up regardless of case.
        today: seconds since 1970, for a server that names a date.

    Returns:
        At least 0; None if it does not ask, or not in a form that is known.
    """
    found = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            seconds = float(found[name]) * unit
            if isfinite(seconds):
                return max(0.0, seconds)
    with suppress(KeyError, ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(found["retry-after"]).timestamp() - today)
    return None


class Bucket:
    """A token bucket that holds one request: so much a minute, evenly, without bursts.

    Args:
        per_minute: how much may be taken in any minute; None for any amount.
        name: as the user set it, for the error.

    Raises:
        ConfigError: ``per_minute`` is not above 0.
    """

    def __init__(self, per_minute: float | None, name: str) -> None:
        if per_minute is not None and not per_minute > 0:
            raise ConfigError(f"{name}={per_minute}: expected a number above 0")
        self._seconds_each = 60 / per_minute if per_minute else 0.0
        self._full = 0.0

    def begin(self, now: float) -> float:
        """Return when the next may be taken, at ``now`` the earliest."""
        return max(self._full, now)

    def take(self, amount: float, start: float) -> None:
        """Take it at ``start``; more than a minute's worth makes the next wait for longer."""
        self._full = start + amount * self._seconds_each

    def give_back(self, amount: float) -> None:
        """Take it back, or with a negative amount take more."""
        self._full -= amount * self._seconds_each


class Limiter:
    """Schedule of an endpoint's requests; safe for several threads.

    Args:
        rpm: requests per minute, or None for any number.
        tpm: tokens per minute, prompts and answers together, or None for any number.
        clock: the time.
    """

    def __init__(
        self, rpm: float | None = None, tpm: float | None = None, clock: Clock | None = None
    ) -> None:
        self.clock = clock or Clock()
        self._requests = Bucket(rpm, "rpm")
        self._tokens = Bucket(tpm, "tpm")
        self._limits = " and ".join(
            f"{limit:,g} {what} per minute"
            for limit, what in ((rpm, "requests"), (tpm, "tokens"))
            if limit is not None
        )
        self._paused_until = float("-inf")
        self._told = False
        self._lock = Lock()

    async def turn(self, tokens: int, tell: Tell) -> None:
        """Wait until a request of this many tokens may be sent.

        Args:
            tokens: of prompt and answer together, estimated.
            tell: is called once for the user's own limits, when they first cause a wait.
        """
        while True:
            await self._pause_to_end()
            wait = self._reserve(tokens)
            if wait > _WORTH_TELLING and not self._told:
                self._told = True
                tell(f"at most {self._limits}", wait)
            if wait > 0:
                await self.clock.sleep(wait)
            if self.clock.now() >= self._paused_until:
                return
            self.settle(tokens, 0)

    async def _pause_to_end(self) -> None:
        while (left := self._paused_until - self.clock.now()) > 0:
            await self.clock.sleep(left)

    def _reserve(self, tokens: int) -> float:
        with self._lock:
            now = self.clock.now()
            start = max(self._requests.begin(now), self._tokens.begin(now))
            self._requests.take(1, start)
            self._tokens.take(tokens, start)
            return start - now

    def settle(self, estimated: int, used: int) -> None:
        """Put the tokens right that a request really used."""
        with self._lock:
            self._tokens.give_back(estimated - used)

    def pause(self, seconds: float, reason: str, tell: Tell) -> bool:
        """Send nothing for so long; whether that begins a pause and extends none.

        Args:
            seconds: from now on.
            reason: why, for whoever watches.
            tell: is called once a pause.
        """
        with self._lock:
            now = self.clock.now()
            begins = now >= self._paused_until
            self._paused_until = max(self._paused_until, now + seconds)
        if begins and seconds >= _WORTH_TELLING:
            tell(reason, seconds)
        return begins


class ConcurrencyWindow:
    """The number of requests that may be under way at once, in one event loop.

    It halves when the server says that there are too many, and grows by one each time that as many
    as it holds were answered: so what follows a pause is not the same crowd of requests again.

    Args:
        most: its size to begin with, which it never exceeds.
    """

    def __init__(self, most: int) -> None:
        self._most = float(most)
        self._size = float(most)
        self._inside = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait for a place."""
        if not self._queue and self._inside < int(self._size):
            self._inside += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give the place back."""
        self._inside -= 1
        while self._queue and self._inside < int(self._size):
            place = self._queue.popleft()
            if not place.done():
                self._inside += 1
                place.set_result(None)

    def shrink(self) -> None:
        """Halve: the server says that there are too many."""
        self._size = max(1.0, min(self._size, self._inside) / 2)

    def grow(self) -> None:
        """Grow a little: one more was answered."""
        self._size = min(self._most, self._size + 1 / self._size)
