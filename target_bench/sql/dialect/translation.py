"""SQLite's SQL in DuckDB's: the same rows, as far as the two engines can give the same.

sqlglot translates the syntax. What it does not know is what SQLite does at run time: text and
numbers are compared by the types of columns, double quotes may hold a string, whole numbers divide
to whole numbers, LIKE ignores case, a column may stand beside aggregates without being grouped by.
For these the schema is read, and the statement is changed so that DuckDB does the same.

``benchmarks/translation.py`` measures what each of these repairs is worth on real queries. Those
that no query needs are not made.
"""

from collections.abc import Callable, Collection
from typing import Any

from target_bench.sql.dialect.grouping import wrap_bare_columns
from target_bench.sql.dialect.names import Names, Schema
from target_bench.sql.dialect.ordering import settle_ties
from target_bench.sql.dialect.parsing import ROWIDS, parsed, quietly, strings_from_names
from target_bench.sql.dialect.snippets import snippet
from target_bench.sql.dialect.types import NUMBERS, Kind, Kinds


def to_duckdb(sql: str, schema: Schema, views: Collection[str] = ()) -> str:
    """Return a query in DuckDB's SQL.

    Args:
        sql: one query in SQLite's SQL.
        schema: table -> column -> type, of the copy in DuckDB (``Copy.columns``).
        views: which of the tables are views (``Copy.views``).

    Raises:
        ValueError: it is not a query that sqlglot can parse, or asks for something that DuckDB
            cannot give as SQLite does (``rowid``, division of what may be whole numbers or text).
    """
    return str(_translated(parsed(sql), sql, schema, views))


def view_to_duckdb(sql: str, name: str, schema: Schema, views: Collection[str]) -> str:
    """Return a CREATE VIEW statement in DuckDB's SQL.

    Args:
        sql: the statement in SQLite's SQL.
        name: what the view is called in DuckDB.
        schema: as for ``to_duckdb``.
        views: as for ``to_duckdb``.

    Raises:
        ValueError: as for ``to_duckdb``.
    """
    from sqlglot import exp

    view = parsed(sql, expected=exp.Create)
    columns = getattr(view.this, "expressions", [])
    given = ", ".join(column.sql("duckdb", identify=True) for column in columns)
    query = _translated(view.expression, sql, schema, views)
    title = exp.to_identifier(name, quoted=True).sql("duckdb")
    return f"CREATE VIEW {title} {f'({given}) ' if given else ''}AS {query}"


def _translated(tree: Any, sql: str, schema: Schema, views: Collection[str]) -> str:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        strings_from_names(tree, sql, schema)
        names = Names(tree, schema)
        _refuse_rowids(tree, names)
        kinds = Kinds(names)
        for node in tree.walk():
            kinds.of(node)
        for select in list(tree.find_all(exp.Select)):
            settle_ties(select, names, views)
            wrap_bare_columns(select, names)
        tree = _Repairs(kinds).done(tree)
        with quietly():
            return str(tree.sql("duckdb", identify=True))
    except (SqlglotError, RecursionError) as error:
        raise ValueError(f"sqlglot cannot translate it: {error}") from error


def _refuse_rowids(tree: Any, names: Names) -> None:
    from sqlglot import exp

    for column in tree.find_all(exp.Column):
        if column.name.lower() in ROWIDS and names.origin(column) is None:
            raise ValueError(f"{column.name} is not kept in DuckDB")


class _Repairs:
    """The changes to single expressions, from the innermost outwards."""

    def __init__(self, kinds: Kinds) -> None:
        from sqlglot import exp

        self._kinds = kinds
        self._rules: list[tuple[Any, Callable[[Any], Any]]] = [
            (exp.Like, self._like),
            ((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is), self._comparison),
            ((exp.NullSafeEQ, exp.NullSafeNEQ), self._comparison),
            (exp.In, self._in),
            ((exp.Div, exp.Mod), self._division),
            ((exp.Sum, exp.Avg, exp.Abs, exp.Round), self._numeric),
            (exp.Anonymous, _julian_day),
        ]

    def done(self, tree: Any) -> Any:
        for node in reversed(list(tree.walk())):
            value = self._kinds.of(node)
            new = self._repaired(node)
            if new is not node:
                new.meta["value"] = value
                if node is tree:
                    tree = new
                else:
                    node.replace(new)
        return tree

    def _repaired(self, node: Any) -> Any:
        for types, rule in self._rules:
            if isinstance(node, types):
                return rule(node)
        return node

    def _kind(self, node: Any) -> Kind:
        return self._kinds.of(node).kind

    def _comparison(self, node: Any) -> Any:
        from sqlglot import exp

        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null | exp.Boolean):
            return node
        left, right = self._comparable(node.this, node.expression)
        node.set("this", left)
        node.set("expression", right)
        return node

    def _comparable(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Convert both sides as SQLite compares them (sqlite.org/datatype3.html, section 4.2)."""
        one, other = self._kinds.of(left), self._kinds.of(right)
        if one.kind == "text" and other.kind in NUMBERS:
            right, left = self._comparable(right, left)
            return left, right
        if one.kind in NUMBERS and other.kind == "text":
            if not one.affinity and other.affinity:
                return _as_text(left), right
            return self._as_number(left), _compared(right, converted=one.affinity)
        if "bool" in (one.kind, other.kind) and one.kind != other.kind:
            return self._as_number(left), self._as_number(right)
        return left, right

    def _in(self, node: Any) -> Any:
        if node.args.get("query") is not None:
            return self._in_query(node, node.args["query"])
        pairs = [self._comparable(node.this, item) for item in node.expressions]
        if pairs:
            same = len({left.sql() for left, _ in pairs}) == 1
            if not same:
                raise ValueError("IN with numbers and text has no translation to DuckDB")
            node.set("this", pairs[0][0])
            node.set("expressions", [right for _, right in pairs])
        return node

    def _in_query(self, node: Any, query: Any) -> Any:
        from sqlglot import exp

        items = query.this.selects
        if len(items) == 1 and not items[0].is_star:
            item = items[0].unalias()
            left, right = self._comparable(node.this, item)
            if right is not item and query.find(exp.SetOperation) is not None:
                raise ValueError("IN a union of other kinds has no translation to DuckDB")
            node.set("this", left)
            if right is not item:
                item.replace(right)
        return node

    def _like(self, node: Any) -> Any:
        from sqlglot import exp

        return exp.ILike(this=self._as_text(node.this), expression=self._as_text(node.expression))

    def _division(self, node: Any) -> Any:
        from sqlglot import exp

        left, right = self._as_number(node.this), self._as_number(node.expression)
        kinds = {self._kind(side) for side in (node.this, node.expression)}
        if "text" in kinds or ("any" in kinds and "real" not in kinds):
            raise ValueError("division of what may be whole numbers has no translation to DuckDB")
        whole = kinds <= {"int", "bool", "null"}
        if isinstance(node, exp.Mod):
            if not whole:
                left, right = snippet("truncated", left), snippet("truncated", right)
            return exp.paren(snippet("remainder", exp.paren(left), right))
        return exp.paren(snippet("int_divided" if whole else "divided", left, right))

    def _numeric(self, node: Any) -> Any:
        from sqlglot import exp

        holder = node.this if isinstance(node.this, exp.Distinct) else node
        if isinstance(holder, exp.Distinct):
            holder.set("expressions", [self._as_number(part) for part in holder.expressions])
        else:
            holder.set("this", self._as_number(node.this))
        if isinstance(node, exp.Round) and self._kind(node.this) != "real":
            node.set("this", exp.cast(node.this, "double"))
        return node

    def _as_number(self, node: Any) -> Any:
        from sqlglot import exp

        kind = self._kind(node)
        if kind == "text":
            return snippet("number", node)
        return exp.cast(node, "bigint") if kind == "bool" else node

    def _as_text(self, node: Any) -> Any:
        kind = self._kind(node)
        return node if kind in ("text", "blob", "null") else _as_text(self._as_number(node))


def _as_text(node: Any) -> Any:
    from sqlglot import exp

    if isinstance(node, exp.Literal):
        return exp.Literal.string(str(float(node.this)) if "e" in node.this else node.this)
    return exp.cast(node, "text")


def _compared(text: Any, converted: bool) -> Any:
    """Convert a text for comparison with a number: other text is above all numbers."""
    from sqlglot import exp

    if not isinstance(text, exp.Literal):
        return snippet("compared" if converted else "beyond", text)
    try:
        number = float(text.this) if converted else None
    except ValueError:
        number = None
    if number is None:
        return snippet("beyond", text)
    written = text.this.strip()
    return exp.Literal.number(written if written.lstrip("+-").isdigit() else f"{number!r}e0")


def _julian_day(node: Any) -> Any:
    """Translate ``JULIANDAY(time)``; with modifiers it stays as it is, and DuckDB refuses it."""
    if node.name.upper() != "JULIANDAY" or len(node.expressions) != 1:
        return node
    return snippet("julian_day", *node.expressions)
