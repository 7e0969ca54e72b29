"""Spider's hardness of SQL text: each rule by an example, and what it is not defined for."""

from typing import get_args

import pytest

from target_bench.sql.hardness import Hardness, hardness

EASY = [
    "SELECT a FROM t",
    "SELECT count(*) FROM t;",
    "SELECT count(*) FROM t; -- of all",
    "SELECT a FROM t WHERE b = 1",
    "SELECT a FROM t ORDER BY count(*)",
    "SELECT a FROM (SELECT a FROM t WHERE b = 1 OR c = 2)",
    "SELECT a FROM t WHERE b NOT IN (1, 2)",
    "(SELECT a FROM t)",
    "SELECT a FROM t GROUP BY a HAVING count(*) > 1 AND sum(b) > 2",
]
MEDIUM = [
    "SELECT a, b FROM t",
    "SELECT a FROM t WHERE b = 1 AND c = 2",
    "SELECT a FROM t WHERE b = 1 OR c = 2",
    "SELECT a FROM t WHERE b LIKE 'x%'",
    "SELECT a FROM t WHERE b NOT LIKE 'x%'",
    "SELECT a FROM t ORDER BY b LIMIT 1",
    "SELECT t.a FROM t JOIN u ON t.b = u.b WHERE u.c = 1",
    "SELECT t.a FROM t, u WHERE t.b = u.b",
    "SELECT max(a), min(a) FROM t WHERE b = 1",
    "SELECT a FROM t GROUP BY a, b",
    "SELECT a, b FROM t WHERE c IN (1) AND d IN (2)",
    "SELECT a, b FROM t WHERE c IS NOT NULL AND d IS NOT NULL",
]
HARD = [
    "SELECT a FROM t WHERE b = (SELECT max(b) FROM t)",
    "SELECT a FROM t WHERE b IN (SELECT b FROM u WHERE c IN (SELECT c FROM v))",
    "SELECT a FROM t EXCEPT SELECT a FROM u",
    "SELECT a FROM t UNION SELECT a FROM u UNION ALL SELECT a FROM v ORDER BY a LIMIT 1",
    "SELECT avg(a), avg(b) FROM t WHERE c = 1 AND d = 2",
    "SELECT a FROM t WHERE b = 1 GROUP BY a ORDER BY a",
    "SELECT a FROM t WHERE EXISTS (SELECT b FROM u)",
    "SELECT a FROM t WHERE (b = 1 OR c = 2) OR d = 3",
    # nesting outside of the grammar of Spider
    "WITH u AS (SELECT a FROM t) SELECT a FROM u",
    "SELECT (SELECT max(b) FROM u) FROM t",
    "SELECT t.a FROM t JOIN u ON t.b = (SELECT 1)",
    # each NOT of a condition counts as an aggregate: with two columns and conditions three "others"
    "SELECT a, b FROM t WHERE c NOT IN (1) AND d NOT IN (2)",
]
EXTRA = [
    "SELECT a FROM t WHERE b = 1 GROUP BY a ORDER BY a LIMIT 1",
    "SELECT a, c FROM t WHERE b = (SELECT max(b) FROM t)",
    "SELECT a FROM t WHERE b IN (SELECT b FROM u) INTERSECT SELECT a FROM v",
    "SELECT a FROM t WHERE b > (SELECT 1) AND c < (SELECT 2)",
    "SELECT a FROM t WHERE b = 1 OR c = 2 OR d = 3 OR e = 4",
]
CASES = [
    pytest.param(sql, level, id=f"{level}-{i}")
    for level, statements in zip(get_args(Hardness), (EASY, MEDIUM, HARD, EXTRA), strict=True)
    for i, sql in enumerate(statements)
]


@pytest.mark.parametrize(("sql", "expected"), CASES)
def test_levels(sql: str, expected: Hardness) -> None:
    assert hardness(sql) == expected


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT a FROM t WHERE (b = 1", "cannot be parsed: Expecting"),
        ("SELECT 'a FROM t", "cannot be parsed: Error tokenizing"),
        ("", "it is 0 statements"),
        ("-- nothing", "it is 0 statements"),
        ("SELECT a FROM t; SELECT b FROM t", "it is 2 statements"),
        ("DROP TABLE t", "it is not a query: DROP TABLE t"),
        ("VALUES (1)", "it is not a query"),
        ("(" * 3000 + "SELECT 1" + ")" * 3000, "cannot be parsed"),
    ],
)
def test_what_has_no_hardness_says_why(sql: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hardness(sql)
