"""Plug-ins that misbehave: each command ends quickly, with exit code 3 and the plug-in's name."""

from pathlib import Path

import pytest

from tests.cli.inside import Inside

OWN = """
import itertools


class Base:
    def embed_corpus(self, corpus):
        self.ids = list(corpus.ids)

    def retrieve(self, query, top_k):
        return self.ids[:top_k]


class Mute(Exception):
    def __str__(self):
        raise ValueError("no words")

    __repr__ = __str__


class Own(BaseException):
    pass


class Odd:
    def __hash__(self):
        raise Own("no hash")

    def __repr__(self):
        raise Own("no repr")

    __len__ = __iter__ = __repr__


class YieldsForEver(Base):
    def retrieve(self, query, top_k):
        return itertools.cycle(self.ids)


class RepeatsForEver(Base):
    def retrieve(self, query, top_k):
        while True:
            yield self.ids[0]


class BatchForEver(Base):
    def retrieve_batch(self, queries, top_k):
        return itertools.repeat([])


class Huge(Base):
    def retrieve(self, query, top_k):
        return range(10**15)


class AnUnorderedSet(Base):
    def retrieve(self, query, top_k):
        return set(self.ids[:top_k])


class TextAsScore(Base):
    def retrieve(self, query, top_k):
        return [(self.ids[0], "0.9")]


class RaisesMute(Base):
    def retrieve(self, query, top_k):
        raise Mute


class EmbedsMute(Base):
    def embed_corpus(self, corpus):
        raise Mute


class RaisesGeneratorExit(Base):
    def retrieve(self, query, top_k):
        raise GeneratorExit


class EmbedsGeneratorExit(Base):
    def embed_corpus(self, corpus):
        raise GeneratorExit


class RaisesItsOwn(Base):
    def retrieve(self, query, top_k):
        raise Own("gone")


class EmbedsItsOwn(Base):
    def embed_corpus(self, corpus):
        raise Own("gone")


class ReturnsOdd(Base):
    def retrieve(self, query, top_k):
        return Odd()


class ReturnsListOfOdd(Base):
    def retrieve(self, query, top_k):
        return [Odd()]


class IsNotMade(Base):
    def __init__(self):
        raise Mute


class PackagesAreANumber(Base):
    packages = 5


class ScopeIsANumber(Base):
    scope = 5


class BatchSizeIsText(Base):
    queries_at_once = "many"


class PartsAreANumber(Base):
    def parts(self):
        return 5


class IsPartOfItself(Base):
    def parts(self):
        return {"inner": self}


class HasNoAttribute:
    def __getattr__(self, name):
        raise SystemError(name)


class NotesForEver(Base):
    def notes(self):
        return itertools.repeat("again")


class AnswersAnyName(Base):
    def __getattr__(self, name):
        return lambda *_, **__: 5


class RaisesAtAnyName(Base):
    def __getattr__(self, name):
        raise KeyError(name)


class SetsAttributes(Base):
    def embed_corpus(self, corpus):
        corpus.ids = ()


class ClearsTheQueries(Base):
    def retrieve_batch(self, queries, top_k):
        queries.clear()
        return []


class AnswersGeneratorExit:
    def generate(self, request):
        raise GeneratorExit


class AnswersMute:
    def generate(self, request):
        raise Mute


class AnswersNothing:
    def __init__(self):
        raise Own("not made")


class AnswersOdd:
    def generate(self, request):
        return Odd()


class AnswersPaid:
    paid = "perhaps"

    def generate(self, request):
        return "x"


class ManyRaisesItsOwn:
    def generate(self, request):
        return "x"

    def generate_many(self, requests, observer):
        yield from ()
        raise Own("gone")


class ManyGivesOdd(ManyRaisesItsOwn):
    def generate_many(self, requests, observer):
        yield Odd()
"""
NAMES = [line[6:].split("(")[0].rstrip(":") for line in OWN.splitlines() if line[:6] == "class "]
GENERATORS = [name for name in NAMES if name.startswith(("Answers", "Many"))]
GENERATORS.remove("AnswersAnyName")
RETRIEVERS = [
    n for n in NAMES if n not in (*GENERATORS, "Base", "Mute", "Own", "Odd", "NotesForEver")
]
ENDLESS = "own.py:NotesForEver"


@pytest.fixture(autouse=True)
def _own(inside: Inside) -> None:
    Path("own.py").write_text(OWN, encoding="utf-8")


@pytest.mark.parametrize("name", RETRIEVERS)
def test_retriever(inside: Inside, name: str) -> None:
    command = ("run", "mini", "--task", "retrieval", "--limit", "2", "--retriever")
    assert f"retriever own.py:{name}" in inside.bad(3, *command, f"own.py:{name}")


@pytest.mark.parametrize("name", GENERATORS)
def test_generator(inside: Inside, name: str) -> None:
    command = ("run", "mini", "--task", "qa", "--limit", "2", "--retriever", "oracle")
    done = inside(*command, "--generator", f"own.py:{name}")
    assert done.code == 3, done.err
    assert f"generator own.py:{name}" in done.err
    assert "Internal error" not in done.err


def test_what_it_yields_is_read_no_further_than_it_has_to_be(inside: Inside) -> None:
    message = inside.bad(
        3, "search", "mini", "a question", "--top-k", "2", "--retriever", "own.py:YieldsForEver"
    )
    assert "returned more than 2 tables where at most 2 were asked for" in message
