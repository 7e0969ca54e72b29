"""BM25 on both backends."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.data.languages import compile_other_scripts
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.tables import (
    TABLES,
    ask,
    built,
    names,
    table,
)

BM25S = ["lucene", "robertson", "atire", "bm25l", "bm25+"]
RANK_BM25 = ["okapi", "l", "plus"]
SPECS = [
    *(f"bm25:method={method}" for method in BM25S),
    *(f"bm25:backend=rank-bm25,method={method}" for method in RANK_BM25),
]
SIMPLE = "fields=[title],stemmer=none,stopwords=none"


@pytest.mark.parametrize("spec", SPECS)
def test_tables_without_a_term_of_the_query_are_left_out(spec: str) -> None:
    """Also with the variants that give a score to a term that is not there."""
    assert ask(built(spec), ["unheard-of", "", " ?! ", "the of and"]) == [[], [], [], []]
    (ranking,) = ask(built(spec), ["apple unheard-of"])
    assert names(ranking) == ["fruit"]
    (ranking,) = ask(built(spec), ["loire apple"])
    assert sorted(names(ranking)) == ["fruit", "rivers"]


@pytest.mark.parametrize("spec", SPECS)
def test_no_query_and_no_table(spec: str) -> None:
    assert len(built(spec).retrieve_batch([], 3)) == 0
    assert ask(built(spec, MemoryCorpus([])), ["apple"]) == [[]]


@pytest.mark.parametrize("spec", SPECS)
def test_ties_keep_the_order_of_the_tables(spec: str) -> None:
    (ranking,) = ask(built(spec), ["plum"])
    assert names(ranking) == ["twin1", "twin2"]
    assert ranking[0][1] == ranking[1][1]
    reverse = built(spec, MemoryCorpus(reversed(TABLES)))
    assert names(ask(reverse, ["plum"])[0]) == ["twin2", "twin1"]
    assert names(ask(reverse, ["plum"], k=1)[0]) == ["twin2"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("empty", ["fields=[title]", "fields=[[title],[rows]]"])
def test_field_that_is_empty_everywhere(spec: str, empty: str) -> None:
    """Corpora without titles are common: such a field matches nothing, and nothing fails."""
    tables = MemoryCorpus(table(f"t{i}", "", ("a", "b"), (("x", f"y{i}"),)) for i in range(3))
    (ranking,) = ask(built(f"{spec},{empty}", tables), ["y1"])
    assert names(ranking) == ([] if empty == "fields=[title]" else ["t1"])


@pytest.mark.parametrize(
    ("settings_", "query", "expected"),
    [
        ("", "ANGSTROM", ["kings"]),
        ("fold=false", "ANGSTROM", []),
        ("fold=false", "ÅNGSTRÖM", ["kings"]),
        ("", "Rhone", ["rivers"]),
        ("", "prices of fruits", ["fruit", "twin1", "twin2"]),
        ("stemmer=none", "pears", []),
        ("stopwords=none,fields=[title]", "of", ["rivers"]),
        ("stopwords=en,fields=[title]", "of", []),
        ("fields=[title]", "of", []),
        ("rows=1", "pear", []),
        ("rows=1", "apple", ["fruit"]),
        ("fields=[id]", "tokyo", ["tokyo"]),
        (r"tokens='\w'", "大", ["tokyo"]),
    ],
)
def test_words(settings_: str, query: str, expected: list[str]) -> None:
    assert names(ask(built(f"bm25:{settings_}"), [query])[0]) == expected


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("weights", [(0.4, 0.6), (2.5, 0.0)])
def test_score_is_the_weighted_sum_of_the_fields(spec: str, weights: tuple[float, float]) -> None:
    """A term in both fields of all the tables that match, so that no offset is left out."""
    tables = MemoryCorpus(
        table(f"t{i}", f"{'plum ' * i}{'tree ' * (3 - i)}", ("a", "b"), (("plum", "of " * i),))
        if i < 3
        else table(f"t{i}", "other", ("a", "b"), (("words", "here"),))
        for i in range(1, 10)
    )

    def scores(settings: str) -> dict[Any, float]:
        return dict(ask(built(f"{spec},stopwords=none,{settings}", tables), ["plum"], k=100)[0])

    title, rows = scores("fields=[[title]]"), scores("fields=[rows]")
    both = scores(f"fields=[[title],[rows]],weights=[{weights[0]},{weights[1]}]")
    for key in tables.ids[:2]:
        expected = weights[0] * title[key] + weights[1] * rows[key]
        assert both[key] == pytest.approx(expected, rel=1e-8)


SPACED = st.text(max_size=20).filter(lambda text: not compile_other_scripts().search(text))
"""Texts of scripts whose words are divided by spaces."""


@given(st.lists(SPACED, min_size=1, max_size=6), SPACED)
@settings(deadline=None, max_examples=20)
def test_any_text(titles: list[str], query: str) -> None:
    """A table comes back if and only if it shares a token with the query."""
    tables = MemoryCorpus(
        table(f"t{i}", title) for i, title in enumerate(["common words", *titles])
    )
    spec = f"bm25:{SIMPLE},fold=false"
    ranking = names(ask(built(spec, tables), [query], k=100)[0])
    tokens = set(_tokens(query))
    sharing = [t.id.table_id for t in tables if tokens & set(_tokens(t.context["title"]))]
    assert sorted(ranking) == sorted(sharing)


def _tokens(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())
