"""The checks of a retriever pass what keeps the contract, and name what does not."""

import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.contract import Retriever
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus, Table, TableId
from target_bench.testing import CheckError, check_retriever, retriever_checks
from tests.testing.faults import broken, expect_fault


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

    def scored(self, query: str) -> list[tuple[TableId, float]]:
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


def _full_text(self: Sound, query: str, top_k: int) -> Any:
    if query.split():
        words = query.replace("?", "").replace(":", "")
        with sqlite3.connect(":memory:") as database:
            database.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
            database.execute("SELECT * FROM t WHERE t MATCH ?", (words,))
    return Sound.retrieve(self, query, top_k)


def _short_only(self: Sound, query: str, top_k: int) -> Any:
    if len(query) > 5000:
        raise ValueError("more than 512 tokens")
    return Sound.retrieve(self, query, top_k)


def _with_noise(self: Any, corpus: Corpus) -> None:
    Sound.embed_corpus(self, corpus)
    self.texts = [f"{text} {' '.join(random.sample(text.split(), 1) * 2)}" for text in self.texts]
    random.shuffle(self.texts)


def _remembering(self: Any, query: str, top_k: int) -> Any:
    before, self.before = getattr(self, "before", ""), query
    return Sound.retrieve(self, f"{query} {before}", top_k)


def _keyed_by(key: Callable[[Any, Table], str]) -> Any:
    def embed_corpus(self: Any, corpus: Corpus) -> None:
        tables = {key(self, table): table for table in corpus}.values()
        self.ids, self.texts = [t.id for t in tables], [self.text(t) for t in tables]

    return {"embed_corpus": embed_corpus}


def _appending(self: Any, corpus: Corpus) -> None:
    self.ids = [*getattr(self, "ids", ()), *corpus.ids]
    self.texts = [*getattr(self, "texts", ()), *map(self.text, corpus)]


def _on_the_class() -> dict[str, Any]:
    shared: dict[str, Any] = {}

    def embed_corpus(self: Any, corpus: Corpus) -> None:
        Sound.embed_corpus(self, corpus)
        shared["texts"] = self.texts

    def retrieve(self: Any, query: str, top_k: int) -> Any:
        self.texts = (shared["texts"] * 9)[: len(self.ids)]
        return Sound.retrieve(self, query, top_k)

    return {"embed_corpus": embed_corpus, "retrieve": retrieve}


def _reading(read: Callable[[Any], object]) -> Any:
    def embed_corpus(self: Any, corpus: Corpus) -> None:
        Sound.embed_corpus(self, corpus)
        self.known = read(corpus)

    return {"embed_corpus": embed_corpus}


def _scores(change: Callable[[Any], Any]) -> Any:
    return {"scored": lambda self, query: change(Sound.scored(self, query))}


def _retrieve(rank: Callable[[Any, str, int], Any]) -> Any:
    return {"retrieve": lambda self, query, top_k: rank(self, query, top_k)}


def _batch(rank: Callable[[Any, Sequence[str], int], Any]) -> Any:
    return {"retrieve_batch": lambda self, queries, top_k: rank(self, queries, top_k)}


FAULTS = broken(
    Sound,
    {
        "returns None": ("basics", "returned None", _retrieve(lambda _s, _q, _k: None)),
        "NaN": ("basics", "the score nan", {"score": lambda _s, _q, _text: float("nan")}),
        "needs an argument": ("basics", "missing 1 required", {"__init__": lambda _s, _m: None}),
        "packages as text": ("basics", "its packages is 'numpy'", {"packages": "numpy"}),
        "reads labels": (
            "basics",
            "looked for corpus.gold_labels",
            _reading(lambda corpus: getattr(corpus, "gold_labels", {})),
        ),
        "reads private parts": (
            "basics",
            "a corpus promises no attribute '_tables'",
            _reading(lambda corpus: corpus._tables),
        ),
        "at least two": (
            "top_k",
            "2 tables where at most 1",
            _retrieve(lambda s, q, k: s.scored(q)[: max(k, 2)]),
        ),
        "no more than there are": (
            "top_k",
            "1000) on the ten ordinary tables raised IndexError",
            _retrieve(lambda s, q, k: [s.scored(q)[i] for i in range(k if k > 100 else 1)]),
        ),
        "distances": ("top_k", "return -distance", _scores(lambda p: [(t, -s) for t, s in p])),
        "cuts before it ranks": (
            "top_k",
            "with top_k=1 than at the head of top_k=10: its ranking depends on how many tables",
            _retrieve(lambda s, q, k: [p for p in s.scored(q) if p[0] in s.ids[: 2 * k]][:k]),
        ),
        "no seed": ("determinism", "from another one", {"embed_corpus": _with_noise}),
        "remembers": ("determinism", "asked again", {"retrieve": _remembering}),
        "sorted queries": (
            "batch",
            "from retrieve_batch than from retrieve",
            _batch(lambda s, queries, k: [s.retrieve(q, k) for q in sorted(queries)]),
        ),
        "a repeated query is answered once": (
            "batch",
            "38 rankings for 48 queries",
            _batch(lambda s, queries, k: [s.retrieve(q, k) for q in {*queries}]),
        ),
        "full-text search": ("inputs", "fts5: syntax error", {"retrieve": _full_text}),
        "no empty query": (
            "inputs",
            "retrieve('', 10)",
            _retrieve(lambda s, q, k: s.scored(q.split()[0])[:k]),
        ),
        "no long query": ("inputs", "more than 512 tokens", {"retrieve": _short_only}),
        "the first row": (
            "inputs",
            "IndexError in embed_corpus on odd tables",
            {"text": lambda s, t: f"{Sound.text(s, t)} {t.rows[0]}"},
        ),
        "cells of text": ("inputs", "TypeError", {"text": lambda _s, t: " ".join(*t.rows[:1])}),
        "ids in lower case": (
            "inputs",
            "not the id of a table",
            _scores(lambda p: [(TableId(t[0], t[1].lower()), s) for t, s in p]),
        ),
        "ids are divided": (
            "inputs",
            "not the id of a table",
            _scores(lambda p: [(TableId(*f"{t}".rsplit("/", 1)), s) for t, s in p]),
        ),
        "keyed by text": ("inputs", "not its copies", _keyed_by(lambda s, table: s.text(table))),
        "keyed by name": ("inputs", "not its copies", _keyed_by(lambda _s, t: t.id.table_id)),
        "a second table": (
            "corpora",
            "a corpus of one table",
            _scores(lambda pairs: [(t, s + 0 * pairs[1][1]) for t, s in pairs]),
        ),
        "appends": ("corpora", "not the id of a table", {"embed_corpus": _appending}),
        "an index on the class": ("corpora", "retrieve", _on_the_class()),
        "indexes ids": (
            "opaque_ids",
            "when the ids hold words of queries",
            {"text": lambda s, t: f"{t.id.table_id.lower()} {Sound.text(s, t)}"},
        ),
    },
)


class SavesElsewhere(Sound):
    def save(self, folder: Path) -> None:
        super().save(folder)
        (folder / "where.txt").write_text(str(folder))

    def load(self, folder: Path, corpus: Corpus) -> None:
        super().load(Path((folder / "where.txt").read_text()), corpus)


class LosesTheLast(Sound):
    def load(self, folder: Path, corpus: Corpus) -> None:
        super().load(folder, corpus)
        self.texts[-1] = ""


class NeverLoads(Sound):
    load = None  # type: ignore[assignment]


class ForgetsItsSettings(Sound):
    def __init__(self, size: int = 3) -> None:
        super().__init__()


class Learns(Sound):
    def embed_corpus(self, corpus: Corpus) -> None:
        super().embed_corpus(corpus)
        self.words = tuple(self.texts[0].split())


class SettingIsNoJson(Sound):
    def __init__(self, words: frozenset[str] = frozenset()) -> None:
        super().__init__(words=words)  # type: ignore[arg-type]


OF_THIS_FILE = [
    (SavesElsewhere, "save_load", "cannot load its index"),
    (LosesTheLast, "save_load", "from a loaded index"),
    (NeverLoads, "save_load", "it has save alone"),
    (ForgetsItsSettings, "determinism", "no attribute 'size'"),
    (Learns, "determinism", "its identity is changed by its work"),
    (SettingIsNoJson, "determinism", "settings are not JSON"),
]
"""Faults of identity and index, which need code in a file."""


@pytest.mark.parametrize(("cls", "check", "words"), [*FAULTS, *OF_THIS_FILE])
def test_each_fault_is_named(cls: type, check: str, words: str) -> None:
    expect_fault(retriever_checks, cls, check, words)


def test_two_methods_are_enough() -> None:
    report = check_retriever(Plain)
    assert {outcome.check for outcome in report.skipped} == {"batch", "save_load"}


def test_most_checks_share_a_retriever() -> None:
    """Making one may take as long as loading a model."""
    made = []

    class Loaded(Sound):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    check_retriever(Loaded, skip={"save_load": "not now"})
    assert len(made) <= 12


def test_small_differences_are_within_the_tolerance() -> None:
    class Noisy(Sound):
        """Batches are added up in another order."""

        def retrieve_batch(self, queries: Any, top_k: int) -> Any:
            return [
                [(t, s * (1 + (-1) ** i * 1e-3)) for i, (t, s) in enumerate(self.scored(q)[:top_k])]
                for q in queries
            ]

    with pytest.raises(CheckError, match="batch"):
        check_retriever(Noisy)
    assert check_retriever(Noisy, tolerance=0.01)


def test_a_class_in_a_file_is_one_class(tmp_path: Path) -> None:
    """The file is read once, so that what its class shares is seen."""
    path = tmp_path / "shared.py"
    path.write_text(
        """
class Shared:
    def embed_corpus(self, corpus):
        Shared.ids = corpus.ids

    def retrieve(self, query, top_k):
        return list(Shared.ids[:top_k])
""",
        encoding="utf-8",
    )
    expect_fault(retriever_checks, f"{path}:Shared", "corpora", "not the id of a table")


def test_optimized_python_asks_the_retriever_in_the_first_check() -> None:
    """``python -O`` leaves assertions out."""
    code = """
from target_bench import Retriever
from target_bench.testing import CheckError, check_retriever
class Nothing(Retriever):
    def embed_corpus(self, corpus): ...
    def retrieve(self, query, top_k): return None
try:
    check_retriever(Nothing)
except CheckError as error:
    print(error)
"""
    printed = subprocess.check_output([sys.executable, "-O", "-c", code], text=True)
    assert printed.splitlines()[1] == "  failed  basics"
