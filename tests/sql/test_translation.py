"""SQLite's SQL in DuckDB's: both engines on the same data."""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from target_bench.sql import translation
from target_bench.sql.duckdb_copy import Copy, duckdb_copy
from target_bench.sql.names import Names, parse_query
from target_bench.sql.translation import to_duckdb
from tests.sql.written import sqlite_file

ODD = """
CREATE TABLE t(i INTEGER, r REAL, s TEXT, n TEXT, d TEXT, z INTEGER, b BLOB, u TEXT);
INSERT INTO t VALUES
  (7, 2.5, 'abc', '12', '2020-02-29', 0, x'00ff', 'été'),
  (-7, -2.5, 'ABC', '3.7x', '2021-03-01 10:20:30', 2, NULL, 'Été'),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, 1e300, '', '-5', 'bad', 0, x'', 'ET'),
  (2, 0.5, 'it''s "q"', '7', '1999-12-31', 1, x'41', 'Straße');
CREATE TABLE "od d"("a b" TEXT, "A""q" INT, "order" REAL);
INSERT INTO "od d" VALUES ('abc', 1, 2.0), ('x', 7, NULL);
CREATE VIEW v AS SELECT i, s FROM t WHERE i > 0;
"""

Engines = tuple[sqlite3.Connection, duckdb.DuckDBPyConnection, Copy]


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    path = sqlite_file(tmp_path_factory.mktemp("odd") / "odd.sqlite", ODD)
    copy = duckdb_copy(path)
    source = sqlite3.connect(path)
    with duckdb.connect(copy.path, read_only=True) as target:
        yield source, target, copy
    source.close()


def _same(sql: str, engines: Engines) -> None:
    source, target, copy = engines
    translated = to_duckdb(sql, copy.columns)
    expected = source.execute(sql).fetchall()
    rows = target.execute(translated).fetchall()
    assert sorted(map(_comparable, rows)) == sorted(map(_comparable, expected)), translated


def _comparable(row: tuple[Any, ...]) -> str:
    """The cells as the engine gives them: decimals as floats, dates as text."""
    return repr([_cell(cell) for cell in row])


def _cell(cell: Any) -> Any:
    if isinstance(cell, date):
        return cell.isoformat()
    return float(cell) if isinstance(cell, int | float | Decimal) else cell


EXPRESSIONS = (
    """
i / z;i / 2;i % 2;i % z;r / 2;10 / 4;10 / 4.0;i * 1.0 / 3;sum(i) / count(*)
sum(i) * 1.0 / count(i);i + NULL;i || s;s || n;'a' || 1;length(s);substr(s, 1, 2);substr(s, -2)
upper(s);substr(d, 1, 4) = 2020;substr(d, 1, 4) > 2000;trim(s);replace(s, 'a', 'b');instr(s, 'b')
char(65);s GLOB 'a*';'x' LIKE 'X';s LIKE 'a%';i LIKE '7';n LIKE '1%';NOT s LIKE 'a%';s = 'ABC'
s < 'b';n = 12;n = '12';n > 5;i = '7';i > '5';i < 'x';s > 5;1 = '1';i = 7.0;z = (i > 5);s IS 'abc'
i IS NOT 7;i == 7;i IS NULL;i NOTNULL;CAST(i AS TEXT);CAST(' 12 ' AS REAL);CAST(NULL AS INT)
round(r);round(i);round(n);abs(n);max(i, z);min(i, r);coalesce(i, 0);ifnull(s, '-');nullif(z, 0)
iif(i > 2, 1, 0);iif(i, 1, 0);CASE WHEN i > 2 THEN 'a' ELSE 'b' END;CASE s WHEN 'abc' THEN 1 END
i BETWEEN 1 AND 5;n BETWEEN '1' AND '4';i IN (7, 2);n IN (7, 12);i IN ('7', '2')
i IN (SELECT z FROM t);n IN (SELECT i FROM t);i NOT IN (SELECT n FROM t WHERE n NOTNULL);NOT i
i AND z;i OR z;(SELECT max(i) FROM t);EXISTS (SELECT 1 FROM t WHERE i = 9);d < '2020-12-31'
d BETWEEN '2020-01-01' AND '2020-12-31';avg(n);sum(n);avg(i > 2);sum(s = 'abc');count(DISTINCT s)
max(s);min(n);i, max(r);s, count(*);count(*) FILTER (WHERE i > 0);sum(i) OVER (ORDER BY i)
row_number() OVER (ORDER BY i DESC);2.0 * i;1.5;CASE i WHEN 7 THEN 1 ELSE 2.5 END
s NOT LIKE 'a%';i NOT LIKE '7';sum(s NOT LIKE 'a%');CASE WHEN s NOT LIKE 'a%' THEN 1 END
d NOT LIKE '%!-02%' ESCAPE '!';NOT s NOT LIKE 'a%';s NOT GLOB 'a*';i NOT BETWEEN 1 AND 5
max(s) NOT LIKE 'z%';s NOT LIKE NULL;NOT i IS NOT NULL;i IS NOT TRUE;i NOT IN (7)
CAST(nullif(r, 1e300) AS INTEGER);CAST(-nullif(r, 1e300) AS INT);CAST(n AS INTEGER)
CAST(s AS INT);CAST(1.98 AS INTEGER)
CAST(avg(i) AS INT);CAST('2.9' AS INTEGER);CAST('12abc' AS INTEGER);CAST(n AS REAL);CAST(s AS REAL)
CAST(i AS REAL) / 2;CAST(r AS DECIMAL(10, 1));CAST(i AS NUMERIC) / 2;CAST(d AS DATE)
CAST(i > 2 AS TEXT);CAST(nullif(r, 1e300) AS INT) = '2';CAST(n AS INTEGER) > 5
CAST(3e9 AS INT);CAST(' 7 ' AS INT);CAST('' AS INT)
upper(u);lower(u);u LIKE '%é%';u LIKE '%É%';u LIKE 'ÉT%';u LIKE u || '%';upper(u) = 'éTé';lower(i)
s NOT LIKE s;s NOT LIKE 'a%' AND s NOT LIKE 'b%'
""".replace("\n", ";")
    .strip(";")
    .split(";")
)


DATES = (
    "strftime('%Y', d)",
    "strftime('%m-%d', d)",
    "strftime('%j', d)",
    "strftime('%Y', d) > '2000'",
    "strftime('%Y', d) = 2020",
    "date(d)",
)


@pytest.mark.parametrize("expression", DATES)
def test_dates(engines: Engines, expression: str) -> None:
    _same(f"SELECT {expression} FROM t WHERE d <> 'bad'", engines)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(engines: Engines, expression: str) -> None:
    _same(f"SELECT {expression} FROM t", engines)


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT "a b", "A""q" FROM "od d" WHERE "order" IS NULL',
        'SELECT s FROM t WHERE s = "abc" OR "no such column" = s',
        "SELECT `a b` FROM `od d` WHERE [order] > 1",
        "SELECT s AS q, count(*) FROM t GROUP BY q HAVING count(*) > 0",
        "SELECT z, s, max(r) FROM t GROUP BY z",
        "SELECT z, s, min(r) FROM t GROUP BY z",
        "SELECT s, count(*) FROM t GROUP BY z ORDER BY count(*) DESC, r",
        "SELECT * FROM t GROUP BY z",
        "SELECT strftime('%Y', d), count(*) FROM t WHERE d <> 'bad' GROUP BY strftime('%Y', d)",
        "SELECT z, i FROM t GROUP BY z HAVING i > 2",
        "SELECT i FROM t ORDER BY z LIMIT 2",
        "SELECT i FROM t LIMIT 2",
        "SELECT z FROM t GROUP BY z ORDER BY count(*) DESC LIMIT 1",
        "SELECT s FROM t ORDER BY s DESC LIMIT 2",
        "SELECT i FROM t ORDER BY i LIMIT 2 OFFSET 1",
        "SELECT i FROM v",
        "SELECT i FROM v ORDER BY s LIMIT 1",
        "SELECT i FROM t NATURAL JOIN v",
        "SELECT i FROM t JOIN v USING (i)",
        'SELECT t1.i FROM t t1, t t2 JOIN "od d" o ON t1.i = o."A""q" WHERE t1.s = o."a b"',
        'SELECT t.i FROM t JOIN "od d" ON t.s = "a b"',
        "SELECT count(*) FROM t JOIN v",
        "SELECT i FROM t WHERE s != 'abc' INTERSECT SELECT i FROM v",
        "SELECT i FROM t UNION SELECT z FROM t ORDER BY 1",
        "WITH c AS (SELECT i, n AS m FROM t) SELECT count(*) FROM c WHERE m > 5",
        "SELECT i FROM (SELECT i, i / 2 AS h FROM t) AS q WHERE h / 2 = 0",
        "SELECT i, (SELECT count(*) FROM t AS o WHERE o.i < t.i) FROM t",
        "SELECT i FROM t WHERE i",
        "SELECT T.I, T.R FROM T;",
        "SELECT i FROM t; -- all of them",
        "SELECT i FROM t /* a; b */; /* c */ -- d",
    ],
)
def test_queries(engines: Engines, sql: str) -> None:
    _same(sql, engines)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT rowid FROM t", "rowid is not kept"),
        ("SELECT n / 2 FROM t", "division"),
        ("SELECT r % 2 FROM t", "remainder of fractions"),
        ("SELECT *, count(*) FROM t", "star beside aggregates"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("DROP TABLE t", "not a query"),
        ("", "0 statements"),
        ("SELECT FROM", "cannot be parsed|selects nothing"),
        ("SELECT ((((", "cannot be parsed"),
    ],
)
def test_what_has_no_translation(engines: Engines, sql: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        to_duckdb(sql, engines[2].columns)


def _spread(kind: type[exp.Expression], value_kind: str) -> exp.Expression:
    """An expression with a column of its own in each of its arguments, flags too."""
    node = kind(**{name: exp.column(f"arg_{name}") for name in kind.arg_types})
    for name in ("expressions", "query"):
        if name in kind.arg_types:
            column = exp.column(f"arg_{name}")
            value = [column] if name == "expressions" else exp.select(column).subquery()
            node.set(name, value)
    for column in node.find_all(exp.Column):
        column.meta["kind"] = value_kind
    return node


WRITTEN_ANEW = {
    exp.Div: {"typed", "safe"},  # sqlglot's marks of how a dialect divides
    exp.Cast: {"to", "format", "safe", "action", "default"},  # a number's type is DuckDB's
}


@pytest.mark.parametrize(
    "kind", [kind for kinds in translation.RULES for kind in kinds], ids=lambda kind: kind.__name__
)
def test_a_repair_keeps_every_argument(kind: type[exp.Expression]) -> None:
    """``NOT LIKE`` is a ``Like`` with a flag, and other types have flags that a repair may lose."""
    names = Names(parse_query("SELECT 1"), {})
    arguments = set(kind.arg_types) - WRITTEN_ANEW.get(kind, set())
    repaired = 0
    for value_kind in ("int", "real", "text", "bool"):
        with suppress(ValueError):  # it has no translation
            (rule,) = [rule for kinds, rule in translation.RULES.items() if kind in kinds]
            node = rule(_spread(kind, value_kind), names)
            left = {column.name.removeprefix("arg_") for column in node.find_all(exp.Column)}
            assert arguments <= left, value_kind
            repaired += 1
    assert repaired


CLAUSES = (
    "WITH c AS (SELECT i FROM t) SELECT DISTINCT t.z, count(*) AS m FROM t JOIN c ON t.i = c.i "
    "WHERE t.r > 0 GROUP BY t.z HAVING m > 0 ORDER BY m DESC, t.z NULLS LAST LIMIT 9 OFFSET 0"
)


@pytest.mark.parametrize("sql", [CLAUSES, CLAUSES.replace("DISTINCT ", "")])
def test_a_translation_keeps_every_clause(engines: Engines, sql: str) -> None:
    _same(sql, engines)
    before, after = (
        sqlglot.parse_one(text, read=dialect)
        for text, dialect in ((sql, "sqlite"), (to_duckdb(sql, engines[2].columns), "duckdb"))
    )
    for kind in (exp.Select, exp.Order, exp.Join):
        pairs = zip(before.find_all(kind), after.find_all(kind), strict=True)
        for ours, theirs in pairs:
            kept = [{name for name, value in node.args.items() if value} for node in (ours, theirs)]
            assert kept[0] <= kept[1]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(["SELECT", "i", "s", "FROM", "t", "(", ")", ",", "'", '"', "/", "WHERE"])
        | st.text(max_size=3)
    )
)
def test_any_text_is_translated_or_refused(words: list[str]) -> None:
    with suppress(ValueError):
        assert to_duckdb(" ".join(words), {"t": {"i": "BIGINT", "s": "VARCHAR"}})
