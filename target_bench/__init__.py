"""target-bench: which table retriever finds the right table, and what does that do to the answer?

Everything public is importable from here and loaded on first use, so that
``from target_bench import Retriever`` costs little more than ``import numpy``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from target_bench.core.version import __version__

if TYPE_CHECKING:
    from target_bench.core.contract import Generator, Retriever
    from target_bench.core.declarations import Columns as Columns
    from target_bench.core.declarations import Hub as Hub
    from target_bench.core.errors import ConfigError as ConfigError
    from target_bench.core.errors import DataError as DataError
    from target_bench.core.errors import MissingExtraError as MissingExtraError
    from target_bench.core.errors import PluginError as PluginError
    from target_bench.core.errors import StoreError as StoreError
    from target_bench.core.errors import TargetBenchError
    from target_bench.core.grid import CellGrid as CellGrid
    from target_bench.core.grid import GridCell as GridCell
    from target_bench.core.metric import Metric, Score
    from target_bench.core.metric import MetricSpec as MetricSpec
    from target_bench.core.metric import RatioMetric as RatioMetric
    from target_bench.core.metric_function import metric
    from target_bench.core.observer import Observer, Progress
    from target_bench.core.prompt_writer import PromptedRequest as PromptedRequest
    from target_bench.core.prompt_writer import PromptWriter as PromptWriter
    from target_bench.core.ranking import Ranked as Ranked
    from target_bench.core.release import CorpusLoader
    from target_bench.core.release import Release as Release
    from target_bench.core.run_config import RunConfig as RunConfig
    from target_bench.core.schema import Corpus, Dataset, Query, Table, TableId
    from target_bench.core.schema import CorpusInfo as CorpusInfo
    from target_bench.core.schema import Generation as Generation
    from target_bench.core.schema import GenerationRequest as GenerationRequest
    from target_bench.core.schema import Judgement as Judgement
    from target_bench.core.schema import Message as Message
    from target_bench.core.schema import Retrieval as Retrieval
    from target_bench.core.task import AnswerJudge as AnswerJudge
    from target_bench.core.task import Predictions as Predictions
    from target_bench.core.task import PromptStyle as PromptStyle
    from target_bench.core.task import SummaryBlock as SummaryBlock
    from target_bench.core.task import Task
    from target_bench.core.task import View as View
    from target_bench.core.vectors import Encoder as Encoder
    from target_bench.core.vectors import TextKind as TextKind
    from target_bench.core.vectors import VectorIndex as VectorIndex
    from target_bench.core.vectors import Vectors as Vectors
    from target_bench.data.load import load
    from target_bench.data.table_text import Serializer as Serializer
    from target_bench.harness.evaluate import evaluate
    from target_bench.harness.judge import judge_answers as judge_answers
    from target_bench.harness.questions.ask import SyntheticQuestions as SyntheticQuestions
    from target_bench.harness.questions.ask import ask
    from target_bench.harness.score import Scores as Scores
    from target_bench.harness.score import score_answers as score_answers
    from target_bench.harness.score import score_rankings as score_rankings
    from target_bench.harness.search import Hit as Hit
    from target_bench.harness.search import TableSearch
    from target_bench.reporting.compare import compare
    from target_bench.reporting.gate import Gate as Gate
    from target_bench.reporting.gate import gate
    from target_bench.reporting.rows import Comparison as Comparison
    from target_bench.runs.result import Result, Results, read_run, read_runs
    from target_bench.runs.run import Run as Run
    from target_bench.runs.run import list_runs as list_runs

_HOME = {
    "evaluate": "harness.evaluate",
    "load": "data.load",
    "TableSearch": "harness.search",
    "ask": "harness.questions.ask",
    "SyntheticQuestions": "harness.questions.ask",
    "Hit": "harness.search",
    "Comparison": "reporting.rows",
    "compare": "reporting.compare",
    "Gate": "reporting.gate",
    "gate": "reporting.gate",
    "Result": "runs.result",
    "Results": "runs.result",
    "Run": "runs.run",
    "list_runs": "runs.run",
    "read_run": "runs.result",
    "read_runs": "runs.result",
    "CellGrid": "core.grid",
    "GridCell": "core.grid",
    "Corpus": "core.schema",
    "CorpusLoader": "core.release",
    "Columns": "core.declarations",
    "Hub": "core.declarations",
    "Dataset": "core.schema",
    "Generator": "core.contract",
    "Metric": "core.metric",
    "MetricSpec": "core.metric",
    "RatioMetric": "core.metric",
    "metric": "core.metric_function",
    "Observer": "core.observer",
    "Progress": "core.observer",
    "Ranked": "core.ranking",
    "Retriever": "core.contract",
    "PromptedRequest": "core.prompt_writer",
    "RunConfig": "core.run_config",
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
    "judge_answers": "harness.judge",
    "Scores": "harness.score",
    "score_answers": "harness.score",
    "score_rankings": "harness.score",
    "AnswerJudge": "core.task",
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
    "compare",
    "gate",
    "read_runs",
    "read_run",
    "Result",
    "Results",
    "Score",
    "TableSearch",
    "ask",
    "Retriever",
    "Generator",
    "CorpusLoader",
    "Task",
    "Metric",
    "metric",
    "Dataset",
    "Corpus",
    "Table",
    "TableId",
    "Query",
    "Observer",
    "Progress",
    "TargetBenchError",
    "__version__",
]
"""What a user begins with. Other types that plug-ins name can be imported from here as well."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'target_bench' has no attribute {name!r}")
    value = getattr(import_module(f"target_bench.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
