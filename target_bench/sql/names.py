"""One SQL query as sqlglot's tree, and what its names stand for: resolved as SQLite does it."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import sqlglot
from sqlglot import exp, tokenize

Schema = Mapping[str, Mapping[str, str]]
"""Table -> column -> type, as the database spells them."""


ROWIDS = ("rowid", "oid", "_rowid_")
"""SQLite's names of the row number, besides those in the schema."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a column."""

    type: str = ""  # in the schema; empty for a computed column
    expression: Any = None  # of a computed column, a sqlglot expression
    source: str = ""  # the item of the FROM clause, lower-case; empty for a name of the SELECT list


class Names:
    """The names of one statement, looked up without regard to case.

    Args:
        tree: the statement, parsed by sqlglot.
        schema: the tables and columns there are.
    """

    def __init__(self, tree: Any, schema: Schema) -> None:
        from sqlglot.optimizer.scope import traverse_scope

        self._schema = {
            table.lower(): {name.lower(): Origin(kind) for name, kind in columns.items()}
            for table, columns in schema.items()
        }
        self._spelled = {table.lower(): table for table in schema}
        self.scopes = list(traverse_scope(tree))
        self._by_query = {id(scope.expression): scope for scope in self.scopes}
        self._known: dict[int, tuple[Any, dict[str, Origin]]] = {}

    def find_scope(self, node: Any) -> Any:
        """Return the scope whose names a node can use; None outside of any query."""
        query = node.find_ancestor(exp.Query)
        while query is not None and id(query) not in self._by_query:
            query = query.find_ancestor(exp.Query)
        return self._by_query.get(id(query))

    def find_table(self, node: Any) -> str | None:
        """Return a table expression's name as the schema spells it; None if it is not there."""
        return self._spelled.get(node.name.lower())

    def list_base_tables(self, select: Any) -> list[Any]:
        """Return the table expressions of one FROM clause that name tables of the schema."""
        scope = self._by_query.get(id(select))
        sources = scope.selected_sources.values() if scope is not None else ()
        tables = [source for _, source in sources if isinstance(source, exp.Table)]
        return [table for table in tables if self.find_table(table) is not None]

    def find_origin(self, column: Any) -> Origin | None:
        """Return the origin of a column expression; None if nothing has this name.

        Looked for first in the FROM clause, then among the names that the SELECT list gives, then
        the same in the query around.
        """
        from sqlglot.optimizer.scope import ScopeType

        scope, hidden = self.find_scope(column), False
        while scope is not None:
            if not hidden:
                origin = self._find_in_scope(scope, column)
                if origin is not None:
                    return origin
            # A subquery of a FROM clause does not see what stands beside it.
            hidden = scope.scope_type in (ScopeType.DERIVED_TABLE, ScopeType.CTE)
            scope = scope.parent
        return None

    def _find_in_scope(self, scope: Any, column: Any) -> Origin | None:
        name, qualifier = column.name.lower(), column.table.lower()
        for alias, (_, source) in scope.selected_sources.items():
            if qualifier in ("", alias.lower()):
                origin = self._list_columns(source).get(name)
                if origin is not None:
                    return replace(origin, source=alias.lower())
        if qualifier:
            return None
        query = scope.expression
        if isinstance(query, exp.SetOperation):
            return self._list_outputs(scope).get(name)
        for item in query.selects:
            if isinstance(item, exp.Alias) and item.alias.lower() == name:
                inside = column.find_ancestor(exp.Alias) is item
                return None if inside else Origin(expression=item.this)
        return None

    def _list_columns(self, source: Any) -> dict[str, Origin]:
        """Return lower-case name -> origin, of one item of a FROM clause."""
        if isinstance(source, exp.Table):
            return self._schema.get(source.name.lower(), {})
        outputs = self._list_outputs(source)
        renamed = source.expression.parent.args.get("alias") if source.expression.parent else None
        aliases = [c.name for c in renamed.columns] if isinstance(renamed, exp.TableAlias) else []
        values = list(outputs.items())
        return {
            (aliases[i] if i < len(aliases) else name).lower(): origin
            for i, (name, origin) in enumerate(values)
        }

    def _list_outputs(self, scope: Any) -> dict[str, Origin]:
        """Return lower-case name -> origin, of the columns that a query gives; computed once."""
        # Twenty common table expressions of which each reads the one before twice have a million
        # paths.
        if id(scope) in self._known:
            return self._known[id(scope)][1]
        outputs: dict[str, Origin] = {}
        self._known[id(scope)] = scope, outputs  # what a recursive one finds of itself: nothing yet
        query = scope.expression
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        inner = self._by_query.get(id(query), scope)
        for item in query.selects:
            if item.is_star:
                outputs.update(self._expand_star(inner, item))
            else:
                value = item.unalias()
                name = item.output_name or item.sql("sqlite")
                outputs.setdefault(name.lower(), Origin(expression=value))
        return outputs

    def _expand_star(self, scope: Any, star: Any) -> dict[str, Origin]:
        qualifier = star.table.lower() if isinstance(star, exp.Column) else ""
        columns: dict[str, Origin] = {}
        for alias, (_, source) in scope.selected_sources.items():
            if qualifier in ("", alias.lower()):
                for name, origin in self._list_columns(source).items():
                    columns.setdefault(name, origin)
        return columns


def parse_query(sql: str) -> Any:
    """Return the tree of one query.

    Raises:
        ValueError: it cannot be parsed, is several statements or none, or no query.
    """
    statements = parse_statements(sql)
    if len(statements) != 1:
        raise ValueError(f"it is {len(statements)} statements, not one: {sql[:200]}")
    if not isinstance(statements[0], exp.Query):
        raise ValueError(f"it is not a query: {sql[:200]}")
    if any(not select.expressions for select in statements[0].find_all(exp.Select)):
        raise ValueError(f"a SELECT of it selects nothing: {sql[:200]}")
    return statements[0]


def parse_statements(sql: str, dialect: str = "sqlite") -> list[Any]:
    """Parse a text as statements; comments behind the last semicolon are none.

    Raises:
        ValueError: it cannot be parsed.
    """
    try:
        with silence_sqlglot():
            parts = sqlglot.parse(sql, read=dialect)
    except Exception as error:  # any text may come here, and sqlglot has errors of many types
        raise ValueError(f"it cannot be parsed: {error}") from error
    return [part for part in parts if part is not None and not isinstance(part, exp.Semicolon)]


@contextmanager
def silence_sqlglot() -> Iterator[None]:
    """Keep sqlglot's remarks, which a model's SQL causes by the hundred, off the terminal."""
    logger = logging.getLogger("sqlglot")
    logger.addFilter(_refuse)
    try:
        yield
    finally:
        logger.removeFilter(_refuse)


def _refuse(_record: logging.LogRecord) -> bool:
    return False


def replace_unknown_names(tree: Any, sql: str, schema: Schema) -> None:
    """Make strings of double-quoted names that nothing has, as SQLite takes them; in place."""
    # Other quotes never hold a string, and the tree does not say which ones there were.
    quoted = {
        token.text
        for token in tokenize(sql, read="sqlite")
        if token.token_type.name == "IDENTIFIER" and sql[token.start] == '"'
    }
    names = Names(tree, schema)
    for column in list(tree.find_all(exp.Column)):
        is_name = not column.table and isinstance(column.this, exp.Identifier)
        if (
            is_name
            and column.this.quoted
            and column.name in quoted
            and not names.find_origin(column)
        ):
            column.replace(exp.Literal.string(column.name))
