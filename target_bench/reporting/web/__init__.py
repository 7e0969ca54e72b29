"""Shared parts of all pages: style, small scripts, formatted numbers, safe HTML."""

import base64
import hashlib
import os
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from target_bench.core import text_tables
from target_bench.core.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment


_FOLDER = Path(__file__).parent
_SURROGATES = re.compile("[\ud800-\udfff]")
_ODD = re.compile(r"[^\x20-\x7e]")
_REPLACED = {"Cc", "Co", "Zl", "Zp"}

_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def asset(name: str, folder: Path = _FOLDER) -> str:
    """Return the text of a file of ours: ``theme.css``, ``page.js``, or one of another folder."""
    return (folder / name).read_text(encoding="utf-8")


def make_page_parts(folder: Path, scripts: Sequence[str], style: str) -> dict[str, Any]:
    """Return what the templates of all pages are given: version, script, style and policy."""
    script = "\n".join([asset("page.js"), *(asset(name, folder) for name in scripts)])
    styles = asset("theme.css") + asset(style, folder)
    policy = make_policy(script, styles)
    return {"version": __version__, "script": script, "style": styles, "policy": policy}


def environment(*folders: Path) -> "Environment":
    """Jinja over the templates of folders: everything is escaped, nothing may be undefined.

    Filters: ``count``, ``score``, ``interval``, ``probability``, ``label`` and ``valid``.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    jinja = Environment(
        loader=FileSystemLoader([*folders, _FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: valid(value) if type(value) is str else value,
    )
    filters = (count, score, interval, probability, label, valid)
    jinja.filters.update({each.__name__: each for each in filters})
    return jinja


def valid(text: str) -> str:
    """Return the text with U+FFFD for what UTF-8 cannot hold (half a surrogate pair)."""
    return _SURROGATES.sub("\ufffd", text)


def label(text: str) -> Any:
    """Return the label of a run as markup that breaks after a comma or colon, if it has to."""
    from markupsafe import Markup, escape

    parts = re.split(r"(?<=[,:])(?=\S)", valid(text))
    return Markup("<wbr>").join(map(escape, parts))


def make_visible(text: str) -> str:
    """Return the text with U+FFFD for what does not show or turns other text around."""
    text = valid(text)
    if not _ODD.search(text):
        return text
    return "".join(
        "\ufffd" if c in _DIRECTIONS or unicodedata.category(c) in _REPLACED else c for c in text
    )


def make_policy(script: str, style: str) -> str:
    """Return a Content-Security-Policy that allows this inline script and style only.

    No request leaves a page that has it, and no script that came with the data runs. Both are what
    stands between ``<script>`` or ``<style>`` and its end, to the letter.
    """
    digests = (hashlib.sha256(text.encode()).digest() for text in (script, style))
    hashes = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    return (
        f"default-src 'none'; script-src {hashes[0]}; style-src {hashes[1]}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


NONE = "–"
"""Sign for an unknown number."""


def count(value: float | None) -> str:
    """``12,779``."""
    return NONE if value is None else f"{value:,.0f}"


def score(value: float | None, digits: int = 3) -> str:
    """``.842``; metrics from 0 to 100 with ``digits`` 2."""
    if value is None or not isfinite(value):
        return NONE
    return text_tables.score_text(value, digits).replace("-", "−")


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """``.831–.853``; with more decimals where both bounds would look the same."""
    if low is None or high is None or isnan(low) or isnan(high):
        return NONE
    return text_tables.interval(low, high, digits).replace("-", "−")


def probability(value: float | None) -> str:
    """``.034``, ``< .001``."""
    return NONE if value is None else text_tables.p_text(value)


def duration(seconds: float | None) -> str:
    """``0.03 ms``, ``8.5 ms``, ``85 ms``, ``1.2 s``, ``200 s``."""
    if seconds is None or not isfinite(seconds):
        return NONE
    value, unit = (1000 * seconds, "ms") if seconds < 1 else (seconds, "s")
    digits = 2 if value < 1 else 1 if value < 10 else 0
    return f"{value:,.{digits}f} {unit}"


def today() -> str:
    """Return the day of the build (UTC); ``$SOURCE_DATE_EPOCH`` sets it for repeatable builds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return now.date().isoformat()
