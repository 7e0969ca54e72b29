"""One question, the tables that a retriever finds for it: no labels, no run folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from target_bench.core import contract, registry
from target_bench.core.contract import RetrieverLike, plugin_errors
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.schema import Corpus, Dataset, Query, Table
from target_bench.core.settings import masked_settings, named
from target_bench.data import select


@dataclass(frozen=True)
class Hit:
    """A table that was found.

    Attributes:
        rank: its place, from 1.
        table: the table.
        score: what the retriever gave it; None if it gives none.
    """

    rank: int
    table: Table
    score: float | None


class TableSearch:
    """A retriever over the tables of a corpus, ready for questions.

    Args:
        corpus: by name, path, or loaded already; it needs no queries.
        retriever: a retriever, or its name with settings as in ``bm25:b=0.5``.
        split: the split; default: the corpus's own.
        data_dir: as for ``corpora.load``.

    Attributes:
        label: the name of the retriever, or how it was asked for.
        corpus: the tables.
        notes: what a user should know about the tables.

    Raises:
        ConfigError: an unknown name or an invalid setting.
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
    ) -> None:
        if isinstance(corpus, str | Path):
            corpus = select.load(corpus, split, data_dir)
        self.notes: Sequence[str] = corpus.notes if isinstance(corpus, Dataset) else ()
        self.corpus = corpus.corpus if isinstance(corpus, Dataset) else corpus
        self.label = type(retriever).__name__
        if isinstance(retriever, str):
            name, retriever = named(retriever)
            self.label = name or masked_settings(retriever)
            retriever = registry.create("retriever", retriever)
        self._retriever = contract.check_methods(retriever)
        with plugin_errors(f"retriever {self.label}", "embed_corpus"):
            self._retriever.embed_corpus(self.corpus)

    def search(self, question: str, k: int = 10) -> list[Hit]:
        """Return the tables for a question, best first.

        Args:
            question: the question.
            k: the most tables to return.

        Raises:
            ConfigError: the question is empty, or ``k`` is not positive.
            PluginError: the retriever failed, or returned what is not a ranking.
        """
        if not question.strip():
            raise ConfigError("the question is empty")
        if k < 1:
            raise ConfigError(f"k should be at least 1, not {k}")
        query = Query(id="question", text=question, gold=())
        (found,) = contract.retrieve(self._retriever, [query], k, self.corpus, stop=False)
        if found.error is not None:
            raise PluginError(f"retriever {self.label}: {found.error}")
        scores = found.scores or [None] * len(found.tables)
        named = zip(found.tables, scores, strict=True)
        return [Hit(i, self.corpus[name], score) for i, (name, score) in enumerate(named, start=1)]
