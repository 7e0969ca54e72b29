"""Type inference for SQLite expressions, as far as it is possible before they run."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from target_bench.sql.dialect.names import Names, Origin

Kind = Literal["int", "real", "bool", "text", "blob", "null", "any"]
"""``bool`` is SQLite's 0 or 1 where DuckDB has a truth value; ``any`` is not known."""

NUMBERS = ("int", "real", "bool")


@dataclass(frozen=True, slots=True)
class Value:
    """The kind of an expression's value, as far as it is known.

    Attributes:
        kind: what it is.
        affinity: whether SQLite converts the other side of a comparison with it: columns and
            casts do that, literals and functions do not (sqlite.org/datatype3.html, section 4).
    """

    kind: Kind
    affinity: bool = False


ANY = Value("any")


class Kinds:
    """The kinds of all expressions of one statement.

    Args:
        names: what its names stand for.
    """

    def __init__(self, names: Names) -> None:
        self._names = names

    def of(self, node: Any) -> Value:
        """Return the kind of an expression's value; computed once and kept with the expression."""
        known = node.meta.get("value")
        if known is None:
            node.meta["value"] = ANY  # what an expression is that is made of itself
            known = node.meta["value"] = self._found(node)
        found: Value = known
        return found

    def _found(self, node: Any) -> Value:
        from sqlglot import exp

        if isinstance(node, exp.Column):
            return self._column(self._names.origin(node))
        if isinstance(node, exp.Literal):
            return Value("text" if node.is_string else "int" if _is_int(node.this) else "real")
        if isinstance(node, exp.Paren | exp.Alias | exp.Window | exp.Collate | exp.Filter):
            return self.of(node.this)
        if isinstance(node, exp.Subquery):
            return self.of(node.this)
        if isinstance(node, exp.Query):
            return self._first(node)
        if isinstance(node, exp.Cast):
            return Value(cast_kind(node.to, self.of(node.this).kind), affinity=True)
        for types, kind in _by_type().items():
            if isinstance(node, types):
                return Value(kind)
        return Value(self._computed(node))

    def _column(self, origin: Origin | None) -> Value:
        if origin is None:
            return ANY
        if origin.expression is not None:
            return self.of(origin.expression)
        kind = column_kind(origin.type)
        return Value(kind, affinity=kind != "any")

    def _first(self, query: Any) -> Value:
        columns = query.selects
        return self.of(columns[0]) if len(columns) == 1 and not columns[0].is_star else ANY

    def _computed(self, node: Any) -> Kind:
        from sqlglot import exp

        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Neg):
            operands = [node.this, node.args.get("expression") or node.this]
            kinds = {self.of(operand).kind for operand in operands}
            if kinds & {"any", "null", "text"}:  # a text may hold a whole number or another
                return "real" if "real" in kinds else "any"
            return "int" if kinds <= {"int", "bool"} else "real"
        if isinstance(node, exp.Sum):
            kind = self.of(node.this).kind
            return {"bool": "int", "text": "any"}.get(kind, kind)  # type: ignore[return-value]  # a kind too
        if isinstance(node, exp.Max | exp.Min | exp.Abs | exp.Nullif):
            kind = self.of(node.this).kind
            return "real" if kind == "text" and isinstance(node, exp.Abs) else kind
        if isinstance(node, exp.Anonymous) and node.name.upper() == "JULIANDAY":
            return "real"
        return self.together(branches(node))

    def together(self, nodes: Iterable[Any]) -> Kind:
        """Return the kind of a value that is one of several."""
        kinds = {self.of(node).kind for node in nodes} - {"null"}
        if len(kinds) == 1:
            return kinds.pop()
        if kinds and kinds <= set(NUMBERS):
            return "real" if "real" in kinds else "int"
        return "any"


def branches(node: Any) -> list[Any]:
    """Return the alternatives of a CASE, IIF, COALESCE, DISTINCT, scalar MAX or MIN."""
    from sqlglot import exp

    if isinstance(node, exp.Case):
        found = [part.args["true"] for part in node.args["ifs"]]
        return [*found, node.args["default"]] if node.args.get("default") else found
    if isinstance(node, exp.If):
        return [branch for branch in (node.args.get("true"), node.args.get("false")) if branch]
    if isinstance(node, exp.Distinct):
        return list(node.expressions)
    if isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
        return [node.this, *node.expressions]
    return []


def column_kind(type_: str) -> Kind:
    """Return the kind of a column's values, by its DuckDB type or declared SQLite type."""
    name = type_.upper()
    if "INT" in name:
        return "int"
    if any(word in name for word in ("CHAR", "TEXT", "CLOB", "DATE", "TIME")):
        return "text"
    if any(word in name for word in ("REAL", "DOUB", "FLOA", "DEC", "NUM")):
        return "real"
    if "BLOB" in name:
        return "blob"
    return "bool" if "BOOL" in name else "any"


def cast_kind(to: Any, kind: Kind) -> Kind:
    """Return the kind that a CAST gives, by SQLite's rules: an unknown type is numeric."""
    from sqlglot import exp

    target = to.this
    if target in exp.DataType.INTEGER_TYPES:
        return "int"
    if target in exp.DataType.TEXT_TYPES:
        return "text"
    if target in (exp.DataType.Type.FLOAT, exp.DataType.Type.DOUBLE):
        return "real"
    if target in (exp.DataType.Type.VARBINARY, exp.DataType.Type.BINARY, exp.DataType.Type.BLOB):
        return "blob"
    return "int" if kind in ("int", "bool") else "real"


def _is_int(digits: str) -> bool:
    return digits.isdigit() and int(digits) < 2**63


def _by_type() -> dict[tuple[type, ...], Kind]:
    from sqlglot import exp

    return {
        (exp.Predicate, exp.Connector, exp.Not, exp.Boolean): "bool",
        (exp.Null,): "null",
        (
            exp.Count,
            exp.Length,
            exp.StrPosition,
            exp.RowNumber,
            exp.Rank,
            exp.DenseRank,
            exp.Mod,
            exp.BitwiseAnd,
            exp.BitwiseOr,
            exp.BitwiseNot,
            exp.BitwiseLeftShift,
            exp.BitwiseRightShift,
            exp.Rand,
            exp.Unicode,
            exp.Sign,
            exp.Ntile,
        ): "int",
        (exp.Avg, exp.Round, exp.Sqrt, exp.Pow): "real",
        (
            exp.Substring,
            exp.Upper,
            exp.Lower,
            exp.Trim,
            exp.Replace,
            exp.DPipe,
            exp.Concat,
            exp.GroupConcat,
            exp.TimeToStr,
            exp.Hex,
            exp.Date,
            exp.CurrentTimestamp,
            exp.CurrentDate,
            exp.CurrentTime,
            exp.Chr,
            exp.Typeof,
        ): "text",
    }
