"""Time, as what waits for it sees it; tests put in one of their own."""

import asyncio
import time


class Clock:
    """The system's clock."""

    def now(self) -> float:
        """Return monotonic seconds from an arbitrary start."""
        return time.monotonic()

    def today(self) -> float:
        """Return the seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Let this many seconds go by."""
        await asyncio.sleep(seconds)
