"""Limits of a statement."""

import math
from dataclasses import dataclass

from target_bench.core.errors import ConfigError

_LEAST_MEMORY = 16 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one statement.

    Attributes:
        seconds: wall-clock time of each run, fetching included. BIRD's official limit is 30.
        memory: bytes the engine may allocate, sorting and caches included: neither engine writes
            temporary files.
        rows: rows of the result.
        result_bytes: bytes the result may take as Python values.

    Raises:
        ConfigError: a limit is not positive, or the memory is too little for an engine.
    """

    seconds: float = 30.0
    memory: int = 1 << 30
    rows: int = 1_000_000
    result_bytes: int = 256 << 20

    def __post_init__(self) -> None:
        if not (0 < self.seconds < math.inf):
            raise ConfigError(f"limit seconds={self.seconds!r}: expected a positive number")
        if self.memory < _LEAST_MEMORY:
            raise ConfigError(f"limit memory={self.memory!r}: expected {_LEAST_MEMORY} or more")
        for name in ("rows", "result_bytes"):
            if getattr(self, name) < 1:
                raise ConfigError(f"limit {name}={getattr(self, name)!r}: expected 1 or more")
