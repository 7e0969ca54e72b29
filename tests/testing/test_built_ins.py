"""Every retriever of the repository keeps the contract that plug-ins are held to."""

from pathlib import Path

import pytest

from target_bench.core import registry
from target_bench.testing import check_retriever
from tests.builders import ROOT
from tests.retrievers import models

PLAIN = (
    "bm25",
    "bm25:method=bm25+,fields=[header,rows],format=markdown",
    "bm25:fields=[[title],[header],[rows]],weights=[1,2,3],rows=2,stemmer=none,stopwords=none",
    "bm25:backend=rank-bm25",
    "bm25:backend=rank-bm25,method=plus",
    "tfidf",
    "tfidf:ngram=2",
    "lsa",
    "lsa:dims=3,seed=1",
    "random",
    "random:seed=3",
)
"""Those that need no model."""

ENCODER = "tests.retrievers.encoders:UnitWords"
SPECS = {
    "bm25f": "bm25f",
    "dense": f"dense:encoder={ENCODER}",
    "hybrid": f"hybrid:retrievers=[bm25,'dense:encoder={ENCODER}']",
    "chunks": "chunks:rows=1",
    "rerank": "rerank:retriever=bm25,device=cpu,model={model}",
    "multi-vector": f"multi-vector:encoder={ENCODER}",
    "late-interaction": "late-interaction:device=cpu,model={model}",
    "splade": "splade:device=cpu,model={model}",
    "rows": "rows",
    "joins": "joins",
    "adaptive": "adaptive",
    "sets": f"sets:encoder={ENCODER}",
    "within-database": "within-database",
    "best": f"best:encoder={ENCODER}",
    "hyse": "hyse:generator=tests.contrib.test_hyse:Saying,retriever=bm25",
    "decompose": "decompose:generator=tests.contrib.test_hyse:Saying",
    "listwise": "listwise:generator=tests.contrib.test_hyse:Saying",
    "contextual": "contextual:generator=tests.contrib.test_hyse:Saying",
    "compat": "compat:target=tests/contrib/target_style.py:Overlapping",
    "langchain": "langchain:retriever=tests.retrievers.foreign:langchain_store",
    "llama-index": "llama-index:retriever=tests.retrievers.foreign:llama_index",
    "table-summaries": (
        f"table-summaries:generator=tests.contrib.test_table_summaries:Writer,encoder={ENCODER}"
    ),
    "qdrant": f"qdrant:encoder={ENCODER}",
    "duckdb": f"duckdb:encoder={ENCODER}",
    "lancedb": f"lancedb:uri={{folder}},encoder={ENCODER}",
    "milvus": f"milvus:uri={{folder}}/milvus.db,encoder={ENCODER}",
}
"""How each other one is written."""

ORIGINAL = ROOT / "tests" / "contrib" / "original"
"""Stands in for the original TARGET package, which classes for ``compat`` import."""

MODELS = {
    "rerank": "cross_encoder",
    "late-interaction": "token_encoder",
    "splade": "sparse_encoder",
}
"""Functions of ``tests.retrievers.models`` that make a tiny model."""

NEEDS = {
    **dict.fromkeys(MODELS, "sentence_transformers"),
    "langchain": "langchain_core",
    "llama-index": "llama_index.core",
    "table-summaries": "llama_index.core",
    "qdrant": "qdrant_client",
    "lancedb": "lancedb.table",
    "milvus": "milvus_lite",
}
DATABASES = {"qdrant", "duckdb", "lancedb", "milvus"}
NAMES_ARE_READ = {"opaque_ids": "names of tables and databases are ids"}
KEEP_NO_INDEX = {"compat", "langchain", "llama-index", *DATABASES}


def test_none_is_left_out() -> None:
    plain = {spec.partition(":")[0] for spec in PLAIN}
    needs_a_server = {"pgvector"}  # tests/contrib/test_pgvector.py
    assert {*SPECS, *plain, *needs_a_server} == set(registry.names("retriever"))


@pytest.mark.parametrize("spec", PLAIN)
def test_plain_ones_keep_the_contract(spec: str) -> None:
    if "rank-bm25" in spec:
        pytest.importorskip("rank_bm25")
    report = check_retriever(spec)
    without = {"batch"} if spec.startswith("random") else set()
    assert {outcome.check for outcome in report.skipped} == without


@pytest.mark.parametrize("name", SPECS)
def test_built_ins_keep_the_contract(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ORIGINAL))
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    model = ""
    if name in MODELS:
        model = str(getattr(models, MODELS[name])(tmp_path / "model"))
    skip = NAMES_ARE_READ if name == "sets" else {}
    report = check_retriever(SPECS[name].format(model=model, folder=tmp_path), skip=skip)
    without = {"save_load"} if name in KEEP_NO_INDEX else set()
    assert {o.check for o in report.skipped} == without | {*skip}


def test_a_class_that_makes_vectors_for_the_original(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ORIGINAL))
    check_retriever("compat:target=tests/contrib/target_style.py:Letters")
