"""What our pages share: look, small scripts, safe ways of putting data into HTML."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from target_bench.reporting.web import numbers

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent
_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&'\u2028\u2029"}


def asset(name: str, folder: Path = _FOLDER) -> str:
    """Return the text of a file of ours: ``theme.css``, ``page.js``, or one of another folder."""
    return (folder / name).read_text(encoding="utf-8")


def environment(folder: Path) -> "Environment":
    """Jinja over the templates of a folder: everything is escaped, nothing may be undefined.

    Filters: ``count``, ``score``, ``interval``, ``seconds``, ``milliseconds`` (see ``numbers``),
    ``valid`` and ``script_json`` (see here).
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    jinja = Environment(
        loader=FileSystemLoader([folder, _FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: valid(value) if type(value) is str else value,
    )
    named = {name: getattr(numbers, name) for name in numbers.__all__}
    jinja.filters.update(named, valid=valid, script_json=script_json)
    return jinja


def valid(text: str) -> str:
    """Return the text with U+FFFD for what UTF-8 cannot hold (half a surrogate pair)."""
    return _SURROGATES.sub("\ufffd", text)


def script_json(value: Any) -> Any:
    r"""JSON for a ``<script type="application/json">``, as markup that needs no more escaping.

    It is ASCII, and what could end or begin an element is written ``\u003c`` and the like.

    Raises:
        ValueError: a number is not a number of JSON (NaN, infinity).
    """
    from markupsafe import Markup

    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPED))  # noqa: S704 (just escaped)


def security_policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return a Content-Security-Policy that allows these inline scripts and styles only.

    No request leaves a page that has it, and no script that came with the data runs.

    Args:
        scripts: the text between each ``<script>`` and its end, to the letter.
        styles: the same of each ``<style>``.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(scripts)}",
            f"style-src {_hashes(styles)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hashes(texts: Sequence[str]) -> str:
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests) or "'none'"
