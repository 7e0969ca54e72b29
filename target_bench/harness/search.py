"""Search the tables of a corpus: one question, no gold tables, no run folder."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from target_bench.core import contract, index_store
from target_bench.core.contract import RetrieverLike, ask_if_paid
from target_bench.core.credentials import mask_settings
from target_bench.core.errors import ConfigError, MissingExtraError, PluginError
from target_bench.core.plugin_errors import plugin_errors
from target_bench.core.retrieve import retrieve_tables
from target_bench.core.schema import Corpus, Dataset, Query, Table, TableId
from target_bench.core.settings import read_whole, split_name
from target_bench.core.unicode_text import compose
from target_bench.data.highlights import cell_text
from target_bench.data.languages import Language
from target_bench.data.load import load
from target_bench.data.own_data import find_table_file
from target_bench.data.table_text import WORDS, Analyzer
from target_bench.harness.consent import Confirm, Estimate
from target_bench.models.original_classes import adapt_plugin, create_plugin

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever as LangChainRetriever
    from llama_index.core.retrievers import BaseRetriever as LlamaIndexRetriever

    from target_bench.data.table_text import Serializer


@dataclass(frozen=True)
class Hit:
    """A table that was found.

    ```python
    from target_bench import TableSearch

    hit = TableSearch("mini").search("Which moons has Uranus?", k=1)[0]
    print(hit.rank, hit.table.id, f"{hit.score:.2f}")  # 1 0/moons-of-uranus 6.04
    ```

    Attributes:
        rank: from 1.
        table: the table.
        score: that of the retriever; None if it gives none.
        file: the file that it was read from, relative to its folder, with the sheet of a workbook;
            None for a corpus that is no folder of your own.
    """

    rank: int
    table: Table
    score: float | None
    file: str | None = None

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the table for other packages: its id, title, rank and score.

        The keys ``database_id`` and ``table_id`` are those that the retrievers ``langchain`` and
        ``llama-index`` read.
        """
        metadata: dict[str, Any] = {
            "database_id": self.table.id.database_id,
            "table_id": self.table.id.table_id,
        }
        if title := self.table.context.get("title"):
            metadata["title"] = title
        return metadata | {"rank": self.rank, "score": self.score}


class RowMatch(NamedTuple):
    """A row of a table, and those of its columns that hold words of a question."""

    row: int
    columns: list[int]


def find_rows(
    table: Table, question: str, n: int = 3, languages: Sequence[Language] = ("en",)
) -> list[RowMatch]:
    """Return the rows that hold the most words of a question, best first.

    Words are compared by their stems; of rows with as many words, that with the rarer ones is
    better. The first 50,000 rows are searched; a row without a word of the question is left out.
    """
    analyze = Analyzer(
        WORDS, fold=True, stopwords="en_plus", stemmer="english", languages=languages
    )
    question_words = frozenset(analyze(question))
    matches: list[RowMatch] = []
    words_of_rows: list[frozenset[str]] = []
    for number, row in enumerate(islice(table.rows, _ROWS_SEARCHED)):
        words_of_cells = [question_words.intersection(analyze(cell_text(cell))) for cell in row]
        if any(words_of_cells):
            matches.append(RowMatch(number, [j for j, words in enumerate(words_of_cells) if words]))
            words_of_rows.append(frozenset().union(*words_of_cells))
    n_rows = Counter(word for words in words_of_rows for word in words)

    def rate(i: int) -> tuple[int, float]:
        words = words_of_rows[i]
        return len(words), sum(1 / n_rows[word] for word in words)

    best = sorted(range(len(matches)), key=rate, reverse=True)
    return [matches[i] for i in best[:n]]


_ROWS_SEARCHED = 50_000


class TableSearch:
    """A retriever over the tables of a corpus, ready for questions.

    ```python
    from target_bench import TableSearch

    search = TableSearch("mini", "bm25:b=0.5")
    search.save("index")
    search = TableSearch.load("index", "mini", "bm25:b=0.5")
    print(search.search("Which moons has Uranus?", k=1)[0].table.id)  # 0/moons-of-uranus
    ```

    Questions that several threads ask at the same time are answered one after the other, because
    a retriever need not be safe for threads.

    Args:
        corpus: by name, path, or loaded already; it needs no queries.
        retriever: a retriever, or its name with settings as in ``bm25:b=0.5``.
        split: the split; default: the corpus's own.
        data_dir: as for ``load``.
        confirm: is asked before a retriever that may cost money gets tables; None: it gets them.

    Attributes:
        label: the name of the retriever, or how it was asked for.
        corpus: the tables.
        notes: warnings about the tables.

    Raises:
        ConfigError: an unknown name or an invalid setting; something else than a corpus; or the
            requests were not confirmed.
        DataError: files are missing or broken.
        PluginError: the retriever failed while indexing.
    """

    def __init__(
        self,
        corpus: str | Path | Dataset | Corpus,
        retriever: RetrieverLike | str = "bm25",
        *,
        split: str | None = None,
        data_dir: str | Path | None = None,
        confirm: Confirm | None = None,
    ) -> None:
        self._prepare(corpus, retriever, split, data_dir)
        estimate = partial(Estimate, self.label, requests=len(self.corpus) + 1)  # and a question
        ask_if_paid(self._retriever, confirm, estimate)
        with plugin_errors(f"retriever {self.label}", "embed_corpus"):
            self._retriever.embed_corpus(self.corpus.copy_for_retriever())

    @classmethod
    def load(
        cls,
        folder: str | Path,
        corpus: str | Path | Dataset | Corpus,
        retriever: RetrieverLike | str = "bm25",
        *,
        split: str | None = None,
        data_dir: str | Path | None = None,
    ) -> Self:
        """Return a search whose index is read from a folder; nothing is indexed.

        Args:
            folder: where ``save`` wrote the index.
            corpus: the same tables.
            retriever: the same retriever with the same settings.
            split: as for ``TableSearch``.
            data_dir: as for ``TableSearch``.

        Raises:
            ConfigError: as for ``TableSearch``; or the retriever cannot load an index.
            DataError: there is no index, it is damaged, or it is of something else.
            PluginError: the retriever failed to load it.
        """
        search = cls.__new__(cls)  # without ``__init__``, which would index the tables
        search._prepare(corpus, retriever, split, data_dir)
        index_store.load_index(search._retriever, search.corpus, folder)
        return search

    def save(self, folder: str | Path) -> None:
        """Write the index into a folder, from which ``TableSearch.load`` reads it.

        Args:
            folder: where to; it must not be there yet.

        Raises:
            ConfigError: the retriever cannot save its index, or cannot be identified.
            DataError: the folder is there already.
            PluginError: the retriever failed to save it.
            StoreError: the folder cannot be written.
        """
        with self._lock:
            index_store.save_index(self._retriever, self.corpus, folder)

    def _prepare(
        self,
        corpus: str | Path | Dataset | Corpus,
        retriever: RetrieverLike | str,
        split: str | None,
        data_dir: str | Path | None,
    ) -> None:
        """Load the tables and make the retriever."""
        if isinstance(corpus, str | Path):
            corpus = load(corpus, split, data_dir=data_dir)
        self._dataset = corpus if isinstance(corpus, Dataset) else None
        self.notes: Sequence[str] = self._dataset.notes if self._dataset else ()
        corpus = corpus.corpus if isinstance(corpus, Dataset) else corpus
        if not isinstance(corpus, Corpus):
            raise ConfigError(
                f"{type(corpus).__name__} is not a corpus: give its name, its path, or what "
                "corpora.load or corpora.from_dataframe returns"
            )
        self.corpus = corpus
        self.label = type(retriever).__name__
        if isinstance(retriever, str):
            name, text = split_name(retriever)
            self.label = name or mask_settings(text)
            retriever = create_plugin("retriever", text)
        self._retriever = contract.check_retriever(adapt_plugin("retriever", retriever))
        self._lock = Lock()

    def search(self, question: str, k: int = 10) -> list[Hit]:
        """Return the tables for a question, best first.

        Args:
            question: the question.
            k: the most tables to return.

        Raises:
            ConfigError: the question is empty or no text, or ``k`` is not a whole number from 1.
            PluginError: the retriever failed, or returned what is not a ranking.
        """
        if not isinstance(question, str):
            raise ConfigError(f"the question is not a text: {question!r:.80}")
        if not question.strip():
            raise ConfigError("the question is empty")
        k = read_whole("k", k, 1)
        query = Query(id="question", text=compose(question), gold=())
        with self._lock:
            (retrieval,) = retrieve_tables(self._retriever, [query], k, self.corpus.shuffled)
        if retrieval.error is not None:
            fault = PluginError(f"retriever {self.label}: {retrieval.error}")
            if retrieval.traceback:
                fault.add_note(retrieval.traceback)
            raise fault
        scores = retrieval.scores or [None] * len(retrieval.tables)
        return [
            Hit(rank, self.corpus[table_id], score, self._find_file(table_id))
            for rank, (table_id, score) in enumerate(zip(retrieval.tables, scores, strict=True), 1)
        ]

    def _find_file(self, table_id: TableId) -> str | None:
        return None if self._dataset is None else find_table_file(self._dataset, table_id)

    def as_langchain(
        self, k: int = 10, serializer: "Serializer | None" = None, max_chars: int = 20_000
    ) -> "LangChainRetriever":
        """Return this search as a retriever of LangChain.

        Args:
            k: how many documents it returns.
            serializer: writes a table as the text of a document; default: title, section, header
                and the first 1,000 rows in Markdown.
            max_chars: the most characters of a document. A longer text is cut at the end of a line,
                and its last line says so.

        Returns:
            A ``BaseRetriever``. The metadata of its documents are ``Hit.metadata()``.

        Raises:
            ConfigError: ``k`` is not a whole number from 1.
            MissingExtraError: langchain-core is not installed.
        """
        n_documents = read_whole("k", k, 1)
        try:
            from langchain_core.documents import Document
            from langchain_core.retrievers import BaseRetriever
        except ImportError as error:
            raise MissingExtraError("langchain-core", "langchain", "as_langchain") from error
        find_documents = self._make_document_search(serializer, max_chars)

        class LangChainTableSearch(BaseRetriever):
            k: int = n_documents

            def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
                return [
                    Document(page_content=text, metadata=metadata)
                    for text, metadata in find_documents(query, self.k)
                ]

        return LangChainTableSearch()

    def as_llama_index(
        self, k: int = 10, serializer: "Serializer | None" = None, max_chars: int = 20_000
    ) -> "LlamaIndexRetriever":
        """Return this search as a retriever of LlamaIndex.

        Args:
            k: how many nodes it returns.
            serializer: as for ``as_langchain``.
            max_chars: as for ``as_langchain``.

        Returns:
            A ``BaseRetriever``. The metadata of its nodes are ``Hit.metadata()``.

        Raises:
            ConfigError: ``k`` is not a whole number from 1.
            MissingExtraError: llama-index-core is not installed.
        """
        k = read_whole("k", k, 1)
        try:
            from llama_index.core.retrievers import BaseRetriever
            from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
        except ImportError as error:
            raise MissingExtraError("llama-index-core", "llama-index", "as_llama_index") from error
        find_documents = self._make_document_search(serializer, max_chars)

        def make_node(text: str, metadata: dict[str, Any]) -> TextNode:
            return TextNode(
                id_=f"{metadata['database_id']}/{metadata['table_id']}",
                text=text,
                metadata=metadata,
                excluded_embed_metadata_keys=list(metadata),  # nothing of it is part of the text
                excluded_llm_metadata_keys=list(metadata),
            )

        class LlamaIndexTableSearch(BaseRetriever):
            similarity_top_k = k

            def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
                documents = find_documents(query_bundle.query_str, self.similarity_top_k)
                return [
                    NodeWithScore(node=make_node(text, metadata), score=metadata["score"])
                    for text, metadata in documents
                ]

        return LlamaIndexTableSearch()

    def _make_document_search(
        self, serializer: "Serializer | None", max_chars: int
    ) -> Callable[[str, int], list[tuple[str, dict[str, Any]]]]:
        """Return a function from a question and k to the texts and metadata of tables."""
        from target_bench.data.table_text import Serializer

        max_chars = read_whole("max_chars", max_chars, 1)
        write = serializer or Serializer(format="markdown", rows=_ROWS_OF_A_DOCUMENT)

        def find_documents(question: str, k: int) -> list[tuple[str, dict[str, Any]]]:
            return [
                (_truncate(write(hit.table), hit.table, max_chars), hit.metadata())
                for hit in self.search(question, k)
            ]

        return find_documents


_ROWS_OF_A_DOCUMENT = 1_000


def _truncate(text: str, table: Table, max_chars: int) -> str:
    """Return a text of at most so many characters, whose last line says that it was cut."""
    if len(text) <= max_chars:
        return text
    note = f"\n(cut after {max_chars:,} characters; the table has {len(table.rows):,} rows)"
    cut = text[: max(0, max_chars - len(note))]
    return (cut.rpartition("\n")[0] or cut) + note[-max_chars:]
