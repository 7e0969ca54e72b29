"""SQLite's SQL in DuckDB's: the same rows, as far as the two engines can give the same.

sqlglot translates the syntax. What it does not know is what SQLite does at run time: text and
numbers convert into each other, double quotes may hold a string, whole numbers divide to whole
numbers, LIKE ignores case, a column may stand beside aggregates without being grouped by. For
these the schema is read, and the statement is changed so that DuckDB does the same.
"""

from collections.abc import Callable, Collection
from typing import Any

from target_bench.sql.dialect.date_functions import is_time, time_to_duckdb
from target_bench.sql.dialect.grouping import wrap_bare_columns
from target_bench.sql.dialect.names import Names, Schema
from target_bench.sql.dialect.ordering import settle_ties
from target_bench.sql.dialect.parsing import ROWIDS, parsed, quietly, strings_from_names
from target_bench.sql.dialect.snippets import snippet
from target_bench.sql.dialect.types import NUMBERS, Kind, Kinds, Value, branches, cast_kind


def to_duckdb(sql: str, schema: Schema, views: Collection[str] = ()) -> str:
    """A query in DuckDB's SQL.

    Args:
        sql: one query in SQLite's SQL.
        schema: table -> column -> type, of the copy in DuckDB (``Copy.columns``).
        views: which of the tables are views (``Copy.views``).

    Raises:
        ValueError: it is no query that sqlglot can parse, or asks for something that DuckDB
            cannot give as SQLite does (text and numbers in one column, ``rowid``, some modifiers
            of dates).
    """
    return str(_translated(parsed(sql), sql, schema, views))


def view_to_duckdb(sql: str, name: str, schema: Schema, views: Collection[str]) -> str:
    """A CREATE VIEW statement in DuckDB's SQL.

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
            (exp.Literal, _literal),
            (exp.Like, self._like),
            ((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is), self._comparison),
            ((exp.NullSafeEQ, exp.NullSafeNEQ), self._comparison),
            (exp.In, self._in),
            (exp.Between, self._between),
            ((exp.Div, exp.Mod), self._division),
            ((exp.Add, exp.Sub, exp.Mul, exp.Neg), self._arithmetic),
            ((exp.Sum, exp.Avg, exp.Abs, exp.Round), self._numeric),
            (exp.Cast, self._cast),
            ((exp.And, exp.Or, exp.Not, exp.Where, exp.Having, exp.If, exp.Join), self._truths),
            ((exp.Length, exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Replace), self._texts),
            ((exp.DPipe, exp.Concat, exp.StrPosition, exp.GroupConcat, exp.Glob), self._texts),
            ((exp.Case, exp.Coalesce, exp.Greatest, exp.Least), self._one_kind),
            (exp.SetOperation, self._columns_of_one_kind),
            (exp.Subquery, _one_row),
            (exp.Anonymous, self._function),
            ((exp.Typeof, exp.Format), _refused),
            (exp.Unicode, lambda node: snippet("unicode", node.this)),
            (exp.Hex, lambda node: snippet("hex", node.this)),
            ((exp.Order, exp.Group), _without_constants),
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
        if is_time(node):
            return time_to_duckdb(node, self._kinds)
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
        """Both sides as SQLite compares them (sqlite.org/datatype3.html, section 4.2)."""
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

    def _between(self, node: Any) -> Any:
        left, low = self._comparable(node.this, node.args["low"])
        again, high = self._comparable(node.this, node.args["high"])
        if left.sql() != again.sql():
            raise ValueError("BETWEEN a number and a text has no translation to DuckDB")
        node.set("this", left)
        node.set("low", low)
        node.set("high", high)
        return node

    def _like(self, node: Any) -> Any:
        from sqlglot import exp

        return exp.ILike(this=self._as_text(node.this), expression=self._as_text(node.expression))

    def _arithmetic(self, node: Any) -> Any:
        for part in ("this", "expression"):
            if node.args.get(part) is not None:
                node.set(part, self._as_number(node.args[part]))
        return node

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

    def _cast(self, node: Any) -> Any:
        from sqlglot import exp

        before = self._kind(node.this)
        after = cast_kind(node.to, before)
        if after == "int" and before == "text":
            return snippet("whole", node.this)
        if after == "int" and before not in ("int", "bool"):
            return snippet("truncated", exp.cast(node.this, "double"))
        if after in ("int", "real") and before == "text":
            return snippet("number", node.this)
        if before == "bool":
            return exp.cast(exp.cast(node.this, "bigint"), after.replace("int", "bigint"))
        types = {"int": "bigint", "real": "double", "text": "text", "blob": "blob"}
        return exp.cast(node.this, types[after], dialect="duckdb")

    def _truths(self, node: Any) -> Any:
        from sqlglot import exp

        parts = ("on",) if isinstance(node, exp.Join) else ("this", "expression")
        for part in parts:
            inner = node.args.get(part)
            if inner is None or (isinstance(node, exp.If) and _has_operand(node)):
                continue
            if self._kind(inner) in ("int", "real", "text"):
                truth = snippet("truth", exp.paren(self._as_number(inner)))
                truth.meta["value"] = Value("bool")
                node.set(part, truth)
        return node

    def _texts(self, node: Any) -> Any:
        from sqlglot import exp

        if isinstance(node, exp.Length) and self._kind(node.this) == "blob":
            return snippet("bytes", node.this)
        for key, part in list(node.args.items()):
            if key in ("start", "length", "position", "occurrence"):
                continue
            if isinstance(part, exp.Distinct):
                part.set("expressions", [self._as_text(inner) for inner in part.expressions])
            elif isinstance(part, exp.Expr):
                node.set(key, self._as_text(part))
            elif key == "expressions":
                node.set(key, [self._as_text(inner) for inner in part])
        return node

    def _one_kind(self, node: Any) -> Any:
        from sqlglot import exp

        parts = branches(node)
        self._refuse_mixture(parts)
        if isinstance(node, exp.Case) and node.this is not None:
            for case in node.args["ifs"]:
                left, right = self._comparable(node.this, case.this)
                if left is not node.this:
                    raise ValueError("CASE of numbers with text has no translation to DuckDB")
                case.set("this", right)
        if self._kinds.together(parts) != "bool":
            for part in parts:
                if self._kind(part) == "bool":
                    part.replace(self._as_number(part.copy()))
        return node

    def _columns_of_one_kind(self, node: Any) -> Any:
        left, right = node.left, node.right
        if any(item.is_star for side in (left, right) for item in side.selects):
            return node
        for pair in zip(left.selects, right.selects, strict=False):
            self._refuse_mixture(pair)
        return node

    def _refuse_mixture(self, parts: Any) -> None:
        kinds = {self._kind(part) for part in parts}
        if "text" in kinds and kinds & set(NUMBERS):
            raise ValueError("text and numbers in one column have no translation to DuckDB")

    def _function(self, node: Any) -> Any:
        name = node.name.upper()
        if name == "TOTAL" and len(node.expressions) == 1:
            return snippet("total", self._as_number(node.expressions[0]))
        return _refused(node) if name in ("PRINTF", "QUOTE") else node

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
    """A text as what a number is compared with: numbers are below all text that is no number."""
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


def _literal(node: Any) -> Any:
    from sqlglot import exp

    if (
        node.is_string
        or "e" in node.this.lower()
        or (node.this.isdigit() and int(node.this) < 2**63)
    ):
        return node
    return exp.Literal.number(f"{node.this}e0")


def _refused(node: Any) -> Any:
    raise ValueError(f"{node.sql('sqlite')} has no translation to DuckDB")


def _has_operand(branch: Any) -> bool:
    """Whether an IF is a branch of ``CASE x WHEN ...``, whose condition is a value of x."""
    from sqlglot import exp

    return isinstance(branch.parent, exp.Case) and branch.parent.this is not None


def _one_row(node: Any) -> Any:
    """A subquery that stands for a value gives its first row, also where it has more."""
    from sqlglot import exp

    around = node.parent
    no_value = (exp.From, exp.Join, exp.In, exp.Exists, exp.CTE, exp.SetOperation)
    is_value = not isinstance(around, no_value) and around is not None
    if is_value and isinstance(node.this, exp.Select) and not node.this.args.get("limit"):
        node.set("this", node.this.limit(1))
    return node


def _without_constants(node: Any) -> Any:
    """Terms that are text order and group nothing; DuckDB refuses them."""
    from sqlglot import exp

    terms = [(t, t.this if isinstance(t, exp.Ordered) else t.unalias()) for t in node.expressions]
    node.set("expressions", [term for term, inner in terms if not inner.is_string])
    return node
