"""Names of columns, with the unit that stands in them."""

import re
from functools import lru_cache
from typing import NamedTuple

from target_bench.tables.comparison.units import Unit, unit

_BRACKETS = re.compile(r"(?P<name>.*?)\s*[(\[](?P<unit>[^()\[\]]+)[)\]]\s*")
_IN = re.compile(r"(?P<name>.+?)[ ,]+in (?P<unit>[^()\[\]]+)", re.IGNORECASE)
_LONGEST = 500
"""Characters of a name above which no unit is looked for: the time grows with their square."""


class Name(NamedTuple):
    """The name of a column.

    Attributes:
        text: without its unit.
        unit: of its numbers; None where the name has none.
    """

    text: str
    unit: Unit | None = None


@lru_cache(maxsize=2**13)
def name_of(header: str) -> Name:
    """Read a header such as ``Distance (km)``, ``Cost [£ million]``, ``Height in m``."""
    if len(header) > _LONGEST:
        return Name(header.strip())
    for pattern in (_BRACKETS, _IN):
        match = pattern.fullmatch(header)
        if match is not None:
            found = unit(match["unit"])
            if found is not None:
                return Name(match["name"].strip(), found)
    return Name(header.strip(), unit(header) if " " in header.strip() else None)
