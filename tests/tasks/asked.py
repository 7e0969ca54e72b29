"""Datasets of queries alone."""

from target_bench.corpora.store import MemoryCorpus
from target_bench.interfaces import Dataset
from target_bench.schema import CorpusInfo, Query

INFO = CorpusInfo("asked", "Asked", (), ("test",), "ours", "us", "here")


def dataset_of(*queries: Query) -> Dataset:
    """A split with these queries and no table."""
    return Dataset(INFO, "test", MemoryCorpus([]), queries)
