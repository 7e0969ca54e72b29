"""Retrievers that break the contract in one way each."""

import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus, Table, TableId
from tests.testing.sound import Scored, Sound


class ReturnsNone(Sound):
    """basics."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return None  # type: ignore[return-value]


class NotANumber(Sound):
    """basics."""

    def score(self, query: str, text: str) -> float:
        return float("nan")


class NeedsAnArgument(Sound):
    """basics."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self.model = model


class AtLeastTwo(Sound):
    """top_k."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return self.scored(query)[: max(top_k, 2)]


class NoMoreThanThereAre(Sound):
    """top_k."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        found = self.scored(query)
        return [found[i] for i in range(top_k if top_k > 100 else min(top_k, len(found)))]


class CutsBeforeItRanks(Sound):
    """prefix."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        candidates = self.ids[: 2 * top_k]
        return [pair for pair in self.scored(query) if pair[0] in candidates][:top_k]


class Distances(Sound):
    """best_first."""

    def scored(self, query: str) -> Scored:
        return [(table_id, -score) for table_id, score in super().scored(query)]


class Unseeded(Sound):
    """determinism."""

    def embed_corpus(self, corpus: Corpus) -> None:
        super().embed_corpus(corpus)
        self.noise = [random.random() for _ in self.texts]

    def scored(self, query: str) -> Scored:
        noise = dict(zip(self.ids, self.noise, strict=True))
        return sorted(
            ((t, s + noise[t]) for t, s in super().scored(query)), key=lambda pair: -pair[1]
        )


class Remembers(Sound):
    """independence: the query before is part of the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.before = ""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        before, self.before = self.before, query
        return super().retrieve(f"{query} {before}", top_k)


class SortedBatch(Sound):
    """batch: the rankings come in the order of the sorted queries."""

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        return [self.retrieve(query, top_k) for query in sorted(queries)]


class DistinctBatch(Sound):
    """batch: a repeated query is answered once."""

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        return [self.retrieve(query, top_k) for query in dict.fromkeys(queries)]


class FullText(Sound):
    """queries: the query is taken for the syntax of SQLite's full-text search."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        if query.split():
            with sqlite3.connect(":memory:") as database:
                database.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
                database.execute(
                    "SELECT * FROM t WHERE t MATCH ?", (query.replace("?", "").replace(":", ""),)
                )
        return super().retrieve(query, top_k)


class FirstWord(Sound):
    """queries."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return super().retrieve(query.split()[0] and query, top_k)


class ShortOnly(Sound):
    """queries."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        if len(query) > 5000:
            raise ValueError("more than 512 tokens")
        return super().retrieve(query, top_k)


class FirstRow(Sound):
    """tables."""

    def text(self, table: Table) -> str:
        return f"{super().text(table)} {table.rows[0]}"


class NoSingleTable(Sound):
    """tables."""

    def scored(self, query: str) -> Scored:
        found = super().scored(query)
        spread = (found[0][1] - found[1][1]) or 1.0
        return [(table_id, score / spread) for table_id, score in found]


class LowerCaseIds(Sound):
    """tables."""

    def scored(self, query: str) -> Scored:
        return [(TableId(t[0], t[1].lower()), score) for t, score in super().scored(query)]


class SplitIds(Sound):
    """tables."""

    def scored(self, query: str) -> Scored:
        paths = ((f"{t}", score) for t, score in super().scored(query))
        return [(TableId(*path.rsplit("/", 1)), score) for path, score in paths]


class KeyedByText(Sound):
    """copies."""

    def embed_corpus(self, corpus: Corpus) -> None:
        tables = {self.text(table): table.id for table in corpus if table.id[0] == "0"}
        tables |= {f"{self.text(t)} {t.id[0]}": t.id for t in corpus if t.id[0] != "0"}
        self.ids, self.texts = list(tables.values()), list(tables)


class KeyedByName(Sound):
    """copies."""

    def embed_corpus(self, corpus: Corpus) -> None:
        tables = {table.id.table_id: table for table in corpus}
        self.ids = [table.id for table in tables.values()]
        self.texts = [self.text(table) for table in tables.values()]


class Appends(Sound):
    """corpora."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[TableId] = []
        self.texts: list[str] = []

    def embed_corpus(self, corpus: Corpus) -> None:
        self.ids += corpus.ids
        self.texts += [self.text(table) for table in corpus]


class OnTheClass(Sound):
    """corpora."""

    shared: ClassVar[dict[str, Any]] = {}

    def embed_corpus(self, corpus: Corpus) -> None:
        super().embed_corpus(corpus)
        self.shared["texts"] = self.texts

    def load(self, folder: Path, corpus: Corpus) -> None:
        super().load(folder, corpus)
        self.shared["texts"] = self.texts

    def retrieve(self, query: str, top_k: int) -> Ranking:
        self.texts = (self.shared["texts"] * 9)[: len(self.ids)]
        return super().retrieve(query, top_k)


class Peeks(Sound):
    """no_label_leak."""

    def embed_corpus(self, corpus: Corpus) -> None:
        super().embed_corpus(corpus)
        self.known = getattr(corpus, "gold_labels", {})


class NeedsPrivateParts(Sound):
    """no_label_leak."""

    def embed_corpus(self, corpus: Corpus) -> None:
        super().embed_corpus(corpus)
        self.ids = [table.id for table in corpus._tables]  # type: ignore[attr-defined]


class IndexesIds(Sound):
    """opaque_ids."""

    def text(self, table: Table) -> str:
        return f"{table.id.table_id.lower()} {super().text(table)}"


class SavesElsewhere(Sound):
    """save_load."""

    def save(self, folder: Path) -> None:
        super().save(folder)
        (folder / "where.txt").write_text(str(folder))

    def load(self, folder: Path, corpus: Corpus) -> None:
        super().load(Path((folder / "where.txt").read_text()), corpus)


class LosesTheLast(Sound):
    """save_load."""

    def load(self, folder: Path, corpus: Corpus) -> None:
        super().load(folder, corpus)
        self.texts[-1] = ""


class NeverLoads(Sound):
    """save_load."""

    load = None  # type: ignore[assignment]


class ForgetsItsSettings(Sound):
    """identity."""

    def __init__(self, size: int = 3) -> None:
        super().__init__()


class Learns(Sound):
    """identity."""

    def embed_corpus(self, corpus: Corpus) -> None:
        super().embed_corpus(corpus)
        self.words = tuple(self.texts[0].split())
