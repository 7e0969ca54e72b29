"""BM25 on both backends."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.data.languages import OTHER_SCRIPTS
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.bm25 import BM25
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
def test_nothing_matches(spec: str) -> None:
    """An unknown word, no word, no letter: an empty ranking."""
    assert ask(built(spec), ["unheard-of", "", " ?! ", "the of and"]) == [[], [], [], []]


@pytest.mark.parametrize("spec", SPECS)
def test_tables_without_a_term_of_the_query_are_left_out(spec: str) -> None:
    """Also with the variants that give a score to a term that is not there."""
    (ranking,) = ask(built(spec), ["apple unheard-of"])
    assert names(ranking) == ["fruit"]
    (ranking,) = ask(built(spec), ["loire apple"])
    assert sorted(names(ranking)) == ["fruit", "rivers"]


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


@pytest.mark.parametrize("method", BM25S)
@pytest.mark.parametrize("weights", [(0.4, 0.6), (1.0, 1.0), (2.5, 0.0)])
def test_score_is_the_weighted_sum_of_the_fields(method: str, weights: tuple[float, float]) -> None:
    _check_weighted_sum(f"method={method}", weights)


@pytest.mark.parametrize("method", RANK_BM25)
@pytest.mark.parametrize("weights", [(0.4, 0.6), (1.0, 1.0), (2.5, 0.0)])
def test_score_is_the_weighted_sum_with_rank_bm25(
    method: str, weights: tuple[float, float]
) -> None:
    _check_weighted_sum(f"backend=rank-bm25,method={method}", weights)


def _check_weighted_sum(setting: str, weights: tuple[float, float]) -> None:
    """A term in both fields of all the tables that match, so that no offset is left out."""
    tables = MemoryCorpus(
        table(f"t{i}", f"{'plum ' * i}{'tree ' * (3 - i)}", ("a", "b"), (("plum", "of " * i),))
        if i < 3
        else table(f"t{i}", "other", ("a", "b"), (("words", "here"),))
        for i in range(1, 10)
    )

    def scores(more: str) -> dict[Any, float]:
        spec = f"bm25:{setting},stopwords=none,{more}"
        return dict(ask(built(spec, tables), ["plum"], k=100)[0])

    title, rows = scores("fields=[[title]]"), scores("fields=[rows]")
    both = scores(f"fields=[[title],[rows]],weights=[{weights[0]},{weights[1]}]")
    assert set(both) >= {t for t in title if t.table_id in ("t1", "t2")}
    for found in ("t1", "t2"):
        key = tables.ids[int(found[1]) - 1]
        expected = weights[0] * title[key] + weights[1] * rows[key]
        assert both[key] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1.0]}, r"weights=\[1\.0\]: 2 fields need 2 weights"),
        ({"fields": ["title"], "weights": [1.0, 2.0]}, "1 fields need 1 weights"),
        ({"fields": []}, r"fields=\[\]: expected one or more"),
        ({"fields": ["title", ["rows"]]}, "either names or lists of names, not both"),
        ({"fields": [["title"], []]}, "expected one or more"),
        ({"method": "okapi"}, "method='okapi': backend bm25s has lucene, robertson, atire"),
        ({"method": "lucene", "backend": "rank-bm25"}, "backend rank-bm25 has okapi, l, plus"),
        ({"k1": -0.1}, r"k1=-0\.1, b=0\.75: k1 is at least 0"),
        ({"b": 1.1}, "b from 0 to 1"),
        ({"tokens": "["}, "is not a regular expression"),
        ({"rows": -1}, "rows=-1"),
        ({"format": "xml"}, "format='xml'"),
    ],
)
def test_bad_settings(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BM25(**arguments)


@pytest.mark.parametrize(
    ("settings_", "query", "found"),
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
def test_words(settings_: str, query: str, found: list[str]) -> None:
    assert names(ask(built(f"bm25:{settings_}"), [query])[0]) == found


SPACED = st.text(max_size=20).filter(lambda text: not OTHER_SCRIPTS.search(text))
"""Texts of scripts whose words are divided by spaces."""


@given(st.lists(SPACED, min_size=1, max_size=6), SPACED)
@settings(deadline=None, max_examples=40)
def test_any_text(titles: list[str], query: str) -> None:
    """A table comes back if and only if it shares a token with the query."""
    tables = MemoryCorpus(
        table(f"t{i}", title) for i, title in enumerate(["common words", *titles])
    )
    spec = f"bm25:{SIMPLE},fold=false"
    found = names(ask(built(spec, tables), [query], k=100)[0])
    wanted = set(_tokens(query))
    sharing = [t.id.table_id for t in tables if wanted & set(_tokens(t.context["title"]))]
    assert sorted(found) == sorted(sharing)


def _tokens(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())
