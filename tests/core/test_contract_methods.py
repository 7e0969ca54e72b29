"""What makes one object per retriever."""

from collections.abc import Sequence

import pytest

from target_bench.core.contract import Retriever, batch_size, check_methods
from target_bench.core.errors import ConfigError
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus


class Plain:
    """Two methods and no base class."""

    def embed_corpus(self, corpus: Corpus) -> None:
        """Nothing to do."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return []


class Based(Plain, Retriever):
    """With the base class, and no batch call of its own."""


class Batched(Based):
    """A batch call of its own."""

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        return [[] for _ in queries]


KINDS: list[type[Plain]] = [Plain, Based, Batched]


def test_objects_with_two_methods() -> None:
    for kind in KINDS:
        retriever = kind()
        assert check_methods(retriever) is retriever


def test_class_in_place_of_an_object() -> None:
    with pytest.raises(ConfigError, match=r"Plain is a class; .* as in run\(Plain\(\)\)"):
        check_methods(Plain)


@pytest.mark.parametrize("missing", ["embed_corpus", "retrieve"])
def test_missing_method(missing: str) -> None:
    methods = {"embed_corpus": print, "retrieve": print, missing: None}
    with pytest.raises(ConfigError, match=f"Half is not a retriever: it has no method {missing}"):
        check_methods(type("Half", (), methods)())
    with pytest.raises(ConfigError, match="has no method embed_corpus"):
        check_methods(object())


def test_batch_size_is_larger_with_a_batch_call() -> None:
    plain, based, batched = (batch_size(kind()) for kind in KINDS)
    assert plain == based < batched
