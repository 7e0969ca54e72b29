"""target-bench: which table retriever finds the right table, and what does that do to the answer?

Everything public is importable from here and loaded on first use, so that
``from target_bench import Retriever`` costs little more than ``import numpy``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from target_bench.comparison import compare
    from target_bench.comparison_rows import Comparison
    from target_bench.errors import (
        ConfigError,
        DataError,
        MissingExtraError,
        PluginError,
        StoreError,
        TargetBenchError,
    )
    from target_bench.evaluator import TARGET
    from target_bench.interfaces import (
        Corpus,
        CorpusLoader,
        Dataset,
        Generator,
        Metric,
        Observer,
        Ranked,
        Retriever,
    )
    from target_bench.release import Release
    from target_bench.results import Result, Results
    from target_bench.schema import (
        CorpusInfo,
        Generation,
        GenerationRequest,
        Message,
        Query,
        Retrieval,
        Score,
        Table,
        TableId,
    )
    from target_bench.serialization import Serializer
    from target_bench.vectors import Encoder, TextKind, VectorIndex, Vectors

_HOME = {
    "TARGET": "evaluator",
    "Comparison": "comparison_rows",
    "compare": "comparison",
    "Result": "results",
    "Results": "results",
    "Corpus": "interfaces",
    "CorpusLoader": "interfaces",
    "Dataset": "interfaces",
    "Generator": "interfaces",
    "Metric": "interfaces",
    "Observer": "interfaces",
    "Ranked": "interfaces",
    "Retriever": "interfaces",
    "Release": "release",
    "CorpusInfo": "schema",
    "Generation": "schema",
    "GenerationRequest": "schema",
    "Message": "schema",
    "Query": "schema",
    "Retrieval": "schema",
    "Score": "schema",
    "Table": "schema",
    "TableId": "schema",
    "Serializer": "serialization",
    "Encoder": "vectors",
    "TextKind": "vectors",
    "VectorIndex": "vectors",
    "Vectors": "vectors",
    "ConfigError": "errors",
    "DataError": "errors",
    "MissingExtraError": "errors",
    "PluginError": "errors",
    "StoreError": "errors",
    "TargetBenchError": "errors",
}

__all__ = [  # noqa: RUF022 (the order a reader wants)
    "TARGET",
    "Retriever",
    "Ranked",
    "Generator",
    "Encoder",
    "TextKind",
    "Vectors",
    "VectorIndex",
    "CorpusLoader",
    "Corpus",
    "CorpusInfo",
    "Release",
    "Dataset",
    "Table",
    "TableId",
    "Query",
    "Retrieval",
    "GenerationRequest",
    "Message",
    "Generation",
    "Score",
    "Metric",
    "Observer",
    "Serializer",
    "Result",
    "Results",
    "compare",
    "Comparison",
    "TargetBenchError",
    "ConfigError",
    "DataError",
    "MissingExtraError",
    "PluginError",
    "StoreError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'target_bench' has no attribute {name!r}")
    value = getattr(import_module(f"target_bench.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
