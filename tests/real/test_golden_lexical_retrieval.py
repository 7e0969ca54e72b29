"""BM25 and TF-IDF against the libraries they stand on, score by score."""

import re
from functools import cache
from typing import Any

import pytest

from target_bench.core.contract import Retriever
from target_bench.core.registry import create
from target_bench.core.schema import Table, TableId
from target_bench.data.tables import MemoryCorpus
from tests.real.golden import TOLERANCE, Case, cases, content, needs_golden

pytestmark = needs_golden

FILE = "lexical_retrieval.json"
CONTENT = content(FILE)
NOTHING = 1e-12
"""Scores up to here are what is left of a sum that cancels, which is not a match."""

BM25 = r"bm25:fields=[title],tokens='\w+',fold=false,stopwords=none,stemmer=none,unique_terms=false"
TFIDF = "tfidf:fields=[title],stopwords=none,stemmer=none"

RANK_BM25 = {"BM25Okapi": ("okapi", 0.5), "BM25L": ("l", 0.5), "BM25Plus": ("plus", 1.0)}
"""Class -> our name of the method, and the class's default delta."""

VARIANTS = {
    "default": {},
    "word": {"tokens": r"'\w+'"},
    "sublinear": {"sublinear": "true"},
    "bigram": {"ngram": "2"},
    "nosmooth": {"smooth_idf": "false"},
}
"""The parts of a TF-IDF key; what none of them says is scikit-learn's default."""


def _spec(key: str) -> str:
    """The retriever that a key of ``expected`` names."""
    if key.startswith("tfidf_"):
        settings = {"tokens": r"'(?u)\b\w\w+\b'", "sublinear": "false"}
        for part in key.removeprefix("tfidf_").split("_"):
            settings |= VARIANTS[part]
        return ",".join([TFIDF, *(f"{name}={value}" for name, value in settings.items())])
    match = re.fullmatch(r"(bm25s|rank_bm25)\.([\w+]+)(?:\((.*)\))?", key)
    assert match, f"a key this test does not know: {key}"
    backend, method, delta = match[1].replace("_", "-"), match[2], 0.5
    if backend == "rank-bm25":
        method, delta = RANK_BM25[method]
    settings = {"backend": backend, "method": method, "k1": "1.5", "b": "0.75", "delta": f"{delta}"}
    settings |= dict(item.split("=") for item in (match[3] or "").split(",") if item)
    return ",".join([BM25, *(f"{name}={value}" for name, value in settings.items())])


def _id(number: int) -> TableId:
    return TableId("0", str(number))


@cache
def _retriever(key: str) -> Retriever:
    """Every document is the title of a table: the indexed text is the document."""
    retriever: Retriever = create("retriever", _spec(key))
    documents = CONTENT["documents"]
    retriever.embed_corpus(
        MemoryCorpus(Table(_id(i), ("",), (), {"title": text}) for i, text in enumerate(documents))
    )
    return retriever


def _terms(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@pytest.mark.parametrize("key", sorted({key for c in CONTENT["cases"] for key in c["expected"]}))
@pytest.mark.parametrize("case", cases(FILE, ""))
def test_scores_and_order(case: Case, key: str) -> None:
    """The same score at each rank, and the same document where it stands alone with its score.

    A document that shares no term with the query is no answer of ours. The libraries list it: with
    score 0, or, in the variants that give an absent term a score (bm25l, bm25+, BM25Plus), with
    the same lowest score as all the others like it. Neither is one whose score is 0 or below
    though it shares a term (terms that most documents hold have no weight in Robertson's and
    Okapi's variants). Equality is of all the others, in number too: what shares a term and has a
    score. Where a library raises (bm25s on an empty query) there is no match.
    """
    query, expected = case["input"]["query"], case["expected"][key]
    if isinstance(expected, dict):
        assert list(_retriever(key).retrieve(query, 10)) == []
        return
    terms, documents = _terms(query), CONTENT["documents"]
    theirs = [
        (number, score)
        for number, score in expected
        if score > NOTHING and terms & _terms(documents[number])
    ]
    if case["input"]["tokens"]:
        assert terms == set(case["input"]["tokens"])
    ours: list[Any] = list(_retriever(key).retrieve(query, len(expected)))
    scores = [score for _, score in theirs]
    assert [score for _, score in ours] == pytest.approx(scores, abs=TOLERANCE)
    all_scores = [score for _, score in expected]
    for rank, (number, score) in enumerate(theirs):
        others = [other for i, other in enumerate(all_scores) if i != rank]
        is_last_listed = rank == len(all_scores) - 1  # the next one is not listed and may tie
        if not is_last_listed and all(abs(score - other) > 2 * NOTHING for other in others):
            assert ours[rank][0] == _id(number)
