# SPDX-License-Identifier: Apache-2.0
"""Tables of GitTables without questions, which are mixed into other corpora."""

from target_bench import CorpusInfo, CorpusLoader, Hub


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
        files=("corpus_train.parquet in a folder gittables-corpus/",),
        data=Hub(
            "target-benchmark/gittables-corpus",
            "corpus_train.parquet",
            revision="401ebb35a14b2d6aa1135bce5d81d55e1f3cbf51",
        ),
    )
    tables_alone = True
