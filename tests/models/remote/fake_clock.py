"""A clock that runs only while everybody sleeps."""

import asyncio
import heapq
from collections.abc import Awaitable
from itertools import count
from typing import TypeVar

from target_bench.models.remote.rate_limits import Clock

T = TypeVar("T")


class FakeClock(Clock):
    def __init__(self) -> None:
        self.time = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = count()

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, next(self._count), woken))
        await woken

    def run(self, *work: Awaitable[T]) -> list[T]:
        """The results of the work; time jumps to the next who wakes when nobody is awake."""
        return asyncio.run(self._run(work))

    async def _run(self, work: tuple[Awaitable[T], ...]) -> list[T]:
        whole = asyncio.gather(*work)
        while not whole.done():
            for _ in range(50):
                await asyncio.sleep(0)
            if self._sleepers and not whole.done():
                self.time, _, woken = heapq.heappop(self._sleepers)
                woken.set_result(None)
        return await whole
