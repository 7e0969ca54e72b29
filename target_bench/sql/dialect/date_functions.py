"""SQLite's functions of date and time in DuckDB (sqlite.org/lang_datefunc.html)."""

import re
from typing import Any

from target_bench.sql.dialect.snippets import snippet
from target_bench.sql.dialect.types import Kinds

_FORMATS = {"DATE": "%Y-%m-%d", "TIME": "%H:%M:%S", "DATETIME": "%Y-%m-%d %H:%M:%S"}
_OTHERS = ("JULIANDAY", "UNIXEPOCH", "STRFTIME")
_CODES = {"%f": "%S.%g"}
_NUMBERS = {"%J": "julian", "%s": "epoch"}
_SAME = ("%d", "%H", "%j", "%m", "%M", "%S", "%w", "%W", "%Y", "%%")
_SHIFT = re.compile(r"([+-]?\d+(?:\.\d+)?) (year|month|day|hour|minute|second)s?")
_START = re.compile(r"start of (year|month|day)")


def is_time(node: Any) -> bool:
    """Whether an expression is one of these functions."""
    from sqlglot import exp

    types = (exp.Date, exp.TimeToStr, exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp)
    if isinstance(node, exp.Anonymous):
        return node.name.upper() in (*_FORMATS, *_OTHERS)
    return isinstance(node, types)


def time_to_duckdb(node: Any, kinds: Kinds) -> Any:
    """The function in DuckDB; NULL where SQLite gives NULL for what is no time.

    Raises:
        ValueError: it has a modifier or a format that is not translated.
    """
    name, arguments = _call(node)
    format_ = _FORMATS.get(name)
    if name == "STRFTIME":
        format_, arguments = _literal(arguments[0]) if arguments else None, arguments[1:]
    moment = _moment(arguments, kinds)
    if name == "JULIANDAY":
        return snippet("julian", moment)
    if name == "UNIXEPOCH":
        return snippet("epoch", moment)
    if format_ in _NUMBERS:
        return snippet("text", snippet(_NUMBERS[format_], moment))
    return snippet("strftime", moment, _format(format_))


def _call(node: Any) -> tuple[str, list[Any]]:
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return node.name.upper(), list(node.expressions)
    if isinstance(node, exp.TimeToStr):
        moment = node.this
        inner = moment.this if isinstance(moment, exp.TsOrDsToTimestamp) else moment
        return "STRFTIME", [node.args["format"], inner]
    if isinstance(node, exp.Date):
        return "DATE", [part for part in (node.this, *node.expressions) if part is not None]
    now = {exp.CurrentDate: "DATE", exp.CurrentTime: "TIME", exp.CurrentTimestamp: "DATETIME"}
    return now[type(node)], []


def _moment(arguments: list[Any], kinds: Kinds) -> Any:
    if not arguments or _literal(arguments[0]) == "now":
        moment = snippet("now")
    elif kinds.of(arguments[0]).kind in ("int", "real"):
        moment = snippet("from_julian", arguments[0])
    else:
        moment = snippet("timestamp", arguments[0])
    for modifier in arguments[1:]:
        moment = _modified(moment, _literal(modifier))
    return moment


def _modified(moment: Any, modifier: str | None) -> Any:
    from sqlglot import exp

    text = (modifier or "").strip().lower()
    if shift := _SHIFT.fullmatch(text):
        return snippet("plus", moment, exp.Literal.string(f"{shift[1].lstrip('+')} {shift[2]}"))
    if start := _START.fullmatch(text):
        return snippet("start", moment, exp.Literal.string(start[1]))
    raise ValueError(f"the modifier {modifier!r} of a date has no translation to DuckDB")


def _format(format_: str | None) -> Any:
    from sqlglot import exp

    codes = re.findall(r"%.?", format_ or "%")
    unknown = [code for code in codes if code not in _SAME and code not in _CODES]
    if format_ is None or unknown:
        raise ValueError(f"the format {format_!r} of strftime has no translation to DuckDB")
    return exp.Literal.string(re.sub(r"%.", lambda m: _CODES.get(m[0], m[0]), format_))


def _literal(node: Any) -> str | None:
    from sqlglot import exp

    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None
