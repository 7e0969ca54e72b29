"""What Spider's test-suite rule does to the text of a query."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.sql.normalisation import for_test_suite, plugged, value_slots, without_distinct


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
    assert without_distinct(sql) == expected


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
    assert for_test_suite(sql) == expected


def test_distinct_can_be_kept() -> None:
    assert for_test_suite("SELECT DISTINCT a; SELECT 1", keep_distinct=True) == (
        "SELECT DISTINCT a; SELECT 1"
    )


@pytest.mark.parametrize(
    ("sql", "words", "values"),
    [
        ("SELECT a WHERE b = 'X y'", "select a where b = ?", {"'X y'"}),
        ("SELECT T1.a FROM t AS T1", "select t1 . a from t as t1", set()),
        ("SELECT a WHERE b>=-1.5;", "select a where b >= ?", {"-1.5"}),
        ('SELECT a WHERE b LIKE "%c%" LIMIT 3', "select a where b like ? limit ?", {'"%c%"', "3"}),
        ("SELECT count(*)\nFROM t -- all", "select count ( * ) from t", set()),
        ("SELECT A11 FROM t1", "select ? from t1", {"A11"}),
        ("SELECT `Two  Words`", "select `two words`", set()),
    ],
)
def test_values_are_distinguished_from_words(sql: str, words: str, values: set[str]) -> None:
    found, constants = value_slots(sql)
    assert " ".join("?" if word is None else word for word in found) == words
    assert constants == values


def test_the_gold_values_are_put_in_every_place_of_a_value() -> None:
    gold = "SELECT a FROM t WHERE b = 'X' AND c > 4"
    assert list(plugged(gold, "SELECT a FROM t WHERE b = 'y' AND c > 1")) == [
        "select a from t where b = 'X' and c > 'X'",
        "select a from t where b = 'X' and c > 4",
        "select a from t where b = 4 and c > 'X'",
        "select a from t where b = 4 and c > 4",
    ]


def test_without_values_there_is_nothing_to_put_in() -> None:
    assert list(plugged("SELECT a FROM t", "SELECT a FROM t WHERE b = 1")) == []
    assert list(plugged("SELECT a FROM t WHERE b = 1", "SELECT a FROM t")) == ["select a from t"]


def test_many_ways_are_not_made_before_they_are_asked_for() -> None:
    gold = f"SELECT a FROM t WHERE b IN ({', '.join(map(str, range(10, 60)))})"
    assert next(plugged(gold, gold)).startswith("select a from t where b in ( 10 , 10 ,")


quotes = st.sampled_from(["'", '"', "`", "--", "/*", "*/", "[", "]", "''", "\\", ";", "\n", " "])
words = st.sampled_from(["SELECT", "DISTINCT", "a", "T1.", "12", "-3.5", "> =", "YEAR(CURDATE())"])
texts = st.lists(quotes | words, max_size=15).map("".join) | st.text(max_size=15)


@settings(deadline=None)
@given(texts)
def test_any_text_is_taken(sql: str) -> None:
    rest = without_distinct(sql)
    assert sql.startswith(rest) or "distinct" in sql.lower()
    assert for_test_suite(sql).upper().count("DISTINCT") <= sql.upper().count("DISTINCT")
    words, values = value_slots(sql)
    assert (None in words) == bool(values)


@settings(deadline=None)
@given(texts)
def test_nothing_but_distinct_goes_from_one_statement(sql: str) -> None:
    single = sql.replace(";", "")
    letters = "".join(single.split()).lower()
    kept = "".join(without_distinct(single).split()).lower()
    assert kept.replace("distinct", "") == letters.replace("distinct", "")
