"""Answers that are made to hang, to fill the memory, or to break whoever reads or compares them."""

from collections.abc import Mapping

JOINS = "SELECT count(*) FROM hut h0 " + " ".join(f"JOIN hut h{i}" for i in range(1, 31))
COUNT = (
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT {rows}) "
    "SELECT {what} FROM n"
)


def _bits(first: str, second: str, rows: int = 30_000, columns: int = 18) -> str:
    """As many different rows as there are ways to have first of two values in each column."""
    chosen = [f"CASE (i >> {k}) & 1 WHEN 1 THEN {first} ELSE {second} END" for k in range(columns)]
    return COUNT.format(rows=rows, what=", ".join(chosen))


COLLIDING: Mapping[str, str] = {
    "minus one and two": _bits("-1", "-2"),
    "integers of one hash": _bits("1", "2305843009213693952"),
    "floats of one hash": _bits("0.5", "0.5 * 2305843009213693951 * 2"),
    "text and its bytes": _bits("'a'", "x'61'"),
    "null and its hash": _bits("NULL", "4238894112"),
    "wide": COUNT.format(
        rows=1_000, what=", ".join(f"-1 - ((i + {k}) % 7 = 1)" for k in range(1_900))
    ),
}
"""Results that are executed, and slow to compare where hashes of values are not secret."""

ANSWERS: Mapping[str, str] = {
    "joins": JOINS,
    "natural joins": JOINS.replace("JOIN", "NATURAL JOIN"),
    "joins, fenced": f"```sql\n{JOINS}\n```",
    "joins, JSON": '{"sql": "' + JOINS + '"}',
    "joins in a subquery": f"SELECT * FROM ({JOINS}) WHERE 1",
    "froms": "FROM " + "a, " * 20_000,
    "tables": "SELECT 1 FROM " + "hut, " * 4_000 + "hut",
    "hints": "SELECT " + "/*+ a(b) */ " * 4_000 + "1 FROM hut",
    "one hint": "SELECT /*+ " + "a(b) " * 9_000 + "*/ 1 FROM hut",
    "open comments": "SELECT 1 FROM hut " + "/*" * 9_000,
    "open brackets": "SELECT 1 FROM hut " + "[" * 18_000,
    "prose": "select " * 9_000,
    "objects": '{"a": ' * 9_000,
    "open texts": '{"' + '\\"' * 9_000,
    "fields": '"sql": "' * 7_000,
    "blanks in an object": '{"sql": "x"' + " " * 19_000 + "y",
    "blanks in a fence": "```" + " " * 19_000 + "x",
    "blank line": "SELECT a\n" + " " * 9_000 + "x" * 9_000,
    "blank lines": "SELECT a b c d" + "\n" * 18_000,
    "parentheses": "SELECT " + "(" * 9_000 + "1" + ")" * 9_000,
    "subqueries": "SELECT * FROM (" * 1_000 + "SELECT 1" + ")" * 1_000,
    "cases": "SELECT " + "CASE WHEN 1 THEN " * 800 + "1" + " END" * 800,
    "unions": " UNION ALL ".join(["SELECT 1"] * 1_000),
    "list": "SELECT 1 FROM hut WHERE 1 IN (" + "1," * 9_000 + "1)",
    "name": 'SELECT "' + "a" * 19_000 + '" FROM hut',
    "nots": "SELECT " + "NOT " * 4_000 + "1",
    "blob": "SELECT zeroblob(1000000000)",
    "random blob": "SELECT hex(randomblob(500000000))",
    "padding": "SELECT printf('%.*c', 1000000000, 'x')",
    "replacement": "SELECT " + "replace(" * 20 + "'aa'" + ", 'a', 'aaaaaaaa')" * 20,
    "not finite": "SELECT 9e999, -9e999, 9e999 - 9e999",
}
"""Answers whose reading, running or translating must not take long."""
