"""Amounts of memory as users write them."""

import re
from fractions import Fraction

from target_bench.core.errors import ConfigError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_AMOUNT = r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([kmgt]?)(i?)b?\s*"
_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def n_bytes(amount: int | str) -> int:
    """Return bytes from a number or from text such as ``500MB``, ``1.5 GB`` or ``2GiB``.

    Raises:
        ConfigError: it is not a positive amount.
    """
    if isinstance(amount, int) and not isinstance(amount, bool) and amount > 0:
        return amount
    match = re.fullmatch(_AMOUNT, str(amount)[:50].lower())
    if match and not (match[3] and not match[2]):
        found = int(Fraction(match[1]) * (_BINARY if match[3] else _UNITS)[match[2]])
        if found > 0:
            return found
    raise ConfigError(f"memory={amount!r}: expected an amount such as 500MB or 2GiB")
