"""Our lexical retrievers against rank-bm25, bm25s and scikit-learn."""

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from target_bench import Retriever, Table, TableId, registry
from target_bench.corpora.store import MemoryCorpus
from tests.real.golden import FOLDER, cases, load

COMMON = r"fields=[title],stopwords=none,stemmer=none,fold=false"
BM25 = rf"bm25:{COMMON},tokens='\w+',unique_terms=false,delta=0.5"
TFIDF = {
    "default": r"tokens='\b\w\w+\b',sublinear=false",
    "word_sublinear": r"tokens='\w+',sublinear=true",
    "bigram": r"tokens='\b\w\w+\b',sublinear=false,ngram=2",
    "nosmooth": r"tokens='\b\w\w+\b',sublinear=false,smooth_idf=false",
}
RANK_BM25 = re.compile(r"rank_bm25\.BM25(Okapi|L|Plus)(?:\((.*)\))?")


def _spec(name: str) -> str:
    """The settings under which our retriever is the reference's."""
    match = RANK_BM25.fullmatch(name)
    if match:
        method, given = match[1].lower(), match[2] or "k1=1.5,b=0.75"
        spec = f"{BM25},backend=rank-bm25,method={method},{given}"
        return spec.replace("delta=0.5", "delta=1") if method == "plus" else spec
    if name.startswith("bm25s."):
        return f"{BM25},method={name.removeprefix('bm25s.')},k1=1.5,b=0.75"
    return f"tfidf:{COMMON},{TFIDF[name.removeprefix('tfidf_')]}"


@cache
def _retriever(name: str) -> Retriever:
    documents = load("lexical_retrieval")["documents"]
    tables = [Table(TableId("0", str(i)), ["-"], [], {"title": d}) for i, d in enumerate(documents)]
    retriever: Retriever = registry.create("retriever", _spec(name))
    retriever.embed_corpus(MemoryCorpus(tables))
    return retriever


@pytest.mark.parametrize("case", cases("lexical_retrieval"), ids=lambda case: case["id"])
def test_lexical(case: dict[str, Any]) -> None:
    """Scores at each rank, and ids where no neighbour has the same score.

    A table that shares no term with the query is not returned by ours, so references that score
    such tables (0, or a constant for the variants that reward absence) are compared down to the
    length of our ranking, and no table that ours leaves out may score above its last one.
    """
    query = case["input"]["query"]
    for name, reference in case["expected"].items():
        if isinstance(reference, dict):  # the reference raises
            assert list(_retriever(name).retrieve(query, 10)) == []
            continue
        found = list(_retriever(name).retrieve(query, 10))
        expected = [score for _, score in reference]
        scores = [float(score) for _, score in found]  # type: ignore[arg-type]
        assert scores == pytest.approx(expected[: len(scores)], abs=1e-6), name
        assert all(score <= min(scores, default=np.inf) + 1e-6 for score in expected[len(found) :])
        if len(found) < len(expected):
            rest = expected[len(found) :]
            assert max(rest) - min(rest) < 1e-6, f"{name}: tables with evidence are missing"
        for rank, (table_id, _) in enumerate(found):
            near = expected[max(0, rank - 1) : rank + 2]
            distinct = all(abs(s - expected[rank]) > 1e-4 for s in near if s is not expected[rank])
            if distinct and rank + 1 < len(expected):
                assert table_id == ("0", str(reference[rank][0])), (name, rank)


def test_every_reference_is_known() -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"no {FOLDER}")
    names = {name for case in load("lexical_retrieval")["cases"] for name in case["expected"]}
    assert names
    for name in names:
        assert registry.create("retriever", _spec(name)) is not None
