"""Detection of SQL: a text as a whole, of any kind, also INSERT or DROP, which may not be run.

What a model wrote is judged as it stands: a query that is cut out of a statement that writes would
get points that the statement does not deserve.
"""

import re
from collections.abc import Iterator
from typing import Any

LONGEST = 100_000
"""Characters of a statement of a model's; a longer one is neither parsed nor run."""

_OBJECT = (
    r"(?:TABLE|VIEW|INDEX|TRIGGER|SCHEMA|SEQUENCE|TYPE|MACRO|FUNCTION|DATABASE|SECRET|TEMP|"
    r"TEMPORARY|UNIQUE|VIRTUAL|PERSISTENT)\b"
)
NO_QUERY = re.compile(
    rf"""(?:
      INSERT \s+ (?: OR \s+ \w+ \s+ )? INTO \b
    | REPLACE \s+ INTO \b
    | UPDATE \s+ (?: OR \s+ \w+ \s+ )? ["`\[]? \w [^\n]{{0,200}}? \s SET \s
    | DELETE \s+ FROM \b
    | MERGE \s+ INTO \b
    | CREATE \s+ (?: OR \s+ REPLACE \s+ )? {_OBJECT}
    | (?: DROP | ALTER ) \s+ {_OBJECT}
    | ATTACH \s+ (?: DATABASE \b | IF \b | ['"] )
    | PRAGMA \s+ \w
    | VACUUM \s+ INTO \b
    | EXPLAIN \s+ (?: QUERY \s+ PLAN \s+ | ANALYZE \s+ )? (?: SELECT | WITH | FROM | VALUES ) \b
    | COPY \s+ [(\w"] [^\n]{{0,200}}? \s (?: TO | FROM ) \s+ ['"]
    )""",  # noqa: S608 (a pattern)
    re.VERBOSE | re.IGNORECASE,
)
"""First words of a statement that is not a query and does not look like a sentence."""

_BEFORE = r"(?:\s++|--[^\n]*+(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*+\*/)*+"
_COMMENTS = re.compile(_BEFORE)
_COMMENTS_AND_BRACKETS = re.compile(rf"{_BEFORE}(?:\({_BEFORE})*")
_WORD = re.compile(r"[A-Za-z]+")
_QUERIES = {"SELECT", "WITH", "VALUES", "FROM", "TABLE", "PIVOT", "UNPIVOT"}
_OTHERS = {
    *("SUMMARIZE", "DESCRIBE", "DESC", "SHOW", "EXPLAIN", "PRAGMA", "INSERT", "REPLACE", "UPDATE"),
    *("DELETE", "MERGE", "CREATE", "DROP", "ALTER", "TRUNCATE", "ATTACH", "DETACH", "VACUUM"),
    *("ANALYZE", "REINDEX", "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "COPY"),
    *("INSTALL", "LOAD", "SET", "RESET", "USE", "CALL", "EXPORT", "IMPORT", "CHECKPOINT"),
}
_DIALECTS = ("sqlite", "duckdb")


def is_sql(text: str) -> bool:
    """Return whether the whole text is one or more statements of SQLite or DuckDB.

    It is if it begins as a statement other than a query, or if all of it parses; but not if it
    reads as a phrase does: "select one", "From Oslo". A longer text than is ever run is not parsed.
    """
    if begins_as_no_query(text):
        return True
    start = _COMMENTS_AND_BRACKETS.match(text)
    word = _WORD.match(text, start.end() if start else 0)
    if word is None or len(text) > LONGEST or word[0].upper() not in _QUERIES | _OTHERS:
        return False
    sure = word[0].upper() in ("SELECT", "WITH")
    if not sure and not (word[0].isupper() or word[0].islower()):
        return False
    return any(_is_code(word[0], statements) for statements in _parsed(text))


def is_comment(text: str) -> bool:
    """Return whether a text is nothing but comments."""
    return _COMMENTS.fullmatch(text) is not None


def begins_as_no_query(text: str, place: int = 0) -> bool:
    """Return whether a statement other than a query begins here, comments aside."""
    comments = _COMMENTS.match(text, place)
    return NO_QUERY.match(text, comments.end() if comments else place) is not None


def _parsed(text: str) -> Iterator[list[Any]]:
    """Yield the statements of a text in each dialect in which all of it parses."""
    import sqlglot

    from target_bench.sql.names import quietly

    for dialect in _DIALECTS:
        with quietly():
            try:
                yield [part for part in sqlglot.parse(text, read=dialect) if part is not None]
            except Exception:  # noqa: S112 (any text comes here, sqlglot has errors of many types)
                continue


def _is_code(word: str, statements: list[Any]) -> bool:
    from sqlglot import exp

    if not statements or not all(map(_is_statement, statements)):
        return False
    if any(isinstance(s, exp.Command) and not _is_command(s) for s in statements[1:]):
        return False
    reads = statements[0].find(exp.From) is not None
    return reads or word.isupper() or word.upper() not in ("SELECT", "WITH")


def _is_statement(tree: Any) -> bool:
    """Return whether it is more than an expression, which the words of a sentence can be."""
    from sqlglot import exp

    if isinstance(tree, exp.Query):
        return all(select.expressions for select in tree.find_all(exp.Select))
    return not isinstance(tree, exp.Condition | exp.Alias | exp.Tuple)


def _is_command(tree: Any) -> bool:
    return NO_QUERY.match(f"{tree.this} {tree.expression}") is not None
