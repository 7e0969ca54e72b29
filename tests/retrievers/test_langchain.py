"""LangChain: its own retrievers and vector stores find what they hold; scores run one way."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.identity import plugin_identity
from target_bench.core.schema import Table, TableId
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.foreign import langchain_store, vector
from tests.retrievers.tables import TABLES, corpus

pytest.importorskip("langchain_core")

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from target_bench.retrievers.langchain import LangChainRetriever

Scored = list[tuple[Document, float]]


class WordEmbeddings(Embeddings):
    """Counts of words."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return vector(text)


class Overlap(BaseRetriever):
    """Documents with a word of the query, the most first."""

    docs: list[Document]
    k: int = 4

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        words = set(query.lower().split())
        scored = [(len(words & set(d.page_content.lower().split())), d) for d in self.docs]
        ranked = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
        return [document for _, document in ranked][: self.k]

    @classmethod
    def from_documents(cls, documents: Sequence[Document], k: int = 4) -> "Overlap":
        return cls(docs=list(documents), k=k)


class AsItLikes(BaseRetriever):
    """Gives all it has, whatever k is."""

    docs: list[Document]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.docs


class Distances(InMemoryVectorStore):
    """Gives distances, smallest first, as FAISS and Chroma do."""

    def similarity_search_with_score(self, query: str, k: int = 4, **_: Any) -> Scored:
        pairs = super().similarity_search_with_score(query, k=k)
        return [(document, 1 - score) for document, score in pairs]


class WithoutScores(InMemoryVectorStore):
    """Has no scores to give, and cannot delete."""

    def similarity_search_with_score(self, query: str, k: int = 4, **_: Any) -> Scored:
        raise NotImplementedError

    def similarity_search(self, query: str, k: int = 4, **_: Any) -> list[Document]:
        return [document for document, _ in super().similarity_search_with_score(query, k=k)]

    def delete(self, ids: Sequence[str] | None = None, **_: Any) -> None:
        raise NotImplementedError


def _store(kind: type[InMemoryVectorStore] = InMemoryVectorStore) -> InMemoryVectorStore:
    return kind(WordEmbeddings())


DOCUMENTS = [
    Document(
        page_content=f"{t.context['title']} {t.header}",
        metadata={"database_id": t.id.database_id, "table_id": t.id.table_id},
    )
    for t in TABLES
]


def _names(retriever: LangChainRetriever, query: str, k: int) -> list[str]:
    ranking = [
        table if isinstance(table, TableId) else table[0] for table in retriever.retrieve(query, k)
    ]
    return [table.table_id for table in ranking]


def _embedded(given: object, **settings: Any) -> LangChainRetriever:
    retriever = LangChainRetriever(given, **settings)
    retriever.embed_corpus(corpus())
    return retriever


@pytest.mark.parametrize(
    "given",
    [_store(), _store(Distances), _store(WithoutScores), langchain_store],
    ids=["similarity", "distance", "no scores", "factory"],
)
def test_the_store_is_filled_and_asked(given: object) -> None:
    retriever = _embedded(given)
    assert _names(retriever, "apple fruit price", 1) == ["fruit"]
    assert set(_names(retriever, "which river is the longest", 3)) >= {"rivers", "rowless"}
    assert len(_names(retriever, "river", len(TABLES) + 5)) == len(TABLES)
    assert set(_names(retriever, "twin plum", 2)) == {"twin1", "twin2"}


def test_scores_that_run_against_the_order() -> None:
    retriever = _embedded(_store(Distances), scores="similarity")
    with pytest.raises(PluginError, match=r"Distances gave scores .* scores=similarity, distance"):
        retriever.retrieve("Rivers of France", 4)
    retriever = _embedded(_store(Distances), scores="none")
    assert retriever.retrieve("Kings", 1) == [TableId("0", "kings")]


def test_a_second_corpus_takes_the_place_of_the_first() -> None:
    retriever, stuck = _embedded(_store()), _embedded(_store(WithoutScores))
    other = MemoryCorpus([Table(TableId("7", "moons"), ["moon"], [["Io"]], {"title": "Moons"})])
    retriever.embed_corpus(other)
    assert [table_id for table_id, _ in retriever.retrieve("river", 9)] == [("7", "moons")]
    with pytest.raises(PluginError, match=r"cannot delete .* retriever=my_module:make"):
        stuck.embed_corpus(other)


def test_a_filled_retriever_is_asked_for_k_or_gives_what_it_likes() -> None:
    retriever = _embedded(Overlap(docs=DOCUMENTS))
    ranking = ["rivers", "kings", "rowless", "twin1", "twin2"]
    assert _names(retriever, "rivers twin kings", 7) == ranking
    assert _names(retriever, "rivers twin kings", 2) == ranking[:2]
    store = InMemoryVectorStore.from_documents(DOCUMENTS, WordEmbeddings())
    assert len(_names(_embedded(store.as_retriever()), "river", 7)) == 7
    unbound = _embedded(AsItLikes(docs=DOCUMENTS))
    assert len(_names(unbound, "river", 3)) == 3
    (note,) = unbound.notes()
    assert "AsItLikes has no field" in note


def test_metadata_name_the_table() -> None:
    other = [
        Document(page_content=d.page_content, metadata={"name": d.metadata["table_id"]})
        for d in DOCUMENTS
    ]
    assert _names(_embedded(Overlap(docs=other), table_key="name"), "kings", 1) == ["kings"]
    with pytest.raises(PluginError, match=r"no 'table_id', only 'name'; .*table_key"):
        _embedded(Overlap(docs=other)).retrieve("kings", 1)
    tables = [Table(TableId(d, "t"), ["a"], [["x"]], {"title": f"of {d}"}) for d in ("d1", "d2")]
    document = Document(page_content="x", metadata={"table_id": "t"})
    retriever = LangChainRetriever(Overlap(docs=[document]))
    retriever.embed_corpus(MemoryCorpus(tables))
    with pytest.raises(PluginError, match=r"several databases have a table 't'.*database_key"):
        retriever.retrieve("x", 1)


def test_the_command_line_names_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from tests.retrievers.test_langchain import WordEmbeddings\n"
        "from langchain_core.vectorstores import InMemoryVectorStore as Store\n"
        "def make():\n    return Store(WordEmbeddings())\n"
        "def fill(documents):\n    return Store.from_documents(documents, WordEmbeddings())\n"
    )
    for name in ("make", "fill"):
        retriever = registry.create("retriever", f"langchain:retriever={path}:{name},rows=2")
        retriever.embed_corpus(corpus())
        assert _names(retriever, "apple", 1) == ["fruit"]
        identity, warning = plugin_identity(retriever)
        assert warning is None
        assert identity["config"]["rows"] == 2


def test_identity() -> None:
    filled = Overlap(docs=DOCUMENTS)
    _, warning = plugin_identity(LangChainRetriever(filled))
    assert "set version=" in str(warning)
    identity, warning = plugin_identity(LangChainRetriever(filled, version="a"))
    assert warning is None
    assert identity != plugin_identity(LangChainRetriever(filled, version="b"))[0]
    for factory in (Overlap.from_documents, partial(Overlap.from_documents, k=3), langchain_store):
        identity, warning = plugin_identity(LangChainRetriever(factory))
        assert warning is None, warning
        assert "made_by" in identity["config"]
    assert plugin_identity(LangChainRetriever(lambda documents: filled))[1] is not None
    titles = plugin_identity(LangChainRetriever(_store(), fields=["title"]))
    assert titles[1] is None
    assert titles != plugin_identity(LangChainRetriever(_store()))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (InMemoryVectorStore, "InMemoryVectorStore is not an object"),
        (7, "a int is not a BaseRetriever or VectorStore"),
        (
            lambda a, b: None,
            "is not an object, nor a function that makes one",
        ),
        ("tests.retrievers.test_langchain:nothing", "no 'nothing'"),
        ("nothing", "expected module:name"),
        (lambda documents: documents, "gave a list; expected a BaseRetriever or VectorStore"),
    ],
)
def test_not_a_retriever(given: object, message: str) -> None:
    with pytest.raises((ConfigError, PluginError), match=message):
        _embedded(given)
