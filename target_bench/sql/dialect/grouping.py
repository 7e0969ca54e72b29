"""Columns that SQLite lets stand beside aggregates without being grouped by.

SQLite takes them from one row of the group: the row that holds the minimum or maximum if the query
asks for one (sqlite.org/lang_select.html, "Bare columns in an aggregate query"), else, in the
versions measured, the first. DuckDB wants an aggregate there.
"""

from typing import Any

from target_bench.sql.dialect.names import Names
from target_bench.sql.dialect.snippets import snippet


def wrap_bare_columns(select: Any, names: Names) -> None:
    """Put an aggregate around every bare column of one SELECT; changes it in place.

    Raises:
        ValueError: it has ``*`` beside aggregates.
    """
    from sqlglot import exp

    keys, aggregates = group_keys(select, names), _aggregates(select)
    if not keys and not aggregates:
        return
    if any(item.is_star and not isinstance(item, exp.Count) for item in select.selects):
        _keep_first_rows(select, keys, bool(aggregates))
        return
    extreme = next((a for a in aggregates if isinstance(a, exp.Min | exp.Max)), None)
    aliases = {item.alias.lower() for item in select.selects if isinstance(item, exp.Alias)}
    grouped = {_canonical(key, names) for key in keys}
    for part in select.selects:
        _wrap(part, grouped, extreme, names, set())
    for part in _after(select):
        _wrap(part, grouped, extreme, names, aliases)


def group_keys(select: Any, names: Names) -> list[Any]:
    """Return the expressions that a SELECT groups by; numbers and aliases are resolved."""
    grouping = select.args.get("group")
    return [_key(key, select, names) for key in grouping.expressions] if grouping else []


def has_aggregates(select: Any) -> bool:
    """Return whether a SELECT has an aggregate of its own, window functions apart."""
    return bool(_aggregates(select))


def _aggregates(select: Any) -> list[Any]:
    from sqlglot import exp

    found = [a for part in [*select.selects, *_after(select)] for a in _own(part, exp.AggFunc)]
    return [a for a in found if _is_aggregate(a)]


def _after(select: Any) -> list[Any]:
    """Return the clauses evaluated after grouping, beside the SELECT list."""
    order, having = select.args.get("order"), select.args.get("having")
    return [*([having] if having else []), *(order.expressions if order else [])]


def _wrap(part: Any, grouped: set[str], extreme: Any, names: Names, aliases: set[str]) -> None:
    from sqlglot import exp

    for column in list(_own(part, exp.Column)):
        if column.name.lower() in aliases and not column.table:
            continue
        above = [column, *_ancestors(column, part)]
        if any(isinstance(node, exp.Filter) or _is_aggregate(node) for node in above):
            continue
        if any(_canonical(node, names) in grouped for node in above):
            continue
        column.replace(_aggregate(column, extreme))


def _aggregate(column: Any, extreme: Any) -> Any:
    from sqlglot import exp

    if extreme is None:
        return snippet("first", column)
    return snippet("arg_max" if isinstance(extreme, exp.Max) else "arg_min", column, extreme.this)


def _keep_first_rows(select: Any, keys: list[Any], aggregated: bool) -> None:
    """Translate ``SELECT * ... GROUP BY key``: the first row of every group."""
    from sqlglot import exp

    if aggregated or select.args.get("having") or select.args.get("distinct"):
        raise ValueError("a star beside aggregates has no translation to DuckDB")
    select.set("group", None)
    select.set("distinct", exp.Distinct(on=exp.Tuple(expressions=[key.copy() for key in keys])))


def _own(part: Any, types: Any) -> list[Any]:
    """Return the parts of an expression of some types, those of subqueries left out."""
    from sqlglot import exp

    found = part.walk(prune=lambda node: isinstance(node, exp.Query))
    return [node for node in found if isinstance(node, types)]


def _ancestors(node: Any, top: Any) -> list[Any]:
    found = []
    while node is not top and node.parent is not None:
        node = node.parent
        found.append(node)
    return found


def _is_aggregate(node: Any) -> bool:
    from sqlglot import exp

    around = node.parent.parent if isinstance(node.parent, exp.Filter) else node.parent
    return isinstance(node, exp.AggFunc) and not isinstance(around, exp.Window)


def _key(key: Any, select: Any, names: Names) -> Any:
    """Resolve a GROUP BY term: a column's number or alias is the expression itself."""
    from sqlglot import exp

    if isinstance(key, exp.Literal) and not key.is_string and key.this.isdigit():
        place = int(key.this) - 1
        return select.selects[place].unalias() if place < len(select.selects) else key
    origin = names.origin(key) if isinstance(key, exp.Column) else None
    return origin.expression if origin and not origin.source and origin.expression else key


def _canonical(node: Any, names: Names) -> str:
    """Return a text that is equal for expressions of the same meaning."""
    from sqlglot import exp

    for column in node.find_all(exp.Column):
        origin = names.origin(column) if "source" not in column.meta else None
        if origin is not None:
            column.meta["source"] = origin.source

    def plain(part: Any) -> Any:
        if not isinstance(part, exp.Column):
            return part
        return exp.column(part.name.lower(), part.meta.get("source", part.table.lower()))

    return str(node.unalias().copy().transform(plain).sql("sqlite"))
