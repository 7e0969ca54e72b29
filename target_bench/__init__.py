"""target-bench: which table retriever finds the right table, and what does that do to the answer?

Everything public is importable from here and loaded on first use, so that
``from target_bench import Retriever`` costs little more than ``import numpy``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from target_bench.core.version import __version__

if TYPE_CHECKING:
    from target_bench.core.contract import Generator, Retriever
    from target_bench.core.errors import (
        ConfigError,
        DataError,
        MissingExtraError,
        PluginError,
        StoreError,
        TargetBenchError,
    )
    from target_bench.core.grid import CellGrid, GridCell
    from target_bench.core.metric import Metric, MetricSpec, Score
    from target_bench.core.metric_function import metric
    from target_bench.core.observer import Observer
    from target_bench.core.progress import Progress
    from target_bench.core.prompt_writer import Prompted, PromptOptions, PromptWriter
    from target_bench.core.ranking import Ranked
    from target_bench.core.release import CorpusLoader, Release
    from target_bench.core.schema import (
        Corpus,
        CorpusInfo,
        Dataset,
        Generation,
        GenerationRequest,
        Judgement,
        Message,
        Query,
        Retrieval,
        Table,
        TableId,
    )
    from target_bench.core.task import (
        AnswerJudge,
        LeakRules,
        Predictions,
        PromptStyle,
        SummaryBlock,
        Task,
        View,
    )
    from target_bench.core.vectors import Encoder, TextKind, VectorIndex, Vectors
    from target_bench.data.load import load
    from target_bench.data.table_text import Serializer
    from target_bench.harness.asking import Asked, ask
    from target_bench.harness.evaluate import evaluate
    from target_bench.harness.search import Hit, TableSearch
    from target_bench.harness.stages.judge import judge_answers
    from target_bench.harness.stages.score import Scored, score_answers, score_rankings
    from target_bench.harness.target import TARGET
    from target_bench.reporting.compare import compare
    from target_bench.reporting.comparison import Comparison
    from target_bench.reporting.gate import Gate, gate
    from target_bench.runs.result import Result, Results, list_runs, read_run, read_runs

_HOME = {
    "evaluate": "harness.evaluate",
    "load": "data.load",
    "TARGET": "harness.target",
    "TableSearch": "harness.search",
    "ask": "harness.asking",
    "Asked": "harness.asking",
    "Hit": "harness.search",
    "Comparison": "reporting.comparison",
    "compare": "reporting.compare",
    "Gate": "reporting.gate",
    "gate": "reporting.gate",
    "Result": "runs.result",
    "Results": "runs.result",
    "list_runs": "runs.result",
    "read_run": "runs.result",
    "read_runs": "runs.result",
    "CellGrid": "core.grid",
    "GridCell": "core.grid",
    "Corpus": "core.schema",
    "CorpusLoader": "core.release",
    "Dataset": "core.schema",
    "Generator": "core.contract",
    "Metric": "core.metric",
    "MetricSpec": "core.metric",
    "metric": "core.metric_function",
    "Observer": "core.contract",
    "Progress": "core.progress",
    "Ranked": "core.ranking",
    "Retriever": "core.contract",
    "Prompted": "core.prompt_writer",
    "PromptOptions": "core.prompt_writer",
    "PromptWriter": "core.prompt_writer",
    "Release": "core.release",
    "CorpusInfo": "core.schema",
    "Generation": "core.schema",
    "GenerationRequest": "core.schema",
    "Judgement": "core.schema",
    "Message": "core.schema",
    "Query": "core.schema",
    "Retrieval": "core.schema",
    "Score": "core.metric",
    "Table": "core.schema",
    "TableId": "core.schema",
    "Serializer": "data.table_text",
    "judge_answers": "harness.stages.judge",
    "Scored": "harness.stages.score",
    "score_answers": "harness.stages.score",
    "score_rankings": "harness.stages.score",
    "AnswerJudge": "core.task",
    "LeakRules": "core.task",
    "PromptStyle": "core.task",
    "View": "core.task",
    "Predictions": "core.task",
    "SummaryBlock": "core.task",
    "Task": "core.task",
    "Encoder": "core.vectors",
    "TextKind": "core.vectors",
    "VectorIndex": "core.vectors",
    "Vectors": "core.vectors",
    "ConfigError": "core.errors",
    "DataError": "core.errors",
    "MissingExtraError": "core.errors",
    "PluginError": "core.errors",
    "StoreError": "core.errors",
    "TargetBenchError": "core.errors",
}

__all__ = [  # noqa: RUF022 (the order a reader wants)
    "evaluate",
    "load",
    "TARGET",
    "TableSearch",
    "Hit",
    "ask",
    "Asked",
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
    "CellGrid",
    "GridCell",
    "Query",
    "Retrieval",
    "GenerationRequest",
    "Message",
    "Generation",
    "Judgement",
    "Score",
    "Task",
    "Predictions",
    "SummaryBlock",
    "LeakRules",
    "AnswerJudge",
    "PromptStyle",
    "View",
    "PromptOptions",
    "PromptWriter",
    "Prompted",
    "Metric",
    "MetricSpec",
    "metric",
    "Observer",
    "Progress",
    "Serializer",
    "Result",
    "Results",
    "score_rankings",
    "score_answers",
    "judge_answers",
    "read_run",
    "read_runs",
    "list_runs",
    "compare",
    "Comparison",
    "gate",
    "Gate",
    "Scored",
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
