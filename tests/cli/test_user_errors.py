"""A user's own code raises: each command ends with the line of the user's file, in every kind."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import Inside

OWN = """
import numpy as np
from target_bench import Corpus, CorpusInfo, CorpusLoader, Generator, Metric, MetricSpec
from target_bench import Query, Retriever, Table, TableId
from target_bench.tasks.question_answering import QuestionAnswering


def look(key):
    return {}[key]  # the line


class Retrieves:
    def embed_corpus(self, corpus):
        self.ids = list(corpus.ids)

    def retrieve(self, query, top_k):
        return look(query[:3])


class Embeds(Retrieves):
    def embed_corpus(self, corpus):
        look("x")


class Batch(Retrieves):
    def retrieve_batch(self, queries, top_k):
        return [look(query[:3]) for query in queries]


class Yields(Retrieves):
    def retrieve(self, query, top_k):
        yield self.ids[0]
        yield look("x")


class Makes(Retrieves):
    def __init__(self):
        look("x")


class Describes(Retrieves):
    def __getattr__(self, name):
        return look(name)


class Generates:
    def generate(self, request):
        return look(request.query_id)


class Many(Generator):
    def generate(self, request):
        return "x"

    def generate_many(self, requests, observer):
        for request in requests:
            yield look(request.query_id)


class Length(Metric):
    spec = MetricSpec("length", of="texts", scale="unbounded")
    signature = "length|version:1"

    def statistics(self, examples):
        return np.array([[look("x")]])

    def value(self, totals):
        return totals[..., 0]


class WithMetric(QuestionAnswering):
    def metrics(self, queries, cutoffs=()):
        return [*super().metrics(queries, cutoffs), Length()]


class Reads(QuestionAnswering):
    def examples(self, dataset, predictions):
        return look("x")


class Tables(CorpusLoader):
    info = CorpusInfo("own", "Own", ("retrieval",), ("test",), "ours", "us", "here")
    cached = False

    def tables(self, release, split):
        yield Table(TableId("0", "a"), ["b"], [["c"]])
        look("x")

    def queries(self, release, split):
        yield Query("q", "b?", (TableId("0", "a"),))


class Queries(Tables):
    def tables(self, release, split):
        yield Table(TableId("0", "a"), ["b"], [["c"]])

    def queries(self, release, split):
        return look("x")


class Cached(Tables):
    cached = True
"""
LINE = "return {}[key]  # the line"

RETRIEVAL = ("run", "mini", "--task", "retrieval", "--limit", "3", "--retriever")
ANSWERS = ("run", "mini", "--limit", "3", "--retriever", "oracle")

CASES: dict[str, tuple[Any, ...]] = {
    "retrieve": (3, *RETRIEVAL, "own.py:Retrieves"),
    "embed_corpus": (3, *RETRIEVAL, "own.py:Embeds"),
    "retrieve_batch": (3, *RETRIEVAL, "own.py:Batch"),
    "a ranking that is yielded": (3, *RETRIEVAL, "own.py:Yields"),
    "the constructor": (3, *RETRIEVAL, "own.py:Makes"),
    "an attribute": (3, *RETRIEVAL, "own.py:Describes"),
    "within another retriever": (3, *RETRIEVAL, "hybrid:retrievers=['own.py:Retrieves',bm25]"),
    "generate_many": (3, *ANSWERS, "--task", "qa", "--generator", "own.py:Many"),
    "a metric": (3, *ANSWERS, "--task", "own.py:WithMetric", "--generator", "gold"),
    "a task": (3, *ANSWERS, "--task", "own.py:Reads", "--generator", "gold"),
    "tables": (3, "run", "own.py:Tables", "--retriever", "bm25"),
    "queries": (3, "run", "own.py:Queries", "--retriever", "bm25"),
    "tables that are cached": (3, "run", "own.py:Cached", "--retriever", "bm25"),
    "a search": (3, "search", "mini", "a question", "--retriever", "own.py:Retrieves"),
}
"""The call that raises -> exit code, command."""


@pytest.fixture(autouse=True)
def _own(inside: Inside) -> None:
    Path("own.py").write_text(OWN, encoding="utf-8")


def _place() -> str:
    number = OWN.splitlines().index("    " + LINE) + 1
    return f'  File "{Path("own.py").resolve()}", line {number}, in look\n    {LINE}\n'


@pytest.mark.parametrize("call", CASES)
def test_the_message_ends_with_the_line(inside: Inside, call: str) -> None:
    code, command = CASES[call][0], CASES[call][1:]
    assert inside.bad(code, *command).endswith(_place())


@pytest.mark.parametrize("call", ["retrieve", "generate_many", "a metric", "a task", "tables"])
def test_debug_shows_every_line_on_the_way(inside: Inside, call: str) -> None:
    """Also those between the line that raised and this package."""
    code, *command = CASES[call]
    done = inside(*command, "--debug")
    assert done.code == code
    own = [line for line in done.err.splitlines() if "own.py" in line and "line" in line]
    assert len([line for line in own if "in look" not in line]) >= 1, done.err
    assert done.err.endswith(_place())


def test_no_secret_is_kept(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "a-key-for-nobody-1")
    Path("own.py").write_text(OWN.replace("{}[key]", "{}['a-key-for-nobody-1']"), encoding="utf-8")
    inside(*RETRIEVAL, "own.py:Retrieves", "--on-error", "record")
    (kept,) = Path("runs").glob("*/retrieval.jsonl")
    assert "traceback" in kept.read_text(encoding="utf-8")
    assert "for-nobody" not in kept.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "named",
    [
        ("own.py:Retrieves",),
        ("own.py:Embeds",),
        ("own.py:Yields",),
        ("own.py:Makes",),
        ("--generator", "own.py:Generates"),
        ("--generator", "own.py:Many"),
        ("--task", "own.py:Reads"),
        ("--task", "own.py:WithMetric"),
        ("--corpus", "own.py:Queries"),
        ("--corpus", "own.py:Tables"),
    ],
)
def test_check_shows_the_line(inside: Inside, named: tuple[str, ...]) -> None:
    done = inside("check", *named)
    assert done.code in (2, 3)
    shown = " ".join((done.out + done.err).split())
    assert " ".join(_place().split()) in shown
