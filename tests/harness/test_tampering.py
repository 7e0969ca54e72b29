"""A plug-in that changes what it is given changes nothing for the next one."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import CorpusInfo
from target_bench.core.schema import (
    Corpus,
    Dataset,
    GenerationRequest,
    Query,
    Table,
    TableId,
)
from target_bench.data.load import load
from target_bench.data.tables import MemoryCorpus
from target_bench.tasks.question_answering import QuestionAnswering
from tests.builders import same_scores
from tests.harness.answering import Own
from tests.target import TARGET

MINI = load("mini")


class Honest:
    """Ranks by the words of everything that a table has."""

    def embed_corpus(self, corpus: Corpus) -> None:
        self.words = {table.id: _words(table) for table in corpus}

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        words = set(query.lower().split())
        return sorted(self.words, key=lambda t: (-len(words & self.words[t]), t))[:top_k]


def _words(table: Table) -> set[str]:
    texts = [*table.header, *map(str, table.context.values())]
    return set(" ".join([*texts, *(str(c) for row in table.rows for c in row)]).lower().split())


class Tampers(Honest):
    """Changes whatever can be changed."""

    def embed_corpus(self, corpus: Corpus) -> None:
        super().embed_corpus(corpus)
        for table in [*corpus, *map(corpus.__getitem__, corpus.ids)]:
            _spoil(table)
        corpus.positions.clear()  # type: ignore[attr-defined]
        vars(corpus).update(fingerprint="another", groups=[], digests=[])

    def retrieve_batch(self, queries: list[str], top_k: int) -> Any:
        rankings = [self.retrieve(query, top_k) for query in queries]
        queries.clear()
        return rankings


def _spoil(table: Table) -> None:
    for value in table.context.values():
        if isinstance(value, list | dict):
            value.clear()
    table.context.clear()  # type: ignore[attr-defined]
    for row in table.rows if isinstance(table.rows, list | tuple) else ():
        if isinstance(row, list):
            row[:] = ["evil"] * len(row)
    if isinstance(table.header, list):
        table.header[:] = ["evil"] * len(table.header)
    for name in ("header", "rows", "context"):
        object.__setattr__(table, name, ())


def _own_data() -> Dataset:
    """Tables of lists and nested dicts, as a user may have them."""
    tables = [
        Table(
            TableId("0", name),
            [name, "year"],
            [[f"{name} won", "1990"], ["nobody", "1991"]],
            {"title": f"Cups of {name}", "keys": [["a", "b"]], "notes": {"of": {"the": [name]}}},
        )
        for name in ("ann", "bob", "cy")
    ]
    info = CorpusInfo("own", "Own", ("retrieval",), ("test",), "ours", "us", "here")
    queries = (Query(t.id.table_id, f"cups of {t.id.table_id}", (t.id,)) for t in tables)
    return Dataset(info, "test", MemoryCorpus(tables), tuple(queries))


@pytest.mark.parametrize("data", ["mini", _own_data()], ids=["mini", "own"])
def test_the_next_retriever_has_honest_scores(tmp_path: Path, data: Any) -> None:
    (alone,) = TARGET(("Table Retrieval", data), out=tmp_path / "alone").run(Honest(), top_k=2)
    target = TARGET(("Table Retrieval", data), out=tmp_path / "together")
    target.run(Tampers(), top_k=2)
    (after,) = target.run(Honest(), top_k=2)
    same_scores(alone, after)
    assert after.folder.name == alone.folder.name  # the same identity, so it is reused later


def test_a_corpus_stays_as_it_is() -> None:
    data = _own_data()
    honest = MemoryCorpus(_own_data().corpus)
    assert data.corpus.fingerprint == honest.fingerprint
    Tampers().embed_corpus(data.corpus.copy_for_retriever())
    assert list(data.corpus) == list(honest)
    assert dict(data.corpus.positions) == dict(honest.positions)
    assert (data.corpus.fingerprint, data.corpus.groups) == (honest.fingerprint, honest.groups)
    assert MemoryCorpus(data.corpus).fingerprint == honest.fingerprint


class Spoils(QuestionAnswering):
    """A task of a user's own that writes into the queries."""

    def examples(self, dataset: Dataset, predictions: Any) -> Any:
        examples = super().examples(dataset, predictions)
        for query in dataset.queries:
            query.metadata.clear()  # type: ignore[attr-defined]
        return examples


class SpoilsRequests(Own):
    def generate(self, request: GenerationRequest) -> Any:
        for table in request.tables:
            _spoil(table)
        return "an answer"


def test_the_next_task_has_its_queries(tmp_path: Path) -> None:
    before = [dict(query.metadata) for query in MINI.queries]
    target = TARGET(("Question Answering", MINI), out=tmp_path)
    target.run("bm25", generator=SpoilsRequests())
    corpus = MemoryCorpus(load("mini").corpus)
    assert corpus.fingerprint == MemoryCorpus(MINI.corpus).fingerprint
    TARGET((f"{__name__}:Spoils", MINI), out=tmp_path).run("bm25", generator="gold")
    assert [dict(query.metadata) for query in MINI.queries] == before
