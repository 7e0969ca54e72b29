"""The time that verifying a submission may take."""

import math
from time import monotonic

from target_bench.core.errors import ConfigError
from target_bench.reporting.leaderboard.archive import RefusedError

MINUTES = 60.0
"""Unless ``verify`` is given another number."""


class Budget:
    """A time that runs from the moment it is made.

    Args:
        minutes: how long.

    Raises:
        ConfigError: it is not a positive number.
    """

    def __init__(self, minutes: float = MINUTES) -> None:
        if not 0 < minutes < math.inf:
            raise ConfigError(f"minutes={minutes!r} (--minutes): expected a number above 0")
        self.minutes = minutes
        self._end = monotonic() + 60 * minutes

    @property
    def seconds(self) -> float:
        """What is left."""
        return self._end - monotonic()

    def spent(self, where: str) -> RefusedError:
        """Return the refusal of a submission that takes longer.

        Args:
            where: what was being checked when the time was over.
        """
        return RefusedError(
            "budget",
            f"{where}: not everything is checked after {self.minutes:g} minutes, the time that "
            "verify gives a submission. On a slow machine give it more with --minutes",
        )

    def check(self, where: str) -> None:
        """See that time is left.

        Raises:
            RefusedError: it is over.
        """
        if self.seconds <= 0:
            raise self.spent(where)
