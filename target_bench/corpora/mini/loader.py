"""The embedded corpus ``mini``: a folder in the layout that users have for their own data."""

from pathlib import Path

from target_bench.corpora.folder import TableFolder
from target_bench.schema import CorpusInfo


class Mini(TableFolder):
    """120 tables in families of look-alikes; both splits ask about all of them."""

    info = CorpusInfo(
        name="mini",
        title="target-bench mini",
        tasks=("retrieval", "question_answering", "fact_verification"),
        splits=("test", "validation"),
        licence="Apache-2.0, written for this project from public facts",
        citation="The target-bench authors",
        source="this package",
    )
    cached = False

    def __init__(self) -> None:
        super().__init__(Path(__file__).parent / "data", self.info)
