"""Data inside a page: JSON, compressed, as base64 text that a browser unpacks when it is needed."""

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any

LONGEST_TEXT = 20_000
"""Characters of a question, an answer, a statement: what is longer is cut, and says so."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block.

    Attributes:
        name: how the page's script asks for it.
        text: base64 of the zlib stream of ASCII JSON: nothing in it can end an element.
    """

    name: str
    text: str


def block(name: str, value: Any) -> Block:
    """Return a block of a JSON value; NaN and infinity are not allowed in it."""
    encoded = json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    return Block(name, base64.b64encode(zlib.compress(encoded, 6)).decode("ascii"))


def cut(text: str, longest: int = LONGEST_TEXT) -> str | list[Any]:
    """Return the text, or if it is longer ``[its beginning, how many characters are left out]``."""
    return text if len(text) <= longest else [text[:longest], len(text) - longest]
