"""What makes one object per retriever."""

from collections.abc import Sequence

import pytest

from target_bench.core.contract import Retriever, check_methods
from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
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


class _Settings(Retriever):
    """Sound but for its settings."""

    def embed_corpus(self, corpus: Corpus) -> None: ...

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return []


class Forgets(_Settings):
    def __init__(self, config: str = "cfg.json") -> None:
        self._path = config


class Keeps(_Settings):
    def __init__(self, config: str = "cfg.json") -> None:
        self.config = config  # type: ignore[assignment,method-assign]


def test_a_setting_called_config_that_is_not_kept() -> None:
    _, warning = plugin_identity(Forgets())
    assert warning is not None
    assert "write self.config = config, as now self.config is the method Forgets.config" in warning
