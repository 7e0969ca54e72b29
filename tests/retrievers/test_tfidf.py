"""TF-IDF, against scikit-learn asked directly."""

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from target_bench import load
from target_bench.data.table_text import WORDS, Analyzer, Serializer
from target_bench.retrievers.tfidf import TfIdf
from target_bench.search.lexical.tfidf_vectors import NGrams
from tests.retrievers.tables import (
    QUERIES,
    TABLES,
    ask,
    built,
    corpus,
    names,
    same_rankings,
)


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


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("sublinear", [True, False])
@pytest.mark.parametrize("ngram", [1, 2, 3])
def test_vectors_are_those_of_scikit_learn_bit_for_bit(
    ngram: int, sublinear: bool, smooth: bool
) -> None:
    analyzer = Analyzer(WORDS, False, "en", "none")
    direct = TfidfVectorizer(
        tokenizer=analyzer,
        token_pattern=None,
        lowercase=False,
        ngram_range=(1, ngram),
        sublinear_tf=sublinear,
        smooth_idf=smooth,
    )
    ngrams = NGrams(analyzer, ngram, sublinear, smooth)
    texts = list(map(Serializer(), load("mini").corpus))
    assert (ngrams.fit(texts) != direct.fit_transform(texts)).nnz == 0
    queries = [*QUERIES, "", "no word of these is in any table"]
    assert (ngrams.vectors(queries) != direct.transform(queries)).nnz == 0


@pytest.mark.parametrize("hashed", [True, False])
def test_texts_without_words_have_no_vectors(hashed: bool) -> None:
    assert NGrams(Analyzer(WORDS, False, "en", "none"), hashed=hashed).fit(["the", "", "–"]) is None


@pytest.mark.parametrize("more", ["", ",ngram=2", ",smooth_idf=false", ",sublinear=false"])
def test_hashing_is_a_vocabulary_of_its_own(more: str) -> None:
    """Without n-grams unheard of, buckets and vocabulary give the same cosine."""
    known = ["plum", "fruit river", "price apple", "Rhine"]
    exact = ask(built(f"tfidf:hashed=false{more}"), known)
    same_rankings(ask(built(f"tfidf:hashed=true{more}"), known), exact)


@pytest.mark.parametrize(
    ("settings", "query", "expected"),
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
def test_words(settings: str, query: str, expected: list[str]) -> None:
    assert names(ask(built(f"tfidf:{settings}"), [query])[0]) == expected
