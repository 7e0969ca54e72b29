"""LangChain: its own retrievers and vector stores find what they hold; scores run one way."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.contract import retrieve
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.identity import plugin_identity
from target_bench.core.schema import Query, Table, TableId
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.encoders import UnitWords
from tests.retrievers.tables import TABLES, corpus

pytest.importorskip("langchain_core")

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from target_bench.retrievers.langchain import LangChainRetriever


class WordEmbeddings(Embeddings):
    """The test encoder as LangChain calls it."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [list(map(float, v)) for v in UnitWords().encode(texts, "table")]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


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
    """Gives all it has, whatever is asked."""

    docs: list[Document]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.docs


class Distances(InMemoryVectorStore):
    """Gives distances, smallest first, as FAISS and Chroma do."""

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        pairs = super().similarity_search_with_score(query, k=k)
        return [(document, 1 - score) for document, score in pairs]


class WithoutScores(InMemoryVectorStore):
    """Has no scores to give, and cannot delete."""

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        raise NotImplementedError

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        pairs = super().similarity_search_with_score(query, k=k)
        return [document for document, _ in pairs]

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> None:
        raise NotImplementedError


def make_store() -> VectorStore:
    """What the command line names."""
    return InMemoryVectorStore(WordEmbeddings())


def make_filled(documents: list[Document]) -> BaseRetriever:
    """Makes a retriever from documents."""
    return InMemoryVectorStore.from_documents(documents, WordEmbeddings()).as_retriever()


def _documents(**more: Any) -> list[Document]:
    return [
        Document(page_content=f"{t.context['title']} {t.header}", metadata={**_ids(t), **more})
        for t in TABLES
    ]


def _ids(table: Table) -> dict[str, str]:
    return {"database_id": table.id.database_id, "table_id": table.id.table_id}


def _names(retriever: LangChainRetriever, query: str, k: int) -> list[str]:
    """The tables found, as the harness ranks them."""
    (retrieval,) = retrieve(retriever, [Query("q", query, (TABLES[0].id,))], k, corpus(), False)
    assert retrieval.error is None, retrieval.error
    return [table_id.table_id for table_id in retrieval.tables]


def _embedded(given: object, **settings: Any) -> LangChainRetriever:
    retriever = LangChainRetriever(given, **settings)
    retriever.embed_corpus(corpus())
    return retriever


@pytest.mark.parametrize(
    "given",
    [make_store(), Distances(WordEmbeddings()), WithoutScores(WordEmbeddings()), make_filled],
    ids=["similarity", "distance", "no scores", "factory"],
)
def test_the_store_is_filled_and_asked(given: object) -> None:
    retriever = _embedded(given)
    assert _names(retriever, "apple fruit price", 1) == ["fruit"]
    assert set(_names(retriever, "which river is the longest", 3)) >= {"rivers", "rowless"}
    assert len(_names(retriever, "river", len(TABLES) + 5)) == len(TABLES)
    assert set(_names(retriever, "twin plum", 2)) == {"twin1", "twin2"}


def test_scores_that_run_against_the_order() -> None:
    retriever = _embedded(Distances(WordEmbeddings()), scores="similarity")
    with pytest.raises(PluginError, match=r"Distances gave scores .* scores=similarity, distance"):
        retriever.retrieve("Rivers of France", 4)
    assert _embedded(Distances(WordEmbeddings()), scores="none").retrieve("Kings", 1) == [
        TableId("0", "kings")
    ]


def test_a_second_corpus_takes_the_place_of_the_first() -> None:
    retriever = _embedded(make_store())
    other = MemoryCorpus([Table(TableId("7", "moons"), ["moon"], [["Io"]], {"title": "Moons"})])
    retriever.embed_corpus(other)
    assert [table_id for table_id, _ in retriever.retrieve("river", 9)] == [("7", "moons")]
    stuck = _embedded(WithoutScores(WordEmbeddings()))
    with pytest.raises(PluginError, match=r"cannot delete .* retriever=my_module:make"):
        stuck.embed_corpus(other)


def test_a_filled_retriever_is_asked_for_k() -> None:
    retriever = _embedded(Overlap(docs=_documents()))
    assert _names(retriever, "rivers twin kings", 7) == [
        "rivers",
        "kings",
        "rowless",
        "twin1",
        "twin2",
    ]
    assert len(_names(retriever, "rivers twin kings", 2)) == 2
    store = InMemoryVectorStore.from_documents(_documents(), WordEmbeddings())
    assert len(_names(_embedded(store.as_retriever()), "river", 7)) == 7


def test_a_retriever_that_gives_what_it_likes() -> None:
    retriever = _embedded(AsItLikes(docs=_documents()))
    assert len(_names(retriever, "river", 3)) == 3
    (note,) = retriever.notes()
    assert "AsItLikes has no field" in note


def test_metadata_name_the_table() -> None:
    other = [
        Document(page_content=d.page_content, metadata={"name": d.metadata["table_id"]})
        for d in _documents()
    ]
    retriever = _embedded(Overlap(docs=other), table_key="name")
    assert _names(retriever, "kings", 1) == ["kings"]
    with pytest.raises(PluginError, match=r"no 'table_id', only 'name'; .*table_key"):
        _embedded(Overlap(docs=other)).retrieve("kings", 1)


def test_two_databases_with_one_name() -> None:
    tables = [Table(TableId(d, "t"), ["a"], [["x"]], {"title": f"of {d}"}) for d in ("d1", "d2")]
    retriever = LangChainRetriever(
        Overlap(docs=[Document(page_content="x", metadata={"table_id": "t"})])
    )
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
    _, warning = plugin_identity(registry.create("retriever", f"langchain:retriever={path}:make"))
    assert warning is None


def test_identity() -> None:
    filled = Overlap(docs=_documents())
    _, warning = plugin_identity(LangChainRetriever(filled))
    assert warning is not None
    assert "give version=" in warning
    identity, warning = plugin_identity(LangChainRetriever(filled, version="a"))
    assert warning is None
    assert identity != plugin_identity(LangChainRetriever(filled, version="b"))[0]
    for given in (Overlap.from_documents, partial(Overlap.from_documents, k=3), make_filled):
        identity, warning = plugin_identity(LangChainRetriever(given))
        assert warning is None, warning
        assert "made_by" in identity["config"]
    _, warning = plugin_identity(LangChainRetriever(lambda documents: filled))
    assert warning is not None
    small = plugin_identity(LangChainRetriever(make_store(), fields=["title"]))
    assert small[1] is None
    assert small != plugin_identity(LangChainRetriever(make_store()))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (InMemoryVectorStore, "InMemoryVectorStore is a class; pass an object"),
        (7, "a int is no BaseRetriever or VectorStore object"),
        (lambda a, b: None, "needs 2 arguments; expected a function of one, a list of documents"),
        ("tests.retrievers.test_langchain:nothing", "no 'nothing'"),
        ("nothing", "expected module:name"),
    ],
)
def test_not_a_retriever(given: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LangChainRetriever(given)


def test_a_function_that_gives_something_else() -> None:
    with pytest.raises(PluginError, match="gave a list; expected a BaseRetriever or VectorStore"):
        _embedded(lambda documents: documents)
    with pytest.raises(ConfigError, match="fetch=0"):
        LangChainRetriever(make_store(), fetch=0)
