"""Corpora under the names that the original TARGET package gives them.

It has one data set for each split of Spider and BIRD; here they are a corpus with one split.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Query, Table
from target_bench.corpora.bird import Bird
from target_bench.corpora.spider import Spider


class SpiderTest(Spider):
    """Spider's test split, as ``spider-test``."""

    info = replace(Spider.info, splits=("test",))


class SpiderTrain(Spider):
    """Spider's train split, as ``spider-train``."""

    info = replace(Spider.info, splits=("train",))


class SpiderValidation(Spider):
    """Spider's validation split, as ``spider-validation``."""

    info = replace(Spider.info, splits=("validation",))


class BirdValidation(Bird):
    """BIRD's validation split, as ``bird-validation``."""

    info = replace(Bird.info, splits=("validation",))


class _Copy(CorpusLoader):
    """A corpus that is read from TARGET's copy alone, for a folder of which there is a loader."""

    file: ClassVar[str]

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Fail: the copy is not there."""
        release.require(self.file)
        return ()

    def queries(self, release: Release, split: str) -> Iterable[Query]:  # noqa: ARG002 (the contract's argument)
        """Return nothing: the copy is not there."""
        return ()


class InfiAgentDA(_Copy):
    """InfiAgent-DABench as TARGET has it; the authors' release is the corpus ``infiagent``."""

    info = CorpusInfo(
        name="infiagentda",
        title="InfiAgent-DABench",
        tasks=("retrieval",),
        splits=("test",),
        licence="Apache-2.0",
        citation="Hu et al., InfiAgent-DABench: Evaluating Agents on Data Analysis Tasks, ICML "
        "2024",
        source="https://huggingface.co/datasets/target-benchmark/infiagentda-corpus",
        files=("infiagentda-corpus/ and infiagentda-queries/ of TARGET",),
    )
    file = "infiagentda-corpus/corpus_test.parquet"


class GitTables(_Copy):
    """Tables of GitTables without questions, which are mixed into other corpora."""

    info = CorpusInfo(
        name="gittables",
        title="GitTables",
        tasks=(),
        splits=("train",),
        licence="CC BY 4.0",
        citation="Hulsebos et al., GitTables: A Large-Scale Corpus of Relational Tables, SIGMOD "
        "2023",
        source="https://huggingface.co/datasets/target-benchmark/gittables-corpus",
        files=("corpus_train.parquet in a folder gittables-corpus/",),
    )
    tables_alone = True
    file = "gittables-corpus/corpus_train.parquet"
