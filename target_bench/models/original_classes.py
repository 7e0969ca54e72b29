"""The classes and names that code written for the original TARGET package imports from it.

They stand in for the package ``target_benchmark`` where it is not installed: the base classes with
their arguments, the names of columns, and the helpers that turn a table into text.
"""

import inspect
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from target_bench.core import registry
from target_bench.core.errors import PASSED_ON, ConfigError

PACKAGE = "target_benchmark"

KEYS = {
    "TABLE_COL_NAME": "table",
    "TABLE_ID_COL_NAME": "table_id",
    "DATABASE_ID_COL_NAME": "database_id",
    "CONTEXT_COL_NAME": "context",
    "QUERY_COL_NAME": "query",
    "QUERY_ID_COL_NAME": "query_id",
    "ANSWER_COL_NAME": "answer",
    "DIFFICULTY_COL_NAME": "difficulty",
    "CONTENT_KEY_NAME": "content",
    "QUERY_TYPE": "query_type",
    "DATASET_NAME": "dataset_name",
    "METADATA_TABLE_ID_KEY_NAME": "table_id",
    "METADATA_DB_ID_KEY_NAME": "database_id",
    "CLIENT_KEY_NAME": "client",
}
"""The names of columns and fields, as ``target_benchmark.dictionary_keys`` has them."""


class RetrievalResultDataModel(BaseModel):
    """The tables that one query got."""

    dataset_name: str
    query_id: int | str
    retrieval_results: list[tuple[Any, ...]] = []


class AbsRetrieverBase(ABC):  # noqa: B024 (as the original has it)
    """Base of all retrievers: the format in which it expects tables."""

    def __init__(self, expected_corpus_format: str = "nested array") -> None:
        self.expected_corpus_format = expected_corpus_format

    def get_expected_corpus_format(self) -> str:
        """Return the form in which it wants tables."""
        return self.expected_corpus_format


class AbsCustomEmbeddingRetriever(AbsRetrieverBase):
    """Indexes the corpus as it likes, and finds tables itself."""

    @abstractmethod
    def retrieve(
        self, query: str, dataset_name: str, top_k: int, **kwargs: Any
    ) -> list[tuple[Any, ...]]:
        """Return the pairs of database id and table id, best first."""

    @abstractmethod
    def embed_corpus(self, dataset_name: str, corpus: Iterable[dict[str, Any]]) -> None:
        """Index batches of tables, each a dictionary of columns."""


class AbsStandardEmbeddingRetriever(AbsRetrieverBase):
    """Makes a vector of a table and of a query; the benchmark finds the nearest."""

    @abstractmethod
    def embed_query(self, query: str, dataset_name: str, **kwargs: Any) -> NDArray[Any]:
        """Return the vector of a query."""

    @abstractmethod
    def embed_corpus(self, dataset_name: str, corpus_entry: dict[str, Any]) -> NDArray[Any]:
        """Return the vector of one table."""


class AbsGenerator(ABC):
    """Answers a question from tables that are written out."""

    @abstractmethod
    def generate(self, table_str: str, query: str) -> dict[str, Any]:
        """Return ``content``; about databases ``sql_query`` and ``database_id``."""


def markdown_table_str(table_array: Sequence[Sequence[Any]], num_rows: int | None = None) -> str:
    """Return a nested array as Markdown, with all rows or the first few: 0 give the header alone.

    As in the original, the line under the header stands only where a number of rows is asked for.
    """
    if not table_array:
        return ""
    header, rows = table_array[0], table_array[1:]
    if num_rows is not None:
        rows = rows[:num_rows]
    lines = [header, *([["---"] * len(header)] if num_rows else []), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def json_table_str(table_array: Sequence[Sequence[Any]], num_rows: int | None = None) -> str:
    """Return a nested array as JSON: the number of a row -> column -> cell."""
    rows = table_array[1:] if not num_rows else table_array[1 : 1 + num_rows]
    return json.dumps(
        {i: dict(zip(table_array[0], row, strict=False)) for i, row in enumerate(rows)}
    )


def construct_embedding_index(table_embeddings: Sequence[Sequence[float]]) -> Any:
    """Return an hnswlib index of cosine similarity, with the parameters of the original."""
    import hnswlib

    vectors = np.asarray(table_embeddings)
    index = hnswlib.Index(space="cosine", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), ef_construction=200, M=16)
    index.add_items(vectors, np.arange(len(vectors)))
    index.set_ef(50)
    return index


def is_original_retriever(plugin: object) -> bool:
    """Return whether ``embed_corpus`` takes the name of the dataset, as only theirs does."""
    return "dataset_name" in _parameters(plugin, "embed_corpus")


def created(kind: Literal["retriever", "generator"], text: str, also: Iterable[str] = ()) -> Any:
    """Make what a text names, as ``registry.create`` does; a class of theirs too.

    A file that imports ``target_benchmark`` finds the stand-in where the package is missing.
    """
    try:
        return registry.create(kind, text, also=also)
    except ConfigError as error:
        if PACKAGE not in str(error) or text.startswith("compat"):
            raise
    if kind == "generator":
        with importable():
            return registry.create(kind, text)
    spec = registry.parse(kind, text)
    return registry.resolve(kind, "compat")(spec.target, spec.settings)


def adapted(retriever: Any) -> Any:
    """Return a retriever as it can be asked here: one of theirs inside ``compat``."""
    if not is_original_retriever(retriever):
        return retriever
    return registry.resolve("retriever", "compat")(retriever)


def is_original_generator(plugin: object) -> bool:
    """Return whether ``generate`` takes the tables as text, as only theirs does."""
    return "table_str" in _parameters(plugin, "generate")


def _parameters(plugin: object, method: str) -> Iterable[str]:
    """Return the names of a method's parameters; none of a class, or where they are not known."""
    if isinstance(plugin, type):
        return ()
    try:
        return inspect.signature(getattr(plugin, method)).parameters
    except PASSED_ON:
        raise
    except BaseException:  # of a __getattr__ of its own; the check of its methods names it
        return ()


@contextmanager
def importable() -> Iterator[None]:
    """Let ``import target_benchmark`` find the stand-in, if the package itself is not installed."""
    if PACKAGE in sys.modules or find_spec(PACKAGE) is not None:
        yield
        return
    modules = _modules()
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)


def _modules() -> dict[str, ModuleType]:
    """Return the stand-in's modules, by the names of the original's."""
    bases = (AbsRetrieverBase, AbsCustomEmbeddingRetriever, AbsStandardEmbeddingRetriever)
    by_name: dict[str, Any] = {base.__name__: base for base in bases}
    helpers = (markdown_table_str, json_table_str, construct_embedding_index)
    retrievers, generators = f"{PACKAGE}.retrievers", f"{PACKAGE}.generators"
    contents: dict[str, Mapping[str, Any]] = {
        PACKAGE: {},
        f"{PACKAGE}.dictionary_keys": KEYS,
        retrievers: by_name,
        f"{retrievers}.RetrieversDataModels": {
            "RetrievalResultDataModel": RetrievalResultDataModel
        },
        f"{retrievers}.utils": {helper.__name__: helper for helper in helpers},
        generators: {"AbsGenerator": AbsGenerator},
        f"{generators}.AbsGenerator": {"AbsGenerator": AbsGenerator},
    }
    contents |= {f"{retrievers}.{name}": {name: base} for name, base in by_name.items()}
    modules = {}
    for name, content in contents.items():
        module = ModuleType(name, "Stands in for the original TARGET package.")
        vars(module).update(content)
        if name in (PACKAGE, retrievers, generators):
            module.__path__ = []  # a package without files
        modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent and child not in (*by_name, "AbsGenerator"):
            setattr(modules[parent], child, module)
    return modules
