"""Texts of others, as a page shows them."""

import re
import unicodedata

from target_bench.reporting.web import valid

_REPLACED = {"Cc", "Co", "Zl", "Zp"}
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

MARK = "\ufffd"


def shown(text: str) -> str:
    """Return the text with U+FFFD for what does not show or turns other text around."""
    return (
        "".join(
            MARK if c in _DIRECTIONS or unicodedata.category(c) in _REPLACED else c
            for c in valid(text)
        )
        if _ODD.search(text)
        else text
    )


_ODD = re.compile(r"[^\x20-\x7e]")
