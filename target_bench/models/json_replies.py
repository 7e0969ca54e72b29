"""The JSON object at the end of a model's reply."""

import json
import re
from typing import Any

from target_bench.core.reasoning import without_reasoning

_FENCE = "```"
_LANGUAGE = re.compile(r"\s*[A-Za-z]*\s*")
_FLAT = re.compile(r"\{[^{}]*\}")


def last_object(reply: str) -> dict[str, Any] | None:
    """Read the last JSON object of a reply; None where there is none, or it is not JSON.

    It is that of the last fenced block, of any language or none, that begins with an object. A
    reply that begins with one may do without a fence. Where there is neither, it is the last object
    in the text that has no other one within. Blocks of reasoning are left out.
    """
    said = without_reasoning(reply)
    parts = (_LANGUAGE.sub("", part, count=1) for part in said.split(_FENCE))
    found = [part for part in parts if part.startswith("{")] or _FLAT.findall(said)
    try:
        read, _ = json.JSONDecoder().raw_decode(found[-1])
    except (IndexError, ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None
