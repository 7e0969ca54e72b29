"""Tables ranked by the words they share with a query, rare words first."""

import json
import math
import re
from collections import Counter
from pathlib import Path

from target_bench import Corpus, Retriever, Table, TableId


class MyRetriever(Retriever):
    """Sum of the weights of the query's words that a table holds.

    A word that few tables hold weighs more (inverse document frequency).

    Args:
        rows: how many rows of a table to read; 0 reads none.
    """

    def __init__(self, rows: int = 50) -> None:
        self.rows = rows  # under its own name: so runs know their settings

    def embed_corpus(self, corpus: Corpus) -> None:
        """Keep the words of every table. All work is done here, none in ``__init__``."""
        self.ids = corpus.ids
        self.words = [self._words_of(table) for table in corpus]
        self._weigh()

    def retrieve(self, query: str, top_k: int) -> list[tuple[TableId, float]]:
        """Return the tables that share a word with the query, best first."""
        query_words = sorted(_words(query))
        scores = [sum(self.weights[w] for w in query_words if w in held) for held in self.words]
        ranking = [(table_id, s) for table_id, s in zip(self.ids, scores, strict=True) if s > 0]
        return sorted(ranking, key=lambda pair: -pair[1])[:top_k]

    def save(self, folder: Path) -> None:
        """Write the index, for ``TableSearch.save``."""
        (folder / "words.json").write_text(json.dumps([sorted(held) for held in self.words]))

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read what ``save`` wrote, in place of ``embed_corpus``."""
        self.ids = corpus.ids
        self.words = [set(held) for held in json.loads((folder / "words.json").read_text())]
        self._weigh()

    def _words_of(self, table: Table) -> set[str]:
        title = table.context.get("title") or ""
        cells = (cell for row in table.rows[: self.rows] for cell in row)
        return _words(" ".join(map(str, [title, *table.header, *cells])))

    def _weigh(self) -> None:
        counts = Counter(word for held in self.words for word in held)
        n = len(self.words)
        self.weights = {word: math.log(1 + n / count) for word, count in counts.items()}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
