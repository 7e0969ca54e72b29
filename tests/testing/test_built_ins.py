"""Every retriever of the repository keeps the contract that plug-ins are held to.

A new one is checked as its name alone makes it. If it needs settings, it gets a line in ``SPECS``.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from target_bench.core import registry
from target_bench.testing import check_retriever
from tests.builders import ROOT
from tests.retrievers import models

ENCODER = "tests.retrievers.encoders:UnitWords"
GENERATOR = "generator=tests.contrib.test_hyse:Saying"
SPECS = (
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
    f"dense:encoder={ENCODER}",
    f"hybrid:retrievers=[bm25,'dense:encoder={ENCODER}']",
    "rerank:retriever=bm25,device=cpu,model={model}",
    "rows",
    "history:log={folder}/log.csv",
    f"sets:encoder={ENCODER}",
    f"best:encoder={ENCODER}",
    f"hyse:{GENERATOR},retriever=bm25",
    f"listwise:{GENERATOR}",
    "compat:target=tests/contrib/target_style.py:Overlapping",
    "compat:target=tests/contrib/target_style.py:Letters",
    "langchain:retriever=tests.retrievers.foreign:langchain_store",
    "llama-index:retriever=tests.retrievers.foreign:llama_index",
    f"table-summaries:generator=tests.contrib.test_table_summaries:Writer,encoder={ENCODER}",
    f"qdrant:encoder={ENCODER}",
    f"milvus:uri={{folder}}/milvus.db,encoder={ENCODER}",
)
NEED_A_SERVER = {"pgvector"}  # tests/contrib/test_pgvector.py
OTHERS = {*registry.names("retriever")} - {s.partition(":")[0] for s in SPECS} - NEED_A_SERVER
ORIGINAL = ROOT / "tests" / "contrib" / "original"
"""Stands in for the original TARGET package, which classes for ``compat`` import."""

MODELS: dict[str, Callable[[Path], Path]] = {
    "rerank": models.cross_encoder,
}
"""What makes a tiny model."""

LOG = "query,table_id\nhow high is Everest,peaks\n"
"""What ``history`` reads."""

NEEDS = {
    **dict.fromkeys(MODELS, "sentence_transformers"),
    "bm25:backend=rank-bm25": "rank_bm25",
    "langchain": "langchain_core",
    "llama-index": "llama_index.core",
    "table-summaries": "llama_index.core",
    "qdrant": "qdrant_client",
    "milvus": "milvus_lite",
}
SKIPS = {
    "sets": {"opaque_ids"},  # names of tables and databases are read
    **{name: {"batch"} for name in ("random", "langchain", "llama-index")},
}
SAVED = {"bm25", "dense", "history", "hybrid"}


@pytest.mark.parametrize("spec", [*SPECS, *sorted(OTHERS)])
def test_built_ins_keep_the_contract(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = spec.partition(":")[0]
    for needed in NEEDS.keys() & {name, spec.partition(",")[0]}:
        pytest.importorskip(NEEDS[needed])
    monkeypatch.syspath_prepend(str(ORIGINAL))
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    model = MODELS[name](tmp_path / "model") if name in MODELS else ""
    (tmp_path / "log.csv").write_text(LOG, encoding="utf-8")
    skip = {"opaque_ids": "names of tables and databases are ids"} if name == "sets" else {}
    report = check_retriever(spec.format(model=model, folder=tmp_path), skip=skip)
    if spec not in OTHERS and not spec.endswith(":Letters"):
        skipped = set(SKIPS.get(name, ()))
        if name not in SAVED or "rank-bm25" in spec:
            skipped.add("save_load")
        assert {outcome.check for outcome in report.skipped} == skipped
