"""A retriever that keeps the contract, to be broken in one way at a time."""

import json
from collections.abc import Sequence
from pathlib import Path

from target_bench.core.contract import Retriever
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus, Table, TableId

Scored = list[tuple[TableId, float]]


class Sound(Retriever):
    """Ranks tables by how many words of the query they hold."""

    def __init__(self, bonus: float = 0.0, words: Sequence[str] = ("mountain",)) -> None:
        self.bonus = bonus
        self.words = words

    def embed_corpus(self, corpus: Corpus) -> None:
        self.ids = list(corpus.ids)
        self.texts = [self.text(table) for table in corpus]

    def text(self, table: Table) -> str:
        title = str(table.context.get("title") or "")
        cells = [str(cell) for row in table.rows for cell in row]
        return " ".join([title, *table.header, *cells]).lower()

    def score(self, query: str, text: str) -> float:
        words = query.lower().replace("?", "").split()[:1000]
        held = set(text.split())
        return sum((word in held) + self.bonus * (word in self.words) for word in words)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return self.scored(query)[:top_k]

    def scored(self, query: str) -> Scored:
        scores = [self.score(query, text) for text in self.texts]
        return sorted(zip(self.ids, scores, strict=True), key=lambda pair: -pair[1])

    def save(self, folder: Path) -> None:
        (folder / "texts.json").write_text(json.dumps(self.texts))

    def load(self, folder: Path, corpus: Corpus) -> None:
        self.ids = list(corpus.ids)
        self.texts = json.loads((folder / "texts.json").read_text())


class Plain:
    """Two methods and no base class."""

    def embed_corpus(self, corpus: Corpus) -> None:
        self.ids = list(corpus.ids)

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        return self.ids[:top_k]
