# SPDX-License-Identifier: Apache-2.0
"""Tables of GitTables without questions, which are mixed into other corpora."""

from collections.abc import Iterable

from target_bench import CorpusInfo, CorpusLoader, Release, Table


class GitTables(CorpusLoader):
    """The tables of GitTables that the TARGET benchmark has, read from its copy alone."""

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
        """Fail: the copy, which is read before a loader is asked, is not there."""
        release.require("gittables-corpus/corpus_train.parquet")
        return ()
