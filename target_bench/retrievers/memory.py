"""What the retrievers share of ``limit_memory``."""

from target_bench.errors import ConfigError

SMALLEST = 16 * 2**20
"""The least budget, in bytes: below it there is no room for a block of scores."""


def checked_budget(n_bytes: int) -> int:
    """The same number of bytes.

    Raises:
        ConfigError: it is less than ``SMALLEST``.
    """
    if n_bytes < SMALLEST:
        raise ConfigError(
            f"a memory limit of {n_bytes} bytes is too small to index with; "
            f"allow at least {SMALLEST} bytes ({SMALLEST >> 20} MB)"
        )
    return n_bytes
