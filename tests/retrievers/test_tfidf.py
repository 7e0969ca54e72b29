"""TF-IDF, against scikit-learn asked directly."""

import math
from pathlib import Path
from typing import Any

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from target_bench.core.errors import ConfigError
from target_bench.data.table_text import Serializer
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.tfidf import TfIdf
from tests.retrievers.tables import (
    QUERIES,
    TABLES,
    ask,
    batches_change_nothing,
    built,
    corpus,
    hash_seed_changes_nothing,
    names,
    same_rankings,
    saving_changes_nothing,
    table,
)

SPECS = ["tfidf", "tfidf:ngram=2", "tfidf:hashed=true,ngram=2", "tfidf:sublinear=false"]


@pytest.mark.parametrize("spec", SPECS)
def test_batches_change_nothing(spec: str) -> None:
    batches_change_nothing(spec)


@pytest.mark.parametrize("spec", ["tfidf", "tfidf:hashed=true,ngram=2"])
def test_hash_seed_changes_nothing(spec: str) -> None:
    hash_seed_changes_nothing(spec)


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("sublinear", [True, False])
@pytest.mark.parametrize("ngram", [1, 2, 3])
def test_is_the_cosine_of_scikit_learn(ngram: int, sublinear: bool, smooth: bool) -> None:
    tokens = r"(?u)\b\w\w+\b"
    retriever = TfIdf(
        ngram=ngram, sublinear=sublinear, smooth_idf=smooth, tokens=tokens, stopwords="none"
    )
    retriever.embed_corpus(corpus())
    direct = TfidfVectorizer(ngram_range=(1, ngram), sublinear_tf=sublinear, smooth_idf=smooth)
    write = Serializer(("title", "section", "header", "rows"))
    vectors = direct.fit_transform([write(t) for t in TABLES])
    expected = (direct.transform(QUERIES) @ vectors.T).toarray()
    for row, ranking in zip(expected, ask(retriever, k=100), strict=True):
        assert {t for t, _ in ranking} == {TABLES[i].id for i in range(len(row)) if row[i] > 5e-6}
        assert dict(ranking) == pytest.approx(
            {TABLES[i].id: row[i] for i in range(len(row)) if row[i] > 5e-6}, abs=1e-9
        )
        assert [s for _, s in ranking] == sorted((s for _, s in ranking), reverse=True)


@pytest.mark.parametrize("more", ["", ",ngram=2", ",smooth_idf=false", ",sublinear=false"])
def test_hashing_is_a_vocabulary_of_its_own(more: str) -> None:
    """Without n-grams unheard of, buckets and vocabulary give the same cosine."""
    known = ["plum", "fruit river", "price apple", "Rhine"]
    exact = ask(built(f"tfidf:hashed=false{more}"), known)
    same_rankings(ask(built(f"tfidf:hashed=true{more}"), known), exact)


@pytest.mark.parametrize("smooth", ["true", "false"])
def test_hashing_and_words_unheard_of(smooth: str) -> None:
    """They share a bucket with no table; scores stay finite."""
    retriever = built(f"tfidf:hashed=true,smooth_idf={smooth}")
    nothing, first = ask(retriever, ["unheard-of", "apple unheard-of"])
    assert nothing == []
    assert names(first) == ["fruit"]
    assert all(math.isfinite(score) for _, score in first)


@pytest.mark.parametrize("spec", SPECS)
def test_nothing_matches(spec: str) -> None:
    assert ask(built(spec), ["unheard-of", "", " ?! ", "the of and"]) == [[], [], [], []]


@pytest.mark.parametrize("spec", SPECS)
def test_ties_keep_the_order_of_the_tables(spec: str) -> None:
    assert names(ask(built(spec), ["plum"])[0]) == ["twin1", "twin2"]
    reverse = built(spec, MemoryCorpus(reversed(TABLES)))
    assert names(ask(reverse, ["plum"])[0]) == ["twin2", "twin1"]


@pytest.mark.parametrize("spec", SPECS)
def test_fewer_asked_for_are_the_first_of_more(spec: str) -> None:
    retriever = built(spec)
    many = ask(retriever, k=100)
    same_rankings(ask(retriever, k=2), [ranking[:2] for ranking in many])


@pytest.mark.parametrize("hashed", ["true", "false"])
def test_corpus_without_any_word(hashed: str) -> None:
    """Corpora without titles are common: then nothing matches, and nothing fails."""
    tables = MemoryCorpus(table(f"t{i}", "", rows=(("x", f"y{i}"),)) for i in range(3))
    assert ask(built(f"tfidf:fields=[title],hashed={hashed}", tables), ["x"]) == [[]]


@pytest.mark.parametrize(
    ("settings", "query", "found"),
    [
        ("", "ångström", ["kings"]),
        ("", "angstrom", []),
        ("fold=true", "angstrom", ["kings"]),
        ("", "pears", []),
        ("stemmer=english", "pears", ["fruit"]),
        ("rows=1", "pear", []),
        ("rows=0", "apple", []),
        ("fields=[header]", "人口", ["tokyo"]),
        ("fields=[id]", "rowless", ["rowless"]),
        ("stopwords=none", "of", ["rivers"]),
    ],
)
def test_words(settings: str, query: str, found: list[str]) -> None:
    assert names(ask(built(f"tfidf:{settings}"), [query])[0]) == found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ngram": 0}, "ngram=0: the longest n-gram has at least one word"),
        ({"fields": []}, r"fields=\[\]: expected one or more"),
        ({"tokens": "("}, "is not a regular expression"),
        ({"rows": -2}, "rows=-2"),
    ],
)
def test_bad_settings(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TfIdf(**arguments)


@pytest.mark.parametrize("spec", SPECS)
def test_no_query_and_one_table(spec: str) -> None:
    assert list(built(spec).retrieve_batch([], 5)) == []
    single = built(spec, MemoryCorpus(TABLES[:1]))
    assert [names(r) for r in ask(single, ["apple", "plum"])] == [["fruit"], []]


@pytest.mark.parametrize("spec", [*SPECS, "tfidf:smooth_idf=false,stemmer=english"])
def test_saving_changes_nothing(spec: str, tmp_path: Path) -> None:
    saving_changes_nothing(spec, tmp_path)


def test_saving_an_index_without_words(tmp_path: Path) -> None:
    tables = MemoryCorpus([table("t", "")])
    saving_changes_nothing("tfidf:fields=[title]", tmp_path, tables)
