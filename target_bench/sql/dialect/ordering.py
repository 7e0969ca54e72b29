"""The order of rows that ORDER BY leaves open, settled as SQLite settles it.

Which of several equal rows LIMIT keeps is not defined; gold queries ask for it all the same.
SQLite's answer follows from how it works: groups come sorted by their keys, in the directions of
ORDER BY where both have as many terms (``select.c``), other rows come in storage order, and sorting
keeps the order of equals. Where its planner starts with another table than the first, it differs.
"""

from collections.abc import Collection
from typing import Any

from target_bench.sql.dialect.grouping import group_keys, has_aggregates
from target_bench.sql.dialect.names import Names


def settle_ties(select: Any, names: Names, views: Collection[str]) -> None:
    """Add terms to ORDER BY that decide between equals; changes the SELECT in place.

    Args:
        select: one SELECT; nothing is done if it neither orders nor limits, or if it removes
            duplicates.
        names: what its names stand for.
        views: the views of the schema: they have no storage order.
    """
    from sqlglot import exp

    order = select.args.get("order")
    if select.args.get("distinct") or not (order or select.args.get("limit")):
        return
    terms = list(order.expressions) if order else []
    keys = group_keys(select, names)
    if keys:
        follow = len(keys) == len(terms)
        added = [
            exp.Ordered(this=key.copy(), desc=follow and terms[i].args.get("desc"))
            for i, key in enumerate(keys)
        ]
    elif has_aggregates(select):
        return
    else:
        added = [exp.Ordered(this=rowid) for rowid in _rowids(select, names, views)]
    if terms or added:
        select.set("order", exp.Order(expressions=[*terms, *added]))


def _rowids(select: Any, names: Names, views: Collection[str]) -> list[Any]:
    """Return the row numbers of each table of the FROM clause, in its order."""
    from sqlglot import exp

    hidden = {view.lower() for view in views}
    return [
        exp.column("rowid", table.alias_or_name)
        for table in names.base_tables_of(select)
        if table.name.lower() not in hidden
    ]
