"""Hardness of a SQL query, by the rules of Spider (Yu et al. 2018, section 3; its harness.py).

Spider counts parts of the outermost SELECT. It was written for Spider's grammar; what lies outside
that grammar (common table expressions, subqueries among the selected columns) counts as nesting.
"""

from collections.abc import Iterator
from typing import Literal

from sqlglot import exp

from target_bench.sql.names import parse_query

Hardness = Literal["easy", "medium", "hard", "extra"]


def hardness(sql: str) -> Hardness:
    """Return the hardness of a query, read in SQLite's dialect.

    Of a set operation only the first SELECT is looked into; the rest counts as one nested query.

    Raises:
        ValueError: it cannot be parsed, or is not a SELECT; the message says why.
    """
    query = parse_query(sql).unnest()
    select = _find_first_select(query)
    clauses = _count_clauses(select)
    nested = _count_nested(select) + len(query.ctes) + (query is not select)
    others = _count_others(select)
    if clauses <= 1 and others == 0 and nested == 0:
        return "easy"
    if nested == 0 and (clauses <= 1 or (clauses == 2 and others < 2)) and others <= 2:
        return "medium"
    if nested == 0 and ((clauses <= 2 and others > 2) or (clauses == 3 and others <= 2)):
        return "hard"
    if nested == 1 and clauses <= 1 and others == 0:
        return "hard"
    return "extra"


def _find_first_select(query: exp.Query) -> exp.Select:
    select: exp.Expr = query
    while not isinstance(select, exp.Select):
        select = select.this
    return select


def _count_clauses(select: exp.Select) -> int:
    """Count Spider's component 1: WHERE, GROUP BY, ORDER BY, LIMIT, each join, OR and LIKE."""
    named = sum(bool(select.args.get(name)) for name in ("where", "group", "order", "limit"))
    conditions = [condition for tree in _list_condition_trees(select) for condition in _split(tree)]
    likes = sum(isinstance(_strip_not(condition), exp.Like) for condition in conditions)
    ors = sum(_count_ors(tree) for tree in _list_condition_trees(select))
    return named + len(select.args.get("joins") or ()) + ors + likes


def _count_nested(select: exp.Select) -> int:
    """Count Spider's component 2 in one SELECT: subqueries in conditions and columns."""
    return sum(
        _count(tree, exp.Query) for tree in [*_list_condition_trees(select), *select.expressions]
    )


def _count_others(select: exp.Select) -> int:
    """Count which of aggregates, columns, conditions and groups occur more than once."""
    # As in Spider's harness.py, which tests the first field of every tuple for being set, NOT in a
    # condition and connectives of HAVING count as aggregates, and aggregates in HAVING do not.
    where, having = (_list_conditions(select, name) for name in ("where", "having"))
    groups = select.args["group"].expressions if select.args.get("group") else []
    keys = select.args["order"].expressions if select.args.get("order") else []
    aggregates = (
        sum(_count(column, exp.AggFunc) > 0 for column in select.expressions)
        + sum(_count(key, exp.AggFunc) for key in [*groups, *keys])
        + sum(_is_negated(condition) for condition in [*where, *having])
        + max(len(having) - 1, 0)
    )
    return sum(n > 1 for n in (aggregates, len(select.expressions), len(where), len(groups)))


def _list_condition_trees(select: exp.Select) -> list[exp.Expr]:
    """Return the condition of each ON, WHERE and HAVING."""
    joined = [join.args.get("on") for join in select.args.get("joins") or ()]
    clauses = [select.args.get(name) for name in ("where", "having")]
    return [tree for tree in [*joined, *(c and c.this for c in clauses)] if tree]


def _list_conditions(select: exp.Select, clause: str) -> list[exp.Expr]:
    tree = select.args.get(clause)
    return list(_split(tree.this)) if tree else []


def _split(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the single conditions that AND and OR join."""
    inner = tree.unnest()
    if isinstance(inner, exp.And | exp.Or):
        yield from _split(inner.left)
        yield from _split(inner.right)
    else:
        yield tree


def _count_ors(tree: exp.Expr) -> int:
    inner = tree.unnest()
    if not isinstance(inner, exp.And | exp.Or):
        return 0
    return isinstance(inner, exp.Or) + _count_ors(inner.left) + _count_ors(inner.right)


def _is_negated(condition: exp.Expr) -> bool:
    inner = condition.unnest()
    # IS NOT NULL is an operator of its own.
    return isinstance(inner, exp.Not) and not isinstance(inner.this, exp.Is)


def _strip_not(condition: exp.Expr) -> exp.Expr:
    inner = condition.unnest()
    return inner.this.unnest() if isinstance(inner, exp.Not) else inner


def _count(tree: exp.Expr, kind: type[exp.Expr]) -> int:
    """Count the nodes of a kind in an expression, without looking into subqueries."""
    nodes = tree.walk(prune=lambda node: isinstance(node, exp.Query))
    return sum(isinstance(node, kind) for node in nodes)
