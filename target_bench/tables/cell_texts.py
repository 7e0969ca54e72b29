"""Texts of cells in one form: without the marks of Markdown, and numbers with decimal points."""

import re
from collections.abc import Sequence
from functools import lru_cache
from html import unescape

_LONGEST_MARKED = 300  # characters between two marks of emphasis: the time grows with them
_MARK = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?<!`)(?P<ticks>`{1,3})(?!`)(?P<code>[^`]{1,300})(?<!`)(?P=ticks)(?!`)"
    r"|(?P<line><br\s{0,9}/?>)"
    r"|</?(?:b|i|em|strong|s|u|del|ins|mark|small|sub|sup|code|span|font)(?:\s[^<>]{0,200})?>"
    r"|(?P<entity>&(?:\#\d{1,7}|\#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,30});)"
    r"|!?\[(?P<linked>[^\[\]]{1,300})\]\((?:[a-z]+:|[/.\#])[^()\s]{0,500}\)",
    re.IGNORECASE,
)
_EMPHASIS = tuple(
    re.compile(
        rf"{before}{mark}(?=[^\s{one}])(.{{1,{_LONGEST_MARKED}}}?)(?<=[^\s{one}]){mark}{end}"
    )
    for before, mark, one, end in (
        ("", r"\*\*", "*", ""),
        (r"(?<!\w)", "__", "_", r"(?!\w)"),
        ("", "~~", "~", ""),
        (r"(?<![\w*])", r"\*", "*", r"(?![\w*])"),
        (r"(?<!\w)", "_", "_", r"(?!\w)"),
    )
)
_PRIVATE = 0xF0000  # where characters wait that are no marks
_WAITING = re.compile(f"[{chr(_PRIVATE)}-{chr(_PRIVATE + 127)}]")


@lru_cache(maxsize=2**16)
def strip_marks(text: str) -> str:
    r"""Return the text of a cell of Markdown as it is shown.

    ``**5**``, ``*5*``, ``__5__``, ``~~5~~``, ``` `5` ```, ``<b>5</b>`` and ``[5](https://...)`` are
    5; ``<br>`` is a blank, ``&amp;`` is ``&`` and ``\$5`` is ``$5``. A mark without a partner
    (``5*``) stays.
    """
    if not any(mark in text for mark in r"\`<&[*_~"):
        return text
    shown = _MARK.sub(_shown, text)
    for pattern in _EMPHASIS:
        shown = pattern.sub(r"\1", shown)
    return _WAITING.sub(lambda match: chr(ord(match[0]) - _PRIVATE), shown).strip()


def _shown(match: re.Match[str]) -> str:
    if match["line"]:
        return " "
    if match["linked"]:
        return match["linked"]
    literal = match["escaped"] or match["code"] or unescape(match["entity"] or "")
    return "".join(
        chr(_PRIVATE + ord(c)) if c.isascii() and not c.isalnum() else c for c in literal
    )


_COMMA = r"(?:\d{1,3}(?:\.\d{3})+|\d+),\d+|\d{1,3}(?:\.\d{3})+"
_AMOUNT = re.compile(
    r"(?P<before>[(<>≤≥~±+\-−–]{0,2}\s?[$€£¥₹]?\s?)"
    r"(?P<number>\d[\d.,]*)"
    r"(?P<after>\s?[^\W\d_]{0,12}[%‰$€£¥₹°²³/)]{0,2}[^\W\d_]{0,3})"
)
_WITH_COMMA = re.compile(_COMMA)
_SURELY_COMMA = re.compile(r"\d+(?:\.\d{3})*,(?:\d{1,2}|\d{4,})|0,\d+|\d{1,3}(?:\.\d{3})+,\d+")
_SURELY_POINT = re.compile(
    r"\d+\.(?:\d{1,2}|\d{4,})|0\.\d+|\d{1,3}(?:(?:,\d{3}){2,}|(?:,\d{3})+\.\d+)"
)


def convert_decimal_commas(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]] | None:
    """Return rows in which numbers with decimal commas have points; None where there are none.

    A column decides: ``1,234`` alone may be a thousand, ``1,5`` is not. One in which some numbers
    can only have commas, and none can only have points, is changed; so are columns that may be
    either, where no column of the table has points.

    Args:
        rows: the cells below the header; rows may differ in length.
    """
    width = max(map(len, rows), default=0)
    columns = [[_number(row[k]) for row in rows if k < len(row)] for k in range(width)]
    commas = [any(map(_SURELY_COMMA.fullmatch, column)) for column in columns]
    points = [any(map(_SURELY_POINT.fullmatch, column)) for column in columns]
    if not any(comma and not point for comma, point in zip(commas, points, strict=True)):
        return None
    changed = [
        not point and (comma or not any(points))
        for comma, point in zip(commas, points, strict=True)
    ]
    return [
        tuple(_pointed(cell) if changed[k] else cell for k, cell in enumerate(row)) for row in rows
    ]


def _number(cell: str) -> str:
    match = _AMOUNT.fullmatch(cell.strip())
    return match["number"] if match else ""


def _pointed(cell: str) -> str:
    match = _AMOUNT.fullmatch(cell.strip())
    if match is None or not _WITH_COMMA.fullmatch(match["number"]):
        return cell
    number = match["number"].replace(".", "").replace(",", ".")
    return f"{match['before']}{number}{match['after']}"
