"""Time, as what waits for it sees it; tests put in one of their own."""

import asyncio
import time


class Clock:
    """The system's clock."""

    def now(self) -> float:
        """Seconds that only grow, from anywhere."""
        return time.monotonic()

    def today(self) -> float:
        """Seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Let this many seconds go by."""
        await asyncio.sleep(seconds)
