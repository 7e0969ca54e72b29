"""Plug-ins that keep their contract but for one fault each."""

import random
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.schema import Corpus, TableId
from target_bench.testing import Check, run
from tests.testing.sound import Sound

Faults = Mapping[str, tuple[str, Mapping[str, Any]]]
"""What is wrong -> the check that names it, and the members of the class that are so."""


def expect_fault(checks: Callable[..., Iterable[Check]], plugin: Any, check: str) -> None:
    """See that the check of this name fails, or the first one, and says something."""
    first, *others = checks(plugin)
    report = run("it", [first, *(other for other in others if other.name == check)])
    assert [outcome.check for outcome in report.failed] == [check], str(report)
    assert len(report.failed[0].detail) > 25


def made(base: type, faults: Faults) -> list[Any]:
    """Return (class, check) of each fault, as parameters of a test."""
    return [
        pytest.param(type("Broken", (base,), dict(members)), check, id=what)
        for what, (check, members) in faults.items()
    ]


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


def _keyed_by_text(self: Any, corpus: Corpus) -> None:
    tables = {self.text(table): table.id for table in corpus}
    self.ids, self.texts = list(tables.values()), list(tables)


def _keyed_by_name(self: Any, corpus: Corpus) -> None:
    tables = {table.id.table_id: table for table in corpus}.values()
    self.ids, self.texts = [t.id for t in tables], [self.text(t) for t in tables]


def _appending(self: Any, corpus: Corpus) -> None:
    self.ids = [*getattr(self, "ids", ()), *corpus.ids]
    self.texts = [*getattr(self, "texts", ()), *map(self.text, corpus)]


def _peeking(self: Any, corpus: Corpus) -> None:
    Sound.embed_corpus(self, corpus)
    self.known = getattr(corpus, "gold_labels", {})


def _reading_privates(self: Any, corpus: Any) -> None:
    Sound.embed_corpus(self, corpus)
    self.ids = [table.id for table in corpus._tables]


def _on_the_class() -> dict[str, Any]:
    shared: dict[str, Any] = {}

    def embed_corpus(self: Any, corpus: Corpus) -> None:
        Sound.embed_corpus(self, corpus)
        shared["texts"] = self.texts

    def retrieve(self: Any, query: str, top_k: int) -> Any:
        self.texts = (shared["texts"] * 9)[: len(self.ids)]
        return Sound.retrieve(self, query, top_k)

    return {"embed_corpus": embed_corpus, "retrieve": retrieve}


def _scores(change: Callable[[Any], Any]) -> Any:
    return lambda self, query: change(Sound.scored(self, query))


RETRIEVERS = made(
    Sound,
    {
        "returns None": ("basics", {"retrieve": lambda _self, _query, _k: None}),
        "scores of NaN": ("basics", {"score": lambda _self, _query, _text: float("nan")}),
        "needs an argument": ("basics", {"__init__": lambda _self, _model: None}),
        "packages as text": ("basics", {"packages": "numpy"}),
        "at least two": ("top_k", {"retrieve": lambda s, q, k: s.scored(q)[: max(k, 2)]}),
        "no more than there are": (
            "top_k",
            {"retrieve": lambda s, q, k: [s.scored(q)[i] for i in range(k if k > 100 else 1)]},
        ),
        "distances": ("top_k", {"scored": _scores(lambda pairs: [(t, -s) for t, s in pairs])}),
        "no seed": ("determinism", {"embed_corpus": _with_noise}),
        "remembers the query before": ("determinism", {"retrieve": _remembering}),
        "cuts before it ranks": (
            "top_k",
            {"retrieve": lambda s, q, k: [p for p in s.scored(q) if p[0] in s.ids[: 2 * k]][:k]},
        ),
        "rankings of sorted queries": (
            "batch",
            {"retrieve_batch": lambda s, queries, k: [s.retrieve(q, k) for q in sorted(queries)]},
        ),
        "a repeated query is answered once": (
            "batch",
            {"retrieve_batch": lambda s, queries, k: [s.retrieve(q, k) for q in {*queries}]},
        ),
        "the syntax of full-text search": ("inputs", {"retrieve": _full_text}),
        "no empty query": ("inputs", {"retrieve": lambda s, q, k: s.scored(q.split()[0])[:k]}),
        "no long query": ("inputs", {"retrieve": _short_only}),
        "the first row": ("inputs", {"text": lambda s, t: f"{Sound.text(s, t)} {t.rows[0]}"}),
        "cells of text": ("inputs", {"text": lambda _self, t: " ".join(*t.rows[:1])}),
        "a second table": (
            "corpora",
            {"scored": _scores(lambda pairs: [(t, s + 0 * pairs[1][1]) for t, s in pairs])},
        ),
        "ids in lower case": (
            "inputs",
            {"scored": _scores(lambda p: [(TableId(t[0], t[1].lower()), s) for t, s in p])},
        ),
        "ids are divided": (
            "inputs",
            {"scored": _scores(lambda p: [(TableId(*f"{t}".rsplit("/", 1)), s) for t, s in p])},
        ),
        "keyed by text": ("inputs", {"embed_corpus": _keyed_by_text}),
        "keyed by name": ("inputs", {"embed_corpus": _keyed_by_name}),
        "appends": ("corpora", {"embed_corpus": _appending}),
        "an index on the class": ("corpora", _on_the_class()),
        "reads labels": ("basics", {"embed_corpus": _peeking}),
        "reads private parts": ("basics", {"embed_corpus": _reading_privates}),
        "indexes ids": (
            "opaque_ids",
            {"text": lambda s, t: f"{t.id.table_id.lower()} {Sound.text(s, t)}"},
        ),
    },
)
"""Those whose fault is in memory; the others are classes, as a class without a file has no code."""


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
    """determinism."""

    def __init__(self, size: int = 3) -> None:
        super().__init__()


class Learns(Sound):
    """determinism."""

    def embed_corpus(self, corpus: Corpus) -> None:
        super().embed_corpus(corpus)
        self.words = tuple(self.texts[0].split())


class SettingIsNoJson(Sound):
    """determinism."""

    def __init__(self, words: frozenset[str] = frozenset()) -> None:
        super().__init__(words=words)  # type: ignore[arg-type]


STORED = [SavesElsewhere, LosesTheLast, NeverLoads, ForgetsItsSettings, Learns, SettingIsNoJson]
