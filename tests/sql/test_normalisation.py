"""What Spider's test-suite rule does to the text of a query."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.sql.normalisation import rewrite_for_test_suite


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT DISTINCT a FROM t", "SELECT  a FROM t"),
        ("SELECT count(distinct a) FROM t", "SELECT count( a) FROM t"),
        ("SELECT COUNT(DISTINCT(a)) FROM t", "SELECT COUNT((a)) FROM t"),
        ("SELECT 'distinct', \"DISTINCT\" FROM t", "SELECT 'distinct', \"DISTINCT\" FROM t"),
        ("SELECT `distinct`, [DISTINCT] FROM t", "SELECT `distinct`, [DISTINCT] FROM t"),
        ("SELECT 'it''s distinct' -- distinct", "SELECT 'it''s distinct' -- distinct"),
        ("SELECT a /* DISTINCT */ FROM t", "SELECT a /* DISTINCT */ FROM t"),
        ("SELECT distinct_a, a_distinct FROM t", "SELECT distinct_a, a_distinct FROM t"),
        ("SELECT a FROM t; SELECT DISTINCT b", "SELECT a FROM t; "),
        ("SELECT ';' FROM t;\nSELECT b", "SELECT ';' FROM t;"),
        ("SELECT a FROM t WHERE b = 'unclosed", "SELECT a FROM t WHERE b = 'unclosed"),
        ("", ""),
    ],
)
def test_distinct_goes_where_it_is_the_keyword(sql: str, expected: str) -> None:
    assert rewrite_for_test_suite(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t WHERE b > = 1", "SELECT a FROM t WHERE b >= 1"),
        ("SELECT a WHERE b < = 1 AND c ! = 2", "SELECT a WHERE b <= 1 AND c != 2"),
        ("SELECT YEAR(CURDATE()) - born", "SELECT 2020 - born"),
        ("SELECT year ( curdate ( ) ) AND 1", "SELECT 2020 AND 1"),
        ("SELECT DISTINCT a", "SELECT  a"),
    ],
)
def test_operators_years_and_distinct_are_repaired(sql: str, expected: str) -> None:
    assert rewrite_for_test_suite(sql) == expected


quotes = st.sampled_from(["'", '"', "`", "--", "/*", "*/", "[", "]", "''", "\\", ";", "\n", " "])
words = st.sampled_from(["SELECT", "DISTINCT", "a", "T1.", "12", "-3.5", "> =", "YEAR(CURDATE())"])
texts = st.lists(quotes | words, max_size=15).map("".join) | st.text(max_size=15)


@settings(deadline=None)
@given(texts)
def test_nothing_but_distinct_goes_from_one_statement(sql: str) -> None:
    single = sql.replace(";", "").replace("> =", "").replace("YEAR(CURDATE())", "")
    letters = "".join(single.split()).lower()
    kept = "".join(rewrite_for_test_suite(single).split()).lower()
    assert kept.replace("distinct", "") == letters.replace("distinct", "")
