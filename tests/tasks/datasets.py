"""Datasets of queries alone."""

from target_bench.core.schema import CorpusInfo, Dataset, Generation, Query
from target_bench.core.task import Predictions
from target_bench.data.tables import MemoryCorpus

INFO = CorpusInfo("asked", "Asked", (), ("test",), "ours", "us", "here")


def dataset_of(*queries: Query) -> Dataset:
    """A split with these queries and no table."""
    return Dataset(INFO, "test", MemoryCorpus([]), queries)


def answered(*generations: Generation) -> Predictions:
    """Answers without rankings or judgements."""
    return Predictions(answers={answer.query_id: answer for answer in generations})
