"""One form for each text: Unicode's composed form (NFC).

macOS and exports made there write ``ü`` as two characters. Both look the same and are unequal, so
neither a word nor an answer nor an id would be found.
"""

from collections.abc import Mapping
from typing import Any
from unicodedata import normalize


def compose(value: Any) -> Any:
    """Return a value with the texts in it, in lists and mappings too, in NFC."""
    if isinstance(value, str):
        return value if value.isascii() else normalize("NFC", value)
    if type(value) in (list, tuple):
        return type(value)(map(compose, value))
    if isinstance(value, Mapping):
        return {compose(key): compose(inner) for key, inner in value.items()}
    return value
