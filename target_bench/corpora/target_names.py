"""Corpora under the names that the original TARGET package gives them.

It has one data set for each split of Spider and BIRD; here they are a corpus with one split.
"""

from collections.abc import Iterable
from dataclasses import replace

from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Query, Table
from target_bench.corpora.bird import Bird
from target_bench.corpora.infiagent import InfiAgentDABench
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


class InfiAgentDA(InfiAgentDABench):
    """InfiAgent-DABench as ``infiagentda``: TARGET's copy, or the authors' files.

    TARGET calls its one split ``test``.
    """

    info = replace(InfiAgentDABench.info, name="infiagentda", splits=("test",))
    folder = "infiagent"


class GitTables(CorpusLoader):
    """Tables of GitTables without questions, which are mixed into other corpora.

    They are read from TARGET's copy.
    """

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

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Fail: only TARGET's copy can be read, and a folder of it has a loader of its own."""
        release.require("gittables-corpus/corpus_train.parquet")
        return ()

    def queries(self, release: Release, split: str) -> Iterable[Query]:  # noqa: ARG002 (the contract's argument)
        """Return nothing: there are no questions."""
        return ()
