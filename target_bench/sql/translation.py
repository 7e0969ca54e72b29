"""SQLite's SQL in DuckDB's: the same rows, as far as the two engines can give the same.

sqlglot translates the syntax, but knows nothing of what SQLite does at run time: text and numbers
are compared by the types of columns, double quotes may hold a string, whole numbers divide to whole
numbers, LIKE ignores case, a column may stand beside aggregates without being grouped by. For these
the schema is read, and the statement is changed so that DuckDB does the same.

Each repair is one that gold statements of Spider or BIRD need (``benchmarks/translation.py`` counts
how many); gold over which the engines still differ is left out of the scores by the judge.
"""

from functools import cache
from typing import Any, Literal

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from target_bench.sql.databases import Kind, classify_type
from target_bench.sql.names import (
    ROWIDS,
    Names,
    Schema,
    parse_query,
    replace_unknown_names,
    silence_sqlglot,
)

_NUMBERS = ("int", "real", "bool")


def to_duckdb(sql: str, schema: Schema) -> str:
    """Return a query in DuckDB's SQL.

    Args:
        sql: one query in SQLite's SQL.
        schema: table -> column -> type, of the copy in DuckDB (``Copy.columns``).

    Raises:
        ValueError: it is not a query that sqlglot can parse, or asks for something that DuckDB
            cannot give as SQLite does (``rowid``, division of what may be whole numbers or text).
    """
    tree = parse_query(sql)
    try:
        replace_unknown_names(tree, sql, schema)
        names = Names(tree, schema)
        for column in tree.find_all(exp.Column):
            if column.name.lower() in ROWIDS and names.find_origin(column) is None:
                raise ValueError(f"{column.name} is not kept in DuckDB")
        for node in tree.walk():
            _get_kind(node, names)  # now, while the names still have their places
        for select in list(tree.find_all(exp.Select)):
            _settle_ties(select, names)
            _wrap_bare_columns(select, names)
        with silence_sqlglot():
            return str(_repair(tree, names).sql("duckdb", identify=True))
    except (SqlglotError, RecursionError) as error:
        raise ValueError(f"sqlglot cannot translate it: {error}") from error


# ------------------------------------------------------------------------------------------------
# Whole statements


def _settle_ties(select: Any, names: Names) -> None:
    """Add terms to ORDER BY that decide between equals as SQLite does, in place."""
    # Which of several equal rows LIMIT keeps is not defined; gold queries ask for it all the same.
    # SQLite's answer follows from how it works: groups come sorted by their keys, in the directions
    # of ORDER BY where both have as many terms (select.c), other rows come in storage order, and
    # sorting keeps the order of equals. Where its planner starts with another table, it differs.
    order = select.args.get("order")
    if select.args.get("distinct") or not (order or select.args.get("limit")):
        return
    terms = list(order.expressions) if order else []
    keys = _list_group_keys(select, names)
    if keys:
        follow = len(keys) == len(terms)
        added = [
            exp.Ordered(this=key.copy(), desc=follow and terms[i].args.get("desc"))
            for i, key in enumerate(keys)
        ]
    elif _list_aggregates(select):
        return
    else:
        tables = names.list_base_tables(select)
        added = [exp.Ordered(this=exp.column("rowid", t.alias_or_name)) for t in tables]
    if terms or added:
        order = order or exp.Order()
        order.set("expressions", [*terms, *added])
        select.set("order", order)


def _wrap_bare_columns(select: Any, names: Names) -> None:
    """Put an aggregate around columns that stand beside aggregates and are not grouped by."""
    # SQLite takes them from one row of the group: the row that holds the minimum or maximum if the
    # query asks for one (sqlite.org/lang_select.html, "Bare columns in an aggregate query"), else,
    # in the versions measured, the first.
    keys, aggregates = _list_group_keys(select, names), _list_aggregates(select)
    if not keys and not aggregates:
        return
    if any(item.is_star and not isinstance(item, exp.Count) for item in select.selects):
        if aggregates or select.args.get("having") or select.args.get("distinct"):
            raise ValueError("a star beside aggregates has no translation to DuckDB")
        select.set("group", None)  # the first row of every group
        select.set("distinct", exp.Distinct(on=exp.Tuple(expressions=[k.copy() for k in keys])))
        return
    extreme = next((a for a in aggregates if isinstance(a, exp.Min | exp.Max)), None)
    aliases = {item.alias.lower() for item in select.selects if isinstance(item, exp.Alias)}
    grouped = {_normalize(key, names) for key in keys}
    parts = [(part, set[str]()) for part in select.selects]
    parts += [(part, aliases) for part in _list_late_clauses(select)]
    for part, known in parts:
        for column in _find_own(part, exp.Column):
            above = [column]
            while above[-1] is not part:
                above.append(above[-1].parent)
            if (
                (not column.table and column.name.lower() in known)
                or any(isinstance(node, exp.Filter) or _is_aggregate(node) for node in above)
                or any(_normalize(node, names) in grouped for node in above)
            ):
                continue
            if extreme is None:
                new = exp.func("FIRST", column.copy())
            else:
                name = "ARG_MAX_NULL" if isinstance(extreme, exp.Max) else "ARG_MIN_NULL"
                new = exp.func(name, column.copy(), extreme.this.copy())
            new.meta["kind"] = _get_kind(column, names)
            column.replace(new)


def _list_group_keys(select: Any, names: Names) -> list[Any]:
    """Return the expressions that a SELECT groups by; numbers and aliases are resolved."""
    grouping = select.args.get("group")
    keys = []
    for key in grouping.expressions if grouping else []:
        origin = names.find_origin(key) if isinstance(key, exp.Column) else None
        if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.this) <= len(select.selects):
            key = select.selects[int(key.this) - 1].unalias()
        elif origin and not origin.source and origin.expression:
            key = origin.expression
        keys.append(key)
    return keys


def _list_aggregates(select: Any) -> list[Any]:
    """Return the aggregates of a SELECT, window functions and subqueries apart."""
    parts = [*select.selects, *_list_late_clauses(select)]
    return [node for part in parts for node in _find_own(part, exp.AggFunc) if _is_aggregate(node)]


def _list_late_clauses(select: Any) -> list[Any]:
    """Return the clauses evaluated after grouping, beside the SELECT list."""
    order, having = select.args.get("order"), select.args.get("having")
    return [*([having] if having else []), *(order.expressions if order else [])]


def _find_own(part: Any, types: Any) -> list[Any]:
    """Return the parts of an expression of some types, those of subqueries left out."""
    nodes = part.walk(prune=lambda node: isinstance(node, exp.Query))
    return [node for node in nodes if isinstance(node, types)]


def _is_aggregate(node: Any) -> bool:
    around = node.parent.parent if isinstance(node.parent, exp.Filter) else node.parent
    return isinstance(node, exp.AggFunc) and not isinstance(around, exp.Window)


def _normalize(node: Any, names: Names) -> str:
    """Return a text that is equal for expressions of the same meaning."""
    for column in node.find_all(exp.Column):
        origin = names.find_origin(column) if "source" not in column.meta else None
        if origin is not None:
            column.meta["source"] = origin.source

    def plain(part: Any) -> Any:
        if not isinstance(part, exp.Column):
            return part
        return exp.column(part.name.lower(), part.meta.get("source", part.table.lower()))

    return str(node.unalias().copy().transform(plain).sql("sqlite"))


# ------------------------------------------------------------------------------------------------
# Single expressions


def _repair(tree: Any, names: Names) -> Any:
    """Return the tree with its expressions changed, from the innermost outwards."""
    for node in reversed(list(tree.walk())):
        for types, rule in RULES.items():
            if isinstance(node, types):
                new = _repair_node(node, rule, names)
                tree = new if node is tree else tree
                break
    return tree


def _repair_node(node: Any, rule: Any, names: Names) -> Any:
    """Put what a rule makes of an expression in its place, and keep what is known of it."""
    kind = _get_kind(node, names)
    new = rule(node, names)
    new.meta["kind"] = kind
    if isinstance(node, exp.Cast):
        new.unnest().meta["converts"] = True
    if new is not node and node.parent is not None:
        node.replace(new)
    return new


def _translate_like(node: Any, names: Names) -> Any:
    """Translate LIKE, which in SQLite ignores the case of ASCII letters alone."""
    text, pattern = _to_text(node.this, names), _to_text(node.expression, names)
    if isinstance(pattern, exp.Literal) and pattern.this.isascii():
        return exp.ILike(**{**node.args, "this": text, "expression": pattern})
    text, pattern = (_build(_LOWER, side) for side in (text, pattern))
    return exp.Like(**{**node.args, "this": text, "expression": pattern})


def _translate_letter_case(node: Any, names: Names) -> Any:
    """Translate ``upper`` and ``lower``, which SQLite does to ASCII letters alone."""
    letters = _UPPER if isinstance(node, exp.Upper) else _LOWER
    return _build(letters, _to_text(node.this, names))


def _translate_cast(node: Any, names: Names) -> Any:
    """Translate CAST: to numbers SQLite cuts fractions off, and texts behind their first number."""
    affinity, kind = _find_affinity(node.to), _get_kind(node.this, names)
    if affinity == "int":
        if kind == "text":
            return _build(_TO_INTEGER, node.this)
        node.set("to", exp.DataType.build("bigint"))
        if kind == "real":
            node.set("this", exp.Trunc(this=node.this))
    elif affinity == "number":
        return _to_number(node.this, names) if kind != "any" else exp.cast(node.this, "double")
    elif kind == "bool" or (affinity == "real" and kind == "text"):
        node.set("this", _to_number(node.this, names))
    return node


def _find_affinity(to: Any) -> Kind | Literal["number"]:
    """Return the affinity of a type (sqlite.org/datatype3.html, section 3.1)."""
    name = to.sql().upper()
    words: tuple[tuple[Kind, tuple[str, ...]], ...] = (
        ("int", ("INT",)),
        ("text", ("CHAR", "CLOB", "TEXT")),
        ("any", ("BLOB", "BINARY")),
        ("real", ("REAL", "FLOA", "DOUB")),
    )
    return next((kind for kind, parts in words if any(part in name for part in parts)), "number")


def _translate_comparison(node: Any, names: Names) -> Any:
    if not isinstance(node.expression, exp.Null | exp.Boolean):
        left, right = _convert_sides(node.this, node.expression, names)
        node.set("this", left)
        node.set("expression", right)
    return node


def _convert_sides(left: Any, right: Any, names: Names) -> tuple[Any, Any]:
    """Convert both sides as SQLite compares them (sqlite.org/datatype3.html, section 4.2)."""
    # Columns and casts convert the other side, literals and functions do not.
    left_kind, right_kind = _get_kind(left, names), _get_kind(right, names)
    if left_kind == "text" and right_kind in _NUMBERS:
        right, left = _convert_sides(right, left, names)
    elif left_kind in _NUMBERS and right_kind == "text":
        if not _is_converting(left, names) and _is_converting(right, names):
            return _to_text(left, names), right
        return _to_number(left, names), _convert_text(right, _is_converting(left, names))
    elif "bool" in (left_kind, right_kind) and left_kind != right_kind:
        return _to_number(left, names), _to_number(right, names)
    return left, right


def _translate_in(node: Any, names: Names) -> Any:
    query = node.args.get("query")
    items = query.this.selects if query is not None else node.expressions
    if query is not None and (len(items) != 1 or items[0].is_star):
        return node
    values = [item.unalias() for item in items]
    pairs = [_convert_sides(node.this, value, names) for value in values]
    if len({left.sql() for left, _ in pairs}) > 1:
        raise ValueError("IN with numbers and text has no translation to DuckDB")
    for value, (left, right) in zip(values, pairs, strict=True):
        node.set("this", left)
        if right is not value:
            value.replace(right)
    return node


def _translate_division(node: Any, names: Names) -> Any:
    kinds = {_get_kind(node.this, names), _get_kind(node.expression, names)}
    if "text" in kinds or ("any" in kinds and "real" not in kinds):
        raise ValueError("division of what may be whole numbers has no translation to DuckDB")
    whole = kinds <= {"int", "bool"}
    if isinstance(node, exp.Mod) and not whole:
        raise ValueError("the remainder of fractions has no translation to DuckDB")
    sign = "%" if isinstance(node, exp.Mod) else "//" if whole else "/"
    left, right = _to_number(node.this, names), _to_number(node.expression, names)
    return _build(f"((:x) {sign} NULLIF(:y, 0))", left, right)


def _translate_numeric(node: Any, names: Names) -> Any:
    if isinstance(node.this, exp.Distinct):
        parts = [_to_number(part, names) for part in node.this.expressions]
        node.this.set("expressions", parts)
    else:
        node.set("this", _to_number(node.this, names))
    return node


RULES: dict[tuple[type, ...], Any] = {
    (exp.Like,): _translate_like,
    (exp.Upper, exp.Lower): _translate_letter_case,
    (exp.Cast,): _translate_cast,
    (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is): _translate_comparison,
    (exp.NullSafeEQ, exp.NullSafeNEQ): _translate_comparison,
    (exp.In,): _translate_in,
    (exp.Div, exp.Mod): _translate_division,
    (exp.Sum, exp.Avg, exp.Abs, exp.Round): _translate_numeric,
}
"""Types of expressions -> what repairs them."""


def _to_number(node: Any, names: Names) -> Any:
    """Return an expression as the number that SQLite takes it for."""
    kind = _get_kind(node, names)
    if kind == "text":  # the number that it begins with, else 0
        return _build(_TO_NUMBER, node)
    return exp.cast(node.copy(), "bigint") if kind == "bool" else node


def _to_text(node: Any, names: Names) -> Any:
    if _get_kind(node, names) == "text":
        return node
    return exp.cast(_to_number(node, names), "text")


def _convert_text(text: Any, converted: bool) -> Any:
    """Convert a text for comparison with a number: what is no number is above all numbers."""
    beyond = "CASE WHEN NOT :x IS NULL THEN CAST('Infinity' AS DOUBLE) END"
    if not converted:
        return _build(beyond, text)
    if isinstance(text, exp.Literal):
        try:
            number = text.this.strip()
            if number.lstrip("+-").isdigit():
                return exp.Literal.number(number)
            return exp.Literal.number(f"{float(number)!r}e0")
        except ValueError:
            return _build(beyond, text)
    return _build(f"COALESCE(TRY_CAST(:x AS DOUBLE), {beyond})", text)


_LETTERS = ("'ABCDEFGHIJKLMNOPQRSTUVWXYZ'", "'abcdefghijklmnopqrstuvwxyz'")
_LOWER = f"TRANSLATE(:x, {_LETTERS[0]}, {_LETTERS[1]})"
_UPPER = f"TRANSLATE(:x, {_LETTERS[1]}, {_LETTERS[0]})"
_TO_INTEGER = (
    r"CASE WHEN NOT :x IS NULL THEN "
    r"COALESCE(TRY_CAST(REGEXP_EXTRACT(:x, '^\s*[+-]?\d+') AS BIGINT), 0) END"
)
_LEADING = r"REGEXP_EXTRACT(:x, '^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?')"
_TO_NUMBER = f"CAST(CASE WHEN {_LEADING} = '' THEN '0' ELSE {_LEADING} END AS DOUBLE)"


def _build(sql: str, x: Any, y: Any = None) -> Any:
    """Return a piece of DuckDB's SQL with expressions in the places of ``:x`` and ``:y``."""
    expressions = {"x": x, "y": y}
    return _parse_snippet(sql).transform(
        lambda node: expressions[node.name].copy() if isinstance(node, exp.Placeholder) else node
    )


@cache
def _parse_snippet(sql: str) -> Any:
    return sqlglot.parse_one(sql, read="duckdb")


# ------------------------------------------------------------------------------------------------
# Kinds of values, as far as they are known before a statement runs


def _get_kind(node: Any, names: Names) -> Kind:
    """Return the kind of an expression's value; worked out once and kept with the expression."""
    if "kind" not in node.meta:
        node.meta["kind"] = "any"  # what an expression is that is made of itself
        node.meta["kind"] = _find_kind(node, names)
    kind: Kind = node.meta["kind"]
    return kind


def _find_kind(node: Any, names: Names) -> Kind:
    if isinstance(node, exp.Column):
        origin = names.find_origin(node)
        if origin is None:
            return "any"
        computed = origin.expression
        node.meta["converts"] = computed is None or _is_converting(computed, names)
        return _get_kind(computed, names) if computed else classify_type(origin.type)
    if isinstance(node, exp.Literal):
        return "text" if node.is_string else "int" if node.is_int else "real"
    if isinstance(node, exp.Cast):
        affinity = _find_affinity(node.to)
        if affinity == "number":
            return "int" if _get_kind(node.this, names) in ("int", "bool") else "real"
        return affinity
    if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery):
        items = node.selects
        return _get_kind(items[0], names) if len(items) == 1 and not items[0].is_star else "any"
    for types, kind in _BY_TYPE.items():
        if isinstance(node, types):
            return kind
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Neg):
        kinds = {
            _get_kind(side, names) for side in (node.this, node.args.get("expression")) if side
        }
        if "real" in kinds:
            return "real"
        return "int" if kinds <= {"int", "bool"} else "any"
    if isinstance(node, exp.Case | exp.If):
        branches = [part.args.get("true") for part in (node.args.get("ifs") or [node])]
        branches.append(node.args.get("default") or node.args.get("false"))
        return _find_common_kind([branch for branch in branches if branch], names)
    if isinstance(node, exp.Coalesce | exp.Distinct):
        return _find_common_kind([*([node.this] if node.this else []), *node.expressions], names)
    # What hands on the kind of its argument: an alias, parentheses, an aggregate.
    handing_on = exp.Paren | exp.Alias | exp.Subquery | exp.Window | exp.Collate | exp.Filter
    if isinstance(node, handing_on | exp.Max | exp.Min | exp.Nullif | exp.Sum | exp.Abs):
        kind = _get_kind(node.this, names)
        if isinstance(node, exp.Sum | exp.Abs):
            return {"bool": "int", "text": "any"}.get(kind, kind)  # type: ignore[return-value]  # a kind too
        return kind
    return "any"


def _find_common_kind(nodes: list[Any], names: Names) -> Kind:
    """Return the kind of a value that is one of several."""
    kinds = {_get_kind(node, names) for node in nodes if not isinstance(node, exp.Null)}
    if len(kinds) == 1:
        return kinds.pop()
    if kinds and kinds <= set(_NUMBERS):
        return "real" if "real" in kinds else "int"
    return "any"


def _is_converting(node: Any, names: Names) -> bool:
    """Return whether SQLite converts the other side of a comparison with it."""
    inner = node.unnest()
    _get_kind(inner, names)
    return isinstance(inner, exp.Cast) or bool(inner.meta.get("converts"))


_BY_TYPE: dict[tuple[type, ...], Kind] = {
    (exp.Predicate, exp.Connector, exp.Not, exp.Boolean): "bool",
    (exp.Count, exp.Length, exp.StrPosition, exp.RowNumber, exp.Rank, exp.DenseRank): "int",
    (exp.Mod,): "int",
    (exp.Avg, exp.Round, exp.Sqrt, exp.Pow): "real",
    (exp.Substring, exp.Upper, exp.Lower, exp.Trim, exp.Replace, exp.DPipe): "text",
    (exp.Concat, exp.GroupConcat, exp.TimeToStr, exp.Date, exp.CurrentDate): "text",
}
